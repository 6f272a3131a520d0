package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/store/storetest"
)

// slotAt returns the slot at an hour of the Monday of the tests.
func slotAt(t *testing.T, p *process, c apikey.Caller, h int, change func(*FindSlots)) record.Slot {
	t.Helper()
	for _, s := range findSlots(t, p, c, askSlots(t, change)).Slots {
		if strings.HasPrefix(s.Start, hour(h).Format("2006-01-02T15:04")) {
			return s
		}
	}
	t.Fatalf("there is no slot at %d", h)
	return record.Slot{}
}

func holdSlot(t *testing.T, p *process, c apikey.Caller, w Write, slotID string) record.HoldAnswer {
	t.Helper()
	answer, err := p.Calendar.Hold(background, c, w, HoldSlot{SlotID: slotID, For: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Record
}

func bookSlot(p *process, c apikey.Caller, w Write, by Offered) (record.BookedAnswer, error) {
	answer, err := p.Calendar.BookSlot(background, c, w, BookSlot{
		Offered: by, Title: "Consultation", Attendees: []string{"pat@example.com"}, Phone: "+12025550101",
	})
	return answer.Record, err
}

// wantNearest checks the slots that a refusal names.
func wantNearest(t *testing.T, err error, hours string) {
	t.Helper()
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	instead := fault.From(err).Instead
	if instead == nil {
		t.Fatal("the refusal names no other slots")
	}
	got := startsOf(t, record.SlotsAnswer{Slots: instead.Values.([]record.Slot)})
	if got != hours || instead.Say == "" {
		t.Errorf("the refusal names %q, want %q; it says %q", got, hours, instead.Say)
	}
}

// A slot that was held by a clock hours ahead is free again within ten minutes of the right time.
func TestAHoldOfAClockThatWasAheadEnds(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		c := w.tenant("acme")
		p := w.start()
		id := slotAt(t, p, c, 10, nil).SlotID
		w.clock.advance(3 * time.Hour)
		holdSlot(t, p, c, key("k"), id)
		w.clock.advance(-3 * time.Hour)
		w.start().recover(t)
		if _, err := bookSlot(p, c, key("b"), Offered{SlotID: id}); err != nil {
			t.Error(err)
		}
	})
}

func TestOneSlotAmongManyHoldersAtOnceIsOneHold(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.ReusedSQLite, "PostgreSQL": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			c := w.tenant("acme")
			three := [3]*process{w.start(), w.start(), w.start()}
			id := slotAt(t, three[0], c, 10, nil).SlotID
			answers, errs := atOnce(100, func(i int) (Answer[record.HoldAnswer], error) {
				return three[i%3].Calendar.Hold(background, c, key(fmt.Sprint(i)), HoldSlot{SlotID: id, For: time.Minute})
			})
			held := 0
			for i, err := range errs {
				if err == nil {
					held++
					if answers[i].Record.HoldID == "" {
						t.Error("a hold without an id")
					}
					continue
				}
				wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
			}
			if held != 1 {
				t.Fatalf("%d hold it", held)
			}
		})
	}
}

// A call to release a hold frees it, though another run of the call has answered meanwhile that it did.
func TestARunThatHasLostItsCallFreesTheHoldItReports(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 10, nil)
	held := holdSlot(t, p, c, Write{}, slot.SlotID)
	client, err := p.Calendar.open(background, c)
	if err != nil {
		t.Fatal(err)
	}
	done, err := p.Calendar.releaseHold(background, client, p.Calendar.journal.Detached(), releaseHoldPlan{held.HoldID})
	if err != nil || !done.Record.Released {
		t.Fatal(done, err)
	}
	holdSlot(t, p, c, key("another"), slot.SlotID)
}

