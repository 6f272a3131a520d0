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

// fail makes calls one after the other for which the driver returns the fault, and returns how many reached
// the driver.
func fail(t *testing.T, g *Guard, to Target, calls int, f *fault.Error) (reached int) {
	t.Helper()
	for range calls {
		_, _ = Do(t.Context(), g, to, write, func(context.Context) (string, error) {
			reached++
			return "", f
		})
	}
	return reached
}

func TestARealAnswerIsHealthy(t *testing.T) {
	for _, code := range []fault.Code{fault.Invalid, fault.Disconnected, fault.Forbidden,
		fault.NotFound, fault.Conflict,
		fault.Exhausted, fault.Unsupported} {
		t.Run(string(code), func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				for i := range 20 { // twenty times what opens a breaker
					if n := fail(t, g, on(fmt.Sprint("c", i%5)), 10, failing(code)); n != 10 {
						t.Fatalf("only %d of 10 calls were made", n)
					}
				}
			})
		})
	}
	for rule, f := range map[string]*fault.Error{
		"rate limited": failing(fault.RateLimited),
		// Salesforce's maintenance, during which it can be read, and a record that somebody else changes.
		"a write refused for now": failingUnsent(fault.Unavailable).With("upstream_status", "400"),
		// A tenant's description of a ticket system says which answers mean an outage, such as 404 of a path that is none.
		"what a description takes for an outage": failing(fault.Unavailable).With("upstream_status", "404"),
	} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, Options{MaxTries: 1}, func(t *testing.T, g *Guard) {
				if n := fail(t, g, target, 200, f); n != 200 {
					t.Errorf("only %d calls were made", n)
				}
			})
		})
	}
}

func TestOurOwnFaultsSayNothing(t *testing.T) {
	noToken, late := failingUnsent(fault.Unavailable), failingUnsent(fault.Timeout)
	noToken.Prerequisite, late.Prerequisite = true, true
	noRoom := fault.New(fault.Unavailable, fault.ReasonOverloaded, "A sentence.")
	for rule, f := range map[string]*fault.Error{
		"a defect": failing(fault.Internal), "an unknown outcome": failing(fault.UnknownOutcome),
		"an address that is refused": failingUnsent(fault.Forbidden), "no such call": failingUnsent(fault.Unsupported),
		"no token": noToken, "no token in time": late, "no room for the answer": noRoom,
	} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, Options{MaxTries: 1}, func(t *testing.T, g *Guard) {
				// Between failures they neither reset the count, as a real response would, nor add to it.
				if n := fail(t, g, target, 9, failing(fault.Unavailable)); n != 9 {
					t.Fatalf("%d", n)
				}
				if n := fail(t, g, target, 100, f); n != 100 {
					t.Errorf("only %d calls were made", n)
				}
				if n := fail(t, g, target, 2, failing(fault.Unavailable)); n != 1 {
					t.Errorf("%d calls were made before it opened", n)
				}
			})
		})
	}
}

func TestAFailingConnectionHarmsNoOther(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		reached := 0
		for range 1000 {
			reached += fail(t, g, on("bad"), 1, failing(fault.Unavailable))
			if _, err := Do(t.Context(), g, on("good"), read, instantly(nil)); err != nil {
				t.Fatalf("another connection of the host: %v", err)
			}
		}
		if reached > 20 {
			t.Errorf("%d calls were made before it opened", reached)
		}
		_, err := Do(t.Context(), g, on("bad"), read, instantly(nil))
		f := wantFault(t, err, fault.Unavailable, fault.ReasonBreakerOpen)
		if !f.Unsent || f.RetryAfter <= 0 || f.RetryAfter > 1500*time.Millisecond ||
			f.Metadata["provider"] != "caldav" {
			t.Errorf("unsent %t, retry after %v, %v", f.Unsent, f.RetryAfter, f.Metadata)
		}
	})
}

