package service

import (
	"cmp"
	"context"
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
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

func findMeetings(t *testing.T, p *process, c apikey.Caller, in FindMeetings) record.MeetingsAnswer {
	t.Helper()
	if in.Start.IsZero() {
		in.Start, in.End = when(t, "2030-03-04"), when(t, "2030-03-06")
	}
	private, err := p.Calendar.FindMeetings(background, c, in)
	if err != nil {
		t.Fatal(err)
	}
	c.Tenant.Settings.UnverifiedCallerFields = tenant.List{tenant.CallerMeetingTitles}
	answer, err := p.Calendar.FindMeetings(background, c, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range private.Meetings { // nobody has verified who calls
		if m.Title != "" || len(private.Meetings) != len(answer.Meetings) || m.Start != answer.Meetings[i].Start {
			t.Errorf("without the tenant's leave, %+v is told", m)
		}
	}
	return answer
}

func titles(a record.MeetingsAnswer) []string {
	all := []string{}
	for _, m := range a.Meetings {
		all = append(all, m.Title)
	}
	return all
}

func TestMeetingsOfACallerAreFoundExactly(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	invited := func(title, email string, h int, change func(*calendar.Event)) string {
		e := calendar.Event{
			Title: title, Start: calendar.At(hour(h), "UTC"), End: calendar.At(hour(h+1), "UTC"),
			Attendees: []calendar.Attendee{{Email: email}},
		}
		if change != nil {
			change(&e)
		}
		return w.meetings.put(e)
	}
	slot := slotAt(t, p, c, 15, nil).SlotID
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slot})
	if err != nil {
		t.Fatal(err)
	}
	freely := meeting(t, "Booked freely", 17)
	freely.Attendees, freely.CalendarIDs = []string{"kim@example.com", "Pat@Example.com"}, []string{"side"}
	book(t, p, c, Write{}, freely)
	invited("By the office", "PAT@example.com", 12, nil)
	invited("Cancelled", "pat@example.com", 13, func(e *calendar.Event) { e.IsCancelled = true })
	invited("Of a namesake", "pat@example.org", 13, nil)
	invited("Of a longer name", "xpat@example.com", 13, nil)
	invited("Elsewhere", "pat@example.com", 13, func(e *calendar.Event) { e.CalendarID = "third" })
	invited("Later", "pat@example.com", 13+48, nil)
	for rule, f := range map[string]struct {
		in   FindMeetings
		want []string
	}{
		"by address": {FindMeetings{Email: "pat@EXAMPLE.com"},
			[]string{"By the office", "Consultation", "Booked freely"}},
		"by number":         {FindMeetings{Phone: "+12025550101"}, []string{"Consultation"}},
		"by both":           {FindMeetings{Phone: "+12025550101", Email: "kim@example.com"}, []string{"Consultation", "Booked freely"}},
		"by another number": {FindMeetings{Phone: "+12025550102"}, []string{}},
		"by nothing":        {FindMeetings{}, []string{}},
		"in a calendar": {FindMeetings{Email: "pat@example.com", CalendarIDs: []string{"third"}},
			[]string{"Elsewhere", "Consultation", "Booked freely"}},
		"in a window": {FindMeetings{Email: "pat@example.com", Start: when(t, "2030-03-04T12:30:00Z"),
			End: when(t, "2030-03-04T15:00:00Z")}, []string{"By the office"}},
	} {
		answer := findMeetings(t, p, c, f.in)
		if got := titles(answer); !slices.Equal(got, f.want) || !answer.Complete || answer.More {
			t.Errorf("%s: found %q, want %q: %+v", rule, got, f.want, answer)
		}
	}
	answer := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101", Timezone: "Europe/Berlin"})
	want := record.FoundMeeting{
		MeetingReference: booked.MeetingReference, Title: "Consultation", Start: "2030-03-04T16:00:00+01:00",
		End: "2030-03-04T17:00:00+01:00",
	}
	say := "I see an appointment on Monday, March the fourth, at four in the afternoon."
	if answer.Meetings[0] != want || answer.TimeZone != "Europe/Berlin" || answer.Say != say {
		t.Errorf("found %+v, want %+v", answer, want)
	}
	// A caller who may have a meeting is not told that there is none, where nothing was looked for.
	for in, say := range map[*FindMeetings]string{
		{}:                      "I do not know who is calling.",
		{Phone: "+12025550102"}: "I could not find an appointment.",
	} {
		if got := findMeetings(t, p, c, *in); got.Say != say {
			t.Errorf("%+v: said %q, want %q", *in, got.Say, say)
		}
	}
	stranger := w.tenant("beta") // of the same account, where it booked nothing
	if got := findMeetings(t, p, stranger, FindMeetings{Phone: "+12025550101"}); len(got.Meetings) > 0 {
		t.Errorf("another tenant finds %+v", got)
	}
	_, err = p.Calendar.MoveMeeting(background, stranger, Write{}, MoveMeeting{
		Reference: booked.MeetingReference, Offered: Offered{SlotID: slotAt(t, p, stranger, 9, nil).SlotID},
	})
	wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
}

// A whole day is that day in the zone of whoever is told, and not from midnight elsewhere.
func TestAWholeDayIsToldAsADay(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.put(calendar.Event{
		Title: "Team day", Start: calendar.Day(2030, time.March, 5), End: calendar.Day(2030, time.March, 6),
		Attendees: []calendar.Attendee{{Email: "pat@example.com"}},
	})
	for zone, want := range map[string]record.FoundMeeting{
		"":              {Title: "Team day", Start: "2030-03-05T00:00:00-05:00", End: "2030-03-06T00:00:00-05:00"},
		"Europe/Berlin": {Title: "Team day", Start: "2030-03-05T00:00:00+01:00", End: "2030-03-06T00:00:00+01:00"},
		"Asia/Tokyo":    {Title: "Team day", Start: "2030-03-05T00:00:00+09:00", End: "2030-03-06T00:00:00+09:00"},
	} {
		answer := findMeetings(t, p, c, FindMeetings{
			Email: "pat@example.com", Timezone: zone, Start: when(t, "2030-03-04"), End: when(t, "2030-03-08"),
		})
		if len(answer.Meetings) != 1 {
			t.Fatalf("%s: found %+v", zone, answer)
		}
		want.MeetingReference = answer.Meetings[0].MeetingReference
		if answer.Meetings[0] != want || answer.Say != "I see an appointment on Tuesday, March the fifth." {
			t.Errorf("%s: found %+v", zone, answer)
		}
	}
}

