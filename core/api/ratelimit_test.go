package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// ofKey returns a caller with the given key and tenant.
func ofKey(key, tenantID string) apikey.Caller {
	return apikey.Caller{KeyID: key, Tenant: tenant.Tenant{ID: tenantID}}
}

// clock is a clock that only moves by advance. It is safe for concurrent use.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time           { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(by time.Duration) { c.at.Add(int64(by)) }

// admitted makes the given number of requests and returns how many were admitted.
func admitted(l *rateLimits, caller apikey.Caller, now time.Time, times int) int {
	n := 0
	for range times {
		if l.admit(context.Background(), caller, now, http.Header{}) == nil {
			n++
		}
	}
	return n
}

func TestAKeyGetsItsQuotaAndNoMore(t *testing.T) {
	l, at := newRateLimits(60, 0), newClock()
	if n := admitted(l, ofKey("a", "x"), at.now(), 100); n != 60 {
		t.Errorf("%d of 60 at once", n)
	}
	at.advance(10 * time.Second)
	if n := admitted(l, ofKey("a", "x"), at.now(), 100); n != 10 {
		t.Errorf("%d after 10 s, want 10", n)
	}
	at.advance(time.Hour)
	if n := admitted(l, ofKey("a", "x"), at.now(), 100); n != 60 {
		t.Errorf("%d after an hour, want 60", n)
	}
}

func TestTheKeysOfATenantShareItsQuotaAndNotThatOfAnother(t *testing.T) {
	l, now := newRateLimits(60, 100), newClock().now()
	for _, c := range []struct {
		caller apikey.Caller
		want   int
	}{
		{ofKey("a", "x"), 60}, {ofKey("b", "x"), 40}, {ofKey("c", "x"), 0}, {ofKey("d", "y"), 60},
		// People have names that others have as well, such as that of a link for an administrator.
		{ofKey(audit.Person("administrator"), "v"), 60}, {ofKey(audit.Person("administrator"), "w"), 60},
	} {
		if n := admitted(l, c.caller, now, 80); n != c.want {
			t.Errorf("%s of %s: %d admitted, want %d", c.caller.KeyID, c.caller.Tenant.ID, n, c.want)
		}
	}
}

// A key that is refused because of its tenant's quota keeps its own: a request is taken off both buckets or
// off none.
func TestARefusalTakesNothing(t *testing.T) {
	l, at := newRateLimits(60, 60), newClock()
	admitted(l, ofKey("a", "x"), at.now(), 60)
	admitted(l, ofKey("b", "x"), at.now(), 1000)
	h := http.Header{}
	err := l.admit(t.Context(), ofKey("b", "x"), at.now(), h)
	if want := `"key";r=60;t=60, "tenant";r=0;t=1`; err == nil || h.Get(headerRate) != want {
		t.Errorf("%v, %s, want %s", err, h.Get(headerRate), want)
	}
}

func TestNoLimitIsNoHeader(t *testing.T) {
	at := newClock().now()
	for _, c := range []struct {
		key, tenant  int
		policy, left string
	}{
		{0, 0, "", ""},
		{600, 0, `"key";q=600;w=60`, `"key";r=599;t=60`},
		{0, 3000, `"tenant";q=3000;w=60`, `"tenant";r=2999;t=60`},
		{600, 3000, `"key";q=600;w=60, "tenant";q=3000;w=60`, `"key";r=599;t=60, "tenant";r=2999;t=60`},
	} {
		h := http.Header{}
		if err := newRateLimits(c.key, c.tenant).admit(t.Context(), ofKey("a", "x"), at, h); err != nil {
			t.Fatal(err)
		}
		if h.Get(headerRatePolicy) != c.policy || h.Get(headerRate) != c.left || len(h) > 0 && c.policy == "" {
			t.Errorf("%d, %d: %v", c.key, c.tenant, h)
		}
	}
}

