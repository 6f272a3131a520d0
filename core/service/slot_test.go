package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/store/storetest"
)

// protectedWorld returns a world whose tenant prevents double booking.
func protectedWorld(t *testing.T) (*world, *process, apikey.Caller) {
	t.Helper()
	w, p, c := sqliteWorld(t)
	protected(w)
	return w, p, w.tenants[c.Tenant.ID]
}

func TestOneSlotAmongManyBookingsAtOnceIsOneEvent(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.ReusedSQLite, "PostgreSQL": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			w.tenant("acme")
			protected(w)
			c := w.tenants["t-acme"]
			two := [2]*process{w.start(), w.start()}
			const callers = 100
			_, errs := atOnce(callers, func(i int) (Answer[record.MeetingAnswer], error) {
				return two[i%2].Calendar.Book(asKey(c), c, key(fmt.Sprint(i)), meeting(t, fmt.Sprint("caller ", i), 10))
			})
			made := 0
			for _, err := range errs {
				if err == nil {
					made++
					continue
				}
				wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
			}
			if made != 1 || w.meetings.booked != 1 {
				t.Fatalf("%d are told that they have it, %d events", made, w.meetings.booked)
			}
			if asked := w.meetings.called("book"); asked != 1 {
				t.Errorf("the provider was asked to book %d times", asked)
			}
		})
	}
}

func TestSlotWithOnlyTheDefaultCalendarNamedOrNotIsOne(t *testing.T) {
	t.Parallel()
	_, p, c := protectedWorld(t)
	book(t, p, c, Write{}, meeting(t, "one", 10))
	named := meeting(t, "two", 10)
	named.CalendarIDs = []string{"main"}
	_, err := p.Calendar.Book(asKey(c), c, Write{}, named)
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
}

func TestSlotIsTakenByWhatMakesItsOwnerBusy(t *testing.T) {
	t.Parallel()
	event := func(from, to time.Time) calendar.Event {
		return calendar.Event{Title: "there", Start: calendar.At(from, "UTC"), End: calendar.At(to, "UTC")}
	}
	for name, test := range map[string]struct {
		there func(*calendar.Event)
		taken bool
	}{
		"the same time": {func(*calendar.Event) {}, true},
		"a part of it": {func(e *calendar.Event) {
			e.Start.Instant = hour(10).Add(59 * time.Minute)
		}, true},
		"an event in another selected one": {func(e *calendar.Event) { e.CalendarID = "side" }, true},
		"a whole day": {func(e *calendar.Event) {
			e.Start, e.End = calendar.Day(2030, 3, 4), calendar.Day(2030, 3, 5)
		}, true},
		"one that the owner declined": {func(e *calendar.Event) {
			e.Attendees = []calendar.Attendee{{Email: "Office@example.com", Response: "declined"}}
		}, false},
		"one that someone else declined": {func(e *calendar.Event) {
			e.Attendees = []calendar.Attendee{{Email: "pat@example.com", Response: "declined"}}
		}, true},
		"one that the account declined, and not the calendar's owner": {func(e *calendar.Event) {
			e.CalendarID, e.OwnerResponse = "side", "accepted"
			e.Attendees = []calendar.Attendee{{Email: "office@example.com", Response: "declined"}}
		}, true},
		"one that the owner of another calendar declined": {func(e *calendar.Event) {
			e.CalendarID, e.OwnerResponse = "side", "declined"
		}, false},
		"one that is free":             {func(e *calendar.Event) { e.IsFree = true }, false},
		"one that is cancelled":        {func(e *calendar.Event) { e.IsCancelled = true }, false},
		"one that ends as this begins": {func(e *calendar.Event) { *e = event(hour(9), hour(10)) }, false},
		"one that begins as this ends": {func(e *calendar.Event) { *e = event(hour(11), hour(12)) }, false},
		"one without a length": {func(e *calendar.Event) {
			*e = event(hour(10).Add(time.Minute), hour(10).Add(time.Minute))
		}, false},
		"one in a calendar not selected": {func(e *calendar.Event) { e.CalendarID = "third" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := protectedWorld(t)
			there := event(hour(10), hour(11))
			test.there(&there)
			w.meetings.put(there)
			in := meeting(t, "new", 10)
			in.CalendarIDs = []string{"main", "side"}
			_, err := p.Calendar.Book(asKey(c), c, Write{}, in)
			if test.taken {
				wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
			} else if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSlotThatWasRefusedIsNotHeld(t *testing.T) {
	t.Parallel()
	for _, freeBusy := range []bool{false, true} {
		w, p, c := protectedWorld(t)
		w.meetings.freeBusy = freeBusy
		in := meeting(t, "both", 10)
		in.CalendarIDs = []string{"main", "side"}
		taken := w.meetings.put(calendar.Event{
			CalendarID: "side", Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"),
		})
		_, err := p.Calendar.Book(asKey(c), c, Write{}, in)
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		w.meetings.edit(taken, func(e *calendar.Event) { e.IsCancelled = true })
		book(t, p, c, Write{}, in)
	}
}

// One calendar that cannot be read at the moment is asked again, as a call that fails is.
func TestSlotIsAskedForAgainWhereACalendarCannotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	w.meetings.freeBusy, w.meetings.unknown = true, 1
	book(t, p, c, Write{}, meeting(t, "one", 10))
	w.meetings.unknown = 9
	_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "two", 12))
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	if w.meetings.booked != 1 {
		t.Errorf("%d events", w.meetings.booked)
	}
}

func TestSlotIsFreeAgainAfterAFailedBooking(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	w.meetings.times(3, "book", reaction{before: fails(down())})
	if _, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "one", 10)); err == nil {
		t.Fatal("the call succeeds")
	}
	w.meetings.script(nil)
	book(t, p, c, Write{}, meeting(t, "two", 10))
}