// Somebody else puts a meeting off until after it would have ended, and the caller asks then.
func TestAMeetingThatWasPutOffIsFound(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	booked := func(title string, h int) string {
		in := meeting(t, title, h)
		in.phone = "+12025550101"
		return book(t, p, c, Write{}, in).Record.Event.EventID
	}
	for i := range mostBookedHere {
		booked(fmt.Sprint("kept long ago ", i), -1000+i)
	}
	putOff := booked("put off", 10)
	booked("kept", 11)
	w.meetings.edit(putOff, func(e *calendar.Event) {
		e.Start, e.End = calendar.At(hour(10+48), "UTC"), calendar.At(hour(11+48), "UTC")
	})
	answer := findMeetings(t, p, c, FindMeetings{
		Phone: "+12025550101", Start: when(t, "2030-03-05"), End: when(t, "2030-03-08"),
	})
	if got := titles(answer); !slices.Equal(got, []string{"put off"}) || !answer.Complete || answer.More {
		t.Errorf("found %q: %+v", got, answer)
	}
}

// That a meeting which has ended may have been put off is no reason to refuse a caller whose meetings cannot be read.
func TestMeetingsThatHaveEndedNeedNotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	for title, h := range map[string]int{"ended": 10, "next": 10 + 72} {
		in := meeting(t, title, h)
		in.phone = "+12025550101"
		book(t, p, c, Write{}, in)
	}
	w.meetings.script(func(_ *process, call string) reaction {
		if strings.HasPrefix(call, "event/") || call == "event" {
			return reaction{before: fails(down())}
		}
		return reaction{}
	})
	answer := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101", Start: when(t, "2030-03-08")})
	if len(answer.Meetings) != 0 || !slices.Equal(answer.UnreadSources, []string{sourceBookedHere}) {
		t.Errorf("found %+v", answer)
	}
	_, err := p.Calendar.FindMeetings(background, c, FindMeetings{Phone: "+12025550101", Start: when(t, "2030-03-05")})
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
}

func TestTheNearestMeetingsAreFoundAndThatThereAreMore(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	for week := range mostBookedHere + 6 {
		in := meeting(t, "therapy", 10+7*24*week)
		in.phone = "+12025550101"
		book(t, p, c, Write{}, in)
	}
	for rule, f := range map[string]struct {
		end  string
		want int
		more bool
	}{
		"in a window of three weeks": {"2030-03-25", 3, false},
		"as many as are read":        {"2030-07-22", mostMeetings, true},
		"in a window that has more":  {"2030-09-02", mostMeetings, true},
	} {
		answer := findMeetings(t, p, c, FindMeetings{
			Phone: "+12025550101", Start: when(t, "2030-03-04"), End: when(t, f.end),
		})
		if len(answer.Meetings) != f.want || answer.More != f.more || !answer.Complete ||
			answer.Meetings[0].Start != "2030-03-04T05:00:00-05:00" {
			t.Errorf("%s: found %+v, want %d meetings from the first on, more %t", rule, answer, f.want, f.more)
		}
	}
}

// However many meetings of a caller were cancelled, the one that is left is found. What was removed by other means takes
// its place, but then nobody is told that there is no meeting.
func TestAMeetingIsFoundBehindThoseThatWereCancelled(t *testing.T) {
	t.Parallel()
	for rule, remove := range map[string]func(*world, *process, apikey.Caller, string){
		"here": func(_ *world, p *process, c apikey.Caller, id string) {
			for range 2 {
				if _, err := p.Calendar.Cancel(background, c, Write{}, CancelMeeting{EventID: id}); err != nil {
					t.Error(err)
				}
			}
		},
		"by other means": func(w *world, _ *process, _ apikey.Caller, id string) {
			w.meetings.edit(id, func(e *calendar.Event) { e.IsCancelled = true })
		},
	} {
		w, p, c := sqliteWorld(t)
		booked := func(title string, h int) string {
			in := meeting(t, title, h)
			in.phone = "+12025550101"
			return book(t, p, c, Write{}, in).Record.Event.EventID
		}
		for i := range mostBookedHere + 1 {
			remove(w, p, c, booked(fmt.Sprint("cancelled ", i), 10))
		}
		booked("left", 12)
		answer := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101"})
		found := len(answer.Meetings) == 1 && answer.Complete
		unread := len(answer.Meetings) == 0 && slices.Equal(answer.UnreadSources, []string{sourceBookedHere})
		if rule == "here" && !found || rule != "here" && !unread {
			t.Errorf("removed %s, found %+v", rule, answer)
		}
	}
}

// Who booked here half a year ahead is not told that there is no meeting, if the request gives no end.
func TestWhatWasBookedHereIsFoundAYearAhead(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	for title, at := range map[string]int{"soon": 10, "in a year": 10 + 24*364} {
		in := meeting(t, title, at)
		in.phone = "+12025550101"
		book(t, p, c, Write{}, in)
	}
	for _, f := range []FindMeetings{
		{Phone: "+12025550101"}, {Phone: "+12025550101", Email: "kim@example.com"},
	} {
		f.Start = when(t, "2030-03-04")
		if got := titles(findMeetings(t, p, c, f)); !slices.Equal(got, []string{"soon", "in a year"}) {
			t.Errorf("%+v: found %q", f, got)
		}
		f.End = when(t, "2030-05-03")
		if got := titles(findMeetings(t, p, c, f)); !slices.Equal(got, []string{"soon"}) {
			t.Errorf("within 60 days: found %q", got)
		}
	}
}

