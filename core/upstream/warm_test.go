package upstream

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
)

// warming is a pool with a clock, and a server that counts what it is asked.
type warming struct {
	*Pool
	clock   atomic.Int64 // seconds
	touches atomic.Int64
	calls   atomic.Int64
	opened  atomic.Int64
	down    atomic.Bool
	client  ClientOptions
}

func newWarming(t *testing.T, o PoolOptions) *warming {
	t.Helper()
	w := &warming{}
	server := newCounting(t, func(r *http.Request) int {
		if r.Header.Get("Authorization") != "" && r.Method == http.MethodHead {
			t.Error("what keeps a connection open has credentials")
		}
		if r.Method == http.MethodHead {
			w.touches.Add(1)
		} else {
			w.calls.Add(1)
		}
		return http.StatusNotFound
	}, &w.opened, &w.down)
	w.Pool = newPool(t, o)
	w.clock.Store(1_000_000)
	w.warm.now = func() time.Time { return time.Unix(w.clock.Load(), 0) }
	home := parse(t, server)
	w.client = ClientOptions{
		TenantAddress: true, AuthorizeFor: home,
		Authorize: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer x"); return nil },
	}
	return w
}

func (w *warming) call(t *testing.T) error {
	t.Helper()
	resp, err := w.Client(w.client).Do(request(t, http.MethodGet, w.client.AuthorizeFor.String(), ""))
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

// newCounting serves answers of the given status. It counts connections, and refuses them while it is down.
func newCounting(t *testing.T, answer func(*http.Request) int, opened *atomic.Int64, down *atomic.Bool) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer(r))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// after lets time pass and sweeps, until all requests have ended.
func (w *warming) after(d time.Duration) {
	w.clock.Add(int64(d.Seconds()))
	w.warm.sweep()
	w.warm.work.Wait()
}

func (w *warming) want(t *testing.T, touches, opened int64) {
	t.Helper()
	if w.touches.Load() != touches || w.opened.Load() != opened {
		t.Errorf("%d requests kept %d connections open, want %d and %d", w.touches.Load(), w.opened.Load(),
			touches, opened)
	}
}

func TestAConnectionInUseIsKeptOpen(t *testing.T) {
	w := newWarming(t, PoolOptions{AllowTenantNetworks: loopback})
	if err := w.call(t); err != nil {
		t.Fatal(err)
	}
	w.after(warmAfter - time.Second)
	w.want(t, 0, 1)
	w.after(time.Second)
	w.want(t, 1, 1)
	w.after(warmAfter)
	w.want(t, 2, 1)
	w.after(warmFor)
	w.want(t, 2, 1) // nobody asks any more
	if n := len(w.warm.origins); n != 0 {
		t.Errorf("%d servers are remembered", n)
	}
}

func TestAServerThatFailsIsLeftAlone(t *testing.T) {
	w := newWarming(t, PoolOptions{AllowTenantNetworks: loopback})
	if err := w.call(t); err != nil {
		t.Fatal(err)
	}
	w.down.Store(true)
	w.after(warmAfter)
	tried := w.opened.Load()
	for range 10 {
		w.after(warmAfter)
		w.Prepare(w.client)
	}
	w.warm.work.Wait()
	if more := w.opened.Load() - tried; more > 10 {
		t.Errorf("a server that is down is asked %d times in ten rounds", more)
	}
	w.down.Store(false)
	before := w.touches.Load()
	if err := w.call(t); err != nil {
		t.Fatal(err)
	}
	w.after(warmAfter)
	if w.touches.Load() != before+1 {
		t.Error("a server that is back is not kept open")
	}
}

// TestARequestThatIsGivenUpIsNoFailureOfTheServer: its connection stays open for others, whether the caller leaves, has
// no more time, or another request of the call fails, whose fault is the cause then.
func TestARequestThatIsGivenUpIsNoFailureOfTheServer(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	refused, refuse := context.WithCancelCause(t.Context())
	refuse(fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "There is none."))
	late, stop := context.WithDeadline(t.Context(), time.Now())
	defer stop()
	for ended, want := range map[context.Context]*fault.Error{
		left:    fault.New(fault.Canceled, fault.ReasonCanceled, ""),
		refused: fault.New(fault.Canceled, fault.ReasonCanceled, ""),
		late:    fault.New(fault.Timeout, fault.ReasonDeadlineExceeded, ""),
	} {
		w := newWarming(t, PoolOptions{AllowTenantNetworks: loopback})
		if err := w.call(t); err != nil {
			t.Fatal(err)
		}
		resp, err := w.Client(w.client).Do(
			request(t, http.MethodGet, w.client.AuthorizeFor.String(), "").WithContext(ended))
		if err == nil {
			_ = resp.Body.Close()
		}
		wantFault(t, err, want.Code, want.Reason, true)
		w.after(warmAfter)
		w.want(t, 1, 1)
	}
}

func TestAConnectionIsOpenedBeforeTheFirstCall(t *testing.T) {
	w := newWarming(t, PoolOptions{AllowTenantNetworks: loopback})
	for range 3 { // once
		w.Prepare(w.client)
		w.warm.work.Wait()
	}
	w.want(t, 1, 1)
	if err := w.call(t); err != nil {
		t.Fatal(err)
	}
	w.want(t, 1, 1)
	w.Prepare(ClientOptions{}) // has no address
}

func TestEgressRulesHoldForConnectionsThatNobodyWaitsFor(t *testing.T) {
	w := newWarming(t, PoolOptions{})
	w.Prepare(w.client)
	w.warm.work.Wait()
	w.want(t, 0, 0)
	wantFault(t, w.call(t), fault.Forbidden, fault.ReasonEgressRefused, true)
	w.after(warmAfter)
	w.want(t, 0, 0)
}

func TestServersThatAreKeptOpenAreBounded(t *testing.T) {
	w := newWarming(t, PoolOptions{})
	for i := range maxOrigins + 10 {
		w.clock.Add(1)
		w.warm.asked(w.tenant.kept, parse(t, "https://host-"+strconv.Itoa(i)+".test/"), nil)
	}
	if n := len(w.warm.origins); n != maxOrigins {
		t.Errorf("%d servers are remembered", n)
	}
	w.warm.asked(w.tenant.anew, parse(t, "https://other.test/"), nil)
	if _, there := w.warm.origins[origin{w.tenant.anew, "https", "other.test"}]; there {
		t.Error("a transport that keeps no connections is to keep one")
	}
}