func TestAHoldIsBusyForAllButItsHolder(t *testing.T) {
	t.Parallel()
	w, p, c := protectedWorld(t)
	slot := slotAt(t, p, c, 10, nil)
	other := slotAt(t, p, c, 12, nil)
	held := holdSlot(t, p, c, Write{}, slot.SlotID)
	if held.Slot.SlotID != slot.SlotID || held.Slot.Start != slot.Start || len(held.HoldID) > 16 ||
		!strings.HasPrefix(held.Say, "I am holding Monday") {
		t.Errorf("held %+v", held)
	}
	all := "08:00 09:00 11:00 12:00 13:00 14:00 15:00 16:00 17:00"
	if got := startsOf(t, findSlots(t, p, c, askSlots(t, nil))); got != all {
		t.Errorf("others find %q", got)
	}
	mine := findSlots(t, p, c, askSlots(t, func(in *FindSlots) { in.HoldID = held.HoldID }))
	if got := startsOf(t, mine); !strings.Contains(got, " 10:00 ") {
		t.Errorf("the holder finds %q", got)
	}
	_, err := p.Calendar.Book(background, c, Write{}, meeting(t, "stranger", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	_, err = bookSlot(p, c, Write{}, Offered{SlotID: slot.SlotID})
	wantNearest(t, err, "08:00 09:00 11:00")
	moving := book(t, p, c, Write{}, meeting(t, "moving", 14)).Record.Event.EventID
	_, err = p.Calendar.Update(background, c, Write{}, UpdateMeeting{
		EventID: moving, Start: when(t, "2030-03-04T10:30:00Z"),
	})
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	_, err = p.Calendar.Hold(background, c, key("other"), HoldSlot{SlotID: slot.SlotID, For: time.Minute})
	wantNearest(t, err, "08:00 09:00 11:00")
	holdSlot(t, p, c, key("other"), other.SlotID)
	if _, err := bookSlot(p, c, Write{}, Offered{HoldID: held.HoldID}); err != nil {
		t.Fatalf("the holder: %v", err)
	}
	if events := len(w.meetings.live()); events != 2 {
		t.Errorf("%d events", events)
	}
}

func TestAHoldRepeatedIsTheSame(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 10, nil).SlotID
	first := holdSlot(t, p, c, Write{}, slot)
	w.clock.advance(2 * time.Minute)
	longer, err := p.Calendar.Hold(background, c, Write{}, HoldSlot{SlotID: slot, For: 15 * time.Minute})
	if err != nil || longer.Record.HoldID != first.HoldID || longer.Record.HeldUntil != first.HeldUntil ||
		!longer.Replayed {
		t.Errorf("held %+v, then %+v, %v", first, longer, err)
	}
	_, err = p.Calendar.Hold(background, c, Write{},
		HoldSlot{SlotID: slot, For: time.Minute, Phone: "+12025550101"})
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken) // another caller through the same key

	w.clock.advance(3 * time.Minute) // it lapses by itself
	again := holdSlot(t, p, c, Write{}, slot)
	if again.HoldID == first.HoldID {
		t.Error("a hold that has ended is the answer")
	}
	for i, released := range []bool{true, false} {
		answer, err := p.Calendar.ReleaseHold(background, c, Write{}, again.HoldID)
		if err != nil || answer.Record.Released != released || answer.Record.Say == "" {
			t.Errorf("release %d: %+v, %v", i, answer.Record, err)
		}
	}
	third := holdSlot(t, p, c, Write{}, slot)
	if third.HoldID == again.HoldID {
		t.Error("a released hold is the answer")
	}
	for _, id := range []string{"hd_0000000000", slot} {
		_, err = p.Calendar.ReleaseHold(background, c, Write{}, id)
		wantReason(t, err, fault.NotFound, fault.ReasonSlotNotFound)
	}
	// A model may take the id of the hold for that of the slot.
	if _, err := bookSlot(p, c, Write{}, Offered{SlotID: third.HoldID}); err != nil {
		t.Error(err)
	}
}

func TestASlotOfAnotherTenantCannotBeHeld(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	stranger := w.tenant("beta")
	slot := slotAt(t, p, c, 10, nil).SlotID
	held := holdSlot(t, p, c, Write{}, slot)
	_, err := p.Calendar.Hold(background, stranger, Write{}, HoldSlot{SlotID: slot, For: time.Minute})
	wantReason(t, err, fault.NotFound, fault.ReasonSlotNotFound)
	_, err = p.Calendar.ReleaseHold(background, stranger, Write{}, held.HoldID)
	wantReason(t, err, fault.NotFound, fault.ReasonSlotNotFound)
	_, err = bookSlot(p, stranger, Write{}, Offered{HoldID: held.HoldID})
	wantReason(t, err, fault.NotFound, fault.ReasonSlotNotFound)
}