func TestSlotIsHeldWhileItsBookingIsInDoubt(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	w.meetings.times(3, "book", reaction{before: fails(cutOff())}) // not made, but the gateway cannot know
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "one", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	_, err = p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "two", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	book(t, p, c, key("k"), meeting(t, "one", 10))
}

func TestSlotInDoubtForTooLongIsNotBookedTwice(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	w.meetings.times(3, "book", reaction{before: fails(cutOff())})
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "one", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	w.clock.advance(time.Minute)
	book(t, p, c, Write{}, meeting(t, "two", 10))
	_, err = p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "one", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if f := fault.From(err); !f.IsUnknowable() || !f.NoRetry || f.RetryAfter != 0 {
		t.Errorf("a repeat settles nothing as long as the time is taken, and it says %+v", f)
	}
	if w.meetings.booked != 1 {
		t.Fatalf("%d events in one slot", w.meetings.booked)
	}
}

// A hold ends by itself, and the repeat after it settles the call.
func TestSlotInDoubtThatAnotherCallHoldsIsSettledLater(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	for _, name := range []string{"one", "two"} {
		w.clock.advance(time.Minute) // the hold of the call before has ended
		w.meetings.times(3, "book", reaction{before: fails(cutOff())})
		_, err := p.Calendar.Book(asKey(c), c, key(name), meeting(t, name, 10))
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	}
	w.meetings.script(nil)
	_, err := p.Calendar.Book(asKey(c), c, key("one"), meeting(t, "one", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	f := fault.From(err)
	if f.IsUnknowable() || f.NoRetry || f.RetryAfter > holdWhileBooking {
		t.Errorf("it says %+v", f)
	}
	w.clock.advance(f.RetryAfter)
	if book(t, p, c, key("one"), meeting(t, "one", 10)); w.meetings.booked != 1 {
		t.Errorf("%d events", w.meetings.booked)
	}
}

// Meetings of a front desk look alike. The one that took the slot of a booking in doubt is not taken for its own.
func TestSlotInDoubtIsNotBookedOverAMeetingThatLooksTheSame(t *testing.T) {
	t.Parallel()
	same := func(t *testing.T, _ *world, p *process, c apikey.Caller) {
		book(t, p, c, key("other"), meeting(t, "Consultation", 10))
	}
	for name, other := range map[string]func(*testing.T, *world, *process, apikey.Caller){
		"booked by another call": same,
		"booked by another call that is finished for long": func(
			t *testing.T, w *world, p *process, c apikey.Caller,
		) {
			same(t, w, p, c)
			w.clock.advance(24 * time.Hour)
		},
		"moved there by another call": func(t *testing.T, _ *world, p *process, c apikey.Caller) {
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
				EventID: "ev1", Timezone: "UTC", Start: when(t, hour(10).Format(time.RFC3339)),
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		"with others, by other means": func(_ *testing.T, w *world, _ *process, _ apikey.Caller) {
			w.meetings.put(calendar.Event{
				Title: "Consultation", Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"),
				Attendees: []calendar.Attendee{{Email: "sam@example.com"}},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := protectedWorld(t)
			book(t, p, c, Write{}, meeting(t, "Consultation", 14))
			w.clock.advance(time.Minute)
			w.meetings.times(3, "book", reaction{before: fails(cutOff())}) // not made, but the gateway cannot know
			_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "Consultation", 10))
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			w.meetings.script(nil)
			w.clock.advance(time.Minute)
			other(t, w, p, c)
			w.clock.advance(holdAfterBooking + time.Minute)
			p.recover(t)
			_, err = p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "Consultation", 10))
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			var there int
			for _, e := range w.meetings.live() {
				if e.Start.Instant.Equal(hour(10)) {
					there++
				}
			}
			if there != 1 {
				t.Errorf("%d meetings in one slot", there)
			}
		})
	}
}