// TestACopyOfAMeetingIsNotTakenForIt: at Google, a calendar that is invited has a copy of the meeting, with the same
// id.
func TestACopyOfAMeetingIsNotTakenForIt(t *testing.T) {
	t.Parallel()
	for rule, f := range map[string]struct {
		organizer string
		before    bool
		listed    []string
		cancel    CancelMeeting
	}{
		"both calendars were listed":             {listed: []string{"main", "side"}},
		"the copy was listed":                    {listed: []string{"side"}},
		"the copy was listed, and it is named":   {listed: []string{"side"}, cancel: CancelMeeting{CalendarID: "side"}},
		"the meeting's own calendar is named":    {listed: []string{"side"}, cancel: CancelMeeting{CalendarID: "main"}},
		"the copy is that of a second organizer": {organizer: "third", listed: []string{"third", "side"}},
		"the copy of such a one was listed":      {organizer: "third", listed: []string{"side"}},
		"the copy was remembered before":         {before: true, listed: []string{"main", "side"}},
	} {
		w, p, c := sqliteWorld(t)
		organizer := cmp.Or(f.organizer, "main")
		meant := organizer
		if f.before {
			w.check(p.store.SeeEvents(background, []store.EventSeen{{TenantID: c.Tenant.ID,
				ConnectionID: c.Connections[adapter.KindCalendar].ID, EventID: "one", CalendarID: "side",
				UpdatedAt: w.clock.now()}}))
		}
		if f.cancel.CalendarID == "side" {
			meant = "side"
		}
		for _, in := range []string{organizer, "side"} {
			w.meetings.put(calendar.Event{ID: "one", CalendarID: in, Title: "in " + in,
				Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC"),
				Organizer: calendar.Person{Email: organizer}, Attendees: []calendar.Attendee{{Email: "pat@example.com"}}})
		}
		found := findMeetings(t, p, c, FindMeetings{Email: "pat@example.com", CalendarIDs: []string{"side", organizer}})
		if got := titles(found); !slices.Equal(got, []string{"in " + organizer}) {
			t.Errorf("%s: found %q", rule, got)
		}
		if _, err := p.Calendar.List(background, c, window(t, f.listed...)); err != nil {
			t.Fatal(err)
		}
		f.cancel.EventID = "one"
		if _, err := p.Calendar.Cancel(asKey(c), c, Write{}, f.cancel); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.meetings.live() {
			if e.CalendarID == meant {
				t.Errorf("%s: the meeting in %s still stands", rule, meant)
			}
		}
	}
}

// Who cancels the copy of somebody who was invited leaves the meeting, and its caller finds it.
func TestAMeetingIsFoundWhoseCopyWasCancelled(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	in := meeting(t, "therapy", 10)
	in.phone = "+12025550101"
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	invited := w.meetings.live()[0]
	invited.CalendarID = "side"
	w.meetings.put(invited)
	for _, calendarID := range []string{"side", "main"} {
		want := len(w.meetings.live()) - 1
		_, err := p.Calendar.Cancel(background, c, Write{}, CancelMeeting{EventID: id, CalendarID: calendarID})
		found := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101"})
		if err != nil || len(found.Meetings) != want {
			t.Errorf("with that in %s cancelled, found %+v, %v", calendarID, found, err)
		}
	}
}

// A meeting that was cancelled here is not read any more, by whatever name its calendar was named.
func TestACancelledMeetingIsNotLookedFor(t *testing.T) {
	t.Parallel()
	for _, calendarID := range []string{"", "main", "primary"} {
		w, p, c := sqliteWorld(t)
		w.meetings.calendars[0].Alias = "primary"
		in := meeting(t, "therapy", 10)
		in.phone = "+12025550101"
		id := book(t, p, c, Write{}, in).Record.Event.EventID
		_, err := p.Calendar.Cancel(background, c, Write{}, CancelMeeting{EventID: id, CalendarID: calendarID})
		w.check(err)
		asked := w.meetings.called("event")
		found := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101"})
		if len(found.Meetings) > 0 || w.meetings.called("event") != asked {
			t.Errorf("cancelled in %q: found %+v, by %d requests", calendarID, found, w.meetings.called("event")-asked)
		}
	}
}

// Somebody repeats a meeting weekly after it was booked here, in another calendar. Its instances are the meetings, each
// once.
func TestTheInstancesOfAMeetingAreFoundThatRepeatsByNow(t *testing.T) {
	t.Parallel()
	byPhone := FindMeetings{Phone: "+12025550101"}
	for _, by := range []FindMeetings{
		byPhone, {Email: "pat@example.com"}, {Phone: "+12025550101", Email: "pat@example.com"},
	} {
		w, p, c := sqliteWorld(t)
		w.meetings.tells410 = true
		in := meeting(t, "therapy", 10)
		in.phone, in.Attendees = byPhone.Phone, []string{"pat@example.com"}
		id := book(t, p, c, Write{}, in).Record.Event.EventID
		series := w.meetings.live()[0]
		w.meetings.edit(id, func(e *calendar.Event) { e.IsCancelled = true })
		series.CalendarID, series.SeriesID = "side", id
		w.meetings.put(series)
		for week := range 9 {
			at := hour(10 + 7*24*week)
			instance := series
			instance.ID = fmt.Sprint(id, "_", week)
			instance.Start, instance.End = calendar.At(at, "UTC"), calendar.At(at.Add(time.Hour), "UTC")
			w.meetings.put(instance)
		}
		for _, f := range []struct {
			by       FindMeetings
			from, to string
			want     int
		}{
			{by, "2030-03-04", "2030-03-06", 1},
			{by, "2030-03-04", "2030-03-19", 3},
			{by, "2030-03-18", "2030-04-27", 6},      // the first is over
			{byPhone, "2030-04-22", "2030-05-01", 2}, // and so it is for more than a month
		} {
			f.by.Start, f.by.End, f.by.CalendarIDs = when(t, f.from), when(t, f.to), []string{"side"}
			found := findMeetings(t, p, c, f.by)
			if got := len(found.Meetings); got != f.want || !found.Complete {
				t.Errorf("%+v: found %d, want %d: %+v", f.by, got, f.want, found)
			}
		}
		client, err := p.Calendar.open(background, c)
		w.check(err)
		m, err := client.meetingToMove(background, id)
		if ends := hour(10 + 7*24*8 + 1); err != nil || m.CalendarID != "side" || !m.EndsAt.Equal(ends) {
			t.Errorf("remembered is %+v, %v, want it in side until %s", m, err, ends)
		}
	}
}