func TestAHoldOutlivesABookingThatFails(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 10, nil).SlotID
	held := holdSlot(t, p, c, Write{}, slot)
	w.meetings.times(3, "book", reaction{before: fails(down())})
	if _, err := bookSlot(p, c, Write{}, Offered{HoldID: held.HoldID}); err == nil {
		t.Fatal("the booking succeeds")
	}
	w.meetings.script(nil)
	_, err := bookSlot(p, c, key("stranger"), Offered{SlotID: slot})
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	first, err := bookSlot(p, c, Write{}, Offered{HoldID: held.HoldID})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.advance(5 * time.Minute) // what was held has ended; a repeat is still the same meeting
	again, err := bookSlot(p, c, Write{}, Offered{HoldID: held.HoldID})
	if err != nil || again != first || w.meetings.booked != 1 {
		t.Errorf("booked %+v, then %+v, %v; %d events", first, again, err, w.meetings.booked)
	}
}

// A process that dies after any call of the provider leaves one meeting, or none and the hold.
func TestABookingOfAHoldThatIsCutOffIsOneMeeting(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		w, p, c := sqliteWorld(t)
		held := holdSlot(t, p, c, Write{}, slotAt(t, p, c, 10, nil).SlotID)
		dies := func(process *process) reaction {
			kill := fails(cutOff())
			if after {
				return reaction{after: kill}
			}
			return reaction{before: kill}
		}
		w.meetings.times(3, "book", dies(p))
		if _, err := bookSlot(p, c, key("k"), Offered{HoldID: held.HoldID}); err == nil {
			t.Fatal("the booking succeeds")
		}
		p.stop()
		w.meetings.script(nil)
		p = w.start()
		w.clock.advance(20 * time.Minute)
		p.recover(t)
		booked, err := bookSlot(p, c, key("k"), Offered{HoldID: held.HoldID})
		if err != nil || w.meetings.booked != 1 || len(w.meetings.live()) != 1 {
			t.Errorf("after the event was made %t: %+v, %v, %d events", after, booked, err, w.meetings.booked)
		}
	}
}

// What must be free around a meeting is free around those that are booked freely, too.
func TestBuffersHoldWhereDoubleBookingIsPrevented(t *testing.T) {
	t.Parallel()
	for _, freeBusy := range []bool{false, true} {
		w, p, c := protectedWorld(t)
		w.meetings.freeBusy = freeBusy
		after := 30
		c.Tenant.Settings.BufferAfterMinutes = &after
		c = w.with(c)
		book(t, p, c, Write{}, meeting(t, "there", 12))
		_, err := p.Calendar.Book(background, c, Write{}, meeting(t, "before", 11))
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		w.clock.advance(3 * time.Minute) // the calendar alone says so now
		_, err = p.Calendar.Book(background, c, Write{}, meeting(t, "before", 11))
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		moved := book(t, p, c, Write{}, meeting(t, "after", 13)).Record.Event.EventID
		_, err = p.Calendar.Update(background, c, Write{}, UpdateMeeting{
			EventID: moved, Start: when(t, "2030-03-04T11:00:00Z"),
		})
		wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		book(t, p, c, Write{}, meeting(t, "long before", 10))
	}
}

func TestASlotOfAnyCalendarIsBookedInOne(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	anyOf := func(in *FindSlots) { in.CalendarIDs, in.Availability = []string{"third", "main"}, slots.Any }
	slot := slotAt(t, p, c, 15, anyOf).SlotID
	if _, err := bookSlot(p, c, key("1"), Offered{SlotID: slot}); err != nil {
		t.Fatal(err)
	}
	_, err := bookSlot(p, c, key("2"), Offered{SlotID: slot})
	wantNearest(t, err, "14:00 15:00 16:00") // the other calendar is free at the same time
	same := fault.From(err).Instead.Values.([]record.Slot)[1]
	if _, err := bookSlot(p, c, key("2"), Offered{SlotID: same.SlotID}); err != nil {
		t.Fatal(err)
	}
	live := w.meetings.live()
	if len(live) != 2 || live[0].CalendarID != "third" || live[1].CalendarID != "main" {
		t.Errorf("booked %+v", live)
	}
}