func TestAFailingHostIsTakenFromAllAtOnce(t *testing.T) {
	for _, code := range []fault.Code{fault.Unavailable, fault.Timeout} {
		t.Run(string(code), func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				for i := range 200 { // earlier successes must not delay the opening
					if _, err := Do(t.Context(), g, on(fmt.Sprint("c", i)), read, instantly(nil)); err != nil {
						t.Fatal(err)
					}
				}
				reached := 0
				for i := range 100 {
					reached += fail(t, g, on(fmt.Sprint("c", i)), 1, failing(code))
				}
				if reached > 20 {
					t.Errorf("%d calls were made before it opened", reached)
				}
				_, err := Do(t.Context(), g, on("never seen"), read, instantly(nil))
				wantFault(t, err, fault.Unavailable, fault.ReasonBreakerOpen)
				other := on("c1")
				other.Host = "other.example.com"
				if _, err := Do(t.Context(), g, other, read, instantly(nil)); err != nil {
					t.Errorf("another host: %v", err)
				}
			})
		})
	}
}

func TestAHostThatFailsHalfTheTimeIsFoundToo(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		for i := range 200 {
			err := error(failing(fault.Unavailable))
			if i%2 == 0 {
				err = nil
			}
			_, err = Do(t.Context(), g, on(fmt.Sprint("c", i)), write, instantly(err))
			if f := fault.From(err); f != nil && f.Reason == fault.ReasonBreakerOpen {
				return
			}
		}
		t.Error("it never opened")
	})
}

func TestOneProbeAtATime(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		fail(t, g, target, 10, failing(fault.Unavailable))
		time.Sleep(1501 * time.Millisecond)
		var mu sync.Mutex
		probes, refused := 0, 0
		release := make(chan struct{})
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				_, err := Do(t.Context(), g, target, read, func(context.Context) (string, error) {
					mu.Lock()
					probes++
					mu.Unlock()
					<-release
					return "", nil
				})
				if err == nil {
					return
				}
				if f := fault.From(err); f.Reason != fault.ReasonBreakerOpen || f.RetryAfter <= 0 {
					t.Errorf("got %v", f)
				}
				mu.Lock()
				refused++
				mu.Unlock()
			})
		}
		synctest.Wait()
		if probes != 1 || refused != 7 {
			t.Errorf("%d probes, %d refused", probes, refused)
		}
		close(release)
		calls.Wait()
		if _, err := Do(t.Context(), g, target, read, instantly(nil)); err != nil {
			t.Errorf("after a good probe: %v", err)
		}
	})
}

func TestAFailedProbeOpensAgain(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		fail(t, g, target, 10, failing(fault.Unavailable))
		for range 5 {
			time.Sleep(1501 * time.Millisecond)
			if n := fail(t, g, target, 3, failing(fault.Unavailable)); n != 1 {
				t.Errorf("%d probes", n)
			}
		}
	})
}

func TestAProbeWhoseCallerLeftMakesRoomForTheNext(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		fail(t, g, target, 10, failing(fault.Unavailable))
		time.Sleep(1501 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := Do(ctx, g, target, read, obedient(time.Hour))
		wantFault(t, err, fault.Timeout, "")
		if _, err := Do(t.Context(), g, target, read, instantly(nil)); err != nil {
			t.Errorf("the next probe: %v", err)
		}
	})
}

func TestAHostsOpenBreakerDoesNotUseUpAConnectionsProbe(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		fail(t, g, on("c1"), 10, failing(fault.Unavailable))
		time.Sleep(time.Second)
		for i := range 30 {
			fail(t, g, on(fmt.Sprint("d", i)), 1, failing(fault.Unavailable))
		}
		time.Sleep(600 * time.Millisecond) // c1's breaker allows a probe now, its host's does not
		_, err := Do(t.Context(), g, on("c1"), read, instantly(nil))
		wantFault(t, err, fault.Unavailable, fault.ReasonBreakerOpen)
		time.Sleep(time.Second)
		if _, err := Do(t.Context(), g, on("c1"), read, instantly(nil)); err != nil {
			t.Errorf("both may be probed: %v", err)
		}
	})
}