// TestWhoWaitsAsToldIsLetIn tests quotas that divide a minute and ones that do not.
func TestWhoWaitsAsToldIsLetIn(t *testing.T) {
	for quota := 1; quota <= 600; quota += 1 + quota/30 {
		l, at := newRateLimits(quota, 0), newClock()
		for round := range 20 {
			var err error
			for err == nil {
				err = l.admit(t.Context(), ofKey("a", "x"), at.now(), http.Header{})
			}
			wait := fault.From(err).RetryAfter
			if wait < time.Second || wait > time.Minute {
				t.Fatalf("%d a minute, round %d: retry after %v", quota, round, wait)
			}
			at.advance(wait)
			if err := l.admit(t.Context(), ofKey("a", "x"), at.now(), http.Header{}); err != nil {
				t.Fatalf("%d a minute, round %d: refused after %v", quota, round, wait)
			}
		}
	}
}

// A caller who makes no more than the quota in any minute is never refused, however unevenly.
func TestWhoKeepsToThePolicyIsNeverRefused(t *testing.T) {
	l, at := newRateLimits(100, 0), newClock()
	for _, burst := range []struct {
		requests int
		then     time.Duration
	}{
		{100, time.Minute}, {1, 59 * time.Second}, {99, 2 * time.Second}, {1, 58 * time.Second}, {99, time.Minute},
		{100, time.Minute},
	} {
		if n := admitted(l, ofKey("a", "x"), at.now(), burst.requests); n != burst.requests {
			t.Errorf("%d of %d", n, burst.requests)
		}
		at.advance(burst.then)
	}
}

func TestBucketsAreBoundedAndForgottenWhenFull(t *testing.T) {
	l, at := newRateLimits(60, 0), newClock()
	p := l.policies[0]
	for i := range 2*maxBuckets + 2 {
		p.bucket(fmt.Sprint(i), at.now())
	}
	if n := len(p.young) + len(p.old); n > 2*maxBuckets {
		t.Errorf("%d buckets", n)
	}
	for range 3 {
		at.advance(rateWindow + time.Second)
		admitted(l, ofKey("a", "x"), at.now(), 1)
	}
	if n := len(p.young) + len(p.old); n > 2 {
		t.Errorf("%d buckets after the others were left alone", n)
	}
}

func TestABucketInUseOutlivesItsGeneration(t *testing.T) {
	l, at := newRateLimits(600, 0), newClock()
	admitted(l, ofKey("a", "x"), at.now(), 600)
	for range 200 {
		at.advance(time.Second)
		if n := admitted(l, ofKey("a", "x"), at.now(), 20); n != 10 {
			t.Fatalf("%d in a second, want 10", n)
		}
	}
}

func TestConcurrentRequestsGetTheQuotaExactly(t *testing.T) {
	l, now := newRateLimits(500, 700), newClock().now()
	var let atomic.Int64
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() { let.Add(int64(admitted(l, ofKey(fmt.Sprint(worker%2), "x"), now, 1000))) })
	}
	if wg.Wait(); let.Load() != 700 {
		t.Errorf("%d admitted, want 700", let.Load())
	}
}

