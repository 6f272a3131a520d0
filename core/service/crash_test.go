package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
)

// crashCase is a mutating call with a key, and the preparation of its world.
type crashCase struct {
	name    string
	prepare func(w *world)                                     // prepares the account
	before  func(w *world, p *process, c apikey.Caller) string // makes the call's subject, returns its id
	call    func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error)
	effects func(w *world) int
	unasked bool // recovery does not resume a call that did not reach the provider
	unknown bool // the provider cannot report the outcome of a call, so it stays unknown
}

func crashCases(tb testing.TB) []crashCase {
	ctx := context.Background()
	bookOne := func(p *process, c apikey.Caller, _ string) (json.RawMessage, bool, error) {
		a, err := p.Calendar.Book(ctx, c, key("k"), meeting(tb, "checkup", 10))
		return a.Body, a.Replayed, err
	}
	booked := func(w *world) int { return w.meetings.booked }
	anEvent := func(w *world, p *process, c apikey.Caller) string {
		return book(tb, p, c, Write{}, meeting(tb, "to change", 8)).Record.Event.EventID
	}
	aNumber := func(w *world, p *process, c apikey.Caller) string {
		n, err := p.Numbers.Buy(ctx, c, Write{}, BuyNumber{AreaCode: "415", Name: "Front"})
		w.check(err)
		return fmt.Sprint(n.Record.ID)
	}
	create := func(p *process, c apikey.Caller, _ string) (json.RawMessage, bool, error) {
		a, err := p.Tickets.Create(ctx, c, key("k"), CreateTicket{Subject: "door"})
		return a.Body, a.Replayed, err
	}
	buy := func(p *process, c apikey.Caller, _ string) (json.RawMessage, bool, error) {
		a, err := p.Numbers.Buy(ctx, c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
		return a.Body, a.Replayed, err
	}
	numberID := func(id string) (n int64) { _, _ = fmt.Sscan(id, &n); return n }
	aSlot := func(w *world, p *process, c apikey.Caller) string {
		found, err := p.Calendar.FindSlots(ctx, c, FindSlots{
			Start: when(tb, "2030-03-04T15:00:00Z"), End: when(tb, "2030-03-04T16:00:00Z"),
		})
		w.check(err)
		return found.Slots[0].SlotID
	}
	aHold := func(w *world, p *process, c apikey.Caller) string {
		held, err := p.Calendar.Hold(ctx, c, Write{}, HoldSlot{SlotID: aSlot(w, p, c), For: MaxHold})
		w.check(err)
		return held.Record.HoldID
	}
	bookHeld := func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
		a, err := p.Calendar.BookSlot(ctx, c, key("k"), BookSlot{
			Offered: Offered{HoldID: id}, Title: "checkup", Attendees: []string{"pat@example.com"},
		})
		return a.Body, a.Replayed, err
	}
	return []crashCase{
		{name: "book", call: bookOne, effects: booked},
		{
			name: "hold a slot", before: aSlot, unasked: true, // a hold whose time is over is not taken again
			effects: func(w *world) (held int) {
				for _, c := range w.tenants {
					rows, err := w.store.HoldsWithin(ctx, c.Connections[adapter.KindCalendar].ID, hour(0), hour(24), w.clock.now())
					w.check(err)
					held += len(rows)
				}
				return held
			},
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				a, err := p.Calendar.Hold(ctx, c, key("k"), HoldSlot{SlotID: id, For: MaxHold})
				return a.Body, a.Replayed, err
			},
		},
		{name: "book a held slot", before: aHold, call: bookHeld, effects: booked},
		{name: "book a held slot, busy times asked", before: aHold, call: bookHeld, effects: booked,
			prepare: func(w *world) { w.meetings.freeBusy = true }},
		{
			name: "move to a held slot", effects: func(w *world) int { return w.meetings.changed },
			before: func(w *world, p *process, c apikey.Caller) string {
				moving := meeting(tb, "to move", 8)
				moving.Attendees = []string{"pat@example.com"}
				book(tb, p, c, Write{}, moving)
				return aHold(w, p, c)
			},
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				client, err := p.Calendar.open(ctx, c)
				if err != nil {
					return nil, false, err
				}
				a, err := p.Calendar.MoveMeeting(ctx, c, key("k"), MoveMeeting{
					Offered: Offered{HoldID: id}, Reference: client.reference("ev1"),
				})
				return a.Body, a.Replayed, err
			},
		},
		{name: "book in a protected slot", prepare: protected, call: bookOne, effects: booked},
		{name: "book in a protected slot, busy times asked",
			prepare: func(w *world) { protected(w); w.meetings.freeBusy = true }, call: bookOne, effects: booked},
		{
			name:    "book where booking is not repeatable",
			prepare: func(w *world) { w.meetings.traits.IdempotentBook = false }, call: bookOne, effects: booked,
			unknown: true,
		},
		{
			name: "update", before: anEvent, effects: func(w *world) int { return w.meetings.changed },
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				a, err := p.Calendar.Update(ctx, c, key("k"), UpdateMeeting{
					EventID: id, Title: "new", Start: when(tb, hour(12).Format(time.RFC3339)), Timezone: "UTC",
				})
				return a.Body, a.Replayed, err
			},
		},
		{
			name: "update in a protected slot", prepare: protected, before: anEvent,
			effects: func(w *world) int { return w.meetings.changed },
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				a, err := p.Calendar.Update(ctx, c, key("k"), UpdateMeeting{
					EventID: id, Start: when(tb, hour(12).Format(time.RFC3339)), Timezone: "UTC",
				})
				return a.Body, a.Replayed, err
			},
		},
		{
			name: "cancel", before: anEvent, effects: func(w *world) int { return w.meetings.cancelled },
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				a, err := p.Calendar.Cancel(ctx, c, key("k"), CancelMeeting{EventID: id})
				return a.Body, a.Replayed, err
			},
		},
		{name: "create where creating is repeatable",
			prepare: func(w *world) { w.tickets.traits.IdempotentCreate = true }, call: create,
			effects: (*world).ticketCount},
		{name: "create where tickets are found by key", prepare: func(w *world) { w.tickets.findsKeys = true },
			call: create, effects: (*world).ticketCount},
		{name: "create where nothing helps", call: create, effects: (*world).ticketCount, unknown: true},
		{name: "buy where buying is repeatable", call: buy, unasked: true, effects: (*world).purchases},
		{name: "buy where buying is not repeatable",
			prepare: func(w *world) { w.phones.traits.IdempotentBuy = false }, call: buy, unasked: true,
			effects: (*world).purchases},
		{name: "buy where name and routing come after", prepare: func(w *world) { w.phones.bare = true }, call: buy,
			unasked: true, effects: (*world).purchases},
		{name: "buy where an order takes a while", prepare: func(w *world) { w.phones.ordersTake(1) }, call: buy,
			unasked: true, effects: (*world).purchases},
		{
			name: "change a number", before: aNumber,
			// Setting the same value twice is one effect.
			effects: func(w *world) int { return min(1, len(w.phones.changes)) },
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				name := "Night"
				a, err := p.Numbers.Update(ctx, c, key("k"), UpdateNumber{ID: numberID(id), Name: &name})
				return a.Body, a.Replayed, err
			},
		},
		{
			name: "release a number", before: aNumber, effects: func(w *world) int { return w.phones.released },
			call: func(p *process, c apikey.Caller, id string) (json.RawMessage, bool, error) {
				a, err := p.Numbers.Release(ctx, c, key("k"), numberID(id))
				return a.Body, a.Replayed, err
			},
		},
	}
}