// TestACallerInAHurryIsNotAnOutage: a caller that waits 300 ms for a provider that takes 400 ms learns
// nothing about its health.
func TestACallerInAHurryIsNotAnOutage(t *testing.T) {
	ends := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"by a deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		},
		"by leaving": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(300*time.Millisecond, cancel)
			return ctx, cancel
		},
	}
	drivers := map[string]func(context.Context) (string, error){
		"obedient": obedient(400 * time.Millisecond), "deaf": deaf(400 * time.Millisecond),
	}
	for how, end := range ends {
		for kind, call := range drivers {
			for _, op := range []Op{read, write} {
				t.Run(fmt.Sprint(how, " ", kind, " ", op.Name), func(t *testing.T) {
					bubble(t, Options{ConnectionConcurrency: 100}, func(t *testing.T, g *Guard) {
						for i := range 50 {
							ctx, cancel := end(t.Context())
							_, err := Do(ctx, g, on(fmt.Sprint("c", i%4)), op, call)
							cancel()
							if errors.Is(err, fault.Unavailable) {
								t.Fatalf("call %d: %v", i, err)
							}
						}
					})
				})
			}
		}
	}
}

// outage is a provider that hangs until it recovers.
type outage struct {
	mu   sync.Mutex
	over bool
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

func (o *outage) call(ctx context.Context) (string, error) {
	o.mu.Lock()
	over := o.over
	o.mu.Unlock()
	if over {
		return "done", nil
	}
	<-ctx.Done()
	return "", ctx.Err()
}

// TestARecoveredProviderIsUsedWithinFiveSeconds makes steady reads and writes while a provider hangs. The
// provider recovers at different moments of the breaker's cycle.
func TestARecoveredProviderIsUsedWithinFiveSeconds(t *testing.T) {
	for _, op := range []Op{read, write} {
		for offset := time.Duration(0); offset < 4*time.Second; offset += time.Second {
			t.Run(fmt.Sprint(op.Name, " ", offset), func(t *testing.T) {
				measured := metrics.New(metrics.Build{})
				bubble(t, Options{Metrics: measured}, func(t *testing.T, g *Guard) {
					provider := &outage{}
					var calls sync.WaitGroup
					var mu sync.Mutex
					var lastFailure time.Time
					refusedFast := 0
					recovered := time.Now().Add(20*time.Second + offset)
					time.AfterFunc(20*time.Second+offset, provider.end)
					for i := range 700 {
						calls.Go(func() {
							begun := time.Now()
							_, err := Do(t.Context(), g, on(fmt.Sprint("c", i%10)), op, provider.call)
							mu.Lock()
							defer mu.Unlock()
							if fault.From(err) == nil {
								return
							}
							if begun.After(recovered) {
								lastFailure = begun
							}
							if time.Since(begun) == 0 {
								refusedFast++
							}
						})
						time.Sleep(50 * time.Millisecond)
					}
					calls.Wait()
					if late := lastFailure.Sub(recovered); late > 5*time.Second {
						t.Errorf("a call that began %v after the recovery failed", late)
					}
					if refusedFast < 100 {
						t.Errorf("only %d calls were refused at once while the provider hung", refusedFast)
					}
				})
				open, err := testutil.GatherAndCount(measured.Registry(), "frontdesk_breakers")
				if err != nil || open == 0 {
					t.Errorf("no breaker was seen to open: %v", err)
				}
				wantGauge(t, measured, "frontdesk_breakers", 0)
				wantGauge(t, measured, "frontdesk_bulkhead_in_use", 0)
				wantGauge(t, measured, "frontdesk_bulkhead_waiting", 0)
			})
		}
	}
}

// wantGauge checks that every series of a gauge has the value.
func wantGauge(t *testing.T, m *metrics.Metrics, name string, want float64) {
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
			if got := series.GetGauge().GetValue(); got != want {
				t.Errorf("%s%v = %v, want %v", name, series.GetLabel(), got, want)
			}
		}
	}
}

