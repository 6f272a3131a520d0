package service

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/record"
)

func TestUpdateChangesOnlyWhatIsGiven(t *testing.T) {
	t.Parallel()
	newYork := func(h, m int) calendar.Time {
		zone, _ := time.LoadLocation("America/New_York")
		return calendar.At(time.Date(2030, 3, 4, h, m, 0, 0, zone), "America/New_York")
	}
	for name, test := range map[string]struct {
		in         UpdateMeeting
		start, end string // of the record
		zone       string // the event is kept in
	}{
		"a title alone": {UpdateMeeting{Title: "new"}, "2030-03-04T10:00:00-05:00", "2030-03-04T10:45:00-05:00",
			"America/New_York"},
		"a start keeps the duration": {
			UpdateMeeting{Start: when(t, "2030-03-04T12:00:00-05:00")}, "2030-03-04T12:00:00-05:00",
			"2030-03-04T12:45:00-05:00", "America/New_York",
		},
		"an end alone keeps the start": {
			UpdateMeeting{End: when(t, "2030-03-04T11:30:00-05:00")}, "2030-03-04T10:00:00-05:00",
			"2030-03-04T11:30:00-05:00", "America/New_York",
		},
		"both": {
			UpdateMeeting{Start: when(t, "2030-03-04T09:00:00-05:00"), End: when(t, "2030-03-04T09:10:00-05:00")},
			"2030-03-04T09:00:00-05:00", "2030-03-04T09:10:00-05:00", "America/New_York",
		},
		"a local time lies in the calendar's zone": {
			UpdateMeeting{Start: when(t, "2030-03-04T12:00:00")}, "2030-03-04T12:00:00-05:00",
			"2030-03-04T12:45:00-05:00", "America/New_York",
		},
		"a local time with a zone lies in that": {
			UpdateMeeting{Start: when(t, "2030-03-04T12:00:00"), Timezone: "Europe/Berlin"},
			"2030-03-04T12:00:00+01:00", "2030-03-04T12:45:00+01:00", "Europe/Berlin",
		},
		"a zone shows the times in it": {
			UpdateMeeting{Title: "new", Timezone: "Europe/Berlin"}, "2030-03-04T16:00:00+01:00",
			"2030-03-04T16:45:00+01:00", "America/New_York",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			id := w.meetings.put(calendar.Event{
				Title: "old", Description: "text", Start: newYork(10, 0), End: newYork(10, 45),
				Attendees: []calendar.Attendee{{Email: "pat@example.com", Response: "accepted"}},
			})
			test.in.EventID = id
			answer, err := p.Calendar.Update(asKey(c), c, Write{}, test.in)
			w.check(err)
			if got, want := answer.Record.Event,
				(record.Meeting{EventID: id, StartTime: test.start, EndTime: test.end}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			now := w.meetings.live()[0]
			if now.Start.Zone != test.zone {
				t.Errorf("it is kept in %s, want %s", now.Start.Zone, test.zone)
			}
			if now.Description != "text" || len(now.Attendees) != 1 || now.Attendees[0].Response != "accepted" {
				t.Errorf("what was not given is changed: %+v", now)
			}
		})
	}
}

func TestUpdatePlacesLocalTimesInTheZoneOfTheEventsOwnCalendar(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	in := meeting(t, "in Berlin", 10)
	in.CalendarIDs = []string{"side"}
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	answer, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Start: when(t, "2030-03-04T12:00:00"),
	})
	if err != nil {
		t.Fatal(err)
	}
	zone, _ := time.LoadLocation("Europe/Berlin")
	got, err := time.Parse(time.RFC3339, answer.Record.Event.StartTime)
	if want := time.Date(2030, 3, 4, 12, 0, 0, 0, zone); err != nil || !got.Equal(want) {
		t.Fatalf("it starts at %s, want %s", answer.Record.Event.StartTime, want)
	}
}

