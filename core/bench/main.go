// Command bench measures the gateway against baselines in the same run:
//
//	go run ./core/bench                          # everything
//	go run ./core/bench -only list,book          # some scenarios
//	go run ./core/bench -gateway old=./frontdesk.old -gateway new=./frontdesk
//	go run ./core/bench -write core/bench/README.md -plots .github
//
// It builds the gateway, starts it with pretended providers, and loads it: each is a process of its own, so
// that processor time is known for each. Rounds of the gateway and its baselines alternate. README.md
// explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	syscall.Umask(0o022) // the gateway refuses a data directory that others can write
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the program.
type bench struct {
	dir      string
	to       io.Writer
	rounds   int
	lasting  time.Duration
	rate     float64
	binaries binaries
	provider *provider
	loader   loader
	report   report

	tenants     int
	connections int
	postgres    string
	modules     string
}

// binary is a gateway to measure.
type binary struct{ name, path string }

// binaries is the flag -gateway, which may be given more than once.
type binaries []binary

func (b *binaries) String() string { return "" }

// Set adds a binary: PATH or NAME=PATH.
func (b *binaries) Set(text string) error {
	name, path, named := strings.Cut(text, "=")
	if !named {
		name, path = "gateway", text
	}
	*b = append(*b, binary{name, path})
	return nil
}

// scenario is a kind of work that is measured.
type scenario struct {
	name  string
	about string
	run   func(ctx context.Context, b *bench, s scenario) error
	asked bool // it runs only when it is named
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			return serveUpstream(ctx, args[1:], out)
		case "floor", "proxy", "client":
			return serveBaseline(ctx, args[0], args[1:], out)
		}
	}
	b := bench{to: log, report: report{tables: map[string]string{}}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "",
		"the scenarios to run, separated by commas; all but the long ones by default")
	list := flags.Bool("list", false, "list the scenarios")
	quick := flags.Bool("quick", false, "three short rounds, to see whether it works")
	flags.IntVar(&b.rounds, "rounds", 7, "how often everything is measured; the report has medians")
	flags.DurationVar(&b.lasting, "duration", time.Second, "how long a load lasts in each round")
	flags.Float64Var(&b.rate, "rate", 200, "requests per second in an open loop")
	flags.Var(&b.binaries, "gateway",
		"a gateway's binary, as PATH or NAME=PATH, instead of building one; more are compared")
	flags.IntVar(&b.tenants, "tenants", 10_000, "tenants in the scenarios with many")
	flags.IntVar(&b.connections, "connections", 100_000, "connections in the scenario density")
	flags.StringVar(&b.postgres, "postgres", "",
		"URL of an empty PostgreSQL database; by default one is started if it is installed")
	flags.StringVar(&b.modules, "node-modules", os.Getenv("FRONTDESK_BENCH_NODE_MODULES"),
		"a folder node_modules with @googleapis/calendar and express, for the baseline in Node.js")
	stat := flags.Bool("benchstat", false, "write lines for benchstat to standard output instead of a table")
	document := flags.String("write", "", "the document whose figures are renewed")
	plots := flags.String("plots", "", "the folder into which pictures are written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		b.rounds, b.lasting, b.tenants, b.connections = 3, 300*time.Millisecond, min(b.tenants,
			200), min(b.connections, 500)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *list {
		for _, s := range scenarios() {
			fmt.Fprintf(out, "%-12s %s\n", s.name, s.about)
		}
		return nil
	}
	if b.dir, err = os.MkdirTemp("", "frontdesk-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if len(b.binaries) == 0 {
		fmt.Fprintln(log, "building the gateway")
		path, err := build(ctx, b.dir)
		if err != nil {
			return err
		}
		b.binaries = binaries{{"gateway", path}}
	}
	if b.provider, err = startProvider(ctx, b.dir); err != nil {
		return err
	}
	defer b.provider.kill()
	for _, s := range chosen {
		began := time.Now()
		if err := s.run(ctx, &b, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		to := out
		if *stat {
			to = log
		}
		if err := b.report.print(to, s); err != nil {
			return err
		}
		fmt.Fprintf(log, "(%s took %s)\n", s.name, time.Since(began).Round(time.Second))
	}
	if *stat {
		err = b.report.benchstat(out)
	}
	if *document != "" {
		err = errors.Join(err, b.report.write(*document, chosen))
	}
	if *plots != "" {
		err = errors.Join(err, b.report.draw(*plots))
	}
	return err
}

// choose returns the scenarios with these names.
func choose(names string) (chosen []scenario, err error) {
	if names == "" {
		return slices.DeleteFunc(scenarios(), func(s scenario) bool { return s.asked }), nil
	}
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(scenarios(), func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q; -list lists them", name)
		}
		chosen = append(chosen, scenarios()[i])
	}
	return chosen, nil
}

// measure is one measurement of a round.
type measure struct {
	name string
	run  func(ctx context.Context) (sample, error)
}

// interleave makes all measurements in every round, after one round that does not count. Every round begins
// with another one, so that none profits from its place.
func (b *bench) interleave(ctx context.Context, all ...measure) (map[string][]sample, error) {
	samples := map[string][]sample{}
	for round := range b.rounds + 1 {
		for i := range all {
			m := all[(i+round)%len(all)]
			s, err := m.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			if round > 0 {
				samples[m.name] = append(samples[m.name], s)
			}
		}
	}
	return samples, nil
}

// open measures a target in an open loop.
func (b *bench) open(t target) measure {
	return measure{t.name, func(ctx context.Context) (sample, error) {
		return b.loader.openLoop(ctx, t, b.rate, b.lasting)
	}}
}

// closed measures a target in a closed loop.
func (b *bench) closed(t target, callers int) measure {
	return measure{t.name, func(ctx context.Context) (sample, error) {
		return b.loader.closedLoop(ctx, t, callers, b.lasting)
	}}
}

// sequence measures a target by three requests, one after the other.
func (b *bench) sequence(t target) measure {
	return measure{t.name, func(ctx context.Context) (sample, error) { return b.loader.times(ctx, t, 3) }}
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.to, format+"\n", args...) }
