package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/core/requestlog"
)

// keptRequests is a log of requests.
type keptRequests []requestlog.Entry

func (k *keptRequests) Add(e requestlog.Entry) { *k = append(*k, e) }

// Whoever makes requests that cost nothing to refuse, as fast as they can, neither fills the log nor pushes a tenant's
// other requests out of the log of requests. The metrics count all of them.
func TestAFloodOfRefusalsIsToldInSum(t *testing.T) {
	t.Parallel()
	const flood = loggedASecond + 5
	for name, c := range map[string]struct {
		adjust func(*Options)
		key    string
		path   string
		status int
		reason string
	}{
		"the gate is full":   {func(o *Options) { o.MaxInFlight = 2 }, testKey, calendarsPath, 503, "OVERLOADED"},
		"over the quota":     {func(o *Options) { o.PerMinuteOfKey = 1 }, testKey, calendarsPath, 429, "RATE_LIMITED"},
		"an unknown key":     {nil, "fd_live_none", calendarsPath, 401, "INVALID_API_KEY"},
		"no key":             {nil, "", calendarsPath, 401, "INVALID_API_KEY"},
		"an unknown address": {nil, "", "/wp-admin", 404, "NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, kept := newClock(), &keptRequests{}
			g := startGateway(t, func(o *Options) {
				o.Now, o.Requests = at.now, kept
				if c.adjust != nil {
					c.adjust(o)
				}
			})
			entered, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
			g.hook = func(context.Context) error { close(entered); <-release; return nil }
			go func() { // the one that is served
				defer close(done)
				g.post(bookPath, with(nil))
			}()
			<-entered
			refuse := func(times int) {
				for range times {
					if got := g.post(c.path, "", "X-Api-Key", c.key); got.status != c.status {
						t.Fatalf("status %d, want %d", got.status, c.status)
					}
				}
			}
			refuse(flood)
			at.advance(time.Second)
			refuse(1)
			close(release)
			<-done

			var lines []string
			for line := range strings.Lines(g.log.String()) {
				if strings.Contains(line, fmt.Sprintf(`"status":%d`, c.status)) && strings.Contains(line, c.reason) {
					lines = append(lines, line)
				}
			}
			text, sum := strings.Join(lines, ""), fmt.Sprintf(`"refused":%d`, flood-loggedASecond+1)
			if len(lines) != loggedASecond+1 || strings.Count(text, `"refused":`) != 1 ||
				!strings.Contains(lines[loggedASecond], sum) {
				t.Errorf("the log tells\n%s", text)
			}
			rows := 0
			for _, e := range *kept {
				if e.Status == c.status {
					rows++
				}
			}
			if want := loggedASecond + 1; rows != want && c.key == testKey { // those of strangers are in none
				t.Errorf("%d of them are in the log of requests, want %d", rows, want)
			}
			g.metrics.mu.Lock()
			defer g.metrics.mu.Unlock()
			counted := 0
			for _, seen := range g.metrics.seen {
				if strings.Contains(seen, c.reason) {
					counted++
				}
			}
			if counted != flood+1 && c.status != http.StatusNotFound { // of no interface, nothing is counted
				t.Errorf("the metrics count %d, want %d", counted, flood+1)
			}
		})
	}
}

// One tenant's flood hides nothing of another's.
func TestRefusalsAreLoggedByTenant(t *testing.T) {
	t.Parallel()
	var all tally
	now := time.Unix(1_800_000_000, 0)
	for range 2 * loggedASecond {
		all.count(now, "ten_1")
	}
	if since, log := all.count(now, "ten_2"); !log || since != loggedASecond+1 {
		t.Errorf("a neighbour's is logged: %v, after %d", log, since)
	}
	if since, log := all.count(now.Add(-time.Minute), "ten_1"); !log || since != 1 {
		t.Errorf("after the clock was set back, it is logged: %v, after %d", log, since)
	}
}