func TestASlotThatHasPassedIsTaken(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 10, nil).SlotID
	held := holdSlot(t, p, c, Write{}, slot)
	w.clock.advance(hour(10).Add(time.Second).Sub(w.clock.now()))
	_, err := bookSlot(p, c, Write{}, Offered{HoldID: held.HoldID})
	wantNearest(t, err, "11:00 12:00 13:00")
	_, err = p.Calendar.Hold(background, c, key("2"), HoldSlot{SlotID: slot, For: time.Minute})
	wantNearest(t, err, "11:00 12:00 13:00")
}

// What is offered in the place of a slot goes by the rules of the request that offered it, and so does what is
// offered in the place of that.
func TestTheNearestSlotsGoByTheRulesOfTheRequest(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	long, notice, days := 90*time.Minute, 150*time.Minute, 3
	for rule, c := range map[string]struct {
		change     func(*FindSlots)
		want, then string
	}{
		"hours": {func(in *FindSlots) { in.Rules.Hours.Weekly[0].Start = 9 * 60 }, "09:00 11:00 12:00", "11:00 12:00 13:00"},
		"hours in a zone of their own": {func(in *FindSlots) {
			in.Rules.Hours.Weekly[0].Zone, in.Rules.Hours.Weekly[0].End = berlin, 12*60
		}, "07:00 08:00 09:00", "08:00 09:00 07:00"}, // that at seven a week later
		"all days but one": {func(in *FindSlots) {
			in.Rules.Hours.Weekly[0].End = 11 * 60
			in.Rules.Hours.Weekly[0].Except = []slots.Date{{Year: 2030, Month: 3, Day: 11}}
		}, "08:00 09:00", "09:00"},
		"hours of a date": {func(in *FindSlots) {
			in.SpecificTimes = map[slots.Date][]slots.Opening{
				{Year: 2030, Month: 3, Day: 4}:  {{Start: 4 * 60, End: 7 * 60}}, // in New York
				{Year: 2030, Month: 3, Day: 11}: {},
			}
		}, "09:00 11:00", "11:00"},
		"the interval": {func(in *FindSlots) {
			in.Rules.Interval, in.Rules.Hours.Weekly[0].Start = &long, 7*60
		}, "07:00 08:30 11:30", "08:30 11:30 13:00"},
		"the notice": {func(in *FindSlots) { in.Rules.MinimumNotice = &notice }, "09:00 11:00 12:00", "11:00 12:00 13:00"},
		"the days ahead": {func(in *FindSlots) {
			in.Rules.BookingWindowDays, in.Rules.Hours.Weekly[0].End = &days, 11*60
		}, "08:00 09:00", "09:00"},
	} {
		t.Run(rule, func(t *testing.T) {
			w, p, caller := sqliteWorld(t)
			w.clock.advance(hour(6).Sub(w.clock.now()))
			refused := func(slotID string) error {
				holdSlot(t, p, caller, key("first"+slotID), slotID)
				_, err := p.Calendar.Hold(background, caller, key("second"+slotID),
					HoldSlot{SlotID: slotID, For: time.Minute})
				return err
			}
			err := refused(slotAt(t, p, caller, 10, c.change).SlotID)
			wantNearest(t, err, c.want)
			next := fault.From(err).Instead.Values.([]record.Slot)[0]
			wantNearest(t, refused(next.SlotID), c.then)
		})
	}
}

// What somebody else has asked since changes nothing about that: of two who are offered one time by different rules,
// each is offered others by its own.
func TestTheNearestSlotsGoByNobodyElsesRules(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	ours := slotAt(t, p, c, 10, func(in *FindSlots) { in.Rules.Hours.Weekly[0].Start = 9 * 60 }).SlotID
	theirs := slotAt(t, p, c, 10, nil).SlotID
	holdSlot(t, p, c, key("first"), ours)
	for want, slot := range map[string]string{"09:00 11:00 12:00": ours, "08:00 09:00 11:00": theirs} {
		_, err := p.Calendar.Hold(background, c, key("second"+want), HoldSlot{SlotID: slot, For: time.Minute})
		wantNearest(t, err, want)
	}
}

// The refusal does not wait for a calendar that cannot be read.
func TestARefusalWithoutOtherSlotsIsStillOne(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 10, nil).SlotID
	holdSlot(t, p, c, Write{}, slot)
	w.meetings.times(9, "events/main", reaction{before: fails(down())})
	_, err := p.Calendar.Hold(background, c, key("2"), HoldSlot{SlotID: slot, For: time.Minute})
	wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
	if fault.From(err).Instead != nil {
		t.Errorf("it names %+v", fault.From(err).Instead)
	}
}