func TestAnEventIsFoundAgainWhereNoCalendarIsTheDefault(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.put(calendar.Event{ID: "one", CalendarID: "side", Title: "in side",
		Start: calendar.At(hour(10), "UTC"), End: calendar.At(hour(11), "UTC")})
	w.meetings.calendars[0].IsDefault = false
	if _, err := p.Calendar.List(background, c, window(t, "side")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: "one"}); err != nil {
		t.Error(err)
	}
}

func TestMeetingsThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	freely := meeting(t, "Booked freely", 17)
	freely.Attendees, freely.CalendarIDs = []string{"pat@example.com"}, []string{"side"}
	book(t, p, c, Write{}, freely)
	w.meetings.put(calendar.Event{
		Title: "By the office", Start: calendar.At(hour(12), "UTC"), End: calendar.At(hour(13), "UTC"),
		Attendees: []calendar.Attendee{{Email: "pat@example.com"}},
	})
	fail := func(names ...string) {
		w.meetings.script(func(_ *process, call string) reaction {
			kind, _, _ := strings.Cut(call, "/") // the list of events of whichever calendar is the default one
			if slices.Contains(names, kind) {
				return reaction{before: fails(down())}
			}
			return reaction{}
		})
	}
	for _, f := range []struct{ fails, unread, found string }{
		{"events", sourceCalendar, "Booked freely"}, {"event", sourceBookedHere, "By the office"},
	} {
		fail(f.fails)
		answer := findMeetings(t, p, c, FindMeetings{Email: "pat@example.com"})
		if answer.Complete || !slices.Equal(answer.UnreadSources, []string{f.unread}) ||
			!slices.Equal(titles(answer), []string{f.found}) {
			t.Errorf("without %s found %+v", f.unread, answer)
		}
	}
	fail("events", "event")
	_, err := p.Calendar.FindMeetings(background, c, FindMeetings{
		Email: "pat@example.com", Start: when(t, "2030-03-04"),
	})
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
}

func TestMeetingsAreMovedAndCancelledByReference(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
	if err != nil {
		t.Fatal(err)
	}
	other := slotAt(t, p, c, 12, nil).SlotID
	book(t, p, c, Write{}, meeting(t, "other", 12))
	move := func(by Offered) (Answer[record.BookedAnswer], error) {
		return p.Calendar.MoveMeeting(background, c, Write{},
			MoveMeeting{Offered: by, Reference: booked.MeetingReference})
	}
	_, err = move(Offered{SlotID: other})
	wantNearest(t, err, "10:00 11:00 13:00")

	found := findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
		in.RescheduleMeetingID = booked.MeetingReference
	}))
	if got := startsOf(t, found); got != "08:00 09:00 10:00 11:00 13:00 14:00 15:00 16:00 17:00" {
		t.Errorf("for the meeting that moves, found %q", got)
	}
	held := holdSlot(t, p, c, Write{}, slotAt(t, p, c, 14, nil).SlotID)
	for range 2 {
		moved, err := move(Offered{HoldID: held.HoldID})
		want := record.BookedAnswer{
			MeetingReference: booked.MeetingReference, Start: "2030-03-04T14:00:00Z", End: "2030-03-04T15:00:00Z",
			TimeZone: "UTC", Say: "The appointment is moved to Monday, March the fourth, at two in the afternoon.",
		}
		if err != nil || moved.Record != want {
			t.Errorf("moved: %+v, %v", moved.Record, err)
		}
	}
	if w.meetings.changed != 1 {
		t.Errorf("the event was changed %d times", w.meetings.changed)
	}
	if got := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101"}); len(got.Meetings) != 1 ||
		got.Meetings[0].Start != "2030-03-04T09:00:00-05:00" {
		t.Errorf("found %+v", got)
	}
	for range 2 {
		gone, err := p.Calendar.CancelByReference(background, c, Write{}, booked.MeetingReference)
		if err != nil || !gone.Record.OK || gone.Record.Say != "The appointment is cancelled." {
			t.Errorf("cancelled: %+v, %v", gone.Record, err)
		}
	}
	if got := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101"}); len(got.Meetings) != 0 {
		t.Errorf("after the cancellation found %+v", got)
	}
	_, err = p.Calendar.CancelByReference(background, c, Write{}, "mt_0000000000")
	wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
	// The slot that the hold took, and the one that the meeting left, are free.
	got := startsOf(t, findSlots(t, p, c, askSlots(t, nil)))
	if got != "08:00 09:00 10:00 11:00 13:00 14:00 15:00 16:00 17:00" {
		t.Errorf("in the end found %q", got)
	}
}

// A meeting that was moved by other means is found where it is now.
func TestAMeetingMovedElsewhereIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	if _, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID}); err != nil {
		t.Fatal(err)
	}
	w.meetings.edit("ev1", func(e *calendar.Event) {
		e.Start, e.End = calendar.At(hour(16), "UTC"), calendar.At(hour(17), "UTC")
	})
	got := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101", Timezone: "UTC"})
	if len(got.Meetings) != 1 || got.Meetings[0].Start != "2030-03-04T16:00:00Z" {
		t.Errorf("found %+v", got)
	}
}

