package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/requestlog"
)

// keptRequests is a log of requests.
type keptRequests []requestlog.Entry

func (k *keptRequests) Add(e requestlog.Entry) { *k = append(*k, e) }

// Whoever makes requests that cost nothing to refuse, as fast as they can, neither fills the log nor pushes the other
// requests of a tenant out of the log of requests. The metrics count all of them.
func TestAFloodOfRefusalsIsSummedUp(t *testing.T) {
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

// Each tenant's line tells of its own refusals, and one tenant's flood hides nothing of another's.
func TestRefusalsAreToldByTenant(t *testing.T) {
	t.Parallel()
	var all tally
	now := time.Unix(1_800_000_000, 0)
	for range loggedASecond + 5 {
		all.count(now, "ten_1")
	}
	for _, step := range []struct {
		after  time.Duration
		tenant string
		since  int64
	}{
		{0, "ten_2", 1}, {time.Second, "ten_2", 1}, {time.Second, "ten_1", 6}, {time.Second, "ten_1", 1},
		{-time.Minute, "ten_1", 1}, // the clock was set back
	} {
		if since, log := all.count(now.Add(step.after), step.tenant); !log || since != step.since {
			t.Errorf("of %s after %s, it is logged: %v, with %d refusals", step.tenant, step.after, log, since)
		}
	}
	if all.count(now, ""); len(all.of) != 1 {
		t.Errorf("what is told already is remembered: %d", len(all.of))
	}
}

// What an operator must see, such as whose secret is wrong, is in the log beside whatever strangers flood it with.
func TestAFloodHidesNobodyElsesRefusal(t *testing.T) {
	t.Parallel()
	wrong := fault.New(fault.Unauthenticated, fault.ReasonInvalidSignature, "It is not of the agent's secret.")
	agents := func(path string, claimed bool, identified, served error) Protocol {
		return Protocol{
			Path: path, Operation: "agentsX",
			Identify: func(r *http.Request) (apikey.Caller, bool, error) {
				name := r.PathValue("name")
				return ofKey("agent_"+name, "ten_"+name), claimed, identified
			},
			Serve: func(http.ResponseWriter, *http.Request, apikey.Caller) error { return served },
		}
	}
	for name, c := range map[string]struct{ flood, other, line string }{
		"a wrong key":            {"/wp-admin", bookPath, `"operation":"bookMeeting"`},
		"a link that is over":    {"/wp-admin", "/connect/a", `"operation":"connect"`},
		"a signature":            {bookPath, "/alpha/agents/signs/a", `"key":"agent_a"`},
		"a signature, of others": {"/alpha/agents/signs/a", "/alpha/agents/signs/b", `"key":"agent_b"`},
		"a token, of others":     {"/alpha/agents/bears/a", "/alpha/agents/bears/b", `"key":"agent_b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newClock()
			g := startGateway(t, func(o *Options) {
				o.Now = at.now
				o.Pages = []Page{{Method: "POST", Path: "/connect/{token}", Operation: "connect",
					Serve: func(http.ResponseWriter, *http.Request) error {
						return fault.New(fault.NotFound, "CONNECT_LINK_EXPIRED", "This link has expired.")
					}}}
				o.Protocols = []Protocol{
					agents("/alpha/agents/signs/{name}", true, nil, wrong),
					agents("/alpha/agents/bears/{name}", false, wrong, nil),
				}
			})
			for range loggedASecond + 5 {
				g.post(c.flood, "", "X-Api-Key", "")
			}
			g.post(c.other, "", "X-Api-Key", "")
			lines := strings.Split(strings.TrimSpace(g.log.String()), "\n")
			last := lines[len(lines)-1]
			if len(lines) != loggedASecond+1 || !strings.Contains(last, c.line) ||
				strings.Contains(last, `"refused":`) {
				t.Errorf("%d lines, the last of them\n%s", len(lines), last)
			}
		})
	}
}

// Under a load that is too much, requests of one second are answered in the next, among those that came then.
func TestASlowRefusalBeginsNoNewSecond(t *testing.T) {
	t.Parallel()
	at, entered, release, done := newClock(), make(chan struct{}), make(chan struct{}), make(chan struct{})
	g := startGateway(t, func(o *Options) {
		o.Now = at.now
		o.Pages = []Page{{Method: "POST", Path: "/slow", Serve: func(http.ResponseWriter, *http.Request) error {
			close(entered)
			<-release
			return fault.New(fault.NotFound, "GONE", "")
		}}}
	})
	go func() {
		defer close(done)
		g.post("/slow", "")
	}()
	<-entered
	at.advance(time.Second)
	flood := func() {
		for range loggedASecond + 5 {
			g.post("/wp-admin", "")
		}
	}
	flood()
	close(release)
	<-done
	flood()
	if n := strings.Count(g.log.String(), "/wp-admin"); n != loggedASecond {
		t.Errorf("%d refusals of one second are logged", n)
	}
}

// No room for a body is as free to whoever is refused as no place in the gate, and a stranger can claim to be an agent.
func TestAFloodWithoutRoomForBodiesIsSummedUp(t *testing.T) {
	t.Parallel()
	for _, path := range []string{bookPath, "/alpha/agents/x"} {
		at, inside, end := newClock(), make(chan struct{}), make(chan struct{})
		wait := func() { inside <- struct{}{}; <-end }
		g := startGateway(t, func(o *Options) {
			o.Now = at.now
			o.Protocols = []Protocol{{Path: "/alpha/agents/x", Operation: "agentsX",
				Serve: func(http.ResponseWriter, *http.Request, apikey.Caller) error { wait(); return nil }}}
		})
		var all sync.WaitGroup
		for range maxBodiesAtOnce / 2 {
			all.Go(func() {
				req := httptest.NewRequest(http.MethodPost, path, waitingBody(wait))
				req.Header.Set("X-Api-Key", testKey)
				g.handler.ServeHTTP(httptest.NewRecorder(), req)
			})
			<-inside
		}
		for range loggedASecond + 5 {
			if a := g.post(path, "{}"); a.status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
		close(end)
		all.Wait()
		if n := strings.Count(g.log.String(), `"reason":"OVERLOADED"`); n != loggedASecond {
			t.Errorf("%s: %d refusals of one second are logged", path, n)
		}
	}
}

// Who claims to be an agent's platform has proved nothing before its body is read, which may be refused before.
func TestAFloodOfClaimsIsSummedUp(t *testing.T) {
	t.Parallel()
	at := newClock()
	g := startGateway(t, func(o *Options) {
		o.Now = at.now
		o.Protocols = []Protocol{{
			Path: "/alpha/agents/x", Operation: "agentsX",
			Identify: func(*http.Request) (apikey.Caller, bool, error) { return ofKey("agent_1", "ten_1"), true, nil },
			Serve: func(w http.ResponseWriter, r *http.Request, _ apikey.Caller) error {
				_, err := ReadBody(w, r, 1)
				return err
			},
		}}
	})
	for range loggedASecond + 5 {
		if a := g.post("/alpha/agents/x", "{}"); a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if n := strings.Count(g.log.String(), `"status":413`); n != loggedASecond {
		t.Errorf("%d refusals of one second are logged", n)
	}
}

// waitingBody is a body that is empty, once its function has returned.
type waitingBody func()

func (wait waitingBody) Read([]byte) (int, error) {
	wait()
	return 0, io.EOF
}