// TestASlowProviderIsNotLockedOut: the provider responds after three seconds, later than a probe's verdict is
// given.
func TestASlowProviderIsNotLockedOut(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		fail(t, g, target, 10, failing(fault.Unavailable))
		time.Sleep(1501 * time.Millisecond)
		if _, err := Do(t.Context(), g, target, read, obedient(3*time.Second)); err != nil {
			t.Fatalf("the probe: %v", err)
		}
		for range 3 {
			if _, err := Do(t.Context(), g, target, read, obedient(3*time.Second)); err != nil {
				t.Errorf("after the probe: %v", err)
			}
		}
	})
}

func TestAnOpenBreakerAnswersThoughAllPlacesAreTaken(t *testing.T) {
	bubble(t, Options{ConnectionConcurrency: 2}, func(t *testing.T, g *Guard) {
		var stuck sync.WaitGroup
		for range 2 {
			stuck.Go(func() { _, _ = Do(t.Context(), g, on("c1"), write, deaf(7*time.Second)) })
		}
		synctest.Wait()
		for i := range 30 {
			fail(t, g, on(fmt.Sprint("d", i)), 1, failing(fault.Unavailable))
		}
		started := time.Now()
		_, err := Do(t.Context(), g, on("c1"), read, instantly(nil))
		wantFault(t, err, fault.Unavailable, fault.ReasonBreakerOpen)
		wantElapsed(t, started, 0, 0)
		stuck.Wait()
	})
}

// TestAHangingProviderSeesOneProbeAtATime counts the probes at the provider. There is one read at a time.
// Writes are not cancelled, so several can hang there, each begun after the one before was abandoned.
func TestAHangingProviderSeesOneProbeAtATime(t *testing.T) {
	for _, c := range []struct {
		op   Op
		most int
	}{{read, 1}, {write, 7}} {
		t.Run(c.op.Name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				for i := range 30 {
					fail(t, g, on(fmt.Sprint("c", i)), 1, failing(fault.Unavailable))
				}
				var mu sync.Mutex
				inside, peak, probes := 0, 0, 0
				var calls sync.WaitGroup
				for i := range 60_000 / 50 {
					calls.Go(func() {
						_, err := Do(t.Context(), g, on(fmt.Sprint("c", i%30)), c.op, func(
							ctx context.Context,
						) (string, error) {
							mu.Lock()
							inside++
							probes++
							peak = max(peak, inside)
							mu.Unlock()
							<-ctx.Done()
							mu.Lock()
							inside--
							mu.Unlock()
							return "", ctx.Err()
						})
						if f := fault.From(err); f.Code != fault.Unavailable && f.Code != fault.Timeout {
							t.Errorf("answered %v", err)
						}
					})
					time.Sleep(50 * time.Millisecond)
				}
				calls.Wait()
				if peak > c.most || probes < 60/5 {
					t.Errorf("%d probes, %d at once, want %d at most", probes, peak, c.most)
				}
			})
		})
	}
}

// TestASlowProviderIsLetBackInUnderLoad: the provider responds after four seconds, as it did before it was
// down.
func TestASlowProviderIsLetBackInUnderLoad(t *testing.T) {
	bubble(t, Options{ConnectionConcurrency: 1000}, func(t *testing.T, g *Guard) {
		for i := range 30 {
			fail(t, g, on(fmt.Sprint("c", i)), 1, failing(fault.Unavailable))
		}
		var mu sync.Mutex
		answered := 0
		var calls sync.WaitGroup
		for i := range 20_000 / 50 {
			calls.Go(func() {
				if _, err := Do(t.Context(), g, on(fmt.Sprint("c", i%30)), read, obedient(4*time.Second)); err == nil {
					mu.Lock()
					answered++
					mu.Unlock()
				}
			})
			time.Sleep(50 * time.Millisecond)
		}
		calls.Wait()
		if answered < 200 {
			t.Errorf("%d calls were answered", answered)
		}
	})
}