// A meeting can be moved by less than its length, to a slot that is held before.
func TestASlotIsHeldForAMeetingThatMovesThere(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 15, nil).SlotID})
	if err != nil {
		t.Fatal(err)
	}
	half := func(in *FindSlots) {
		interval := 30 * time.Minute
		in.Rules.Interval, in.RescheduleMeetingID = &interval, booked.MeetingReference
	}
	var later string
	for _, s := range findSlots(t, p, c, askSlots(t, half)).Slots {
		if s.Start == "2030-03-04T15:30:00Z" {
			later = s.SlotID
		}
	}
	_, err = p.Calendar.Hold(background, c, Write{}, HoldSlot{SlotID: later, For: time.Minute})
	wantNearest(t, err, "14:00 16:00 16:30")
	held, err := p.Calendar.Hold(background, c, Write{}, HoldSlot{
		SlotID: later, For: time.Minute, Moves: booked.MeetingReference,
	})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: booked.MeetingReference, Offered: Offered{HoldID: held.Record.HoldID},
	})
	if err != nil || moved.Record.Start != "2030-03-04T15:30:00Z" || len(w.meetings.live()) != 1 {
		t.Errorf("moved: %+v, %v", moved.Record, err)
	}
	_, err = p.Calendar.Hold(background, c, key("2"), HoldSlot{
		SlotID: later, For: time.Minute, Moves: "mt_0000000000",
	})
	wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
}

// A meeting may be where it is to be moved already, for example by a call whose answer was lost. Then the caller's hold
// of that slot ends as well.
func TestAHoldEndsWithAMoveThatChangesNothing(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 15, nil).SlotID
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slot})
	if err != nil {
		t.Fatal(err)
	}
	held, err := p.Calendar.Hold(background, c, Write{}, HoldSlot{
		SlotID: slot, For: MaxHold, Moves: booked.MeetingReference,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: booked.MeetingReference, Offered: Offered{HoldID: held.Record.HoldID},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Calendar.CancelByReference(background, c, Write{}, booked.MeetingReference); err != nil {
		t.Fatal(err)
	}
	holdSlot(t, p, c, key("of another caller"), slot)
}

// A meeting that was booked by a slot may be moved by who need not take one. Its former time is offered at once.
func TestTheSlotOfAMeetingIsFreeOnceItHasMovedToAnyTime(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	slot := slotAt(t, p, c, 15, nil).SlotID
	if _, err := bookSlot(p, c, Write{}, Offered{SlotID: slot}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: w.meetings.live()[0].ID, Start: when(t, "2030-03-04T10:00:00Z"), End: when(t, "2030-03-04T11:00:00Z"),
	}); err != nil {
		t.Fatal(err)
	}
	holdSlot(t, p, c, key("of another caller"), slot)
}

// Whether a tentatively accepted meeting is busy is the request's to say, then the connection's, then the
// tenant's. Holding and booking go by what find-slots said.
func TestTentativeMeetingsAreBusyOrFreeForFindingAndBooking(t *testing.T) {
	t.Parallel()
	busy, free := true, false
	for rule, set := range map[string]struct {
		request, connection, tenant *bool
		free                        bool
	}{
		"by default":                       {nil, nil, nil, false},
		"as the tenant says":               {nil, nil, &free, true},
		"as the connection says":           {nil, &busy, &free, false},
		"free, as the connection says":     {nil, &free, &busy, true},
		"as the request says":              {&busy, &free, &free, false},
		"free, as the request alone says":  {&free, &busy, nil, true},
		"free, whatever the default says":  {&free, nil, nil, true},
		"busy, whatever the tenant's says": {&busy, nil, &free, false},
	} {
		for _, freeBusy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/free-busy %t", rule, freeBusy), func(t *testing.T) {
				w, p, c := protectedWorld(t)
				w.meetings.freeBusy = freeBusy
				maybe := calendar.Event{Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(12), "UTC")}
				maybe.Attendees = []calendar.Attendee{{Email: "office@example.com", Response: "tentative"}}
				w.meetings.put(maybe)
				c.Tenant.Settings.TentativeAsBusy = set.tenant
				if set.connection != nil {
					connected := c.Connections[adapter.KindCalendar]
					connected.Settings = map[string]any{"slots": map[string]any{"tentative_as_busy": *set.connection}}
					c.Connections[adapter.KindCalendar] = connected
				}
				change := func(in *FindSlots) { in.Rules.TentativeAsBusy = set.request }
				found := findSlots(t, p, c, askSlots(t, change))
				if got := strings.Contains(startsOf(t, found), "10:00"); got != set.free {
					t.Fatalf("the time is found free: %t, want %t", got, set.free)
				}
				_, err := p.Calendar.Book(background, c, key("freely"), meeting(t, "freely", 11))
				setting := cmp.Or(set.connection, set.tenant)
				if booked := err == nil; booked != (setting == &free) {
					t.Errorf("book-meeting: %v", err)
				}
				if !set.free {
					return
				}
				held := holdSlot(t, p, c, key("hold"), slotAt(t, p, c, 10, change).SlotID)
				if _, err := bookSlot(p, c, key("book"), Offered{HoldID: held.HoldID}); err != nil {
					t.Errorf("book-slot refuses what was offered: %v", err)
				}
			})
		}
	}
}

