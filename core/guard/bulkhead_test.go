package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"frontdesk/core/fault"
	"frontdesk/core/metrics"
)

// concurrency counts the concurrent calls of a driver.
type concurrency struct {
	mu        sync.Mutex
	now, most int
	total     int
}

func (c *concurrency) around(
	call func(context.Context) (string, error),
) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		c.mu.Lock()
		c.now++
		c.total++
		c.most = max(c.most, c.now)
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			c.now--
			c.mu.Unlock()
		}()
		return call(ctx)
	}
}

// seen returns the most concurrent calls and the number of calls. Writes may still be running.
func (c *concurrency) seen() (most, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most, c.total
}

func TestAProviderNeverSeesMoreThanItAllows(t *testing.T) {
	drivers := map[string]func(context.Context) (string, error){
		"quick":           obedient(10 * time.Millisecond),
		"hanging":         obedient(time.Hour),
		"deaf and slow":   deaf(30 * time.Second),
		"failing at once": instantly(failing(fault.Unavailable)),
	}
	for rule, call := range drivers {
		for _, op := range []Op{read, write, keyed} {
			t.Run(fmt.Sprintf("%s %s repeatable %t", rule, op.Name, op.Repeatable), func(t *testing.T) {
				bubble(t, Options{TryTimeout: time.Second, ConnectionQueue: 1000, BreakerFailures: 1 << 30}, func(
					t *testing.T, g *Guard,
				) {
					mailbox := target
					mailbox.MaxConcurrent = 4
					var all concurrency
					var calls sync.WaitGroup
					for range 60 {
						calls.Go(func() { _, _ = Do(t.Context(), g, mailbox, op, all.around(call)) })
					}
					calls.Wait()
					if most, _ := all.seen(); most != 4 && rule != "failing at once" || most > 4 {
						t.Errorf("%d at once", most)
					}
				})
			})
		}
	}
}