func TestSlotIsFreeAgainAfterACancel(t *testing.T) {
	t.Parallel()
	_, p, c := protectedWorld(t)
	first := book(t, p, c, Write{}, meeting(t, "one", 10))
	if _, err := p.Calendar.Cancel(asKey(c), c, Write{},
		CancelMeeting{EventID: first.Record.Event.EventID}); err != nil {
		t.Fatal(err)
	}
	book(t, p, c, Write{}, meeting(t, "two", 10))
}

func TestSlotStaysHeldAMomentForCalendarsThatShowEventsLate(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	book(t, p, c, Write{}, meeting(t, "one", 10))
	w.meetings.edit("ev1", func(e *calendar.Event) { e.CalendarID = "third" }) // as if not shown yet
	_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "two", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	w.clock.advance(2 * time.Minute)
	book(t, p, c, Write{}, meeting(t, "two", 10))
}

// A run that was taken over and fails leaves the slot to the run that took it over, which has the same hold.
func TestARunThatWasTakenOverFreesNoSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	w.options = impatient
	c := w.tenant("acme")
	protected(w)
	c = w.tenants[c.Tenant.ID]
	slow, quick, other := w.start(), w.start(), w.start()
	made, let, done := make(chan struct{}), make(chan struct{}), make(chan error)
	w.meetings.script(func(p *process, call string) reaction {
		switch {
		case call != "book" || p == other:
			return reaction{}
		case p == slow:
			return reaction{before: func(context.Context) error {
				w.clock.advance(10 * time.Second) // longer than a lease
				go func() {
					_, err := quick.Calendar.Book(asKey(c), c, key("k"), meeting(t, "one", 10))
					done <- err
				}()
				<-made
				return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Not now.")
			}}
		}
		return reaction{after: func(context.Context) error { close(made); <-let; return nil }}
	})
	_, err := slow.Calendar.Book(asKey(c), c, key("k"), meeting(t, "one", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyRunning)
	w.meetings.edit("ev1", func(e *calendar.Event) { e.CalendarID = "third" }) // as if not shown yet
	_, during := other.Calendar.Book(asKey(c), c, Write{}, meeting(t, "two", 10))
	close(let)
	w.check(<-done)
	wantReason(t, during, fault.Conflict, fault.ReasonSlotTaken)
	_, err = other.Calendar.Book(asKey(c), c, Write{}, meeting(t, "two", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
}

func TestMeetingMovesOntoItselfButNotOntoAnother(t *testing.T) {
	t.Parallel()
	_, p, c := protectedWorld(t)
	mine := book(t, p, c, Write{}, meeting(t, "mine", 10)).Record.Event.EventID
	book(t, p, c, Write{}, meeting(t, "other", 12))
	move := func(to string) error {
		_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: mine, Start: when(t, to)})
		return err
	}
	if err := move("2030-03-04T10:30:00Z"); err != nil {
		t.Errorf("half an hour later, which overlaps itself: %v", err)
	}
	wantReason(t, move("2030-03-04T11:30:00Z"), fault.Conflict, fault.ReasonSlotTaken)
	if err := move("2030-03-04T14:00:00Z"); err != nil {
		t.Errorf("to a free time: %v", err)
	}
	book(t, p, c, Write{}, meeting(t, "in the time it left", 10))
	_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "in the time it took", 14))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
}