func TestTheWindowOfMeetings(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	got, err := p.Calendar.meetingWindow(FindMeetings{}, time.UTC)
	if err != nil || got.From != w.clock.now() || got.To != w.clock.now().AddDate(0, 0, 60) {
		t.Errorf("without a window: %+v, %v", got, err)
	}
	_, err = p.Calendar.FindMeetings(context.Background(), c, FindMeetings{ // 366 days, with an hour more
		Email: "pat@example.com", Start: when(t, "2030-11-02"), End: when(t, "2031-11-03"),
	})
	w.check(err)
	for _, end := range []string{"2030-03-04", "2031-03-06"} {
		_, err := p.Calendar.FindMeetings(context.Background(), c, FindMeetings{
			Email: "pat@example.com", Start: when(t, "2030-03-04"), End: when(t, end),
		})
		if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Path != "end" {
			t.Errorf("until %s: %v", end, err)
		}
	}
}

// An agent that was interrupted cancels the copy twice.
func TestACopyThatIsCancelledAgainLeavesTheMeeting(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.tells410 = true
	for _, in := range []string{"main", "side"} {
		w.meetings.put(calendar.Event{ID: "one", CalendarID: in, Start: calendar.At(hour(10), "UTC"),
			End: calendar.At(hour(11), "UTC"), Organizer: calendar.Person{Email: "main"},
			Attendees: []calendar.Attendee{{Email: "side", Response: "declined"}}})
	}
	for range 2 {
		answer, err := p.Calendar.Cancel(background, c, Write{}, CancelMeeting{EventID: "one", CalendarID: "side"})
		if live := w.meetings.live(); err != nil || !answer.Record.OK || len(live) != 1 || live[0].CalendarID != "main" {
			t.Fatalf("got %+v, %v, and %+v are left", answer.Record, err, live)
		}
	}
	w.check(p.store.SeeEvents(background, []store.EventSeen{{TenantID: c.Tenant.ID, // listed again by another replica
		ConnectionID: c.Connections[adapter.KindCalendar].ID, EventID: "one", CalendarID: "main",
		UpdatedAt: w.clock.now()}}))
	_, err := p.Calendar.Cancel(background, c, Write{}, CancelMeeting{EventID: "one", CalendarID: "side"})
	if live := w.meetings.live(); err != nil || len(live) != 1 {
		t.Errorf("%v, and %+v are left", err, live)
	}
}

// Google leaves a cancelled event behind where somebody moves one to another calendar.
func TestAMeetingIsFoundInTheCalendarThatSomebodyMovedItTo(t *testing.T) {
	t.Parallel()
	for _, booked := range []string{"main", "side"} {
		for _, to := range []string{"main", "side", "third"} {
			if to == booked {
				continue
			}
			for _, first := range []string{"update", "find", "cancel", "cancel by name", "cancel, cut off"} {
				t.Run(booked+" to "+to+", "+first, func(t *testing.T) {
					w, p, c := sqliteWorld(t)
					w.meetings.tells410 = true
					in := meeting(t, "therapy", 10)
					in.phone, in.CalendarIDs = "+12025550101", []string{booked}
					id := book(t, p, c, Write{}, in).Record.Event.EventID
					moved := w.meetings.live()[0]
					w.meetings.edit(id, func(e *calendar.Event) { e.IsCancelled = true })
					moved.CalendarID, moved.Organizer.Email = to, to
					w.meetings.put(moved)
					cancel := CancelMeeting{EventID: id}
					switch first {
					case "update":
						if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Title: "new"}); err != nil {
							t.Fatal(err)
						}
						if got := w.meetings.live(); len(got) != 1 || got[0].Title != "new" {
							t.Errorf("changed to %+v", got)
						}
					case "find":
						if found := findMeetings(t, p, c, FindMeetings{Phone: in.phone}); len(found.Meetings) != 1 {
							t.Errorf("found %+v", found)
						}
					case "cancel by name":
						cancel.CalendarID = booked
					case "cancel, cut off": // before it reached the provider, which nobody knows
						w.meetings.once("cancel", reaction{before: fails(cutOff())})
					}
					asked := w.meetings.called("event")
					if _, err := p.Calendar.Cancel(asKey(c), c, Write{}, cancel); err != nil || len(w.meetings.live()) != 0 {
						t.Errorf("%v, and %+v are left", err, w.meetings.live())
					}
					if first == "find" && w.meetings.called("event") > asked+1 {
						t.Error("it is looked for again")
					}
				})
			}
		}
	}
}

// Somebody makes a calendar and moves a meeting there, of which the list of calendars that is kept knows nothing.
func TestAMeetingIsFoundInACalendarThatIsNew(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"cancel", "update"} {
		for _, leavesOne := range []bool{true, false} { // as Google does, and Microsoft does not
			w, p, c := sqliteWorld(t)
			w.meetings.tells410 = leavesOne
			w.meetings.traits.IDsPerCalendar, w.meetings.traits.KeepsCancelled = leavesOne, leavesOne
			id := book(t, p, c, Write{}, meeting(t, "therapy", 10)).Record.Event.EventID
			w.clock.advance(3 * time.Minute)
			_, err := p.Calendar.Calendars(asKey(c), c)
			w.check(err)
			moved := w.meetings.live()[0]
			w.meetings.calendars = append(w.meetings.calendars, calendar.Calendar{ID: "new", Zone: "America/New_York"})
			w.meetings.edit(id, func(e *calendar.Event) { e.CalendarID = "new" })
			if leavesOne {
				w.meetings.edit(id, func(e *calendar.Event) { e.CalendarID, e.IsCancelled = "main", true })
				moved.CalendarID, moved.Organizer.Email = "new", "new"
				w.meetings.put(moved)
			}
			if first == "update" {
				_, err = p.Calendar.Update(asKey(c), c, Write{},
					UpdateMeeting{EventID: id, Start: when(t, "2030-03-04T12:00:00Z")})
				if got := w.meetings.live(); len(got) == 1 && !got[0].Start.Instant.Equal(hour(12)) {
					t.Errorf("is at %s", got[0].Start.Instant)
				}
			}
			if err == nil {
				_, err = p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
			}
			if err != nil || len(w.meetings.live()) != 0 {
				t.Errorf("%s first, leaves one %t: %v, and %+v are left", first, leavesOne, err, w.meetings.live())
			}
		}
	}
}

