//go:build attack

package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	zendeskfake "frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/connection"
)

// fullSize reports whether the tests of providers in trouble run at full size (FRONTDESK_TROUBLE=full), whose
// figures are reported, rather than at a size that takes seconds.
func fullSize() bool { return os.Getenv("FRONTDESK_TROUBLE") == "full" }

// scaled returns how many callers, or places for them, a test has of so many at full size: otherwise a quarter, which
// meets the same limits.
func scaled(full int) int {
	if fullSize() {
		return full
	}
	return full / 4
}

// outage is a Zendesk with one ticket, which can be stopped and started again. It counts the requests that
// reach it.
type outage struct {
	t       *testing.T
	base    string
	handler http.Handler
	server  *http.Server
	address string

	trouble atomic.Pointer[http.HandlerFunc] // replaces the API
	calls   atomic.Int64

	counting     atomic.Bool // whether to count requests in inside and peak
	inside, peak atomic.Int64
}

func newOutage(t *testing.T) *outage {
	fake := zendeskfake.New(zendeskfake.Options{AccessToken: "desk-secret"})
	o := &outage{t: t, handler: fake}
	o.start("127.0.0.1:" + adaptertest.FreePort(t)) // a fixed port, since the server stops and starts again
	t.Cleanup(func() { _ = o.server.Close() })
	o.base = "http://" + o.address
	return o
}

func (o *outage) start(address string) {
	listener := adaptertest.Listen(o.t, address)
	o.address = listener.Addr().String()
	o.server = &http.Server{Handler: o}
	go func() { _ = o.server.Serve(listener) }()
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.calls.Add(1)
	if o.counting.Load() {
		now := o.inside.Add(1)
		defer o.inside.Add(-1)
		if now > 1 { // the server may not have noticed yet that a client left
			time.Sleep(100 * time.Millisecond)
			now = o.inside.Load()
		}
		for was := o.peak.Load(); now > was && !o.peak.CompareAndSwap(was, now); was = o.peak.Load() {
		}
	}
	if trouble := o.trouble.Load(); trouble != nil {
		(*trouble)(w, r)
		return
	}
	o.handler.ServeHTTP(w, r)
}

func (o *outage) put(trouble http.HandlerFunc) {
	if trouble == nil {
		o.trouble.Store(nil)
		return
	}
	o.trouble.Store(&trouble)
}

func answering(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "No.", status) }
}