func TestUpdateReplacesTheAttendees(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	in := meeting(t, "checkup", 10)
	in.Attendees = []string{"pat@example.com", "kim@example.com"}
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	w.meetings.edit(id, func(e *calendar.Event) { e.Attendees[1].Response = "accepted" })
	_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Attendees: []string{"kim@example.com", "lee@example.com"},
	})
	w.check(err)
	got := w.meetings.live()[0].Attendees
	if want := []calendar.Attendee{
		{Email: "kim@example.com", Response: "accepted"}, {Email: "lee@example.com"},
	}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestUpdateReadsAgainWhatSomeoneElseChanged(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "checkup", 10)).Record.Event.EventID
	overtaken := 0
	w.meetings.script(func(_ *process, call string) reaction {
		if call != "change" || overtaken == 2 {
			return reaction{}
		}
		overtaken++
		return reaction{before: func(context.Context) error {
			w.meetings.edit(id, func(e *calendar.Event) {
				e.Description, e.End = "theirs", calendar.At(e.End.Instant.Add(10*time.Minute), "UTC")
			})
			return nil
		}}
	})
	answer, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Start: when(t, "2030-03-04T12:00:00Z"),
	})
	w.check(err)
	now := w.meetings.live()[0]
	if now.Description != "theirs" || !now.End.Instant.Equal(hour(13).Add(20*time.Minute)) ||
		w.meetings.changed != 1 {
		t.Fatalf("got %+v after %d changes; answered %+v", now, w.meetings.changed, answer.Record)
	}
}

// An attempt whose answer was lost overtakes the next one. What it has made of the event tells that it was the one.
func TestUpdateWhoseAnswerWasLostIsKnownByTheNextAttempt(t *testing.T) {
	t.Parallel()
	for title, known := range map[string]bool{"two": true, "by somebody else since": false} {
		t.Run("the event is now called "+title, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
			w.meetings.once("change", reaction{after: func(context.Context) error {
				w.meetings.edit(id, func(e *calendar.Event) { e.Title = title })
				return cutOff()
			}})
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Title: "two"})
			if !known {
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			} else if err != nil || w.meetings.changed != 1 {
				t.Errorf("answered %v; it was changed %d times", err, w.meetings.changed)
			}
		})
	}
}

// So do its times, of which a calendar keeps no parts of a second.
func TestMoveWhoseAnswerWasLostIsKnownByItsSeconds(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"2030-03-04T12:00:00.250Z", "2030-03-04T07:00:00.250"} {
		w, p, c := sqliteWorld(t)
		id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
		w.meetings.once("change", reaction{after: fails(cutOff())})
		_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Start: when(t, start)})
		if err != nil || w.meetings.changed != 1 {
			t.Errorf("%s: answered %v; it was changed %d times", start, err, w.meetings.changed)
		}
	}
}

// Where events are remembered, but no id is a calendar's own, a change asks for nothing more than before.
func TestUpdateInANamedZoneDoesNotAskForTheCalendars(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar = false
	id := w.meetings.put(calendar.Event{Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC")})
	for _, title := range []string{"one", "two"} {
		_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Title: title, Timezone: "UTC"})
		w.check(err)
	}
	w.asksFor(t, 0)
}

// What the store knows of a meeting is read before the change: no read can fail after it.
func TestUpdateThatWasMadeNeedsNoReadAfterIt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar = false
	id := w.meetings.put(calendar.Event{Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC")})
	w.meetings.once("change", reaction{after: func(context.Context) error {
		_, err := w.database().Exec("DROP TABLE meetings")
		return err
	}})
	_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Title: "changed", Timezone: "UTC"})
	w.check(err)
}

