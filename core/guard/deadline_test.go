package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/fault"
)

func TestAnswersGoThrough(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		got, err := Do(t.Context(), g, target, read, instantly(nil))
		if got != "done" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		none, err := Do(t.Context(), g, target, read,
			func(context.Context) (fmt.Stringer, error) { return nil, nil })
		if none != nil || err != nil {
			t.Errorf("a nil interface: %v, %v", none, err)
		}
		given := failing(fault.NotFound).With("a", "b")
		_, err = Do(t.Context(), g, target, read, instantly(fmt.Errorf("wrapped: %w", given)))
		if f := wantFault(t, err, fault.NotFound, "REASON"); f != given {
			t.Errorf("the driver's fault came through as another: %v", f)
		}
		_, err = Do(t.Context(), g, target, read, instantly(errors.New("a driver's bug")))
		wantFault(t, err, fault.Internal, fault.ReasonInternal)
	})
}

func TestNoCallOutlivesItsDeadline(t *testing.T) {
	const limit = 8 * time.Second
	cases := map[string]struct {
		op   Op
		call func(context.Context) (string, error)
		own  time.Duration // the caller's deadline; 0: none
		want time.Duration
	}{
		"an obedient read":  {read, obedient(time.Hour), 0, limit},
		"a deaf read":       {read, deaf(time.Minute), 0, limit},
		"an obedient write": {write, obedient(time.Hour), 0, limit},
		"a deaf write":      {write, deaf(time.Minute), 0, limit},
		"a caller with less time": {read, deaf(time.Minute), 300 * time.Millisecond,
			300 * time.Millisecond},
		"a caller with more time": {read, deaf(time.Minute), time.Hour, limit},
		"a write of a caller with less time": {keyed, deaf(time.Minute), 300 * time.Millisecond,
			300 * time.Millisecond},
		"a read that fails again and again": {read, instantly(after(failing(fault.RateLimited), 3*time.Second)),
			0, 3 * time.Second},
		"a wait that the deadline cuts short": {read, instantly(after(failing(fault.RateLimited), 10*time.Second)),
			0, 0},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				ctx := t.Context()
				if c.own > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.own)
					defer cancel()
				}
				started := time.Now()
				_, err := Do(ctx, g, target, c.op, c.call)
				if err == nil {
					t.Fatal("it succeeded")
				}
				most := c.want + 50*time.Millisecond
				if errors.Is(err, fault.RateLimited) {
					most = limit
				}
				wantElapsed(t, started, c.want, most)
				if !errors.Is(err, fault.RateLimited) {
					f := wantFault(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
					if f.Unsent {
						t.Error("it may have been sent")
					}
				}
			})
		})
	}
}

func TestAReadIsTriedAgainWhenItsTryHangs(t *testing.T) {
	for rule, hang := range map[string]func(context.Context) (string, error){
		"obedient": obedient(time.Hour), "deaf": deaf(time.Minute),
	} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, Options{TryTimeout: 2 * time.Second}, func(t *testing.T, g *Guard) {
				var tries atomic.Int32
				started := time.Now()
				got, err := Do(t.Context(), g, target, read, func(ctx context.Context) (string, error) {
					if tries.Add(1) == 1 {
						return hang(ctx)
					}
					return "second", nil
				})
				if got != "second" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
				wantElapsed(t, started, 2*time.Second, 2200*time.Millisecond)
			})
		})
	}
}

func TestAReadIsCancelledWithItsCaller(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		started := time.Now()
		var got error
		_, err := Do(ctx, g, target, read, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			got = ctx.Err()
			return "", fault.From(ctx.Err())
		})
		wantFault(t, err, fault.Canceled, fault.ReasonCanceled)
		wantElapsed(t, started, time.Second, time.Second)
		if !errors.Is(got, context.Canceled) {
			t.Errorf("the driver was told %v", got)
		}
	})
}

type outcomeOf struct {
	result any
	err    error
}

