package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"frontdesk/core/gateway"
)

// first measures the first call of a tenant that has been quiet, against its next one.
func first(ctx context.Context, b *bench, s scenario) error {
	return b.quiet(ctx, s, roundTrip, 1)
}

// quietKeys measures the same with a provider that answers at once, so that what the gateway does shows.
func quietKeys(ctx context.Context, b *bench, s scenario) error {
	return b.quiet(ctx, s, 0, 10)
}

// quiet measures calls of tenants whose last call was in another process of the gateway: nothing of theirs is
// in memory. At their very first call, the gateway has no access token either.
func (b *bench) quiet(ctx context.Context, s scenario, latency time.Duration, each int) error {
	if err := b.provider.set(ctx, latency, true); err != nil {
		return err
	}
	for _, binary := range b.binaries {
		d, err := deploy(ctx, binary.path, filepath.Join(b.dir, s.name+"-"+binary.name), b.provider,
			plan{tenants: each*b.rounds + 1, provider: "google"})
		if err != nil {
			return err
		}
		samples := map[string][]sample{}
		subjects := []string{"next call", "first call with a token in the store",
			"very first call, without a token"}
		for _, names := range [][]string{{subjects[2]}, {subjects[1], subjects[0]}} {
			if err := b.quietCalls(ctx, s, binary.name, d, names, each, samples); err != nil {
				return err
			}
		}
		for i := range subjects {
			prefixed := binary.name + ", " + subjects[i]
			samples[prefixed] = samples[subjects[i]]
			subjects[i] = prefixed
		}
		b.report.compare(s.name, "p50", milliseconds, subjects, subjects[0], samples, inMilli)
		b.report.compare(s.name, "CPU", microseconds, subjects, subjects[0], samples, cpu)
	}
	return nil
}

// quietCalls measures calls at a gateway that has just begun: those of the first name, then further ones by the same
// keys.
func (b *bench) quietCalls(
	ctx context.Context, s scenario, binary string, d *deployment, names []string, each int, into map[string][]sample,
) error {
	g, err := d.serve(ctx)
	if err != nil {
		return err
	}
	defer g.stop()
	body := listBody(calendarID(0))
	// The last tenant opens the connection to the provider, which all tenants share.
	if err := ask(ctx, g, listPath, d.keys[len(d.keys)-1], body, nil); err != nil {
		return err
	}
	if _, err := b.provider.counted(ctx); err != nil {
		return err
	}
	for round := range b.rounds {
		for _, name := range names {
			t := callsOf(name, g, listPath, d.keys[round*each:(round+1)*each], always(body))
			measured, err := b.loader.times(ctx, t, each)
			if err != nil {
				return err
			}
			into[name] = append(into[name], measured)
			if round > 0 {
				continue
			}
			counts, err := b.provider.counted(ctx)
			if err != nil {
				return err
			}
			b.report.tables[s.name] += fmt.Sprintf("Requests at the provider, %s, %s (%d): %s.\n\n",
				binary, name, each, listed(counts))
		}
	}
	return nil
}

// many measures what a call costs when more and more tenants call, and how long apply takes for them.
func many(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, 0, true); err != nil {
		return err
	}
	for _, binary := range b.binaries {
		if err := b.manyTenants(ctx, s, binary, b.tenants); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) manyTenants(ctx context.Context, s scenario, binary binary, n int) error {
	d, g, err := b.applied(ctx, s, binary, n)
	if err != nil {
		return err
	}
	defer g.stop()
	body := listBody(calendarID(0))
	// Each is called once, so that all have tokens.
	if _, err := b.calledOnce(ctx, d, g, body); err != nil {
		return err
	}
	peak, err := g.peakMemory()
	if err != nil {
		return err
	}
	var measures []measure
	var subjects []string
	for _, k := range []int{1, 100, n} {
		name := fmt.Sprintf("%s, %s tenants", binary.name, grouped(int64(min(k, n))))
		if k == 1 {
			name = binary.name + ", one tenant"
		}
		t := callsOf(name, g, listPath, d.keys[:min(k, n)], always(body))
		measures = append(measures, b.closed(t, manyCallers))
		subjects = append(subjects, name)
	}
	samples, err := b.interleave(ctx, measures...)
	if err != nil {
		return err
	}
	b.report.compare(s.name, "CPU per request", microseconds, subjects, subjects[0], samples, cpu)
	b.report.add(figure{
		Scenario: s.name, What: "peak memory", Subject: binary.name + " after each of " + grouped(
			int64(n)) + " tenants called",
		Unit: mebibytes, Values: []float64{float64(peak) / (1 << 20)},
	})
	return nil
}