// A calendar is the same one by its alias, such as Google's primary: with one zone, and with the holds of those who name
// it otherwise.
func TestACalendarMayBeNamedByItsAlias(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	w.meetings.calendars[0].Alias = "primary"
	local := meeting(t, "by its alias", 10)
	local.Start, local.End, local.Timezone = when(t, "2030-03-04T10:00:00"), when(t, "2030-03-04T11:00:00"), ""
	local.CalendarIDs = []string{"primary"}
	booked := book(t, p, c, Write{}, local).Record.Event
	if booked.StartTime != "2030-03-04T10:00:00-05:00" { // the calendar is in New York
		t.Errorf("booked at %s", booked.StartTime)
	}
	w.meetings.edit(booked.EventID, func(e *calendar.Event) { e.IsFree = true }) // the provider does not show it yet
	local.Title, local.CalendarIDs = "by its id", []string{"main"}
	_, err := p.Calendar.Book(asKey(c), c, Write{}, local)
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
}

// Microsoft finds an event by its id in whatever calendar it is asked, and does not tell in which one it is.
func TestMeetingMovesWhereItsOwnCalendarIsFree(t *testing.T) {
	t.Parallel()
	for _, known := range []string{"booked", "listed", "named", "dragged", "dragged from the default", "named wrongly"} {
		t.Run(known, func(t *testing.T) {
			w, p, c := protectedWorld(t)
			w.meetings.traits.IDsPerCalendar = false
			put := func(of string, h int) string {
				return w.meetings.put(calendar.Event{
					CalendarID: of, Start: calendar.At(hour(h), "UTC"), End: calendar.At(hour(h+1), "UTC"),
				})
			}
			put("side", 14)
			put("main", 16)
			var move UpdateMeeting
			switch known {
			case "booked":
				one := meeting(t, "one", 10)
				one.CalendarIDs = []string{"side"}
				move.EventID = book(t, p, c, Write{}, one).Record.Event.EventID
			case "listed":
				move.EventID = put("side", 10)
				_, err := p.Calendar.List(asKey(c), c, ListEvents{
					Start: when(t, "2030-03-04"), End: when(t, "2030-03-05"), CalendarIDs: []string{"side"},
				})
				w.check(err)
			case "named":
				move.EventID, move.CalendarIDs = put("side", 10), []string{"side"}
			case "dragged", "dragged from the default": // by a person, in Outlook
				one := meeting(t, "one", 10)
				if known == "dragged" {
					one.CalendarIDs = []string{"third"}
				}
				move.EventID = book(t, p, c, Write{}, one).Record.Event.EventID
				w.meetings.edit(move.EventID, func(e *calendar.Event) { e.CalendarID = "side" })
			case "named wrongly":
				move.EventID, move.CalendarIDs = put("side", 10), []string{"third"}
			}
			move.Start = when(t, "2030-03-04T14:00:00Z")
			_, err := p.Calendar.Update(asKey(c), c, Write{}, move)
			wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
			move.Start = when(t, "2030-03-04T16:00:00Z")
			if _, err := p.Calendar.Update(asKey(c), c, Write{}, move); err != nil {
				t.Errorf("to a time at which only the default calendar is busy: %v", err)
			}
			slots := startsOf(t, findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
				in.RescheduleMeetingID = move.EventID
			})))
			if strings.Contains(slots, "14:00") || !strings.Contains(slots, "16:00") {
				t.Errorf("slots are then offered at %s", slots)
			}
		})
	}
}

