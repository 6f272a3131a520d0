//go:build attack

package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// TestKillAtEveryWriteOfEveryProvider kills the gateway at each writing request of each operation at each
// provider: once before the provider acts, and once after it acts but before it responds. Repeating the call
// under its key, at another process, has one effect. If a provider cannot report the outcome, the caller is
// told that it is unknown, and there is no second effect. A kill cuts off several calls, of which each waits at
// another request. With FRONTDESK_KILLS set, it cuts off one, and the test runs on both stores.
func TestKillAtEveryWriteOfEveryProvider(t *testing.T) {
	t.Parallel()
	stores := []struct {
		name string
		open func(testing.TB) string
	}{{"SQLite", func(testing.TB) string { return "" }}, {"PostgreSQL", storetest.Postgres}}
	for i, name := range slices.Sorted(maps.Keys(accounts())) {
		for n, store := range stores {
			if os.Getenv("FRONTDESK_KILLS") == "" && n != i%len(stores) {
				continue
			}
			t.Run(name+" on "+store.name, func(t *testing.T) {
				t.Parallel()
				killAtEveryWrite(t, accounts()[name](t), store.open(t))
			})
		}
	}
}

func killAtEveryWrite(t *testing.T, a account, storeURL string) {
	d := newDeployment(t, storeURL,
		append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8", "FRONTDESK_RESILIENCE__DEADLINE=4s")...)
	together := 3 // Microsoft allows four requests at a time
	if os.Getenv("FRONTDESK_KILLS") != "" {
		together = 1
	}
	purchases := 100
	key := d.createTenants(tenant.Settings{MaxPurchasesPerDay: &purchases}, []connection.Spec{a.connection})[0]
	r := d.serve()
	type cut struct {
		request
		operation, point string
		ended            chan struct{} // the call
	}
	var waiting []cut
	cuts := 0
	kill := func() {
		r.kill()
		for _, c := range waiting {
			<-c.ended
		}
		d.wantSound()
		r = d.serve()
		for _, c := range waiting {
			a.wantSettled(t, r.as(key), c.request, c.point)
			if a.there == nil {
				continue
			}
			if got := a.effects(r.as(key), c.operation, c.point); got != 1 {
				t.Errorf("%s: %d effects", c.point, got)
			}
		}
		cuts, waiting = cuts+len(waiting), nil
	}
	whole := 0 // calls that were not cut off
	for _, operation := range a.writes() {
		for n := 1; ; n++ {
			reached := 0
			for _, after := range []bool{false, true} {
				c := cut{operation: operation, point: fmt.Sprintf("%s-%d-%v", operation, n, after), ended: make(chan struct{})}
				c.request = a.request(r.as(key), operation, c.point)
				var got answer
				var err error
				held, gateway := a.holdAt(n, after), r.as(key)
				go func() {
					defer close(c.ended)
					got, err = gateway.send(c.request, "Idempotency-Key: "+c.point)
				}()
				select {
				case <-held:
					reached++
					if waiting = append(waiting, c); len(waiting) == together {
						kill()
					}
				case <-c.ended: // the operation has no n-th writing request
					if err != nil || got.status/100 != 2 {
						t.Fatalf("%s: without a kill it is answered %d %s, %v", c.point, got.status, got.body, err)
					}
					whole++
				}
				a.put(nil)
				if reached == 0 {
					break
				}
			}
			if reached == 0 {
				if n == 1 {
					t.Errorf("%s makes no writing request", operation)
				}
				break
			}
		}
	}
	if len(waiting) > 0 {
		kill()
	}
	if a.connection.Kind == adapter.KindCRM { // whose tickets stay
		if got, want := a.made(), cuts+whole; got != want {
			t.Errorf("%d tickets, want %d", got, want)
		}
	}
	t.Logf("%d calls were cut off", cuts)
}

// holdAt has the n-th writing request from now on wait for as long as the gateway lives, before the provider acts or
// after it. The channel is closed when the request has come.
func (a account) holdAt(n int, after bool) (held <-chan struct{}) {
	came := make(chan struct{})
	var made atomic.Int64
	a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if !mutates(req) || made.Add(1) != int64(n) {
			serve.ServeHTTP(w, req)
			return
		}
		if after {
			serve.ServeHTTP(httptest.NewRecorder(), req)
		}
		_, _ = io.Copy(io.Discard, req.Body) // otherwise the server does not notice that the client left
		close(came)
		<-req.Context().Done()
	})
	return came
}

// wantSettled repeats the call until it gets a final response, which must come within 30 seconds.
func (a account) wantSettled(t *testing.T, c caller, q request, key string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		got, err := c.send(q, "Idempotency-Key: "+key)
		switch {
		case err != nil:
			t.Fatal(err)
		case got.status/100 == 2:
			return
		case time.Since(began) > 30*time.Second:
			t.Fatalf("%s is not settled: %d %s", key, got.status, got.body)
		}
	}
}