// applied makes tenants by the command apply, which it measures, and serves them.
func (b *bench) applied(ctx context.Context, s scenario, binary binary, n int) (*deployment, *process,
	error) {
	dir := filepath.Join(b.dir, s.name+"-"+binary.name)
	d, err := deploy(ctx, binary.path, dir, b.provider, plan{})
	if err != nil {
		return nil, nil, err
	}
	bare, err := bareSQLite(ctx, filepath.Join(dir, "bare.db"))
	if err != nil {
		return nil, nil, err
	}
	defer bare.db.Close()
	commits, err := b.loader.closedLoop(ctx, bare.target("bare commits"), 1, b.lasting)
	if err != nil {
		return nil, nil, err
	}
	few := n / 10
	for _, step := range []struct {
		what    string
		tenants int
		made    int
	}{
		{"the first " + grouped(int64(few)) + " tenants", few, few},
		{grouped(int64(n-few)) + " more tenants", n, n - few},
		{"nothing new in " + grouped(int64(n)) + " tenants", n, n},
	} {
		path, err := d.desired(ctx, dir, step.tenants)
		if err != nil {
			return nil, nil, err
		}
		began := time.Now()
		if err := d.command(ctx, "apply", "-f", path); err != nil {
			return nil, nil, err
		}
		each := time.Since(began).Seconds() * 1e6 / float64(step.made)
		b.report.add(figure{
			Scenario: s.name, What: "apply, for each tenant", Subject: binary.name + ", " + step.what,
			Unit:   microseconds,
			Values: []float64{each}, Base: "a bare commit", Bases: []float64{1e6 / commits.PerSecond},
		})
	}
	if err := d.manage(ctx, func(ctx context.Context, g *gateway.Gateway) error {
		for i := range n {
			key, err := newKey(ctx, g, tenantName(i))
			if err != nil {
				return err
			}
			d.keys = append(d.keys, key)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	g, err := d.serve(ctx)
	return d, g, err
}

// desired writes a file of tenants. Their refresh token is one, in a variable.
func (d *deployment) desired(ctx context.Context, dir string, n int) (path string, err error) {
	const variable = "BENCH_REFRESH_TOKEN"
	if !strings.HasPrefix(d.environ[len(d.environ)-1], variable) {
		var tokens []string
		if err := d.provider.ask(ctx, "/grant?n=1&provider=google", &tokens); err != nil {
			return "", err
		}
		d.environ = append(d.environ, variable+"="+tokens[0])
	}
	var text strings.Builder
	text.WriteString("tenants:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - name: %s\n    connections:\n      - {name: calendar, kind: calendar, "+
			"provider: google, credentials: {refresh_token: \"env:%s\"}}\n", tenantName(i), variable)
	}
	path = filepath.Join(dir, fmt.Sprintf("tenants-%d.yaml", n))
	return path, os.WriteFile(path, []byte(text.String()), 0o600)
}

// calledOnce makes one call with each key, from a few callers.
func (b *bench) calledOnce(ctx context.Context, d *deployment, g *process, body string) (sample, error) {
	var once loader // its numbers begin at the first key
	t := callsOf("each once", g, listPath, d.keys, always(body))
	return once.times(ctx, t, len(d.keys))
}

// density measures the memory that many connections take, each called once.
func density(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, 0, true); err != nil {
		return err
	}
	d, g, err := b.applied(ctx, s, b.binaries[0], b.connections)
	if err != nil {
		return err
	}
	defer g.stop()
	before, err := g.peakMemory()
	if err != nil {
		return err
	}
	called, err := b.calledOnce(ctx, d, g, listBody(calendarID(0)))
	if err != nil {
		return err
	}
	after, err := g.peakMemory()
	if err != nil {
		return err
	}
	subject := grouped(int64(b.connections)) + " connections, each called once"
	b.report.add(figure{
		Scenario: s.name, What: "peak memory", Subject: subject, Unit: mebibytes, Values: []float64{float64(
			after) / (1 << 20)},
		Base: "before the first call", Bases: []float64{float64(before) / (1 << 20)},
	})
	b.report.add(figure{
		Scenario: s.name, What: "first call, p50", Subject: subject, Unit: milliseconds,
		Values: []float64{called.P50 / 1000},
		Note:   refusals([]sample{called}),
	})
	return nil
}

// refused measures answers for which no provider is asked, against /healthz, which does nothing.
func refused(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, 0, true); err != nil {
		return err
	}
	body := listBody(calendarID(0))
	gateways, stop, err := b.gateways(ctx, s, b.binaries, plan{tenants: 1, provider: "google"}, body)
	if err != nil {
		return err
	}
	defer stop()
	defer func() { _ = b.provider.ask(context.WithoutCancel(ctx), "/set?status=0", nil) }()
	for _, g := range gateways {
		limited, err := g.serve(ctx, "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=1")
		if err != nil {
			return err
		}
		defer limited.stop()
		refusal := func(name string, p *process, status int, key string) target {
			return repeating(g.name+", "+name, p, status, listPath, key, body)
		}
		address := g.at["api"]
		health := refusal("/healthz", g.process, http.StatusOK, "")
		health.open = dial(address, http.StatusOK, func(buffer []byte, _ int64) []byte {
			return get(buffer, address, "/healthz", "")
		})
		targets := []target{health,
			refusal("a key that is none", g.process, http.StatusUnauthorized, "fd_live_none"),
			refusal("rate limit", limited, http.StatusTooManyRequests, g.keys[0]),
			refusal("open breaker", g.process, http.StatusServiceUnavailable, g.keys[0])}
		if err := b.provider.ask(ctx, "/set?status=503", nil); err != nil {
			return err
		}
		for range 20 { // failures open the breaker
			_ = ask(ctx, g.process, listPath, g.keys[0], body, nil)
		}
		var measures []measure
		var subjects []string
		for _, t := range targets {
			measures = append(measures, b.closed(t, 1))
			subjects = append(subjects, t.name)
		}
		samples, err := b.interleave(ctx, measures...)
		if err != nil {
			return err
		}
		b.report.compare(s.name, "p50", microseconds, subjects, health.name, samples, p50)
		b.report.compare(s.name, "p99", microseconds, subjects, health.name, samples, p99)
		b.report.compare(s.name, "CPU", microseconds, subjects, health.name, samples, cpu)
	}
	return nil
}