// Somebody may have dragged a meeting since to another calendar of Outlook. Its first move finds it there, and what is
// offered in the place of a slot that is taken is free there, too.
func TestSlotsInPlaceOfOneThatIsTakenAreFreeWhereAMeetingWasDragged(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar = false
	there, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
	w.check(err)
	offered := slotAt(t, p, c, 14, nil)
	w.meetings.edit(w.meetings.live()[0].ID, func(e *calendar.Event) { e.CalendarID = "side" })
	for _, h := range []int{14, 16} {
		w.meetings.put(calendar.Event{
			CalendarID: "side", Start: calendar.At(hour(h), "UTC"), End: calendar.At(hour(h+1), "UTC"),
		})
	}
	w.meetings.put(calendar.Event{
		CalendarID: "main", Start: calendar.At(hour(12), "UTC"), End: calendar.At(hour(13), "UTC"),
	})
	_, err = p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: there.MeetingReference, Offered: Offered{SlotID: offered.SlotID},
	})
	wantNearest(t, err, "11:00 13:00 15:00")
}

// The instances of a series are that series, which moves onto itself as well. One instance moves onto no other.
func TestASeriesMovesOntoItself(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	put := func(id, series string, h int) string {
		return w.meetings.put(calendar.Event{
			ID: id, SeriesID: series, Start: calendar.At(hour(h), "UTC"), End: calendar.At(hour(h+1), "UTC"),
		})
	}
	series := put("series", "", 10)
	w.meetings.edit(series, func(e *calendar.Event) { e.IsFree = true }) // only its instances are in the calendar
	one, _ := put("series_10", series, 10), put("series_13", series, 13)
	for id, want := range map[string]string{series: "10:00 11:00 12:00 13:00 14:00", one: "10:00 11:00 12:00 14:00"} {
		slots := startsOf(t, findSlots(t, p, c, askSlots(t, func(in *FindSlots) { in.RescheduleMeetingID = id })))
		if !strings.Contains(slots, want) {
			t.Errorf("slots for %s are at %s", id, slots)
		}
	}
	_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: one, Start: when(t, "2030-03-04T13:30:00Z")})
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: series, Start: when(t, "2030-03-04T10:30:00Z"),
	}); err != nil {
		t.Errorf("the series moves by half an hour: %v", err)
	}
}

// What a caller says of an event's calendar is not remembered where the provider does not confirm it.
func TestACalendarThatWasNamedWronglyIsNotRemembered(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar = false
	named := meeting(t, "one", 10)
	named.CalendarIDs, named.Attendees = []string{"side"}, []string{"pat@example.com"}
	id := book(t, p, c, Write{}, named).Record.Event.EventID
	if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Title: "other", Attendees: []string{"sam@example.com"}, CalendarIDs: []string{"third"},
	}); err != nil {
		t.Fatal(err)
	}
	w.meetings.put(calendar.Event{
		CalendarID: "side", Start: calendar.At(hour(14), ""), End: calendar.At(hour(15), ""),
	})
	slots := startsOf(t, findSlots(t, p, c, askSlots(t, func(in *FindSlots) { in.RescheduleMeetingID = id })))
	if strings.Contains(slots, "14:00") {
		t.Errorf("slots are offered at %s, where its calendar is busy", slots)
	}
}