// A meeting that is moved stays in its calendar, so that one has to be free as well, or alone where any is enough.
func TestAMeetingIsMovedWhereItsOwnCalendarIsFree(t *testing.T) {
	t.Parallel()
	anyOf := func(in *FindSlots) { in.CalendarIDs, in.Availability = []string{"main", "side"}, slots.Any }
	for rule, c := range map[string]struct {
		change         func(*FindSlots)
		slots, nearest string
		calendars      []string
	}{
		"in no calendar that is named": {func(*FindSlots) {}, "08:00 09:00 13:00 16:00 17:00",
			"08:00 13:00 16:00", []string{"side"}},
		"in others": {func(in *FindSlots) { in.CalendarIDs = []string{"main"} }, "08:00 13:00 16:00 17:00",
			"08:00 13:00 16:00", []string{"main", "side"}},
		"in any": {anyOf, "08:00 09:00 13:00 16:00 17:00", "08:00 09:00 13:00", []string{"side"}},
	} {
		t.Run(rule, func(t *testing.T) {
			w, p, caller := sqliteWorld(t)
			busy := func(calendarID string, from, to int) {
				w.meetings.put(calendar.Event{
					CalendarID: calendarID, Start: calendar.At(hour(from), ""), End: calendar.At(hour(to), ""),
				})
			}
			busy("main", 9, 10)
			busy("side", 10, 13)
			busy("side", 14, 16)
			booked, err := bookSlot(p, caller, key("booked"), Offered{SlotID: slotAt(t, p, caller, 13,
				func(in *FindSlots) { in.CalendarIDs = []string{"side"} }).SlotID})
			if err != nil {
				t.Fatal(err)
			}
			bookedID := w.meetings.live()[3].ID
			taken := slotAt(t, p, caller, 11, c.change) // found without a word of the meeting
			listed := w.meetings.put(calendar.Event{
				CalendarID: "side", Start: calendar.At(hour(13), ""), End: calendar.At(hour(14), ""), IsFree: true,
			})
			if _, err := p.Calendar.List(background, caller, ListEvents{
				Start: when(t, "2030-03-04"), End: when(t, "2030-03-05"), CalendarIDs: []string{"side"},
			}); err != nil {
				t.Fatal(err)
			}
			var found record.SlotsAnswer
			for _, moved := range []string{listed, bookedID, booked.MeetingReference} {
				found = findSlots(t, p, caller, askSlots(t, func(in *FindSlots) {
					c.change(in)
					in.RescheduleMeetingID = moved
				}))
				want := c.slots
				if moved == listed { // the meeting that was booked at the same time stays
					want = strings.Replace(want, " 13:00", "", 1)
				}
				if got := startsOf(t, found); got != want {
					t.Errorf("found %q for %s, want %q", got, moved, want)
				}
			}
			_, err = p.Calendar.MoveMeeting(background, caller, key("taken"), MoveMeeting{
				Reference: booked.MeetingReference, Offered: Offered{SlotID: taken.SlotID},
			})
			wantNearest(t, err, c.nearest)
			for i, s := range found.Slots {
				if !slices.Equal(s.CalendarIDs, c.calendars) {
					t.Errorf("%v of a slot are free", s.CalendarIDs)
				}
				by := Offered{SlotID: s.SlotID}
				if i%2 == 0 {
					held, err := p.Calendar.Hold(background, caller, key("hold"+s.SlotID), HoldSlot{
						SlotID: s.SlotID, For: time.Minute, Moves: booked.MeetingReference,
					})
					if err != nil {
						t.Fatalf("%s: %v", s.Start, err)
					}
					by = Offered{HoldID: held.Record.HoldID}
				}
				if _, err := p.Calendar.MoveMeeting(background, caller, key("move"+s.SlotID), MoveMeeting{
					Reference: booked.MeetingReference, Offered: by,
				}); err != nil {
					t.Errorf("%s: %v", s.Start, err)
				}
			}
		})
	}
}

