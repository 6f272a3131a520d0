//go:build attack

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// Two replicas on one database are restarted in turn under load, behind a balancer that follows only /readyz
// and repeats nothing. No request fails, each process ends by itself, and no call is left for another process
// to settle. FRONTDESK_RESTARTS=20 sets the number of restarts.
func TestRollingRestartsLoseNothing(t *testing.T) {
	t.Parallel()
	restarts := numberFrom(t, "FRONTDESK_RESTARTS", 3)
	storeURL := storetest.Postgres(t)
	d := newDeployment(t, storeURL, "FRONTDESK_SERVER__DRAIN=2s")
	keys := d.createSandboxTenants(8, 200*time.Millisecond) // so that calls are always running
	replicas := []*running{d.serve(), d.serve()}
	b := balance(t)
	for _, r := range replicas {
		b.add(r)
	}

	l := newLoadOn(t, b.next, phoneCalls(keys))
	calling, closeIdle := context.WithCancel(t.Context())
	made := make(chan []loadResponse, 1)
	go func() { made <- l.until(calling, 60) }()
	longest := time.Duration(0)
	for i := range restarts {
		old := replicas[i%2]
		began := time.Now()
		if code := old.stop(); code != exitOK {
			t.Errorf("a replica that was told to end did so with %d:\n%s", code, old.log())
		}
		longest = max(longest, time.Since(began))
		b.remove(old)
		replicas[i%2] = d.serve()
		b.add(replicas[i%2])
	}
	closeIdle()
	all := <-made

	t.Logf("%d restarts, %d calls; it took a replica %v at most to end", restarts, len(all),
		longest.Round(time.Millisecond))
	if n := count(all, served); n != len(all) {
		t.Errorf("%d of %d calls failed: %s", len(all)-n, len(all), outcomes(all))
	}
	if len(all) < 60*restarts {
		t.Errorf("only %d calls were made: the test proves nothing", len(all))
	}
	if left := unsettled(t, storeURL, 0); left != "" {
		t.Errorf("left unsettled: %s", left)
	}
}

// A gateway that is told to end first reports it at /readyz and keeps responding, on connections that it
// closes after the response. A request that still runs at the end of that time is finished. Then nothing
// listens any more.
func TestReadinessTurnsBeforeAnythingCloses(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "FRONTDESK_SERVER__DRAIN=2s")
	keys := d.createSandboxTenants(1, 3*time.Second)
	r := d.serve()
	c := r.as(keys[0])
	kept := &wireTo{t: t, host: strings.TrimPrefix(r.api, "http://")}
	if res := kept.get("/healthz"); res.StatusCode != http.StatusOK || res.Close {
		t.Fatalf("before: %d, closed %v", res.StatusCode, res.Close)
	}
	signalled := time.Now()
	ended := make(chan int)
	go func() { ended <- r.stop() }()
	for deadline := signalled.Add(1500 * time.Millisecond); ready(r); {
		if time.Now().After(deadline) {
			t.Fatal("/readyz still says that it is ready")
		}
	}
	if res := kept.get("/healthz"); res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("while it drains: %d, closed %v", res.StatusCode, res.Close)
	}
	a := c.post(200, "calendar/list-calendars", "{}") // three seconds, of which the drain lasts two
	if took := time.Since(signalled); took < 3*time.Second || a.text("calendars", 0, "id") == "" {
		t.Errorf("answered %v after it was told to end: %s", took, a.body)
	}
	if code := <-ended; code != exitOK {
		t.Errorf("exit %d:\n%s", code, r.log())
	}
	if _, err := http.Get(r.api + "/healthz"); err == nil {
		t.Error("something still answers")
	}
}

// wireTo is one connection that is kept open.
type wireTo struct {
	t    *testing.T
	host string
	wire *wire
}

func (w *wireTo) get(path string) *http.Response {
	w.t.Helper()
	if w.wire == nil {
		c, err := newLoad(w.t, "http://"+w.host, nil).wire(w.host)
		if err != nil {
			w.t.Fatal(err)
		}
		w.wire = c
	}
	res, _, err := w.wire.exchange(w.host, loadRequest{method: http.MethodGet, path: path})
	if err != nil {
		w.t.Fatalf("on the connection that was kept: %v", err)
	}
	return res
}

// phoneCalls returns calls with and without effects, on every surface.
func phoneCalls(keys []string) func(i int) loadRequest {
	calls := mixedCalls(keys)
	return func(i int) loadRequest {
		s := calls(i)
		if i%5 == 0 {
			s.path, s.body, s.writes = "/v1/tickets/create-ticket", fmt.Sprintf(`{"subject":"Call %d"}`, i), true
		}
		if i%7 == 0 {
			s.method, s.path, s.body, s.writes = http.MethodGet, "/beta/phone-numbers", "", false
		}
		if s.writes {
			s.idem = fmt.Sprintf("call-%d", i)
		}
		return s
	}
}

// balancer sends requests in turn to the gateways that are ready according to /readyz, which it polls all the
// time.
type balancer struct {
	mu    sync.Mutex
	known map[*running]bool // whether it is ready
	turn  int
}

func balance(t *testing.T) *balancer {
	b := &balancer{known: map[*running]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			for _, r := range b.all() {
				b.set(r, ready(r))
			}
		}
	})
	t.Cleanup(func() {
		stop()
		asking.Wait()
	})
	return b
}

func ready(r *running) bool {
	res, err := http.Get(r.ops + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (b *balancer) all() (all []*running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.known {
		all = append(all, r)
	}
	return all
}

func (b *balancer) add(r *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[r] = true
}

func (b *balancer) remove(r *running) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, r)
}

func (b *balancer) set(r *running, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.known[r]; known {
		b.known[r] = ready
	}
}

// next returns the host for the next request.
func (b *balancer) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var hosts []string
	for r, ready := range b.known {
		if ready {
			hosts = append(hosts, strings.TrimPrefix(r.api, "http://"))
		}
	}
	if len(hosts) == 0 {
		return "nobody.is.ready"
	}
	b.turn++
	return hosts[b.turn%len(hosts)] // the map's order is turn enough
}

// unsettled describes the calls whose outcome is not in the database.
func unsettled(t *testing.T, storeURL string, within time.Duration) string {
	db := storetest.Database(t, storeURL)
	const query = `SELECT string_agg(operation || ' ' || key || ' ' || state, ', ') FROM intents WHERE state <> 'done'`
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		var left sql.NullString
		if err := db.QueryRowContext(t.Context(), query).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if !left.Valid || time.Now().After(deadline) {
			return left.String
		}
	}
}
