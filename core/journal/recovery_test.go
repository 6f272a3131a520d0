package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

func TestIntentsThatStayUnknownAreTriedLessAndLess(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	w.cutOff(j, "k", "front")
	w.open = loseReply
	tries := func(d time.Duration) int {
		before := len(w.plans)
		for ; d > 0; d -= recoveryInterval {
			w.advance(recoveryInterval)
			w.recover(j)
		}
		return len(w.plans) - before
	}
	if n := tries(time.Minute); n < 4 || n > 7 {
		t.Errorf("%d tries in the first minute", n)
	}
	if n := tries(time.Hour); n < 6 || n > 12 {
		t.Errorf("%d tries in the next hour", n)
	}
	w.open = nil
	if tries(maxRetryDelay) == 0 || len(w.opened) != 1 {
		t.Errorf("when the provider is back, %v is opened", w.opened)
	}
}

func TestRecoveryBoundsTheWorkOfARound(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	for i := range recoveryBatch + 5 {
		w.cutOff(j, fmt.Sprint(i), fmt.Sprint("door ", i))
	}
	w.recover(j)
	if len(w.opened) != recoveryBatch {
		t.Errorf("one round recovers %d, want %d", len(w.opened), recoveryBatch)
	}
	w.recover(j)
	if len(w.opened) != recoveryBatch+5 {
		t.Errorf("two rounds recover %d", len(w.opened))
	}
	// With a slow provider, the round ends before it has tried every intent.
	for i := range recoveryBatch {
		w.cutOff(j, fmt.Sprint("slow ", i), fmt.Sprint("slow door ", i))
	}
	had := len(w.opened)
	w.open = func(*Run) error { w.advance(time.Second); return nil }
	w.recover(j)
	if n := len(w.opened) - had; n < 1 || n > 3*recoveryConcurrency {
		t.Errorf("a slow round recovers %d", n)
	}
}

// TestAClockThatWasSetBackHoldsUpNothing: a call of the time when the clock was ahead is tried now, and not when that
// time comes again.
func TestAClockThatWasSetBackHoldsUpNothing(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	w.cutOff(j, "k", "front")
	w.advance(-time.Hour)
	w.recover(j)
	if len(w.opened) != 1 {
		t.Errorf("opened %v", w.opened)
	}
}

// TestARunThatPanicsEndsNoProcess: an intent that no process could recover would end each that takes it over.
func TestARunThatPanicsEndsNoProcess(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	w.cutOff(j, "k1", "front")
	w.cutOff(j, "k2", "back")
	tries := 0
	w.open = func(r *Run) error {
		if strings.Contains(string(r.Intent().Plan), "front") {
			tries++
			panic("defect")
		}
		return nil
	}
	for range 10 {
		w.advance(recoveryInterval)
		w.recover(j)
	}
	if tries == 0 || len(w.opened) != 1 {
		t.Errorf("%d tries, and %v is opened, want the other door alone", tries, w.opened)
	}
	if tries > 6 {
		t.Errorf("%d tries in %d rounds, though each fails", tries, 10)
	}
	w.open = nil
	w.advance(maxRetryDelay)
	if w.recover(j); len(w.opened) != 2 {
		t.Errorf("once the defect is mended, %v is opened", w.opened)
	}
}
