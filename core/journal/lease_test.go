package journal

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
)

func eachStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	stores := map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, open)) })
	}
}

func TestTheLeaseClockFollowsTheDatabase(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		clock := newLeaseClock()
		clock.time = clock.time.Add(-time.Hour) // the machine's clock was wrong when the process began
		ahead, err := clock.sync(context.Background(), w.store)
		w.check(err)
		if off := time.Until(clock.now()).Abs(); off > time.Minute || ahead.Abs() > time.Minute {
			t.Errorf("it is %s off, and the machine's %s ahead", off, ahead)
		}
	})
}

// result is what a call returned.
type result struct {
	answer Answer[door]
	err    error
}

// hold starts a call that stays at the provider until finish.
func (w *world) hold(j *Journal, key, name string) (finish func() result) {
	w.tb.Helper()
	entered, let, done := make(chan struct{}), make(chan struct{}), make(chan result, 1)
	w.open = func(*Run) error { close(entered); <-let; return nil }
	go func() {
		answer, err := w.perform(j, key, name)
		done <- result{answer, err}
	}()
	<-entered
	w.open = nil
	return func() result { close(let); return <-done }
}

// TestALiveProcessKeepsItsRuns: another process on the same file of SQLite, and on PostgreSQL one whose
// leases are renewed, waits for the answer.
func TestALiveProcessKeepsItsRuns(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		one, two, hasty := w.journal(Operation{}), w.journal(Operation{}), w.journal(Operation{})
		hasty.opts.WaitForEqual = pollInterval
		finish := w.hold(one, "k", "front")
		for range 3 {
			w.advance(defaultLease - time.Millisecond)
			one.renewLeases(context.Background())
		}
		_, err := w.perform(hasty, "k", "front")
		if f := fault.From(err); err == nil || f.Reason != fault.ReasonIdempotencyRunning {
			t.Fatalf("who cannot wait is told %v", err)
		} else if f.RetryAfter < time.Second || f.RetryAfter > 8*time.Second {
			t.Errorf("the repeat is to come again after %s", f.RetryAfter)
		}
		if len(w.plans) != 1 {
			t.Fatal("the run of a live process is taken over")
		}
		second := make(chan result, 1)
		go func() {
			answer, err := w.perform(two, "k", "front")
			second <- result{answer, err}
		}()
		first, again := finish(), <-second
		if first.err != nil || again.err != nil || string(first.answer.Body) != string(again.answer.Body) ||
			!again.answer.Replayed || len(w.opened) != 1 {
			t.Errorf("answered %+v and %+v; opened %v", first, again, w.opened)
		}
	})
}

// TestBothRunsOfATakenOverCallHaveOneAnswer: a replica that was slow to renew its lease finds that another
// was faster.
func TestBothRunsOfATakenOverCallHaveOneAnswer(t *testing.T) {
	w := newWorld(t, storetest.Postgres)
	finish := w.hold(w.journal(Operation{}), "k", "front")
	w.advance(defaultLease)
	second, err := w.perform(w.journal(Operation{}), "k", "front")
	w.check(err)
	if first := finish(); first.err != nil || string(first.answer.Body) != string(second.Body) ||
		len(w.opened) != 1 {
		t.Errorf("answered %+v and %s; opened %v", first, second.Body, w.opened)
	}
}

// TestAFailureOfATakenOverRunIsNoAnswer: what a run was refused does not undo what another run of the call did.
func TestAFailureOfATakenOverRunIsNoAnswer(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	one, two := w.journal(Operation{}), w.journal(Operation{})
	var second Answer[door]
	w.open = func(*Run) (err error) {
		w.open = nil
		w.advance(one.longestLease())
		if second, err = w.perform(two, "k", "front"); err != nil {
			return err
		}
		return fault.New(fault.Conflict, fault.ReasonSlotTaken, "Somebody is in the way.")
	}
	first, err := w.perform(one, "k", "front")
	if err != nil || string(first.Body) != string(second.Body) || len(w.opened) != 1 {
		t.Errorf("answered %s after %s, %v; opened %v", first.Body, second.Body, err, w.opened)
	}
}

// A machine that was suspended does not know it: its monotonic clock may have stood still (package time of Go,
// "Monotonic Clocks").
func TestAFailureIsNoAnswerAlthoughTheLeaseClockStoodStill(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	one, two := w.journal(Operation{}), w.journal(Operation{})
	began := w.now()
	one.opts.LeaseClock = func() time.Time { return began }
	w.open = func(*Run) error {
		w.open = nil
		w.advance(one.longestLease())
		if _, err := w.perform(two, "k", "front"); err != nil {
			return err
		}
		return fault.New(fault.Conflict, fault.ReasonSlotTaken, "Somebody is in the way.")
	}
	if first, err := w.perform(one, "k", "front"); err != nil || !first.Replayed {
		t.Errorf("answered %+v, %v; opened %v", first, err, w.opened)
	}
}

// A call that has lost its intent to another run, and has no time left to wait for that run's answer, says so as
// every call does that waited for an equal one.
func TestACallWhoseRunWasTakenOverIsToldThatTheOtherRuns(t *testing.T) {
	for name, test := range map[string]struct {
		key, reason, outcome string
		code                 fault.Code
	}{
		"with a key":    {"k", fault.ReasonIdempotencyRunning, "", fault.Conflict},
		"without a key": {"", fault.ReasonDeadlineExceeded, "unknown", fault.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite)
			j := w.journal(Operation{})
			j.opts.WaitForEqual = time.Nanosecond
			_, err := Perform(t.Context(), j, w.call(test.key, "front"),
				func(ctx context.Context, r *Run, plan doorPlan) (Result[door], error) {
					there := r.Intent()
					other := there
					other.Owner, other.LeaseUntil = "another/run", w.now().Add(j.opts.Deadline)
					took, err := w.store.TakeOverIntent(ctx, there, other, w.now())
					if err != nil || !took {
						t.Errorf("the other run: %v, %v", took, err)
					}
					return Result[door]{}, r.Save(ctx, plan)
				})
			f := fault.From(err)
			if err == nil || f.Code != test.code || f.Reason != test.reason || f.Metadata["outcome"] != test.outcome {
				t.Errorf("the caller is told %v", err)
			}
		})
	}
}

// Whoever waited in vain for an equal call without a key may have had its effect, and is told so.
func TestACallThatWaitedInVainIsToldThatTheOutcomeIsUnknown(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	j.opts.WaitForEqual = time.Nanosecond
	call := w.call("", "front")
	call.DedupeWindow = time.Minute
	first, err := j.intentOf(t.Context(), call)
	w.check(err)
	first.Owner, first.LeaseUntil = "another/run", w.now().Add(j.opts.Deadline)
	_, began, err := j.opts.Store.BeginIntent(t.Context(), first, time.Time{})
	w.check(err)
	_, err = Perform(t.Context(), j, call, w.handle)
	f := fault.From(err)
	if !began || err == nil || f.Code != fault.Timeout || f.Metadata["outcome"] != "unknown" || f.RetryAfter == 0 {
		t.Errorf("the caller is told %v", err)
	}
}