// prepare renews the world for a case, and returns its caller.
func (w *world) prepare(c crashCase) apikey.Caller {
	w.tb.Helper()
	caller := w.renew()
	if c.prepare != nil {
		c.prepare(w)
	}
	return w.tenants[caller.Tenant.ID]
}

func (w *world) purchases() int { return w.phones.bought }

func (w *world) ticketCount() int { return w.tickets.count() }

// killAt kills the process that makes the n-th call of a driver from now on, before or after the provider
// acts.
func (w *world) killAt(n int64, after bool) (died *atomic.Bool) {
	died = &atomic.Bool{}
	var made atomic.Int64
	react := func(p *process, _ string) reaction {
		if made.Add(1) != n {
			return reaction{}
		}
		die := func(context.Context) error { died.Store(true); p.kill(); return errors.New("the process died") }
		if after {
			return reaction{after: die}
		}
		return reaction{before: die}
	}
	w.meetings.script(react)
	w.tickets.script(react)
	w.phones.script(react)
	return died
}

func (w *world) heal() {
	w.meetings.script(nil)
	w.tickets.script(nil)
	w.phones.script(nil)
}

// TestCrash kills the process at every call of a driver, before and after the provider acts. Either a repeat
// in another process finishes the call, or recovery does and the repeat gets its answer. There is always
// exactly one effect.
func TestCrash(t *testing.T) {
	for _, c := range crashCases(t) {
		for _, by := range []string{"a repeat", "recovery", "late recovery"} {
			t.Run(c.name+" is finished by "+by, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, storetest.ReusedSQLite)
				two := w.start()
				points := 0
				for n := int64(1); ; n++ {
					if before, after := crash(t, w, two, c, n, false, by), crash(t, w, two, c, n, true, by); !before && !after {
						break
					}
					points++
				}
				if points == 0 {
					t.Fatal("the call made no call of a driver")
				}
			})
		}
	}
}