func hanging(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const ticketPath = "/v1/tickets/get-ticket"

// ticketOf opens the one ticket and returns the body of a request for it.
func ticketOf(c caller) string {
	c.t.Helper()
	made := c.post(200, "tickets/create-ticket", `{"subject":"Door"}`)
	return fmt.Sprintf(`{"ticket_number":%q}`, made.text("ticket", "ticket_number"))
}

// sample holds the durations of calls with the same outcome.
type sample []time.Duration

func (s sample) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

func (s sample) String() string {
	return fmt.Sprintf("%d calls, p50 %v, p99 %v, most %v", len(s), s.at(0.5), s.at(0.99), s.at(1))
}

// One tenant of many has credentials that its provider refuses, and calls all the time. What the others see
// is compared with what they see while that tenant calls as much with good credentials.
func TestBadCredentialsHarmNoOtherTenant(t *testing.T) {
	t.Parallel()
	tenants, calls := 20, 120
	if fullSize() {
		tenants, calls = 100, 1000
	}
	for _, refusal := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(fmt.Sprint(refusal), func(t *testing.T) {
			t.Parallel()
			o := newOutage(t)
			o.put(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.Header.Get("Authorization"), "refused") {
					w.WriteHeader(refusal)
					return
				}
				o.handler.ServeHTTP(w, r)
			})
			d := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
			connections := []connection.Spec{zendeskAt(o.base)}
			connections[0].Credentials = map[string]string{"access_token": "refused"}
			for range tenants {
				connections = append(connections, zendeskAt(o.base))
			}
			keys := d.createTenantEach(connections...)
			r := d.serve()
			body := ticketOf(r.as(keys[1]))
			others := keys[2:]
			seen := func(noisy caller) sample {
				var wg sync.WaitGroup
				for worker := range 4 {
					wg.Go(func() {
						for range calls / 4 {
							if _, err := noisy.call(http.MethodPost, ticketPath, body); err != nil {
								t.Error(worker, err)
							}
						}
					})
				}
				var took sample
				for i := range calls {
					c := r.as(others[i%len(others)])
					began := time.Now()
					a, err := c.call(http.MethodPost, ticketPath, body)
					took = append(took, time.Since(began))
					if err != nil || a.status != 200 {
						t.Errorf("another tenant is answered %d %s, %v", a.status, a.body, err)
					}
				}
				wg.Wait()
				return took
			}
			seen(r.as(keys[1])) // drivers are opened, connections are there
			good, bad := seen(r.as(keys[1])), seen(r.as(keys[0]))
			for range 3 { // other processes may have been using the machine
				if bad.at(0.5) <= 3*good.at(0.5) {
					break
				}
				good, bad = seen(r.as(keys[1])), seen(r.as(keys[0]))
			}
			t.Logf("others beside good credentials: %v; beside bad ones: %v; ratio of p50 %.2f, of p99 %.2f",
				good, bad,
				float64(bad.at(0.5))/float64(good.at(0.5)), float64(bad.at(0.99))/float64(good.at(0.99)))
			if bad.at(0.5) > 3*good.at(0.5) {
				t.Errorf("the others are slowed from %v to %v", good.at(0.5), bad.at(0.5))
			}
			want := map[int]string{http.StatusUnauthorized: "RECONNECT_REQUIRED",
				http.StatusForbidden: "PROVIDER_PERMISSION_DENIED"}[refusal]
			if a, err := r.as(keys[0]).call(http.MethodPost, ticketPath, body); err != nil || a.reason() != want {
				t.Errorf("the tenant itself is answered %s, %v", a.body, err)
			}
		})
	}
}

// A provider is down in one of several ways. Soon the breaker refuses its callers at once, and the provider
// gets one probe at a time. Once it is back, it is used again within five seconds.
func TestAProviderThatIsDownIsToldAtOnceAndUsedAgainSoon(t *testing.T) {
	t.Parallel()
	for how, trouble := range map[string]http.HandlerFunc{
		"refuses connections": nil, "hangs": hanging, "answers 500": answering(500), "answers 502": answering(502),
		"answers 503": answering(503),
	} {
		if (how == "answers 500" || how == "answers 502") && !fullSize() {
			continue // the gateway treats them like 503
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			o := newOutage(t)
			h := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
			keys := h.createTenantEach(slices.Repeat([]connection.Spec{zendeskAt(o.base)}, 4)...)
			r := h.serve()
			body := ticketOf(r.as(keys[0]))
			var healthy sample
			for i := range 100 {
				began := time.Now()
				r.as(keys[i%4]).post(200, "tickets/get-ticket", body)
				healthy = append(healthy, time.Since(began))
			}

			if trouble == nil {
				_ = o.server.Close()
			} else {
				o.put(trouble)
			}
			d := callSteadily(t, r, keys, body)
			d.until(t, "BREAKER_OPEN", 15*time.Second)
			o.counting.Store(true)
			asked := o.calls.Load()
			lasting := 4 * time.Second
			if fullSize() {
				lasting = 20 * time.Second
			}
			var refused sample // one caller after another, as in the healthy phase
			for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				began := time.Now()
				a, err := r.as(keys[0]).call(http.MethodPost, ticketPath, body, "X-Request-Timeout-Ms: 6000")
				if err == nil && a.reason() == "BREAKER_OPEN" {
					refused = append(refused, time.Since(began))
				}
			}
			probes, peak := o.calls.Load()-asked, o.peak.Load()
			o.counting.Store(false)

			back := time.Now()
			if trouble == nil {
				o.start(o.address)
			} else {
				o.put(nil)
			}
			d.until(t, "", 20*time.Second)
			time.Sleep(time.Second)
			last := d.stop()

			t.Logf("healthy: %v; refused by the breaker: %v; %d probes in %v, %d at once; used again after %v",
				healthy, refused, probes, lasting, peak, last.Sub(back))
			if len(refused) < 50 {
				t.Errorf("only %d calls were refused by the breaker", len(refused))
			}
			if p50 := refused.at(0.5); p50 > 2*healthy.at(0.5)+5*time.Millisecond {
				t.Errorf("the breaker answers in %v, the provider in %v", p50, healthy.at(0.5))
			}
			if peak > 1 {
				t.Errorf("%d probes at once", peak)
			}
			if most := int64(lasting/(1500*time.Millisecond)) + 2; probes > most {
				t.Errorf("%d probes in %v", probes, lasting)
			}
			if took := last.Sub(back); took > 7*time.Second { // 5 s, plus time for a loaded machine
				t.Errorf("it was used again after %v", took)
			}
		})
	}
}