// A slot that is found for a booking can be held for a meeting that moves there only if its calendar is free, too.
func TestAHoldForAMeetingIsInItsCalendar(t *testing.T) {
	t.Parallel()
	for _, availability := range []slots.Availability{slots.Collective, slots.Any} {
		w, p, c := sqliteWorld(t)
		booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 9,
			func(in *FindSlots) { in.CalendarIDs = []string{"side"} }).SlotID})
		if err != nil {
			t.Fatal(err)
		}
		w.meetings.put(calendar.Event{
			CalendarID: "side", Start: calendar.At(hour(11), ""), End: calendar.At(hour(12), ""),
		})
		hold := func(h int) (record.HoldAnswer, error) {
			answer, err := p.Calendar.Hold(background, c, key(fmt.Sprint("hold", h)), HoldSlot{
				SlotID: slotAt(t, p, c, h, func(in *FindSlots) { in.Availability = availability }).SlotID,
				For:    time.Minute, Moves: booked.MeetingReference,
			})
			return answer.Record, err
		}
		_, err = hold(11)
		wantNearest(t, err, "09:00 10:00 12:00")
		held, err := hold(12)
		if err != nil {
			t.Fatal(err)
		}
		side := func(in *FindSlots) { in.CalendarIDs = []string{"side"} }
		if got := startsOf(t, findSlots(t, p, c, askSlots(t, side))); strings.Contains(got, "12:00") {
			t.Errorf("what is held is offered: %q", got)
		}
		if _, err := p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
			Reference: booked.MeetingReference, Offered: Offered{HoldID: held.HoldID},
		}); err != nil {
			t.Error(err)
		}
	}
}

// Whichever calendar a slot is free in, hours are in the zone of the first one that was asked for, and what is offered
// in its place may be free in any of them.
func TestTheNearestSlotsOfAnyCalendarGoByTheFirstOnesHours(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.put(calendar.Event{Start: calendar.At(hour(15), ""), End: calendar.At(hour(16), "")})
	slot := slotAt(t, p, c, 15, func(in *FindSlots) { // it opens at 15:00 in UTC
		in.CalendarIDs, in.Availability, in.Rules.Hours.Weekly[0].Zone = []string{"main", "side"}, slots.Any, nil
		in.Rules.Hours.Weekly[0].Opening = slots.Opening{Start: 10 * 60, End: 18 * 60}
	})
	if !slices.Equal(slot.CalendarIDs, []string{"side"}) {
		t.Fatalf("%v are free", slot.CalendarIDs)
	}
	holdSlot(t, p, c, key("first"), slot.SlotID)
	w.meetings.put(calendar.Event{CalendarID: "side", Start: calendar.At(hour(16), ""), End: calendar.At(hour(18), "")})
	_, err := p.Calendar.Hold(background, c, key("second"), HoldSlot{SlotID: slot.SlotID, For: time.Minute})
	wantNearest(t, err, "16:00 17:00 18:00")
}