func TestExcessIsAnsweredInBothStyles(t *testing.T) {
	at := newClock()
	g := startGateway(t, func(o *Options) { o.PerMinuteOfKey, o.PerMinuteOfTenant, o.Now = 6, 1000, at.now })
	for range 6 {
		if a := g.post(calendarsPath, ""); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	at.advance(3 * time.Second)
	a := g.post(bookPath, "garbage", "Content-Type", "text/plain")
	info, retry := a.v1().detail("ErrorInfo"), a.v1().detail("RetryInfo")
	if a.status != http.StatusTooManyRequests || a.v1().Code != 8 || info["reason"] != "RATE_LIMITED" ||
		retry["retryDelay"] != "7s" || a.header.Get("Retry-After") != "7" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if m, _ := info["metadata"].(map[string]any); m["policy"] != "key" || m["quota"] != "6" {
		t.Errorf("metadata %v", m)
	}
	b := g.send(http.MethodGet, numbersPath, "")
	if b.status != http.StatusTooManyRequests || b.problem().slug() != "rate-limited" ||
		b.header.Get("Retry-After") != "7" ||
		b.problem().Detail != "The API key made more than 6 requests within a minute." {
		t.Errorf("%d %v %s", b.status, b.header, b.body)
	}
	for _, each := range []answer{a, b} {
		if got, want := each.header.Get(headerRate), `"key";r=0;t=7, "tenant";r=1000;t=60`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if g.calls != 6 {
		t.Errorf("%d calls reached a use case", g.calls)
	}
	at.advance(7 * time.Second)
	if a := g.post(calendarsPath, ""); a.status != http.StatusOK {
		t.Errorf("after the wait: %d %s", a.status, a.body)
	}
}

func TestEveryAnswerToAKnownCallerTellsWhatIsLeft(t *testing.T) {
	g := startGateway(t, func(o *Options) { o.PerMinuteOfKey, o.PerMinuteOfTenant = 600, 3000 })
	answers := map[string]answer{
		"a success":        g.post(bookPath, with(nil)),
		"no content":       g.send(http.MethodDelete, numberPath, ""),
		"a fault of input": g.post(bookPath, "{}"),
		"malformed":        g.send(http.MethodPatch, numberPath, "{"),
		"no scope":         g.post(bookPath, "{}", "X-Api-Key", readerKey),
		"wrong media type": g.post(bookPath, "{}", "Content-Type", "text/plain"),
		"oversize":         g.post(bookPath, strings.Repeat(" ", maxBodyBytes+1)),
		"a failed use case": func() answer {
			g.err = fault.New(fault.NotFound, fault.ReasonEventNotFound, "d")
			return g.post(cancelPath, `{"event_id":"e"}`)
		}(),
		"a defect": func() answer {
			g.hook = func(context.Context) error { panic("boom") }
			return g.post(calendarsPath, "")
		}(),
	}
	for rule, a := range answers {
		if a.header.Get(headerRatePolicy) != `"key";q=600;w=60, "tenant";q=3000;w=60` ||
			!strings.HasPrefix(a.header.Get(headerRate), `"key";r=59`) {
			t.Errorf("%s: %d %v", rule, a.status, a.header)
		}
	}
	for rule, a := range map[string]answer{
		"a stranger": g.post(bookPath, "{}", "X-Api-Key", ""), "no such path": g.post("/v1/nowhere", ""),
		"a page": g.send(http.MethodGet, "/docs", ""),
	} {
		if a.header.Get(headerRatePolicy) != "" || a.header.Get(headerRate) != "" {
			t.Errorf("%s: %d %v", rule, a.status, a.header)
		}
	}
}

// BenchmarkRateLimits serves requests with both limits and, beside it, with none, and prints the ratio:
//
//	go test -run '^$' -bench RateLimits ./core/api
func BenchmarkRateLimits(b *testing.B) {
	fake := &fakeServices{}
	handler := func(perMinute int) http.Handler {
		h, err := New(Options{
			PublicURL: publicURL, Keys: fakeKeys{}, PerMinuteOfKey: perMinute, PerMinuteOfTenant: perMinute,
			Services: Services{
				Calendar: fakeCalendar{fake}, Tickets: fakeTickets{fake}, Numbers: fakeNumbers{fake},
				Contacts: fakeContacts{fake}, Admin: &admin.Service{},
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		return h
	}
	limited, free := handler(1_000_000_000), handler(0)
	ask := func(h http.Handler) time.Duration {
		req := httptest.NewRequest(http.MethodPost, calendarsPath, strings.NewReader("{}"))
		req.Header.Set("X-Api-Key", testKey)
		w := httptest.NewRecorder()
		began := time.Now()
		h.ServeHTTP(w, req)
		took := time.Since(began)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
		return took
	}
	var with, without time.Duration
	for b.Loop() {
		with += ask(limited)
		without += ask(free)
	}
	b.ReportMetric(float64(with)/float64(without), "limited/free")
	b.ReportMetric(float64(with-without)/float64(b.N), "ns-of-limits/op")
}