// At CalDAV, an event has another id in another calendar. The reference that its booking was answered with means it as
// before: what else is there is in its way, and it is not itself. It stays known to whom it was booked for.
func TestAReferenceOutlivesAMoveToACalendarWhereTheEventHasAnotherID(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.IDsTellCalendar = false, true
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
	w.check(err)
	w.clock.advance(3 * time.Minute) // its slot is not held any more
	id := w.meetings.live()[0].ID
	w.meetings.edit(id, func(e *calendar.Event) { e.ID, e.CalendarID = "moved", "side" })
	w.meetings.renamed = map[string]string{id: "moved"}
	w.meetings.put(calendar.Event{
		CalendarID: "side", Start: calendar.At(hour(14), "UTC"), End: calendar.At(hour(15), "UTC"),
	})
	w.meetings.put(calendar.Event{
		CalendarID: "main", Start: calendar.At(hour(16), "UTC"), End: calendar.At(hour(17), "UTC"),
	})
	to := func(in *FindSlots) { in.RescheduleMeetingID, in.Timezone = booked.MeetingReference, "UTC" }
	free := "08:00 09:00 10:00 11:00 12:00 13:00 15:00 16:00 17:00"
	if got := startsOf(t, findSlots(t, p, c, askSlots(t, to))); got != free {
		t.Errorf("slots are offered at %s", got)
	}
	held, err := p.Calendar.Hold(background, c, Write{}, HoldSlot{
		SlotID: slotAt(t, p, c, 10, to).SlotID, For: time.Minute, Moves: booked.MeetingReference,
	})
	if err != nil {
		t.Errorf("it cannot be held where it is itself: %v", err)
	}
	taken := slotAt(t, p, c, 14, nil)
	_, err = p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: booked.MeetingReference, Offered: Offered{SlotID: taken.SlotID},
	})
	wantNearest(t, err, "12:00 13:00 15:00")
	_, err = p.Calendar.ReleaseHold(background, c, Write{}, held.Record.HoldID)
	w.check(err)

	byPhone := FindMeetings{Phone: "+12025550101"}
	found := findMeetings(t, p, c, byPhone)
	if len(found.Meetings) != 1 || found.Meetings[0].MeetingReference != booked.MeetingReference {
		t.Fatalf("found %+v, want the one of %s", found, booked.MeetingReference)
	}
	later := findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
		to(in)
		in.Start, in.End = when(t, "2030-04-22T08:00:00Z"), when(t, "2030-04-22T18:00:00Z")
	})).Slots[0]
	moved, err := p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: booked.MeetingReference, Offered: Offered{SlotID: later.SlotID},
	})
	if err != nil || moved.Record.MeetingReference != booked.MeetingReference {
		t.Errorf("moved to %+v, %v", moved.Record, err)
	}
	byPhone.Start, byPhone.End = when(t, "2030-04-17"), when(t, "2030-05-01")
	if found := findMeetings(t, p, c, byPhone); len(found.Meetings) != 1 {
		t.Errorf("a month after its first time, found %+v", found)
	}
}

// Who invites other people to a meeting that has another id by now makes it known under both.
func TestAMeetingKeepsOneReferenceThoughItIsKnownByTwoIDs(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.IDsTellCalendar = false, true
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
	w.check(err)
	id := w.meetings.live()[0].ID
	w.meetings.edit(id, func(e *calendar.Event) { e.ID, e.CalendarID = "moved", "side" })
	w.meetings.renamed = map[string]string{id: "moved"}
	_, err = p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Attendees: []string{"kim@example.com"}})
	w.check(err)
	for range 10 {
		found := findMeetings(t, p, c, FindMeetings{Email: "kim@example.com"})
		if len(found.Meetings) != 1 || found.Meetings[0].MeetingReference != booked.MeetingReference {
			t.Fatalf("found %+v, want the one of %s", found, booked.MeetingReference)
		}
	}
}

// A platform repeats a call that took too long. The same caller has the slot then, whatever became of the meeting.
func TestARepeatedHoldForAMoveIsOneHoldWhereverTheMeetingIs(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.IDsTellCalendar = false, true
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
	w.check(err)
	w.clock.advance(3 * time.Minute)
	id := w.meetings.live()[0].ID
	move := HoldSlot{SlotID: slotAt(t, p, c, 14, nil).SlotID, For: time.Minute, Moves: booked.MeetingReference}
	first, err := p.Calendar.Hold(asKey(c), c, Write{}, move)
	w.check(err)
	again := func(when string) {
		t.Helper()
		got, err := p.Calendar.Hold(asKey(c), c, Write{}, move)
		if err != nil || got.Record.HoldID != first.Record.HoldID {
			t.Errorf("%s, it is held as %+v, %v, first as %+v", when, got.Record, err, first.Record)
		}
	}
	w.meetings.edit(id, func(e *calendar.Event) { e.ID, e.CalendarID = "moved", "side" })
	w.meetings.renamed = map[string]string{id: "moved"}
	again("when somebody has moved the meeting")
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "event" {
			return reaction{before: fails(down())}
		}
		return reaction{}
	})
	again("while the meeting cannot be read")
}