// Where an id tells its calendar, as at CalDAV, nothing is remembered, and the calendar is known all the same.
func TestACalendarThatIDsTellIsNotRemembered(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsTellCalendar = true
	named := meeting(t, "one", 10)
	named.CalendarIDs = []string{"side"}
	booked := book(t, p, c, Write{}, named).Record.Event.EventID
	listed := w.meetings.put(calendar.Event{
		CalendarID: "side", Start: calendar.At(hour(14), ""), End: calendar.At(hour(15), ""),
	})
	if _, err := p.Calendar.List(asKey(c), c, ListEvents{
		Start: when(t, "2030-03-04"), End: when(t, "2030-03-05"), CalendarIDs: []string{"side"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: booked, Title: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{booked, listed} {
		seen, found, err := p.store.EventSeen(background, c.Tenant.ID, c.Connections[adapter.KindCalendar].ID, id)
		if err != nil || found {
			t.Errorf("%s is remembered: %+v, %v", id, seen, err)
		}
	}
	slots := startsOf(t, findSlots(t, p, c, askSlots(t, func(in *FindSlots) { in.RescheduleMeetingID = booked })))
	if strings.Contains(slots, "14:00") || !strings.Contains(slots, "10:00") {
		t.Errorf("slots are offered at %s", slots)
	}
}

func TestEventWithoutLengthMoves(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	id := w.meetings.put(calendar.Event{Start: calendar.At(hour(9), "UTC"), End: calendar.At(hour(9), "UTC")})
	answer, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: id, Start: when(t, "2030-03-04T10:00:00Z"), Timezone: "UTC",
	})
	if err != nil || answer.Record.Event.StartTime != answer.Record.Event.EndTime {
		t.Fatalf("got %+v, %v", answer.Record, err)
	}
}

// while runs do once, at the named call of a driver: when it is made, or after the provider has acted.
func while(w *world, call string, acted bool, do func()) {
	var done atomic.Bool
	w.meetings.script(func(_ *process, made string) reaction {
		react := func(context.Context) error {
			if done.CompareAndSwap(false, true) {
				do()
			}
			return nil
		}
		switch {
		case made != call:
			return reaction{}
		case acted:
			return reaction{after: react}
		}
		return reaction{before: react}
	})
}

// A booking looks at the calendar before its intent begins. Of two equal calls, both may look, and one books.
func TestAnEqualCallDuringTheLookIsOneMeeting(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{false, true} {
		for name, w := range map[string]Write{"with a key": key("k"), "without a key": {}} {
			t.Run(fmt.Sprintf("%s, the look sees the other's meeting %v", name, seen), func(t *testing.T) {
				world, p, c := protectedWorld(t)
				var first Answer[record.MeetingAnswer]
				while(world, "events/main", !seen, func() {
					first = book(t, world.start(), c, w, meeting(t, "one", 10))
				})
				second := book(t, p, c, w, meeting(t, "one", 10))
				same := second.Replayed && string(second.Body) == string(first.Body)
				if !same || world.meetings.booked != 1 {
					t.Errorf("%d meetings: %s, and %s", world.meetings.booked, first.Body, second.Body)
				}
			})
		}
	}
}

// Whatever happens to a meeting between another caller's look and hold, its slot is not booked twice.
func TestAMoveThatFailsKeepsItsSlot(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	other := w.start()
	book(t, other, c, Write{}, meeting(t, "in the way", 12))
	while(w, "events/main", true, func() {
		w.meetings.script(nil)
		made := book(t, other, c, Write{}, meeting(t, "quick", 10))
		_, err := other.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
			EventID: made.Record.Event.EventID, Timezone: "UTC", Start: when(t, hour(12).Format(time.RFC3339)),
		})
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	})
	_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "slow", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	if w.meetings.booked != 2 {
		t.Errorf("%d meetings", w.meetings.booked)
	}
}

// Whoever is told to repeat a move whose outcome is unknown is not told afterwards that the move's own slot is taken.
func TestARepeatedMoveIsNotInItsOwnWay(t *testing.T) {
	t.Parallel()
	for _, acted := range []bool{false, true} {
		w, p, c := protectedWorld(t)
		id := book(t, p, c, Write{}, meeting(t, "mine", 10)).Record.Event.EventID
		move := func(to int) error {
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
				EventID: id, Timezone: "UTC", Start: when(t, hour(to).Format(time.RFC3339)),
			})
			return err
		}
		lost := reaction{before: fails(cutOff())}
		if acted {
			lost = reaction{after: fails(cutOff())}
		}
		w.meetings.times(3, "change", lost)
		wantReason(t, move(12), fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		w.meetings.script(nil)
		_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "other", 12))
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		offered := findSlots(t, p, c, askSlots(t, func(in *FindSlots) { in.RescheduleMeetingID = id }))
		if got := startsOf(t, offered); !strings.Contains(got, "12:00") {
			t.Errorf("acted %v: it can be moved to %q", acted, got)
		}
		if err := move(12); err != nil {
			t.Errorf("acted %v: %v", acted, err)
		}
		p.recover(t)
		_, err = p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "other", 12))
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		if live := w.meetings.live(); len(live) != 1 || !live[0].Start.Instant.Equal(hour(12)) {
			t.Errorf("there is %+v", live)
		}
	}
}