func TestPlacesAreGivenInTheOrderOfAsking(t *testing.T) {
	bubble(t, Options{ConnectionConcurrency: 1}, func(t *testing.T, g *Guard) {
		var order []int
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				_, err := Do(t.Context(), g, target, read, func(ctx context.Context) (string, error) {
					order = append(order, i)
					return obedient(100 * time.Millisecond)(ctx)
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		if got := fmt.Sprint(order); got != "[0 1 2 3 4 5 6 7 8 9]" {
			t.Errorf("order %s", got)
		}
	})
}

func TestTooManyWaitingAreRefusedAtOnce(t *testing.T) {
	for level, o := range map[string]Options{
		"connection": {ConnectionConcurrency: 2, ConnectionQueue: 3},
		"host":       {HostConcurrency: 2, HostQueue: 3},
	} {
		t.Run(level, func(t *testing.T) {
			measured := metrics.New(metrics.Build{})
			o.Metrics = measured
			bubble(t, o, func(t *testing.T, g *Guard) {
				var calls sync.WaitGroup
				for range 5 {
					calls.Go(func() {
						if _, err := Do(t.Context(), g, target, read, obedient(time.Second)); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				wantSeries(t, measured, "frontdesk_bulkhead_waiting", 3)
				started := time.Now()
				_, err := Do(t.Context(), g, target, read, instantly(nil))
				f := wantFault(t, err, fault.Unavailable, fault.ReasonOverloaded)
				if !f.Unsent || f.RetryAfter != time.Second {
					t.Errorf("unsent %t, retry after %v", f.Unsent, f.RetryAfter)
				}
				wantElapsed(t, started, 0, 0)
				calls.Wait()
			})
			if got, err := testutil.GatherAndCount(measured.Registry(),
				"frontdesk_bulkhead_refused_total"); err != nil || got == 0 {
				t.Errorf("%d series of refusals, %v", got, err)
			}
			wantGauge(t, measured, "frontdesk_bulkhead_in_use", 0)
			wantGauge(t, measured, "frontdesk_bulkhead_waiting", 0)
		})
	}
}

// wantSeries checks that one series of a gauge has the value.
func wantSeries(t *testing.T, m *metrics.Metrics, name string, want float64) {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, series := range f.GetMetric() {
			if series.GetGauge().GetValue() == want {
				return
			}
		}
	}
	t.Errorf("no %s is %v", name, want)
}

func TestWaitingEndsWithTheDeadlineOrTheCaller(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		target := target
		target.MaxConcurrent = 1
		var holder sync.WaitGroup
		holder.Go(func() { _, _ = Do(t.Context(), g, target, write, deaf(20*time.Second)) })
		synctest.Wait()

		started := time.Now()
		never := func(context.Context) (string, error) { t.Error("called"); return "", nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Do(ctx, g, target, write, never)
		if f := wantFault(t, err, fault.Timeout, fault.ReasonDeadlineExceeded); !f.Unsent {
			t.Error("nothing was sent")
		}
		wantElapsed(t, started, time.Second, time.Second)

		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		_, err = Do(ctx, g, target, write, never)
		if f := wantFault(t, err, fault.Canceled, fault.ReasonCanceled); !f.Unsent {
			t.Error("nothing was sent")
		}
		wantElapsed(t, started, 2*time.Second, 2*time.Second)

		holder.Wait() // its caller has left after 8 s; the write still holds the permit
		_, err = Do(t.Context(), g, target, write, never)
		wantFault(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
		time.Sleep(5 * time.Second)
		if _, err := Do(t.Context(), g, target, write, instantly(nil)); err != nil {
			t.Errorf("the permit is free again: %v", err)
		}
	})
}

func TestWritesThatHangLeaveReadsTheirPlaces(t *testing.T) {
	measured := metrics.New(metrics.Build{})
	bubble(t, Options{ConnectionConcurrency: 2, Metrics: measured}, func(t *testing.T, g *Guard) {
		var all concurrency
		var writes sync.WaitGroup
		write := func() { _, _ = Do(t.Context(), g, target, write, all.around(obedient(time.Hour))) }
		for range 2 {
			writes.Go(write)
		}
		time.Sleep(7 * time.Second)
		started := time.Now()
		if _, err := Do(t.Context(), g, target, read, instantly(nil)); err != nil {
			t.Errorf("a read behind writes whose callers have left: %v", err)
		}
		wantElapsed(t, started, time.Second, time.Second)
		for range 10 {
			writes.Go(write)
		}
		writes.Wait() // the second two are left now, and the others could not begin
		synctest.Wait()
		if most, total := all.seen(); most != 4 || total != 4 {
			t.Errorf("%d writes, %d at once, want those that hold permits and as many that were left", total, most)
		}
		time.Sleep(15 * time.Second)
		for range 3 {
			go func() { _, _ = Do(t.Context(), g, target, read, all.around(obedient(time.Second))) }()
		}
		synctest.Wait()
		all.mu.Lock()
		now := all.now
		all.mu.Unlock()
		if now != 2 {
			t.Errorf("%d reads at once, once the writes are over", now)
		}
		time.Sleep(2 * time.Second)
	})
	wantGauge(t, measured, "frontdesk_bulkhead_in_use", 0)
}

func TestAHangingConnectionLeavesTheOthersTheirPlaces(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		var hanging sync.WaitGroup
		for range 40 {
			hanging.Go(func() { _, _ = Do(t.Context(), g, on("hangs"), read, obedient(time.Hour)) })
		}
		synctest.Wait()
		started := time.Now()
		for i := range 50 {
			if _, err := Do(t.Context(), g, on(fmt.Sprint("c", i)), read, instantly(nil)); err != nil {
				t.Errorf("another connection: %v", err)
			}
		}
		wantElapsed(t, started, 0, 0)
		hanging.Wait()
	})
}

func TestFewPlacesAreRememberedAndNoneInUseIsForgotten(t *testing.T) {
	measured := metrics.New(metrics.Build{})
	bubble(t, Options{MaxConnections: 3, MaxHosts: 2, Metrics: measured}, func(t *testing.T, g *Guard) {
		busy := on("busy")
		busy.MaxConcurrent = 1
		var all concurrency
		var calls sync.WaitGroup
		calls.Go(func() { _, _ = Do(t.Context(), g, busy, read, all.around(obedient(time.Second))) })
		synctest.Wait()
		fail(t, g, on("failure"), 10, failing(fault.Unavailable))
		wantSeries(t, measured, "frontdesk_breakers", 1)
		for i := range 100 {
			other := on(fmt.Sprint("c", i))
			other.Host = fmt.Sprint("host", i)
			if _, err := Do(t.Context(), g, other, read, instantly(nil)); err != nil {
				t.Error(err)
			}
		}
		if c, h := len(g.connections.byKey), len(g.hosts.byKey); c != 3 || h != 2 {
			t.Errorf("%d connections and %d hosts are remembered", c, h)
		}
		wantGauge(t, measured, "frontdesk_breakers", 0)
		if _, err := Do(t.Context(), g, on("failure"), read, instantly(nil)); err != nil {
			t.Errorf("a breaker that was forgotten is closed: %v", err)
		}
		calls.Go(func() { _, _ = Do(t.Context(), g, busy, read, all.around(obedient(time.Second))) })
		calls.Wait()
		if most, total := all.seen(); most != 1 || total != 2 {
			t.Errorf("%d at once of %d", most, total)
		}
	})
}

func TestCallsAreMeasured(t *testing.T) {
	measured := metrics.New(metrics.Build{})
	bubble(t, Options{Metrics: measured, RetryMinimum: 1}, func(t *testing.T, g *Guard) {
		_, _ = Do(t.Context(), g, target, read, instantly(nil))
		_, _ = Do(t.Context(), g, target, read, instantly(failing(fault.Unavailable)))
		_, _ = Do(t.Context(), g, target, read, instantly(after(failing(fault.RateLimited), time.Minute)))
		_, err := Do(t.Context(), g, target, write, deaf(9*time.Second))
		if !errors.Is(err, fault.Timeout) {
			t.Error(err)
		}
	})
	want := map[string]float64{
		"frontdesk_provider_calls_total": 4, "frontdesk_provider_retries_total": 1,
		"frontdesk_provider_retries_denied_total": 2, "frontdesk_provider_late_results_total": 1,
	}
	families, err := measured.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		expected, ok := want[f.GetName()]
		if !ok {
			continue
		}
		delete(want, f.GetName())
		got := 0.0
		for _, series := range f.GetMetric() {
			got += series.GetCounter().GetValue()
		}
		if got != expected {
			t.Errorf("%s = %v, want %v", f.GetName(), got, expected)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestAHostHoldsNoMoreCallsThanItsPlacesAndQueue: calls wait for permits of any number of connections. A call
// that finds permits free is served, however many calls wait for others.
func TestAHostHoldsNoMoreCallsThanItsPlacesAndQueue(t *testing.T) {
	bubble(t, Options{HostConcurrency: 100, HostQueue: 50}, func(t *testing.T, g *Guard) {
		var mu sync.Mutex
		refused := 0
		var calls sync.WaitGroup
		ask := func(connection string) {
			calls.Go(func() {
				started := time.Now()
				_, err := Do(t.Context(), g, on(connection), read, obedient(time.Hour))
				if f := fault.From(err); f.Reason != fault.ReasonOverloaded {
					return
				}
				wantElapsed(t, started, 0, 0)
				mu.Lock()
				refused++
				mu.Unlock()
			})
		}
		for i := range 10 { // 80 hang, and 50 of the other 120 wait for them
			for range 20 {
				ask(fmt.Sprint("c", i))
			}
		}
		synctest.Wait()
		if refused != 70 {
			t.Errorf("%d of 200 are refused, want all but the 80 that run and the 50 that wait", refused)
		}
		if _, err := Do(t.Context(), g, on("another"), read, instantly(nil)); err != nil {
			t.Errorf("a connection with free permits: %v", err)
		}
		for i := range 20 {
			ask(fmt.Sprint("d", i))
		}
		synctest.Wait()
		if refused != 70 {
			t.Errorf("%d are refused, though the host has permits", refused)
		}
		ask("e")
		synctest.Wait()
		if refused != 71 {
			t.Errorf("%d are refused, want one more: no permit is free, and enough wait", refused)
		}
		calls.Wait()
	})
}