// crash kills a process at its n-th call of a driver, before or after the provider acts, and lets another one finish
// what it began.
func crash(t *testing.T, w *world, two *process, c crashCase, n int64, after bool, by string) (died bool) {
	t.Helper()
	caller := w.prepare(c)
	where := fmt.Sprintf("call %d, after %v", n, after)
	id := ""
	if c.before != nil {
		id = c.before(w, two, caller)
	}
	had := c.effects(w)
	one := w.start()
	defer one.stop()
	killed := w.killAt(n, after)
	_, _, err := c.call(one, caller, id)
	w.heal()
	if !killed.Load() {
		if err != nil {
			t.Fatalf("%s: without a crash the call fails: %v", where, err)
		}
		return false
	}
	w.clock.advance(13 * time.Second)
	if by == "late recovery" {
		w.clock.advance(time.Hour)
	}
	left := w.unsettled()
	if by != "a repeat" {
		two.recover(t)
		for range 3 { // an order may take several tries
			if w.unsettled() > 0 && !c.unknown {
				w.clock.advance(maxRetryDelay)
				two.recover(t)
			}
		}
		if still := w.unsettled(); still > 0 && !c.unknown {
			t.Fatalf("%s: %d intents are not settled", where, still)
		}
	}
	dropped := c.unasked && c.effects(w) == had
	body, replayed, err := c.call(two, caller, id)
	if c.unknown && err != nil {
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		if got := c.effects(w) - had; got > 1 {
			t.Fatalf("%s: %d effects", where, got)
		}
		return true
	}
	if err != nil {
		t.Fatalf("%s: the repeat fails: %v", where, err)
	}
	if by != "a repeat" && left > 0 && !replayed && !dropped {
		t.Errorf("%s: recovery left the work to the repeat", where)
	}
	if got := c.effects(w) - had; got != 1 {
		t.Fatalf("%s: %d effects, want 1", where, got)
	}
	again, replayed, err := c.call(two, caller, id)
	if err != nil || !replayed || string(again) != string(body) {
		t.Fatalf("%s: a further repeat answers %s, replayed %v, %v; want %s", where, again, replayed, err, body)
	}
	return true
}

// unsettled returns the number of open intents without a running process.
func (w *world) unsettled() int {
	w.tb.Helper()
	open, err := w.store.UnsettledIntents(context.Background(), w.clock.now(),
		w.clock.now().Add(time.Hour), 1000)
	w.check(err)
	return len(open)
}

var (
	_ calendar.FreeBusyer = freeBusyDriver{}
	_ crm.Finder          = keyFindingCRM{}
	_ telephony.Driver    = (*phoneDriver)(nil)
)

// storeSteps are the kinds of write that a call makes in the store, each as a condition of a SQLite trigger.
var storeSteps = []string{
	"INSERT ON intents", "UPDATE OF plan ON intents", "UPDATE OF state ON intents WHEN NEW.state = 'done'",
	"UPDATE OF state ON intents WHEN NEW.state = 'unknown'", "DELETE ON intents", "INSERT ON holds",
	"UPDATE ON holds", "DELETE ON holds", "INSERT ON meetings", "INSERT ON slots_offered",
	"INSERT ON events_seen", "INSERT ON numbers", "UPDATE ON numbers",
	"INSERT ON audit", "INSERT ON purchases", "UPDATE OF e164 ON purchases",
	"UPDATE OF state ON purchases WHEN NEW.state = 'filled'",
	"UPDATE OF state ON purchases WHEN NEW.state = 'done'", "DELETE ON purchases", "INSERT ON number_claims",
	"UPDATE ON number_claims", "DELETE ON number_claims",
}