func TestAWriteIsFinishedAfterItsCaller(t *testing.T) {
	cases := map[string]struct {
		call func(context.Context) (string, error)
		want outcomeOf
		at   time.Duration
	}{
		"it succeeds": {obedient(12 * time.Second), outcomeOf{result: "done"}, 12 * time.Second},
		"it fails": {func(context.Context) (string, error) {
			time.Sleep(12 * time.Second)
			return "", failingUnsent(fault.Unavailable)
		}, outcomeOf{err: fault.Unavailable}, 12 * time.Second},
		"it is cancelled after the grace": {obedient(time.Hour), outcomeOf{err: fault.Timeout}, 23 * time.Second},
		"it panics": {func(context.Context) (string, error) {
			time.Sleep(12 * time.Second)
			panic("late")
		}, outcomeOf{err: fault.Internal}, 12 * time.Second},
	}
	for rule, c := range cases {
		for _, leaves := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, caller leaves %t", rule, leaves), func(t *testing.T) {
				bubble(t, Options{}, func(t *testing.T, g *Guard) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					wantCode := fault.Timeout
					if leaves {
						time.AfterFunc(time.Second, cancel)
						wantCode = fault.Canceled
					}
					late := make(chan outcomeOf, 2)
					op := write
					op.Late = func(result any, err error) { late <- outcomeOf{result, err} }
					started := time.Now()
					_, err := Do(ctx, g, target, op, c.call)
					if f := wantFault(t, err, wantCode, ""); f.Unsent {
						t.Error("it may have been sent")
					}
					got := <-late
					wantElapsed(t, started, c.at, c.at)
					if got.result != c.want.result || (c.want.err != nil) != (got.err != nil) ||
						c.want.err != nil && !errors.Is(got.err, c.want.err) {
						t.Errorf("late: %v, want %v", got, c.want)
					}
					synctest.Wait()
					if len(late) > 0 {
						t.Error("told twice")
					}
				})
			})
		}
	}
}

func TestLateIsNotForWhoWasAnswered(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		tell := func(any, error) { t.Error("told") }
		for _, op := range []Op{{Name: "book", Late: tell}, {Name: "events", Read: true, Late: tell}} {
			if _, err := Do(t.Context(), g, target, op, instantly(nil)); err != nil {
				t.Error(err)
			}
		}
		_, err := Do(t.Context(), g, target, Op{Name: "events", Read: true, Late: tell}, deaf(time.Minute))
		wantFault(t, err, fault.Timeout, "")
	})
}

func TestAPanicIsAFault(t *testing.T) {
	bad := map[string]func(context.Context) (string, error){
		"panic": func(context.Context) (string, error) { panic("s3cret detail") },
		"nil pointer": func(context.Context) (string, error) {
			_ = (*strings.Builder)(nil).String()
			return "", nil
		},
		"goroutine's end":  func(context.Context) (string, error) { runtime.Goexit(); return "", nil },
		"panic with nil":   func(context.Context) (string, error) { panic(nil) },
		"panic with fault": func(context.Context) (string, error) { panic(failing(fault.Unavailable)) },
	}
	for rule, call := range bad {
		t.Run(rule, func(t *testing.T) {
			var out strings.Builder
			bubble(t, Options{Log: slog.New(slog.NewTextHandler(&out, nil))}, func(t *testing.T, g *Guard) {
				_, err := Do(t.Context(), g, target, write, call)
				if f := wantFault(t, err, fault.Internal, fault.ReasonInternal); strings.Contains(f.Detail, "s3cret") ||
					f.Unsent {
					t.Errorf("got %v", f)
				}
				if _, err := Do(t.Context(), g, target, write, instantly(nil)); err != nil {
					t.Errorf("the next call: %v", err)
				}
			})
			if rule != "goroutine's end" && !strings.Contains(out.String(), "deadline_test.go") {
				t.Errorf("the stack is not in the log: %s", out.String())
			}
		})
	}
}

func TestCloseWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{})
		late := make(chan any, 1)
		op := write
		op.Late = func(result any, _ error) { late <- result }
		started := time.Now()
		_, err := Do(t.Context(), g, target, op, deaf(10*time.Second))
		wantFault(t, err, fault.Timeout, "")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		wantElapsed(t, started, 10*time.Second, 10*time.Second)
		if got := <-late; got != "done" {
			t.Errorf("late: %v", got)
		}
		_, err = Do(t.Context(), g, target, read, instantly(nil))
		if f := wantFault(t, err, fault.Unavailable, fault.ReasonOverloaded); !f.Unsent {
			t.Error("nothing was sent")
		}
		if err := g.Close(ctx); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	})
}

func TestCloseCancelsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{})
		started := time.Now()
		_, err := Do(t.Context(), g, target, write, obedient(time.Hour))
		wantFault(t, err, fault.Timeout, "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Errorf("an obedient driver ends when it is told: %v", err)
		}
		wantElapsed(t, started, 9*time.Second, 9*time.Second)

		g = New(Options{})
		_, err = Do(t.Context(), g, target, write, deaf(time.Minute))
		wantFault(t, err, fault.Timeout, "")
		if err := g.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 driver call") {
			t.Errorf("a deaf driver is told of: %v", err)
		}
		time.Sleep(time.Minute)
	})
}
