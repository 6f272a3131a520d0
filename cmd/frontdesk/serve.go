package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"frontdesk/core/fault"
	"frontdesk/core/gateway"
	"frontdesk/core/heap"
)

type serveCommand struct {
	Demo bool `help:"Create the tenant \"demo\" with a sandbox connection of each kind. Print an API key and a call to try."`
}

// Run serves until it is interrupted. Whoever interrupts it while it starts gets what was asked for, too.
func (c serveCommand) Run(ctx context.Context, s *session) error {
	// Without a reader of its log, the gateway goes on. Go would end it, also where systemd ignores the signal (package
	// os/signal, "SIGPIPE").
	signal.Ignore(syscall.SIGPIPE)
	err := c.serve(ctx, s)
	if err != nil && ctx.Err() != nil && fault.From(err).Code == fault.Canceled {
		return nil
	}
	return err
}

func (c serveCommand) serve(ctx context.Context, s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if c.Demo {
		cfg.Server.Drain = 0 // no load balancer is in front of a demonstration
	}
	// With one processor, the runtime polls the network only when nothing else can run. Under load, requests
	// would wait for a second before the gateway saw them, too late to refuse any. With two processors, the
	// runtime always polls.
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2)
	}
	// Set the runtime's memory limit from the cgroup, so that the runtime collects garbage before the
	// container or the unit reaches its limit. GOMEMLIMIT overrides this. Without a cgroup there is no limit.
	_, _ = memlimit.Set()
	if !slices.ContainsFunc(s.environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		defer heap.Pace(heap.Floor(debug.SetMemoryLimit(-1)))()
	}
	log, err := gateway.LogQueue(s.err, cfg)
	if err != nil {
		return err
	}
	defer log.Close()
	options := s.options()
	options.LogTo = log
	g, err := gateway.Open(ctx, cfg, options)
	if err != nil {
		return err
	}
	defer g.Close()
	g.TakeStandardLog()
	if !c.Demo {
		return g.Serve(ctx, nil)
	}
	return g.Serve(ctx, func(at gateway.Addresses) error {
		key, err := g.Demo(ctx) // not before it listens: if it cannot, nobody would be told the key
		if err != nil {
			return err
		}
		base := g.CallersBase(at)
		fmt.Fprintf(s.out, "\nFrontdesk is ready at %s (API description: %s/docs).\n", base, base)
		if link, err := g.DemoLink(ctx, at); err == nil && link != "" {
			fmt.Fprintf(s.out, "\nSettings page, with a link that signs you in once, for 15 minutes:\n\n  %s\n", link)
		}
		fmt.Fprintf(s.out, "\nAPI key of the "+
			"tenant %q, shown only once:\n\n  %s\n\nBook a meeting in its sandbox calendar:\n\n%s\n\n",
			gateway.DemoTenant, key, g.DemoCurl(at, key))
		return nil
	})
}

type healthCommand struct{}

// Help returns the text that is shown with the flags.
func (healthCommand) Help() string {
	return "It asks /readyz at server.ops_listen, or else at server.listen, for three seconds at most. Give it the " +
		"configuration of the gateway. The exit code is 0 if the gateway is ready, and 1 otherwise."
}

// Run asks the gateway that runs on this machine. It needs no store.
func (healthCommand) Run(ctx context.Context, s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if err := gateway.AskReady(ctx, cfg.Server); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "The gateway is ready.")
	return err
}

type migrateCommand struct {
	Adopt     bool `help:"Also seal the rows of a version that did not seal them, as they are. Use it once, after an upgrade or with a backup from before it."`
	BeginAnew bool `help:"Accept this database, though it is empty or not the one that was used with this key set."`
}

// Help returns the text that is shown with the flags.
func (migrateCommand) Help() string {
	return "The rows of connections, API keys and links are sealed with the key set. So somebody who can " +
		"write only the database can neither redirect credentials nor make a key. Only --adopt accepts rows " +
		"from before they were sealed: do not use it in scripts that run at every start. A gateway that " +
		"created its key set itself, in its data directory, adopts such rows at its first start."
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
	fmt.Fprintln(s.err, "The database is up to date.")
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
		fmt.Fprintf(s.err, "The former head of the audit is now in %s.\n", aside)
	}
	return err
}

type openapiCommand struct {
	Format string `help:"yaml or json." enum:"yaml,json" default:"yaml"`
	Admin  bool   `help:"Describe the admin interface instead."`
}

// Run prints the OpenAPI description. It needs no store.
func (c openapiCommand) Run(s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	document, err := gateway.Document(cfg, c.Format, c.Admin)
	if err != nil {
		return err
	}
	_, err = s.out.Write(document)
	return err
}

type versionCommand struct {
	SBOM bool   `name:"sbom" help:"Print the bill of materials instead: the modules in this binary and their licences, in CycloneDX 1.6."`
	Of   string `help:"With --sbom: another binary of this version, such as one for another system." type:"existingfile" placeholder:"FILE"`
}

// Run prints the version, or the bill of materials.
func (c versionCommand) Run(s *session) error {
	if c.SBOM {
		bom, err := sbomOf(c.Of)
		if err != nil {
			return err
		}
		return writeSBOM(s.out, bom)
	}
	_, err := fmt.Fprintln(s.out, gateway.Version())
	return err
}

type doctorCommand struct {
	Tenant   string `help:"Check only this tenant's connections." placeholder:"NAME"`
	Platform string `help:"Check only the voice agents at this platform, by calling the gateway's public address as the platform would: ${agent_platforms}." enum:"${agent_platforms}," default:"" placeholder:"P"`
	Repair   bool   `help:"Also correct phone numbers that differ from the provider's account, including calls that someone pointed elsewhere."`
	JSON     bool   `help:"Print the findings as JSON."`
}

// Run prints the findings. It fails if any check failed.
func (c doctorCommand) Run(ctx context.Context, s *session) error {
	g, err := s.gateway(ctx)
	if err != nil {
		return errors.Join(err, c.print(s, gateway.Unusable(err)))
	}
	defer g.Close()
	var findings []gateway.Finding
	if c.Platform != "" {
		findings, err = g.ExamineAgents(ctx, c.Platform, c.Tenant)
	} else {
		findings, err = g.Examine(ctx, c.Tenant, c.Repair)
	}
	if err := c.print(s, findings); err != nil {
		return err
	}
	wrong := 0
	for _, f := range findings {
		if !f.OK {
			wrong++
		}
	}
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%d of %d checks failed", wrong, len(findings))
	}
	return err
}

func (c doctorCommand) print(s *session, findings []gateway.Finding) error {
	rows := make([][]string, 0, len(findings))
	for _, f := range findings {
		state := string(f.Level)
		if f.Level == gateway.LevelError {
			state = "WRONG"
		}
		rows = append(rows, []string{state, f.Subject, f.Says, f.Advice})
	}
	return s.list(c.JSON, findings, []string{"STATE", "SUBJECT", "FOUND", "WHAT TO DO"}, rows)
}