// begin measures the start of the gateway until it serves, against a bare server of this program.
func begin(ctx context.Context, b *bench, s scenario) error {
	for _, binary := range b.binaries {
		empty, filled := []float64{}, []float64{}
		bare := []float64{}
		for round := range b.rounds + 1 {
			dir := filepath.Join(b.dir, fmt.Sprintf("%s-%s-%d", s.name, binary.name, round))
			d := &deployment{binary: binary.path, environ: environment(dir, b.provider), provider: b.provider}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			for _, values := range []*[]float64{&empty, &filled} { // the second finds its tables
				began := time.Now()
				g, err := d.serve(ctx)
				if err != nil {
					return err
				}
				took := time.Since(began)
				g.stop()
				if round > 0 {
					*values = append(*values, took.Seconds()*1000)
				}
			}
			began := time.Now()
			p, err := part(ctx, "floor", "-dir", b.dir)
			if err != nil {
				return err
			}
			took := time.Since(began)
			p.kill()
			if round > 0 {
				bare = append(bare, took.Seconds()*1000)
			}
		}
		b.report.add(figure{Scenario: s.name, What: "start", Subject: binary.name + ", empty directory",
			Unit:   milliseconds,
			Values: empty, Base: "the floor's server", Bases: bare})
		b.report.add(figure{Scenario: s.name, What: "start", Subject: binary.name + ", with its tables",
			Unit:   milliseconds,
			Values: filled, Base: "the floor's server", Bases: bare})
		info, err := os.Stat(binary.path)
		if err != nil {
			return err
		}
		b.report.add(figure{Scenario: s.name, What: "size", Subject: binary.name + "'s binary",
			Unit:   mebibytes,
			Values: []float64{float64(info.Size()) / (1 << 20)}})
	}
	return nil
}
