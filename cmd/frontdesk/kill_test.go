//go:build attack

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
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
// told that it is unknown, and there is no second effect. With FRONTDESK_KILLS set, the test runs on both
// stores.
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
	purchases := 100
	key := d.createTenants(tenant.Settings{MaxPurchasesPerDay: &purchases}, []connection.Spec{a.connection})[0]
	r := d.serve()
	type cut struct {
		request
		operation, point string
	}
	var cuts []cut
	whole := 0 // calls that were not cut off
	for _, operation := range a.writes() {
		points := 0
		for n := 1; ; n++ {
			reached := 0
			for _, after := range []bool{false, true} {
				point := fmt.Sprintf("%s-%d-%v", operation, n, after)
				q := a.request(r.as(key), operation, point)
				killed := a.killAt(r, n, after)
				got, err := r.as(key).send(q, "Idempotency-Key: "+point)
				if !killed() { // the operation has no n-th writing request
					if err != nil || got.status/100 != 2 {
						t.Fatalf("%s: without a kill it is answered %d %s, %v", point, got.status, got.body, err)
					}
					whole++
					break
				}
				reached++
				cuts = append(cuts, cut{q, operation, point})
				d.wantSound()
				r = d.serve()
			}
			if reached == 0 {
				break
			}
			points++
		}
		if points == 0 {
			t.Errorf("%s makes no writing request", operation)
		}
	}
	for _, c := range cuts {
		a.wantSettled(t, r.as(key), c.request, c.point)
		if a.there == nil {
			continue
		}
		if got := a.effects(r.as(key), c.operation, c.point); got != 1 {
			t.Errorf("%s: %d effects", c.point, got)
		}
	}
	if a.connection.Kind == adapter.KindCRM { // whose tickets stay
		if got, want := a.made(), len(cuts)+whole; got != want {
			t.Errorf("%d tickets, want %d", got, want)
		}
	}
	t.Logf("%d kills", len(cuts))
}

// killAt kills the gateway at its n-th writing request from now on, whichever call makes it: a restarted
// gateway carries on earlier calls. The function killed stops this, and reports whether the gateway was
// killed.
func (a account) killAt(r *running, n int, after bool) (killed func() bool) {
	var mu sync.Mutex // held while it kills
	made, dead := 0, false
	a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		mu.Lock()
		if mutates(req) {
			made++
		}
		if !mutates(req) || made != n {
			mu.Unlock()
			serve.ServeHTTP(w, req)
			return
		}
		defer mu.Unlock()
		dead = true
		if after {
			serve.ServeHTTP(httptest.NewRecorder(), req)
		}
		r.kill()
	})
	return func() bool {
		a.put(nil)
		mu.Lock()
		defer mu.Unlock()
		made = n // a request on its way no longer kills the gateway
		return dead
	}
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