// steady holds callers that call all the time.
type steady struct {
	mu      sync.Mutex
	latest  string    // the last reason; "" for success
	refused time.Time // when the last failed call began
	over    chan struct{}
	running sync.WaitGroup
}

func callSteadily(t *testing.T, r *running, keys []string, body string) *steady {
	d := &steady{over: make(chan struct{}), latest: "none"}
	const callers, every = 24, 480 * time.Millisecond
	for i := range callers {
		d.running.Go(func() {
			time.Sleep(time.Duration(i) * every / callers) // not all at once
			tick := time.NewTicker(every)
			defer tick.Stop()
			c := r.as(keys[i%len(keys)])
			for {
				began := time.Now()
				a, err := c.call(http.MethodPost, ticketPath, body, "X-Request-Timeout-Ms: 6000")
				if err != nil {
					t.Error(err)
				}
				d.mu.Lock()
				d.latest = a.reason()
				if a.status != 200 && began.After(d.refused) {
					d.refused = began
				}
				d.mu.Unlock()
				select {
				case <-d.over:
					return
				case <-tick.C:
				}
			}
		})
	}
	t.Cleanup(func() { d.stop() })
	return d
}

// until waits until calls have that outcome.
func (d *steady) until(t *testing.T, reason string, patience time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		d.mu.Lock()
		is := d.latest == reason
		d.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no call came to %q", reason)
		}
	}
}

// stop ends the calls and returns when the last failed call began.
func (d *steady) stop() time.Time {
	d.mu.Lock()
	select {
	case <-d.over:
	default:
		close(d.over)
	}
	d.mu.Unlock()
	d.running.Wait()
	return d.refused
}

// A provider that only responds with 503 gets hardly more calls than there are callers, though every read may
// be tried three times. The breaker, which would spare it more, is set never to open.
func TestRetriesDoNotMultiplyTheLoadOfAProviderInTrouble(t *testing.T) {
	t.Parallel()
	const minimum = 3 // retries in ten seconds, however few calls there are
	calls := 600
	if fullSize() {
		calls = 20_000
	}
	o := newOutage(t)
	d := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
		"FRONTDESK_RESILIENCE__BREAKER__FAILURES=1000000000")
	keys := d.createTenantEach(slices.Repeat([]connection.Spec{zendeskAt(o.base)}, 8)...)
	r := d.serve()
	o.put(answering(503))
	began := time.Now()
	var callers sync.WaitGroup
	for i, key := range keys {
		callers.Go(func() {
			c := r.as(key)
			for n := range calls / len(keys) {
				path, body := ticketPath, `{"ticket_number":"1"}`
				if i%2 == 0 {
					path, body = "/v1/tickets/create-ticket", fmt.Sprintf(`{"subject":"Call %d of %d"}`, n, i)
				}
				if a, err := c.call(http.MethodPost, path, body); err != nil ||
					a.status != http.StatusServiceUnavailable {
					t.Errorf("answered %d %s, %v", a.status, a.body, err)
				}
			}
		})
	}
	callers.Wait()
	lasted := time.Since(began)
	made := int64(calls / len(keys) * len(keys))
	upstream := o.calls.Load()
	t.Logf("%d calls in %v, %d at the provider: %.3f times", made, lasted, upstream,
		float64(upstream)/float64(made))
	most := int64(1.1*float64(made)) + minimum*(int64(lasted/(10*time.Second))+1)
	if upstream > most || upstream < made+made/50 {
		t.Errorf("%d calls made %d at the provider; want some more, and at most %d", made, upstream, most)
	}
}