// Nor is it after recovery has tried the first move once more, in vain.
func TestARepeatedMoveIsNotInItsOwnWayAfterATryOfRecovery(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "mine", 10)).Record.Event.EventID
	move := func() error {
		_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
			EventID: id, Timezone: "UTC", Start: when(t, hour(12).Format(time.RFC3339)),
		})
		return err
	}
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "change" {
			return reaction{before: fails(cutOff())}
		}
		return reaction{}
	})
	wantReason(t, move(), fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.clock.advance(time.Second)
	before := w.meetings.called("change")
	p.recover(t)
	if w.meetings.called("change") == before {
		t.Fatal("recovery did not try")
	}
	w.meetings.script(nil)
	if err := move(); err != nil {
		t.Error(err)
	}
}

func TestASlotIsFreeOnceItsMeetingHasMovedOrGone(t *testing.T) {
	t.Parallel()
	move := func(p *process, c apikey.Caller, id string) {
		_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
			EventID: id, Timezone: "UTC", Start: when(t, hour(12).Format(time.RFC3339)),
		})
		if err != nil && fault.From(err).Code != fault.NotFound {
			t.Error(err)
		}
	}
	cancel := func(p *process, c apikey.Caller, id string) {
		if _, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id}); err != nil {
			t.Error(err)
		}
	}
	t.Run("moved", func(t *testing.T) {
		_, p, c := protectedWorld(t)
		move(p, c, book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID)
		book(t, p, c, Write{}, meeting(t, "two", 10))
	})
	for _, acted := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled while it moves, after the change %v", acted), func(t *testing.T) {
			w, p, c := protectedWorld(t)
			id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
			while(w, "change", acted, func() { cancel(w.start(), c, id) })
			move(p, c, id)
			w.meetings.script(nil)
			book(t, p, c, Write{}, meeting(t, "two", 10))
			book(t, p, c, Write{}, meeting(t, "three", 12))
		})
	}
}

// A look that took long says nothing about the slot any more: the hold is then taken first, and the provider is
// asked again.
func TestALookThatTookLongDoesNotCount(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	other := w.start()
	while(w, "events/main", true, func() {
		w.meetings.script(nil)
		book(t, other, c, Write{}, meeting(t, "quick", 10))
		w.clock.advance(holdAfterBooking + time.Second)
	})
	_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "slow", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
}

// A booking is two commits, with or without a hold: its intent before the provider is asked, and its answer.
func TestABookingIsTwoCommits(t *testing.T) {
	t.Parallel()
	for _, prevent := range []bool{false, true} {
		t.Run(fmt.Sprintf("prevent_double_booking %v", prevent), func(t *testing.T) {
			w := newWorld(t, storetest.ReusedSQLite)
			c := w.tenant("acme")
			c.Tenant.Settings.PreventDoubleBooking = prevent
			w.with(c)
			trap := w.startWithTrap()
			book(t, trap.process, c, key("first"), meeting(t, "first", 8)) // whose calendars are remembered
			trap.process.settled(t, c)
			before := len(trap.seen)
			book(t, trap.process, c, key("second"), meeting(t, "second", 10))
			commits := trap.seen[before:]
			want := []string{"intents", "audit+intents"}
			if prevent {
				want = []string{"holds+intents", "audit+holds+intents"}
			}
			if !slices.Equal(commits, want) {
				t.Errorf("the commits are of %q", commits)
			}
		})
	}
}
