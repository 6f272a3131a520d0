package service

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/store"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	there := func(in string) func(*testing.T, *world, *process) string {
		return func(_ *testing.T, w *world, _ *process) string {
			return w.meetings.put(calendar.Event{
				CalendarID: in, Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"),
			})
		}
	}
	gone := func(t *testing.T, w *world, p *process) string {
		id := there("main")(t, w, p)
		w.meetings.edit(id, func(e *calendar.Event) { e.IsCancelled = true })
		return id
	}
	for name, test := range map[string]struct {
		event    func(*testing.T, *world, *process) string // returns the event's id
		calendar string
		tells410 bool
		reason   string
	}{
		"in the default calendar": {event: there("main")},
		"in the calendar given":   {event: there("side"), calendar: "side"},
		"in a calendar not given": {event: there("side"), reason: fault.ReasonEventNotFound},
		"in a calendar that is not there": {event: there("side"), calendar: "nowhere",
			reason: fault.ReasonCalendarNotFound},
		"in the default one, though another given": {event: there("main"), calendar: "side"},
		"never there": {event: func(*testing.T, *world, *process) string {
			return "nothing"
		}, reason: fault.ReasonEventNotFound},
		"gone, and the provider does not say": {event: gone, reason: fault.ReasonEventNotFound},
		"gone, as the provider says":          {event: gone, tells410: true},
		"in the calendar it was booked in": {event: func(t *testing.T, w *world, p *process) string {
			in := meeting(t, "side", 10)
			in.CalendarIDs = []string{"side"}
			return book(t, p, w.tenants["t-acme"], Write{}, in).Record.Event.EventID
		}},
		"in the calendar it was listed in": {event: func(t *testing.T, w *world, p *process) string {
			id := there("side")(t, w, p)
			_, err := p.Calendar.List(background, w.tenants["t-acme"], ListEvents{
				Start: when(t, "2030-03-04"), CalendarIDs: []string{"side"},
			})
			w.check(err)
			return id
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.tells410 = test.tells410
			id := test.event(t, w, p)
			answer, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{
				EventID: id, CalendarID: test.calendar,
			})
			if test.reason != "" {
				wantReason(t, err, fault.NotFound, test.reason)
				return
			}
			if err != nil || answer.Record != (record.CancelAnswer{OK: true, EventID: id}) {
				t.Fatalf("got %+v, %v", answer.Record, err)
			}
			if live := w.meetings.live(); len(live) != 0 {
				t.Fatalf("%v are left", live)
			}
			again, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{
				EventID: id, CalendarID: test.calendar,
			})
			if err != nil || again.Replayed || !again.Record.OK {
				t.Errorf("a second cancel answers %+v, %v", again.Record, err)
			}
		})
	}
}

func TestCancelOfAnotherTenantsEventIsNotFound(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	other := w.tenant("other")
	id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
	if _, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id}); err != nil {
		t.Fatal(err)
	}
	_, err := p.Calendar.Cancel(asKey(other), other, Write{}, CancelMeeting{EventID: id})
	wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
}

func TestCancelWhereIDsAreUniqueInTheAccountLooksOnce(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar = false
	id := w.meetings.put(calendar.Event{
		CalendarID: "side", Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"),
	})
	if _, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{
		EventID: id, CalendarID: "main",
	}); err != nil {
		t.Fatal(err)
	}
	if calls := w.meetings.called("cancel"); calls != 1 {
		t.Errorf("the provider is asked %d times", calls)
	}
}

func TestCancelThatCannotBeAskedIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
	w.meetings.times(9, "cancel", reaction{before: fails(down())})
	_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
}

// An attempt whose answer was lost has cancelled the event if the next attempt finds it gone.
func TestACancelWhoseAnswerWasLostIsKnownByTheNextAttempt(t *testing.T) {
	t.Parallel()
	for _, tells410 := range []bool{true, false} {
		t.Run(fmt.Sprint("which tells 410: ", tells410), func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.tells410, w.meetings.traits.KeepsCancelled = tells410, tells410
			id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
			w.meetings.once("cancel", reaction{after: fails(cutOff())})
			answer, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
			if err != nil || !answer.Record.OK || w.meetings.cancelled != 1 {
				t.Errorf("answered %+v, %v; %d were cancelled", answer.Record, err, w.meetings.cancelled)
			}
			w.meetings.once("cancel", reaction{before: fails(cutOff())})
			_, err = p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: "another"})
			if tells410 { // and so told that it never was
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			}
		})
	}
}

// Whoever is told to repeat a cancellation whose outcome is unknown is not told afterwards that there is no event.
func TestARepeatedCancelSucceedsBeforeTheFirstIsSettled(t *testing.T) {
	t.Parallel()
	for name, acts := range map[string]bool{"the first was lost on its way back": true, "on its way there": false} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
			lost := reaction{before: fails(cutOff())}
			if acts {
				lost = reaction{after: fails(cutOff())}
			}
			w.cancelsInDoubt(p, c, id, lost)
			w.meetings.script(nil)
			again, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
			if err != nil || !again.Record.OK || len(w.meetings.live()) != 0 {
				t.Errorf("the repeat is answered %+v, %v; there is %+v", again.Record, err, w.meetings.live())
			}
			_, err = p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: "another"})
			wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
		})
	}
}

// cancelsInDoubt cancels an event whose provider reacts so to each try, and whose caller cannot know the outcome.
func (w *world) cancelsInDoubt(p *process, c apikey.Caller, id string, each reaction) {
	w.tb.Helper()
	w.meetings.times(3, "cancel", each)
	_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
	wantReason(w.tb, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
}

// openCalls begins a thousand calls that stay open, as while a provider is down.
func (w *world) openCalls(c apikey.Caller) {
	for i := range 1000 {
		open := store.Intent{
			TenantID: c.Tenant.ID, Operation: opBook, Key: strconv.Itoa(i), EffectKey: strconv.Itoa(i),
			ConnectionID: c.Connections[adapter.KindCalendar].ID, Owner: "another/run", State: store.IntentRunning,
			Plan: json.RawMessage("{}"), CreatedAt: w.clock.now(), UpdatedAt: w.clock.now(),
			LeaseUntil: w.clock.now().Add(time.Hour),
		}
		_, _, err := w.store.BeginIntent(background, open, time.Time{})
		w.check(err)
	}
}

func TestARepeatedCancelIsFoundAmongManyOpenCalls(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
	w.cancelsInDoubt(p, c, id, reaction{after: fails(cutOff())})
	w.meetings.script(nil)
	w.openCalls(c)
	again, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
	if err != nil || !again.Record.OK {
		t.Errorf("the repeat is answered %+v, %v", again.Record, err)
	}
}