func TestUpdateThatIsAlwaysOvertakenIsAKnownFailure(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "checkup", 10)).Record.Event.EventID
	w.meetings.script(func(_ *process, call string) reaction {
		if call != "change" {
			return reaction{}
		}
		return reaction{before: func(context.Context) error {
			w.meetings.edit(id, func(*calendar.Event) {})
			return nil
		}}
	})
	_, err := p.Calendar.Update(asKey(c), c, key("k"), UpdateMeeting{EventID: id, Title: "mine"})
	wantReason(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
	if w.unsettled() != 0 {
		t.Error("an intent is left")
	}
}

func TestUpdateWhoseSecondReadFailsIsAKnownFailure(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "checkup", 10)).Record.Event.EventID
	reads := 0
	w.meetings.script(func(_ *process, call string) reaction {
		switch call {
		case "change":
			return reaction{before: func(context.Context) error {
				w.meetings.edit(id, func(*calendar.Event) {})
				return nil
			}}
		case "event":
			if reads++; reads > 1 {
				return reaction{before: fails(cutOff())}
			}
		}
		return reaction{}
	})
	_, err := p.Calendar.Update(asKey(c), c, key("k"), UpdateMeeting{EventID: id, Title: "mine"})
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	if w.unsettled() != 0 {
		t.Error("an intent is left, though the change was surely not made")
	}
}

func TestUpdateOfAWholeDay(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, start, wantStart, wantEnd string }{
		{"", "2030-03-05T09:00:00", "2030-03-05T09:00:00-05:00", "2030-03-06T09:00:00-05:00"},
		// In New York, clocks go forward on that day.
		{"", "2030-03-10T00:00:00", "2030-03-10T00:00:00-05:00", "2030-03-11T00:00:00-04:00"},
		// In Chile, they do at its end: the next day has no 00:00.
		{"America/Santiago", "2030-09-07T00:00:00", "2030-09-07T00:00:00-04:00", "2030-09-08T01:00:00-03:00"},
	} {
		t.Run(test.start, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			id := w.meetings.put(calendar.Event{Start: calendar.Day(2030, 3, 4), End: calendar.Day(2030, 3, 5)})
			answer, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
				EventID: id, Start: when(t, test.start), Timezone: test.zone,
			})
			w.check(err)
			if got := answer.Record.Event; got.StartTime != test.wantStart || got.EndTime != test.wantEnd {
				t.Fatalf("got %+v", got)
			}
		})
	}
}

func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in     UpdateMeeting
		code   fault.Code
		reason string
	}{
		"an event that never was": {UpdateMeeting{EventID: "nothing", Title: "new"}, fault.NotFound,
			fault.ReasonEventNotFound},
		"an event that was cancelled": {UpdateMeeting{EventID: "ev2", Title: "new"}, fault.NotFound,
			fault.ReasonEventNotFound},
		"an end before the start it has": {UpdateMeeting{EventID: "ev1", End: when(t, "2030-03-04T09:00:00Z")},
			fault.Invalid, fault.ReasonInvalidRequest},
		"an end before the start given": {
			UpdateMeeting{EventID: "ev1", Start: when(t, "2030-03-04T12:00:00Z"),
				End: when(t, "2030-03-04T11:00:00Z")},
			fault.Invalid, fault.ReasonInvalidRequest,
		},
		"a local end before the start in UTC": {
			UpdateMeeting{EventID: "ev1", Start: when(t, "2030-03-04T20:00:00Z"), End: when(t, "2030-03-04T14:00:00")},
			fault.Invalid, fault.ReasonInvalidRequest,
		},
		"a zone that is none": {UpdateMeeting{EventID: "ev1", Title: "new", Timezone: "Mars/Olympus"},
			fault.Invalid, fault.ReasonInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			book(t, p, c, Write{}, meeting(t, "one", 10))
			w.meetings.put(calendar.Event{
				Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"), IsCancelled: true,
			})
			_, err := p.Calendar.Update(asKey(c), c, Write{}, test.in)
			wantReason(t, err, test.code, test.reason)
			if w.meetings.changed != 0 {
				t.Error("the event is changed")
			}
		})
	}
}