// Outlook moves what somebody deletes to another folder, where its id finds it as if nothing were. It is in no calendar
// then, as is an event just booked that no calendar shows yet.
func TestAMeetingThatSomebodyDeletedIsNotToldOfThoughItsIDFindsIt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.KeepsCancelled = false, false
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
	w.check(err)
	free := slotAt(t, p, c, 14, nil)
	w.meetings.edit(w.meetings.live()[0].ID, func(e *calendar.Event) { e.CalendarID = "deleted items" })
	byPhone := FindMeetings{Phone: "+12025550101"}
	if found := findMeetings(t, p, c, byPhone); len(found.Meetings) != 1 {
		t.Errorf("just booked, found %+v", found)
	}
	w.clock.advance(3 * time.Minute)
	if found := findMeetings(t, p, c, byPhone); len(found.Meetings) != 0 || !found.Complete {
		t.Errorf("deleted, found %+v", found)
	}
	_, err = p.Calendar.MoveMeeting(background, c, Write{}, MoveMeeting{
		Reference: booked.MeetingReference, Offered: Offered{SlotID: free.SlotID},
	})
	wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
	for _, change := range []UpdateMeeting{
		{Start: when(t, "2030-03-04T16:00:00Z")}, {Title: "other"}, {Attendees: []string{"sam@example.com"}},
	} {
		change.EventID = w.meetings.live()[0].ID
		_, err = p.Calendar.Update(background, c, Write{}, change)
		wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
	}
	if w.meetings.changed > 0 {
		t.Error("it was changed among the deleted items")
	}
	late := book(t, p, c, Write{}, meeting(t, "late", 12)).Record.Event.EventID
	w.meetings.edit(late, func(e *calendar.Event) { e.CalendarID = "shown soon" })
	if _, err = p.Calendar.Update(background, c, Write{}, UpdateMeeting{
		EventID: late, Start: when(t, "2030-03-04T13:00:00Z"),
	}); err != nil {
		t.Errorf("just booked, it is moved: %v", err)
	}
	if again, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID}); err != nil ||
		again.MeetingReference == booked.MeetingReference {
		t.Errorf("booked again: %+v, %v", again, err)
	}
}

// What lasts long is looked for where it begins: nobody waits for all that a calendar has meanwhile.
func TestAnEventThatLastsLongIsFoundByItsBeginning(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.KeepsCancelled = false, false
	fair := book(t, p, c, Write{}, meeting(t, "fair", 9)).Record.Event.EventID
	w.clock.advance(3 * time.Minute)
	w.meetings.fill("main", w.meetings.pageSize)
	for _, allDay := range []bool{false, true} {
		w.meetings.edit(fair, func(e *calendar.Event) {
			if allDay {
				e.Start = calendar.Time{Instant: hour(0), AllDay: true}
			}
			e.End = calendar.Time{Instant: e.Start.Instant.AddDate(0, 1, 0), AllDay: allDay}
		})
		before := w.meetings.called("events/main")
		_, err := p.Calendar.Update(asKey(c), c, Write{},
			UpdateMeeting{EventID: fair, Title: fmt.Sprint("other ", allDay)})
		if pages := w.meetings.called("events/main") - before; err != nil || !allDay && pages > 1 {
			t.Errorf("all day: %t: %v, after %d pages", allDay, err, pages)
		}
	}
}

// What is booked or moved without a slot has no hold on its time that would tell how new it is.
func TestAMeetingIsToldOfBeforeACalendarShowsItThoughNoSlotIsHeld(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.KeepsCancelled = false, false
	in := meeting(t, "therapy", 10)
	in.phone = "+12025550101"
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	isIn := func(calendarID string) {
		w.meetings.edit(id, func(e *calendar.Event) { e.CalendarID = calendarID })
	}
	isIn("none")
	count := func(when string, want int) {
		t.Helper()
		if found := findMeetings(t, p, c, FindMeetings{Phone: in.phone}); len(found.Meetings) != want {
			t.Errorf("%s, found %+v", when, found)
		}
	}
	count("just booked", 1)
	w.clock.advance(3 * time.Minute)
	count("not shown for three minutes", 0)
	isIn("main")
	_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Start: when(t, "2030-03-04T12:00:00Z")})
	w.check(err)
	isIn("none")
	count("just moved", 1)
}

func TestAMeetingIsFoundWhereSomebodyMovedItThoughAnotherCalendarCannotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.KeepsCancelled = false, false
	in := meeting(t, "therapy", 10)
	in.phone = "+12025550101"
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	w.clock.advance(3 * time.Minute)
	w.meetings.edit(id, func(e *calendar.Event) { e.CalendarID = "side" })
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "events/third" {
			return reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "No."))}
		}
		return reaction{}
	})
	byPhone := FindMeetings{Phone: in.phone}
	if found := findMeetings(t, p, c, byPhone); len(found.Meetings) != 1 || !found.Complete {
		t.Errorf("found %+v", found)
	}
	w.meetings.edit(id, func(e *calendar.Event) { e.CalendarID = "third" })
	byPhone.Start, byPhone.End = when(t, "2030-03-04"), when(t, "2030-03-06")
	_, err := p.Calendar.FindMeetings(background, c, byPhone)
	wantReason(t, err, fault.Forbidden, fault.ReasonPermissionDenied)
	late := book(t, p, c, Write{}, meeting(t, "late", 12)).Record.Event.EventID
	w.meetings.edit(late, func(e *calendar.Event) { e.CalendarID = "shown soon" })
	_, err = p.Calendar.Update(background, c, Write{}, UpdateMeeting{EventID: late, Title: "other"})
	if err != nil {
		t.Errorf("just booked, it is changed: %v", err)
	}
}

