package service

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/store/storetest"
)

// realLeases makes processes measure leases in real time, with short leases of a fifth of a second.
func realLeases(o *Options, _ *guard.Options) { o.LeaseClock, o.Lease = nil, 200*time.Millisecond }

func TestARepeatAfterAKillIsAnsweredWithinItsDeadline(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]Write{"with a key": key("k"), "without one": {}} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, w *world) {
				w.options = realLeases
				c := w.tenant("acme")
				for _, after := range []bool{false, true} {
					in := meeting(t, fmt.Sprint("killed after the provider acted: ", after), 10)
					w.killAt(1, after)
					if _, err := w.start().Calendar.Book(asKey(c), c, write, in); err == nil {
						t.Fatal("the call of a dead process succeeds")
					}
					w.heal()
					booked := w.meetings.booked
					if after {
						booked--
					}
					if _, err := w.start().Calendar.Book(within(t, 10*time.Second), c, write, in); err != nil {
						t.Fatalf("after %v: %v", after, err)
					}
					if made := w.meetings.booked - booked; made != 1 {
						t.Fatalf("after %v: %d meetings", after, made)
					}
					write = Write{IdempotencyKey: write.IdempotencyKey + write.IdempotencyKey}
				}
			})
		})
	}
}

func TestADeadCallIsNotBlockedByAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		c := w.tenant("acme")
		w.clock.advance(time.Hour)
		w.killAt(1, false)
		if _, err := w.start().Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10)); err == nil {
			t.Fatal("the call of a dead process succeeds")
		}
		w.heal()
		w.clock.advance(-time.Hour)
		p := w.start()
		p.recover(t)
		if answer := book(t, p, c, key("k"), meeting(t, "checkup", 10)); !answer.Replayed ||
			w.meetings.booked != 1 {
			t.Errorf("replayed %v, %d meetings", answer.Replayed, w.meetings.booked)
		}
	})
}

// storeAway cuts each connection to PostgreSQL at the n-th message from now on, before or after the server
// receives it.
func storeAway(t *testing.T, w *world) *trap {
	t.Helper()
	cut := w.startWithTrap()
	cut.survives = true
	t.Cleanup(func() { w.bury(cut) })
	return cut
}

// TestAnAnswerThatWasGivenStaysGiven loses each message between a booking and PostgreSQL, or its response.
func TestAnAnswerThatWasGivenStaysGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedPostgres)
	w.meetings.traits.IdempotentBook = false // no run could find out the outcome later
	c := w.tenant("acme")
	cut := storeAway(t, w)
	book(t, cut.process, c, key("first"), meeting(t, "first", 1)) // from here on, statements are prepared
	given := 0
	for n := 1; n <= 6; n++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprint(n, after)
			cut.arm(n, true, after)
			first, err := cut.process.Calendar.Book(asKey(c), c, key(name), meeting(t, name, 2*n))
			cut.mu.Lock()
			met := cut.steps <= 0
			cut.mu.Unlock()
			cut.disarm()
			if err != nil {
				wantReason(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
				continue
			}
			if met {
				given++
			}
			again := book(t, cut.process, c, key(name), meeting(t, name, 2*n))
			if string(again.Body) != string(first.Body) || !again.Replayed {
				t.Errorf("%s: the repeat is answered %s, replayed %v, after %s", name, again.Body,
					again.Replayed, first.Body)
			}
			cut.process.recover(t)
			if there := book(t, w.start(), c, key(name),
				meeting(t, name, 2*n)); string(there.Body) != string(first.Body) {
				t.Errorf("%s: another process answers %s after %s", name, there.Body, first.Body)
			}
		}
	}
	if given == 0 {
		t.Error("no answer was given while the store was away: the test proves nothing")
	}
}

// TestAnAnswerThatTheStoreNeverTakesHoldsUpNothing checks that other answers are written and that abandoned
// calls are settled.
func TestAnAnswerThatTheStoreNeverTakesHoldsUpNothing(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	_, err := w.database().Exec(
		`CREATE TRIGGER failing BEFORE UPDATE OF state ON intents WHEN NEW.state = 'done' AND NEW.key = 'key:stuck'
		BEGIN SELECT RAISE(ABORT, 'never'); END`)
	w.check(err)
	stuck := book(t, p, c, key("stuck"), meeting(t, "stuck", 8))
	w.killAt(1, false)
	if _, err := w.start().Calendar.Book(asKey(c), c, key("dead"), meeting(t, "dead", 12)); err == nil {
		t.Fatal("the call of a dead process succeeds")
	}
	w.heal()
	p.recover(t)
	if answer := book(t, p, c, key("dead"), meeting(t, "dead", 12)); !answer.Replayed {
		t.Error("what a dead process left is not settled")
	}
	if again := book(t, p, c, key("stuck"), meeting(t, "stuck", 8)); !again.Replayed ||
		string(again.Body) != string(stuck.Body) {
		t.Errorf("the repeat is answered %s after %s", again.Body, stuck.Body)
	}
}

// TestPeersLeaveWhatTheStoreRefused checks calls that were recorded although the caller was told otherwise.
// While the process cannot withdraw such a call, no other replica carries it out.
func TestPeersLeaveWhatTheStoreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedPostgres)
	c := w.tenant("acme")
	cut, peer := storeAway(t, w), w.start()
	book(t, cut.process, c, key("first"), meeting(t, "first", 1))
	refused := 0
	for n := 1; n <= 4; n++ {
		cut.arm(n, true, true)
		_, err := cut.process.Calendar.Book(asKey(c), c, key(fmt.Sprint(n)), meeting(t, fmt.Sprint(n), 2*n))
		cut.disarm()
		if !errors.Is(err, fault.Unavailable) {
			continue
		}
		refused++
		booked := w.meetings.booked
		for range 6 {
			w.clock.advance(recoveryInterval)
			peer.recover(t)
		}
		cut.process.recover(t)
		w.clock.advance(time.Hour)
		peer.recover(t)
		if w.meetings.booked != booked {
			t.Errorf("message %d: the call that was refused is carried out", n)
		}
	}
	if refused == 0 {
		t.Error("no call was refused: the test proves nothing")
	}
}

// TestAnUnsettledCallWithoutAKeyIsNoSecondMeeting repeats a call after an outage of the provider, which may
// last until equal calls no longer count as one.
func TestAnUnsettledCallWithoutAKeyIsNoSecondMeeting(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(w *world, p *process){
		"the recovery worker settles it in time": func(w *world, p *process) {
			w.clock.advance(9 * time.Minute)
			w.heal()
			p.recover(t)
		},
		"nobody settled it in time": func(w *world, _ *process) { w.clock.advance(11 * time.Minute); w.heal() },
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.script(func(_ *process, call string) reaction { return reaction{after: fails(cutOff())} })
			_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "checkup", 10))
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			act(w, p)
			book(t, p, c, Write{}, meeting(t, "checkup", 10))
			if w.meetings.booked != 1 {
				t.Errorf("%d meetings", w.meetings.booked)
			}
		})
	}
}