func TestUpdateFindsAnEventThatMovedOutOfTheCalendarItWasSeenIn(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	in := meeting(t, "moves", 10)
	in.CalendarIDs = []string{"side"}
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	// Google shows the event like this in the calendar it left.
	w.meetings.edit(id, func(e *calendar.Event) { e.IsCancelled = true })
	w.meetings.put(calendar.Event{
		ID: id, CalendarID: "main", Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"),
	})
	if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Title: "new",
	}); err != nil {
		t.Fatal(err)
	}
}

// An update whose response was lost is followed by someone else's newer one.
func TestRecoveryDoesNotOverwriteANewerChange(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "checkup", 10)).Record.Event.EventID
	w.meetings.times(3, "change", reaction{before: fails(cutOff())})
	_, err := p.Calendar.Update(asKey(c), c, key("old"), UpdateMeeting{EventID: id, Title: "older"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	w.clock.advance(time.Millisecond)
	_, err = p.Calendar.Update(asKey(c), c, key("new"), UpdateMeeting{EventID: id, Title: "newer"})
	w.check(err)
	p.recover(t)
	if got := w.meetings.live()[0].Title; got != "newer" {
		t.Fatalf("recovery made it %q", got)
	}
	if w.unsettled() != 0 {
		t.Error("the older one is not settled")
	}
	answer, err := p.Calendar.Update(asKey(c), c, key("old"), UpdateMeeting{EventID: id, Title: "older"})
	if err != nil || answer.Replayed || w.meetings.live()[0].Title != "older" {
		t.Errorf("a caller who asks again gets %+v, %v", answer, err)
	}
}

func TestUpdateIsKnownToBeMadeWhenTheCalendarsCannotBeReadAfterIt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := w.meetings.put(calendar.Event{Start: calendar.At(hour(10), ""), End: calendar.At(hour(11), "")})
	sent := false
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "change" {
			sent = true
		}
		if call == "calendars" && sent {
			return reaction{before: fails(cutOff())}
		}
		return reaction{}
	})
	if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Title: "new",
	}); err != nil {
		t.Fatal(err)
	}
}

// A move that an earlier run has made, or an earlier call, asks for nothing but the event.
func TestMoveThatIsMadeDoesNotLookForItsCalendar(t *testing.T) {
	t.Parallel()
	for _, crashes := range []bool{false, true} {
		w, p, c := sqliteWorld(t)
		w.meetings.traits.IDsPerCalendar = false
		side := func(in *FindSlots) { in.CalendarIDs = []string{"side"} }
		there, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 9, side).SlotID})
		w.check(err)
		to := MoveMeeting{
			Reference: there.MeetingReference, Offered: Offered{SlotID: slotAt(t, p, c, 12, side).SlotID},
		}
		again := key("another")
		if crashes {
			again = key("k")
			w.meetings.times(9, "change", reaction{after: fails(cutOff())})
		}
		_, err = p.Calendar.MoveMeeting(background, c, key("k"), to)
		if (err != nil) != crashes {
			t.Fatal(err)
		}
		if crashes {
			p.stop()
			w.meetings.script(nil)
			p = w.start()
			w.clock.advance(time.Minute)
		}
		lists := func() (n int) {
			for _, id := range []string{"main", "side", "third"} {
				n += w.meetings.called("events/" + id)
			}
			return n
		}
		before := lists()
		if _, err = p.Calendar.MoveMeeting(background, c, again, to); err != nil {
			t.Fatal(err)
		}
		if n := lists() - before; n != 0 || w.meetings.changed != 1 {
			t.Errorf("crashed %t: it lists %d calendars, and changes %d times", crashes, n, w.meetings.changed)
		}
		m, _, err := p.store.Meeting(background, c.Tenant.ID, c.Connections[adapter.KindCalendar].ID, there.MeetingReference)
		if err != nil || m.CalendarID != "side" {
			t.Errorf("it is remembered in %q, %v", m.CalendarID, err)
		}
	}
}
