//go:build attack

package main

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/connection"
)

// One provider hangs while very many callers call it. Callers of another provider are served as before:
// without errors, and no slower than the extra load on the machine explains.
func TestAProviderThatHangsTakesNothingFromAnother(t *testing.T) {
	t.Parallel()
	callers, hangs, lasting := 280, int64(60), 2*time.Second
	limits := []string{
		// Calls hang as long as they may: longer than all callers together.
		"FRONTDESK_RESILIENCE__DEADLINE=9s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=9s",
		"FRONTDESK_LIMITS__MAX_IN_FLIGHT=300", "FRONTDESK_RESILIENCE__BULKHEAD__PER_HOST=60",
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_HOST_QUEUE=60",
	}
	if fullSize() { // the default limits of calls
		callers, hangs, lasting = 1500, 256, 4*time.Second
		limits = []string{"FRONTDESK_RESILIENCE__DEADLINE=15s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=15s"}
	}
	bad, good := newOutage(t), newOutage(t)
	d := newDeployment(t, "", append(limits, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
	const connections = 50
	keys := d.createTenantEach(append(slices.Repeat([]connection.Spec{zendeskAt(bad.base)}, connections),
		slices.Repeat([]connection.Spec{zendeskAt(good.base)}, 4)...)...)
	r := d.serve()
	body := ticketOf(r.as(keys[connections]))
	shed := 0
	seen := func() sample {
		var took sample
		for i, end := 0, time.Now().Add(lasting); time.Now().Before(end); i++ {
			began := time.Now()
			a, err := r.as(keys[connections+i%4]).call(http.MethodPost, ticketPath, body)
			switch {
			case err == nil && a.reason() == "OVERLOADED": // refused because the processors cannot keep up
				shed++
			case err != nil || a.status != 200:
				t.Errorf("a caller of the other provider is answered %d %s, %v", a.status, a.body, err)
			default:
				took = append(took, time.Since(began))
			}
			time.Sleep(2 * time.Millisecond)
		}
		return took
	}
	seen()
	baseline := seen()

	release := make(chan struct{})
	bad.put(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
			panic(http.ErrAbortHandler)
		}
	})
	bad.counting.Store(true)
	var hung sync.WaitGroup
	var refused atomic.Int64
	for i := range callers {
		hung.Go(func() {
			a, err := r.as(keys[i%connections]).call(http.MethodPost, ticketPath, body)
			if err != nil || a.status == 200 {
				t.Errorf("a caller of the provider that hangs is answered %d %s, %v", a.status, a.body, err)
			}
			if a.reason() == "OVERLOADED" {
				refused.Add(1)
			}
		})
		time.Sleep(time.Millisecond) // a rush would be refused for its processor load
	}
	underLoad := seen()
	stillThere := bad.inside.Load()
	close(release)
	hung.Wait()
	t.Logf("alone: %v; beside %d calls that hang (%d refused): %v; ratio of p50 %.2f, of p99 %.2f", baseline,
		stillThere, refused.Load(), underLoad,
		float64(underLoad.at(0.5))/float64(baseline.at(0.5)),
		float64(underLoad.at(0.99))/float64(baseline.at(0.99)))
	// If the callers of one provider could hold the whole gateway, nearly all calls would be refused.
	if shed > len(underLoad)/10 {
		t.Errorf("%d calls to the other provider were refused, %d served", shed, len(underLoad))
	}
	if stillThere < hangs*3/4 {
		t.Errorf("only %d calls hung in the end: the test proves nothing", stillThere)
	}
	if underLoad.at(0.5) > 2*baseline.at(0.5)+2*time.Millisecond {
		t.Errorf("a call takes %v beside them, and %v without", underLoad.at(0.5), baseline.at(0.5))
	}
}

// mostAtOnce counts from now on how many calls are at the account's provider at once, and returns the most so far. A
// HEAD opens a connection ahead of calls, and is none.
func (a account) mostAtOnce() *atomic.Int64 {
	var inside, peak atomic.Int64
	a.put(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if ofAPI(r) && r.Method != http.MethodHead {
			now := inside.Add(1)
			for was := peak.Load(); now > was && !peak.CompareAndSwap(was, now); was = peak.Load() {
			}
			time.Sleep(5 * time.Millisecond) // a provider's usual time
			inside.Add(-1)                   // before the caller can have the answer, and call again
		}
		serve.ServeHTTP(w, r)
	})
	return &peak
}

// One gateway never exceeds the concurrency that a provider allows to one account, whoever calls, and however
// many.
func TestAProviderSeesNoMoreAtOnceThanItAllows(t *testing.T) {
	t.Parallel()
	// The drivers' limits, and the default.
	most := map[string]int64{"microsoft": 4, "twilio": 20, "telnyx": 10, "zendesk": 8}
	for name, most := range most {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := accounts()[name](t)
			d := newDeployment(t, "", append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
				"FRONTDESK_RESILIENCE__BULKHEAD__PER_CONNECTION_QUEUE=400",
				"FRONTDESK_RESILIENCE__DEADLINE=100s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=90s")...)
			keys := d.createTenantEach(a.connection)
			r := d.serve()
			peak := a.mostAtOnce()
			var callers sync.WaitGroup
			for i := range scaled(200) {
				callers.Go(func() {
					q := a.read
					if i%4 == 0 && name != "twilio" && name != "telnyx" { // purchases are limited
						q = a.create(fmt.Sprint("Caller ", i))
					}
					if name == "zendesk" {
						q = request{path: ticketPath, body: `{"ticket_number":"1"}`}
					}
					var got answer
					var err error
					// A rush is refused for its processor load.
					for err == nil && (got.status == 0 || got.status == http.StatusServiceUnavailable) {
						got, err = r.as(keys[0]).send(q, fmt.Sprintf("Idempotency-Key: %d", i))
					}
					if err != nil || got.status/100 != 2 && got.reason() != "TICKET_NOT_FOUND" {
						t.Errorf("answered %d %s, %v", got.status, got.body, err)
					}
				})
			}
			callers.Wait()
			t.Logf("%d at once", peak.Load())
			if peak.Load() > most || peak.Load() < min(most, 4) {
				t.Errorf("%d calls at once, want %d at most", peak.Load(), most)
			}
		})
	}
}
