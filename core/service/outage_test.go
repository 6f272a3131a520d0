package service

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/store/storetest"
)

// TestACallThatTheStoreRefusedIsNotCarriedOutLater loses each message between a booking and PostgreSQL, or
// its response: the connection breaks, but the process lives. A caller who is told that the store does not
// respond may book something else instead.
func TestACallThatTheStoreRefusedIsNotCarriedOutLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedPostgres)
	c := w.tenant("acme")
	cut := w.startWithTrap()
	cut.survives = true
	defer w.bury(cut)
	book(t, cut.process, c, key("first"), meeting(t, "first", 1)) // from here on, statements are prepared
	refused := 0
	for n := 1; n <= 4; n++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprint(n, after)
			cut.arm(n, true, after)
			_, err := cut.process.Calendar.Book(asKey(c), c, key(name), meeting(t, name, 2*n))
			cut.disarm()
			w.clock.advance(13 * time.Second)
			cut.process.recover(t)
			made := 0
			for _, e := range w.meetings.live() {
				if e.Title == name {
					made++
				}
			}
			want := 1
			if errors.Is(err, fault.Unavailable) {
				refused++
				wantReason(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
				want = 0
			}
			if made != want {
				t.Errorf("%s was answered %v, and %d meetings were made", name, err, made)
			}
			book(t, cut.process, c, key(name), meeting(t, name, 2*n))
		}
	}
	if refused < 2 {
		t.Errorf("%d calls were refused: the test proves nothing", refused)
	}
	if want := 1 + 4*2; w.meetings.booked != want {
		t.Errorf("%d meetings, want %d", w.meetings.booked, want)
	}
}

// TestACallThatTheStoreRefusedHoldsNoSlot: whoever is told that a booking was not recorded finds its time free.
func TestACallThatTheStoreRefusedHoldsNoSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedPostgres)
	c := w.tenant("acme")
	protected(w)
	c = w.tenants[c.Tenant.ID]
	cut := w.startWithTrap()
	cut.survives = true
	defer w.bury(cut)
	book(t, cut.process, c, key("first"), meeting(t, "first", 1)) // from here on, statements are prepared
	refused := 0
	for n := 1; n <= 4; n++ {
		for at, after := range []bool{false, true} {
			hour := 2*n + at
			cut.arm(n, true, after)
			_, err := cut.process.Calendar.Book(asKey(c), c, Write{}, meeting(t, "one", hour))
			cut.disarm()
			if !errors.Is(err, fault.Unavailable) {
				continue
			}
			refused++
			cut.process.recover(t)
			if _, err := w.start().Calendar.Book(asKey(c), c, Write{}, meeting(t, "two", hour)); err != nil {
				t.Errorf("after message %d was lost, its answer %v: %v", n, after, err)
			}
		}
	}
	if refused < 2 {
		t.Errorf("%d calls were refused: the test proves nothing", refused)
	}
}

// TestARefusedHoldIsInNobodysWay loses each message between hold-slot and PostgreSQL, or its response, once the call
// has found that an equal one no longer counts.
func TestARefusedHoldIsInNobodysWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedPostgres)
	c := w.tenant("acme")
	cut, other := w.startWithTrap(), w.start()
	cut.survives = true
	defer w.bury(cut)
	slot := slotAt(t, other, c, 10, nil).SlotID
	free := func(held record.HoldAnswer) {
		_, err := other.Calendar.ReleaseHold(background, c, Write{}, held.HoldID)
		w.check(err)
	}
	free(holdSlot(t, cut.process, c, Write{}, slot)) // from here on, statements are prepared
	refused := 0
	for n := 10; n <= 16; n++ { // the hold is taken by the last ones
		for _, after := range []bool{false, true} {
			cut.arm(n, true, after)
			held, err := cut.process.Calendar.Hold(background, c, Write{},
				HoldSlot{SlotID: slot, For: 5 * time.Minute})
			cut.disarm()
			cut.process.recover(t)
			if err == nil {
				free(held.Record)
				continue
			}
			refused++
			again := Write{IdempotencyKey: fmt.Sprint(n, after)}
			free(holdSlot(t, other, c, again, slot))
		}
	}
	if refused < 6 {
		t.Errorf("%d calls were refused: the test proves nothing", refused)
	}
}

// A hold that the store did not let go when its call failed goes as soon as the store lets it.
func TestAHoldOfARefusedCallGoesWithTheOutage(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 10, nil).SlotID
	_, err := w.database().Exec("CREATE TRIGGER away BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'away'); END")
	w.check(err)
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "calendars" { // before the hold
			return reaction{}
		}
		return reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Not now."))}
	})
	_, err = p.Calendar.Hold(background, c, key("refused"), HoldSlot{SlotID: slot, For: 15 * time.Minute})
	wantReason(t, err, fault.Forbidden, fault.ReasonPermissionDenied)
	w.heal()
	_, err = w.database().Exec("DROP TRIGGER away")
	w.check(err)
	p.recover(t)
	holdSlot(t, p, c, key("another"), slot)
}