// Graph finds an event by its id whatever calendar it is asked in (microsoftgraph/microsoft-graph-docs#391), also in one
// that is no more.
func TestAMeetingIsFoundWhoseCalendarIsNoMore(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IDsPerCalendar, w.meetings.traits.KeepsCancelled = false, false
	in := meeting(t, "therapy", 10)
	in.phone, in.CalendarIDs = "+12025550101", []string{"side"}
	id := book(t, p, c, Write{}, in).Record.Event.EventID
	w.clock.advance(3 * time.Minute)
	w.meetings.edit(id, func(e *calendar.Event) { e.CalendarID = "third" })
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "events/side" {
			return reaction{before: fails(fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "No such calendar."))}
		}
		return reaction{}
	})
	if found := findMeetings(t, p, c, FindMeetings{Phone: in.phone}); len(found.Meetings) != 1 || !found.Complete {
		t.Errorf("found %+v", found)
	}
}

// A person gives a meeting to another calendar, and the one before stays among the guests: its copy stands, under the
// same id.
func TestAMeetingIsCancelledWhoseCalendarIsAGuestByNow(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"event_id", "event_id and calendar_id", "meeting_reference"} {
		t.Run(by, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, nil).SlotID})
			if err != nil {
				t.Fatal(err)
			}
			given := w.meetings.live()[0]
			w.meetings.edit(given.ID, func(e *calendar.Event) { e.Organizer.Email = "side" })
			given.CalendarID, given.Organizer.Email = "side", "side"
			given.Attendees = append(given.Attendees, calendar.Attendee{Email: "main"})
			w.meetings.put(given)
			want := "side"
			switch cancel := (CancelMeeting{EventID: given.ID}); by {
			case "meeting_reference":
				_, err = p.Calendar.CancelByReference(background, c, Write{}, booked.MeetingReference)
			case "event_id and calendar_id":
				cancel.CalendarID, want = "main", "main" // the copy is meant
				fallthrough
			default:
				_, err = p.Calendar.Cancel(background, c, Write{}, cancel)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range w.meetings.live() {
				if left.CalendarID == want {
					t.Errorf("the event in %s still stands", want)
				}
			}
			if found := findMeetings(t, p, c, FindMeetings{Phone: "+12025550101"}); len(found.Meetings) > 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// The default calendar may be invited to what another calendar of the account organizes.
func TestAMeetingIsMeantOfWhichTheDefaultCalendarHasACopy(t *testing.T) {
	t.Parallel()
	for rule, do := range map[string]func(*testing.T, *process, apikey.Caller, calendar.Event) error{
		"the copy was listed": func(t *testing.T, p *process, c apikey.Caller, e calendar.Event) error {
			if _, err := p.Calendar.List(background, c, window(t)); err != nil {
				t.Fatal(err)
			}
			_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: e.ID})
			return err
		},
		"both were listed": func(t *testing.T, p *process, c apikey.Caller, e calendar.Event) error {
			if _, err := p.Calendar.List(background, c, window(t, "main", "side")); err != nil {
				t.Fatal(err)
			}
			_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: e.ID})
			return err
		},
		"the copy was found": func(t *testing.T, p *process, c apikey.Caller, _ calendar.Event) error {
			found := findMeetings(t, p, c, FindMeetings{Email: "pat@example.com"})
			_, err := p.Calendar.CancelByReference(background, c, Write{}, found.Meetings[0].MeetingReference)
			return err
		},
		"it is changed": func(_ *testing.T, p *process, c apikey.Caller, e calendar.Event) error {
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: e.ID, Title: "new"})
			return err
		},
	} {
		t.Run(rule, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			e := calendar.Event{ID: "one", Title: "old", Start: calendar.At(hour(10), "UTC"),
				End: calendar.At(hour(11), "UTC"), Organizer: calendar.Person{Email: "side"},
				Attendees: []calendar.Attendee{{Email: "pat@example.com"}}}
			for _, in := range []string{"main", "side"} {
				e.CalendarID = in
				w.meetings.put(e)
			}
			if err := do(t, p, c, e); err != nil {
				t.Fatal(err)
			}
			for _, left := range w.meetings.live() {
				if left.CalendarID == "side" && left.Title == "old" {
					t.Errorf("%+v is as it was", left)
				}
			}
		})
	}
}

// Where others have invited two calendars of the account, each has a copy of its own.
func TestACopyThatIsGoneLeavesTheCopiesOfOthers(t *testing.T) {
	t.Parallel()
	for rule, name := range map[string]string{"by name": "main", "by default": ""} {
		t.Run(rule, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.tells410 = true
			for _, in := range []string{"main", "side"} {
				w.meetings.put(calendar.Event{ID: "one", CalendarID: in, Title: "old", Start: calendar.At(hour(10), "UTC"),
					End: calendar.At(hour(11), "UTC"), Organizer: calendar.Person{Email: "boss@example.com"},
					IsCancelled: in == "main"})
			}
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: "one", Title: "new"})
			wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
			_, err = p.Calendar.Cancel(background, c, Write{}, CancelMeeting{EventID: "one", CalendarID: name})
			if live := w.meetings.live(); err != nil || len(live) != 1 || live[0].Title != "old" {
				t.Errorf("%v, and %+v are left", err, live)
			}
		})
	}
}

// Where the meeting itself cannot be read at the moment, the copy is not changed in its place.
func TestACopyIsNotChangedWhileItsMeetingCannotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	for _, in := range []string{"main", "side"} {
		w.meetings.put(calendar.Event{ID: "one", CalendarID: in, Title: "old", Start: calendar.At(hour(10), "UTC"),
			End: calendar.At(hour(11), "UTC"), Organizer: calendar.Person{Email: "side"}})
	}
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "event" && w.meetings.called(call) > 1 {
			return reaction{before: fails(down())}
		}
		return reaction{}
	})
	_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: "one", Title: "new"})
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	for _, left := range w.meetings.live() {
		if left.Title != "old" {
			t.Errorf("%+v is changed", left)
		}
	}
}
