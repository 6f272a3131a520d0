package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"frontdesk/core/gateway"
)

type serveCommand struct {
	Demo bool `help:"Make the tenant \"demo\" with a sandbox connection of each kind, and print an API key and a call to try."`
}

// Run serves until it is interrupted.
func (c serveCommand) Run(ctx context.Context, s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if c.Demo {
		cfg.Server.Drain = 0 // no load balancer is in front of a demonstration
	}
	// With one processor the runtime looks for what has arrived only when nothing else can run: under load, requests would
	// wait for a second before the gateway saw them, too late to refuse any. With two there is always a look.
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
	// The runtime collects garbage before the container or the unit reaches its limit of memory, unless
	// GOMEMLIMIT says otherwise. Where there is no cgroup there is no limit to keep.
	_, _ = memlimit.Set()
	g, err := gateway.Open(ctx, cfg, gateway.Options{Adapters: s.adapters, LogTo: s.err})
	if err != nil {
		return err
	}
	defer g.Close()
	if !c.Demo {
		return g.Serve(ctx, nil)
	}
	key, err := g.Demo(ctx)
	if err != nil {
		return err
	}
	return g.Serve(ctx, func(at gateway.Addresses) {
		fmt.Fprintf(s.out, "\nFrontdesk is ready at %s (description: %s/docs).\n\nAPI key of the tenant %q, shown this once:\n\n  %s\n\nBook a meeting in its sandbox calendar:\n\n%s\n\n",
			at.API, at.API, gateway.DemoTenant, key, g.DemoCurl(at, key))
	})
}

type migrateCommand struct {
	Adopt     bool `help:"Also seal rows of a version that did not seal them yet, as they are: once, after an upgrade, or with a backup from before it."`
	BeginAnew bool `help:"Accept an empty database, or another one, beside a key set that was used before."`
}

// Help is shown with the flags.
func (migrateCommand) Help() string {
	return "The rows of connections, API keys and links are sealed with the key set, so that nobody who can only write the database " +
		"sends credentials elsewhere or makes a key. Rows from before that are believed with --adopt, and nowhere else: do not give it " +
		"in scripts that run at each start. A gateway that made its key set itself, in its data directory, adopts them at its first start."
}

// Run migrates the store.
func (c migrateCommand) Run(ctx context.Context, s *session) error {
	if c.BeginAnew {
		if err := s.beginAnew(ctx); err != nil {
			return err
		}
	}
	g, err := s.gateway(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	migrate := g.Migrate
	if c.Adopt {
		migrate = g.Adopt
	}
	if err := migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintln(s.err, "The store is up to date.")
	return nil
}

func (s *session) beginAnew(ctx context.Context) error {
	g, err := s.gateway(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	aside, err := g.BeginAnew()
	if aside != "" {
		fmt.Fprintf(s.err, "The head of the audit so far is now in %s.\n", aside)
	}
	return err
}

type openapiCommand struct {
	Format string `help:"yaml or json." enum:"yaml,json" default:"yaml"`
}

// Run prints the description; it needs no store.
func (c openapiCommand) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	document, err := gateway.Document(cfg, c.Format)
	if err != nil {
		return err
	}
	_, err = s.out.Write(document)
	return err
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(s *session) error {
	_, err := fmt.Fprintln(s.out, gateway.Version())
	return err
}

type doctorCommand struct {
	Tenant string `help:"Only this tenant's connections." placeholder:"NAME"`
	Repair bool   `help:"Set right where phone numbers differ from the provider's account, also where someone pointed calls elsewhere."`
	JSON   bool   `help:"Print the findings as JSON."`
}

// Run prints what is found; it fails when something is wrong.
func (c doctorCommand) Run(ctx context.Context, s *session) error {
	g, err := s.gateway(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	findings, err := g.Examine(ctx, c.Tenant, c.Repair)
	wrong := 0
	rows := make([][]string, 0, len(findings))
	for _, f := range findings {
		state := "ok"
		if !f.OK {
			state, wrong = "WRONG", wrong+1
		}
		rows = append(rows, []string{state, f.Subject, f.Says, f.Advice})
	}
	if err := s.list(c.JSON, findings, []string{"STATE", "SUBJECT", "FOUND", "WHAT TO DO"}, rows); err != nil {
		return err
	}
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%d of %d checks failed", wrong, len(findings))
	}
	return err
}