// TestStoreFailsAtOneStep makes one kind of write fail during the call, as in an outage of the store, and
// then kills the process. What the caller was told stays true, and there is exactly one effect in the end.
func TestStoreFailsAtOneStep(t *testing.T) {
	var steps atomic.Int64
	t.Run("of", func(t *testing.T) {
		for _, c := range crashCases(t) {
			for _, lost := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, the provider's answer lost %v", c.name, lost), func(t *testing.T) {
					t.Parallel()
					w := newStepWorld(t)
					taken := w.stepsTaken(c, lost)
					for i, when := range storeSteps {
						if !taken[i] {
							continue // it cannot fail
						}
						steps.Add(1)
						t.Run(when, func(t *testing.T) { w.fails(t, c, i, lost) })
					}
				})
			}
		}
	})
	if n := steps.Load(); n < 50 {
		t.Errorf("only %d steps were found", n)
	}
}

// stepWorld is a world in whose store a step can fail.
type stepWorld struct {
	*world
	db  *sql.DB
	two *process // the one that finishes what others began
}

func newStepWorld(t *testing.T) stepWorld {
	t.Helper()
	w := newWorld(t, storetest.ReusedSQLite)
	s := stepWorld{world: w, db: w.database()}
	// Triggers come and go with all that is prepared: they are there from the beginning, and a table says what fails.
	s.execute("CREATE TABLE steps_taken (step INTEGER)")
	s.execute("CREATE TABLE step_that_fails (step INTEGER)")
	for i, when := range storeSteps {
		s.execute(fmt.Sprintf(`CREATE TRIGGER step_%d BEFORE %s BEGIN
			INSERT INTO steps_taken VALUES (%[1]d);
			SELECT RAISE(ABORT, 'the disk is full') FROM step_that_fails WHERE step = %[1]d;
		END`, i, when))
	}
	s.two = w.start()
	return s
}

func (s stepWorld) execute(statement string) {
	s.tb.Helper()
	_, err := s.db.Exec(statement)
	s.check(err)
}

// stepsTaken returns which steps the store takes in a call.
func (s stepWorld) stepsTaken(c crashCase, lost bool) map[int]bool {
	s.tb.Helper()
	call := s.before(c, lost)
	s.execute("DELETE FROM steps_taken")
	_, _, _ = call(s.two)
	rows, err := s.db.Query("SELECT DISTINCT step FROM steps_taken")
	s.check(err)
	defer rows.Close()
	taken := map[int]bool{}
	for rows.Next() {
		var i int
		s.check(rows.Scan(&i))
		taken[i] = true
	}
	s.check(rows.Err())
	return taken
}

// before prepares a call, whose answer of the provider is lost or not.
func (s stepWorld) before(c crashCase, lost bool) (call func(*process) (json.RawMessage, bool, error)) {
	s.tb.Helper()
	caller, id := s.prepare(c), ""
	if c.before != nil {
		id = c.before(s.world, s.two, caller)
	}
	if lost {
		for _, a := range []*account{&s.meetings.account, &s.tickets.account, &s.phones.account} {
			a.script(func(_ *process, call string) reaction {
				if slices.Contains([]string{"book", "change", "cancel", "create", "buy", "release"}, call) {
					return reaction{after: fails(cutOff())}
				}
				return reaction{}
			})
		}
	}
	return func(p *process) (json.RawMessage, bool, error) { return c.call(p, caller, id) }
}

func (s stepWorld) fails(t *testing.T, c crashCase, step int, lost bool) {
	t.Helper()
	call, one := s.before(c, lost), s.start()
	defer one.stop()
	had := c.effects(s.world)
	s.execute(fmt.Sprintf("INSERT INTO step_that_fails VALUES (%d)", step))
	body, _, first := call(one)
	s.heal()
	one.kill()
	s.execute("DELETE FROM step_that_fails")

	s.clock.advance(13 * time.Second)
	if step%2 == 0 {
		s.two.recover(t)
	}
	again, _, err := call(s.two)
	if c.unknown && err != nil {
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		return
	}
	if err != nil {
		t.Fatalf("the repeat fails: %v (the first answered %v)", err, first)
	}
	if got := c.effects(s.world) - had; got != 1 {
		t.Fatalf("%d effects, want 1 (the first answered %v)", got, first)
	}
	if first == nil && string(again) != string(body) {
		t.Fatalf("the caller was told %s, the repeat %s", body, again)
	}
}

// database returns the SQLite file of a world, for changes behind the store's back.
func (w *world) database() *sql.DB {
	w.tb.Helper()
	return storetest.Database(w.tb, w.url)
}