// Who holds a slot to move a meeting there, and then books another one, books where the slot was found.
func TestAHoldForAMoveIsBookedWhereItsSlotWasFound(t *testing.T) {
	t.Parallel()
	for _, availability := range []slots.Availability{slots.Collective, slots.Any} {
		w, p, c := sqliteWorld(t)
		there, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 9,
			func(in *FindSlots) { in.CalendarIDs = []string{"side"} }).SlotID})
		if err != nil {
			t.Fatal(err)
		}
		anyOf := func(in *FindSlots) {
			in.CalendarIDs, in.Availability, in.Rules.Duration = []string{"third", "main"}, availability, nil
		}
		held, err := p.Calendar.Hold(background, c, Write{}, HoldSlot{
			SlotID: slotAt(t, p, c, 12, anyOf).SlotID, For: time.Minute, Moves: there.MeetingReference,
		})
		if err != nil {
			t.Fatal(err)
		}
		booked, err := bookSlot(p, c, key("another"), Offered{HoldID: held.Record.HoldID})
		if err != nil || booked.End != "2030-03-04T12:30:00Z" {
			t.Fatalf("booked %+v, %v", booked, err)
		}
		if live := w.meetings.live(); len(live) != 2 || live[1].CalendarID != "third" {
			t.Errorf("%s: booked %+v", availability, live)
		}
		side := func(in *FindSlots) { in.CalendarIDs = []string{"side"} }
		slotAt(t, p, c, 12, side) // nothing moves there any more
	}
}

// A meeting keeps its length wherever it moves, unless somebody asked for another.
func TestAMeetingKeepsItsLengthWhereverItMoves(t *testing.T) {
	t.Parallel()
	short, long := 30*time.Minute, 90*time.Minute
	of := func(length time.Duration) func(*FindSlots) {
		return func(in *FindSlots) { in.Rules.Duration = &length }
	}
	asSet := func(in *FindSlots) { in.Rules.Duration = nil }
	for rule, test := range map[string]struct {
		change func(*FindSlots)
		moves  bool // the slot is found for the meeting
		end    string
	}{
		"to a slot of the usual length":         {asSet, false, "2030-03-04T14:30:00Z"},
		"to one that was found for it":          {asSet, true, "2030-03-04T14:30:00Z"},
		"unless a shorter one is asked for":     {of(short), false, "2030-03-04T13:30:00Z"},
		"unless it is to be shorter":            {of(short), true, "2030-03-04T13:30:00Z"},
		"unless a slot of its length is wanted": {of(long), false, "2030-03-04T14:30:00Z"},
	} {
		for _, holds := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/held %t", rule, holds), func(t *testing.T) {
				_, p, c := sqliteWorld(t)
				there, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 8, of(long)).SlotID})
				if err != nil {
					t.Fatal(err)
				}
				hourly := time.Hour
				change := func(in *FindSlots) {
					test.change(in)
					in.Rules.Interval = &hourly
					if test.moves {
						in.RescheduleMeetingID = there.MeetingReference
					}
				}
				to, next := Offered{SlotID: slotAt(t, p, c, 13, change).SlotID}, slotAt(t, p, c, 14, change).SlotID
				if holds {
					held, err := p.Calendar.Hold(background, c, Write{}, HoldSlot{
						SlotID: to.SlotID, For: time.Minute, Moves: there.MeetingReference,
					})
					if err != nil {
						t.Fatal(err)
					}
					if held.Record.Slot.End != test.end {
						t.Errorf("held until %s", held.Record.Slot.End)
					}
					if taken := test.end > "2030-03-04T14"; taken {
						_, err = p.Calendar.Hold(background, c, key("next"), HoldSlot{SlotID: next, For: time.Minute})
						wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
					}
					to = Offered{HoldID: held.Record.HoldID}
				}
				for range 2 { // an interrupted model moves it twice
					moved, err := p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
						Reference: there.MeetingReference, Offered: to,
					})
					if err != nil || moved.Record.End != test.end {
						t.Fatalf("moved: %+v, %v", moved.Record, err)
					}
				}
			})
		}
	}
}

// Where a meeting is longer than the slots that were found without it, others are offered that it fits in.
func TestTheNearestSlotsAreAsLongAsTheMeetingThatMoves(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	long := 2 * time.Hour
	there, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 8,
		func(in *FindSlots) { in.Rules.Duration = &long }).SlotID})
	if err != nil {
		t.Fatal(err)
	}
	w.meetings.put(calendar.Event{Start: calendar.At(hour(13), ""), End: calendar.At(hour(14), "")})
	to := slotAt(t, p, c, 12, func(in *FindSlots) { in.Rules.Duration = nil }).SlotID
	_, err = p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: there.MeetingReference, Offered: Offered{SlotID: to},
	})
	wantNearest(t, err, "08:00 10:00 14:00")
}