// No retry and no other call comes before the time that a provider sets with Retry-After, in any form. The
// gateway waits for it only if it fits into the deadline, and the caller is told the time.
func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	date := func(d time.Duration, layout string, zone *time.Location) func() string {
		return func() string { return time.Now().Add(d).In(zone).Format(layout) }
	}
	text := func(s string) func() string { return func() string { return s } }
	east := time.FixedZone("", 2*3600)
	type ask struct {
		given func() string
		least time.Duration // between two calls
		waits []string      // Retry-After for the caller; nil if a retry succeeds
	}
	asks := map[string]ask{
		"one second":    {given: text("1"), least: time.Second},
		"a fraction":    {given: text("0.7"), least: time.Second},
		"half a minute": {given: text("30"), waits: []string{"30"}},
		"hours":         {given: text("7200"), waits: []string{"7200"}},
		// No provider can ask for more than a day.
		"huge": {given: text("99999999999999999999"), waits: []string{"86400"}},
		"a date in half a minute": {given: date(30*time.Second, http.TimeFormat, time.UTC), waits: []string{
			"28", "29", "30",
		}},
		"the same in another zone": {given: date(30*time.Second, time.RFC1123Z, east), waits: []string{
			"28", "29", "30",
		}},
		"a date that has passed": {given: date(-time.Hour, http.TimeFormat, time.UTC)},
		"negative":               {given: text("-5")},
		"nonsense":               {given: text("soon")},
	}
	statuses := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
	outages, keys := map[string]*outage{}, map[string]string{}
	var names []string
	var connections []connection.Spec
	for how := range asks {
		for _, status := range statuses {
			name := fmt.Sprint(how, " ", status)
			outages[name] = newOutage(t)
			names, connections = append(names, name), append(connections, zendeskAt(outages[name].base))
		}
	}
	h := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
	for i, key := range h.createTenantEach(connections...) {
		keys[names[i]] = key
	}
	r := h.serve()
	for how, c := range asks {
		for _, status := range statuses {
			name := fmt.Sprint(how, " ", status)
			t.Run(name, func(t *testing.T) {
				o, asker := outages[name], r.as(keys[name])
				asker.t = t
				body := ticketOf(asker)
				var mu sync.Mutex
				var at []time.Time
				o.put(func(w http.ResponseWriter, req *http.Request) {
					mu.Lock()
					at = append(at, time.Now())
					first := len(at) == 1
					mu.Unlock()
					if first {
						w.Header().Set("Retry-After", c.given())
						w.WriteHeader(status)
						return
					}
					o.handler.ServeHTTP(w, req)
				})
				asked := func() []time.Time {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(at)
				}
				began := time.Now()
				a, err := asker.call(http.MethodPost, ticketPath, body, "X-Request-Timeout-Ms: 6000")
				took := time.Since(began)
				if err != nil || took > 8*time.Second {
					t.Errorf("answered after %v, %v", took, err)
				}
				if c.waits == nil {
					if a.status != 200 {
						t.Fatalf("answered %d %s", a.status, a.body)
					}
					if at := asked(); at[1].Sub(at[0]) < c.least {
						t.Errorf("called again after %v", at[1].Sub(at[0]))
					}
					return
				}
				if retryAfter := a.header.Get("Retry-After"); !slices.Contains(c.waits, retryAfter) ||
					len(asked()) != 1 || took > 5*time.Second {
					t.Errorf("told %q after %d calls and %v, want %v at once", retryAfter, len(asked()), took, c.waits)
				}
				if !strings.Contains(string(a.body), "RetryInfo") {
					t.Errorf("answered %s", a.body)
				}
				again, err := asker.call(http.MethodPost, ticketPath, body, "X-Request-Timeout-Ms: 6000")
				limited := status == http.StatusTooManyRequests
				if err != nil || limited != (again.reason() == "PROVIDER_RATE_LIMITED") ||
					limited != (len(asked()) == 1) {
					t.Errorf("another call: %d %s, %d calls at the provider, %v", again.status, again.body,
						len(asked()), err)
				}
			})
		}
	}
}
