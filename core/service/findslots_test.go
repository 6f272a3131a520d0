package service

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

// askSlots asks for the slots of an hour, on the Monday of the tests, from 08:00 to 18:00 in UTC.
func askSlots(t *testing.T, change func(*FindSlots)) FindSlots {
	t.Helper()
	duration, all := time.Hour, 50
	in := FindSlots{
		Start: when(t, "2030-03-04T08:00:00Z"), End: when(t, "2030-03-04T18:00:00Z"), Timezone: "UTC",
		Rules: slots.Rules{Duration: &duration, Hours: &slots.Hours{Weekly: []slots.Weekly{{
			Opening: slots.Opening{Start: 8 * 60, End: 18 * 60}, Days: []time.Weekday{time.Monday}, Zone: time.UTC,
		}}}},
		Limit: &all, PerDay: &all,
	}
	if change != nil {
		change(&in)
	}
	return in
}

func findSlots(t *testing.T, p *process, c apikey.Caller, in FindSlots) record.SlotsAnswer {
	t.Helper()
	answer, err := p.Calendar.FindSlots(background, c, in)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// startsOf returns the hours at which slots start.
func startsOf(t *testing.T, answer record.SlotsAnswer) string {
	t.Helper()
	var hours []string
	for _, s := range answer.Slots {
		at, err := time.Parse(time.RFC3339, s.Start)
		if err != nil {
			t.Fatal(err)
		}
		hours = append(hours, at.UTC().Format("15:04"))
	}
	return strings.Join(hours, " ")
}

func TestSlotsAreWhereTheCalendarIsFree(t *testing.T) {
	t.Parallel()
	event := func(from, to int) calendar.Event {
		return calendar.Event{Start: calendar.At(hour(from), "UTC"), End: calendar.At(hour(to), "UTC")}
	}
	answered := func(e calendar.Event, answer string) calendar.Event {
		e.Attendees = []calendar.Attendee{{Email: "office@example.com", Response: answer}}
		return e
	}
	free := event(9, 17)
	free.IsFree = true
	side := event(8, 13)
	side.CalendarID = "side"
	day := calendar.Event{Start: calendar.Day(2030, 3, 4), End: calendar.Day(2030, 3, 5)}
	for rule, c := range map[string]struct {
		there  []calendar.Event
		change func(*FindSlots)
		want   string
	}{
		"between events": {[]calendar.Event{event(8, 10), event(11, 12), event(13, 18)}, nil,
			"10:00 12:00"},
		"around events of no time": {[]calendar.Event{free, answered(event(8, 18), "declined")}, nil,
			"08:00 09:00 10:00 11:00 12:00 13:00 14:00 15:00 16:00 17:00"},
		"not on a busy day":            {[]calendar.Event{day}, nil, ""},
		"not during what is tentative": {[]calendar.Event{answered(event(8, 16), "tentative")}, nil, "16:00 17:00"},
		"during what is tentative, if that is free": {[]calendar.Event{answered(event(8, 16), "tentative"),
			event(8, 15)},
			func(in *FindSlots) { in.Rules.TentativeAsBusy = new(bool) }, "15:00 16:00 17:00"},
		"during the meeting that is to be moved": {[]calendar.Event{event(8, 12), event(11, 16)},
			func(in *FindSlots) { in.RescheduleMeetingID = "ev1" }, "08:00 09:00 10:00 16:00 17:00"},
		"in all the calendars": {[]calendar.Event{event(15, 17), side},
			func(in *FindSlots) { in.CalendarIDs = []string{"main", "side"} }, "13:00 14:00 17:00"},
		"in any of the calendars": {[]calendar.Event{event(12, 18), side}, func(in *FindSlots) {
			in.CalendarIDs, in.Availability = []string{"main", "side"}, slots.Any
		}, "08:00 09:00 10:00 11:00 13:00 14:00 15:00 16:00 17:00"},
	} {
		for _, freeBusy := range []bool{false, true} {
			// The fake's free and busy times know neither attendees nor days.
			if freeBusy && (strings.Contains(rule, "no time") || rule == "not on a busy day") {
				continue
			}
			t.Run(fmt.Sprintf("%s/free-busy %t", rule, freeBusy), func(t *testing.T) {
				w, p, c1 := sqliteWorld(t)
				w.meetings.freeBusy = freeBusy
				for _, e := range c.there {
					w.meetings.put(e)
				}
				answer := findSlots(t, p, c1, askSlots(t, c.change))
				if got := startsOf(t, answer); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if !answer.Complete || len(answer.UnreadCalendars) > 0 || answer.TimeZone != "UTC" {
					t.Errorf("got %+v", answer)
				}
			})
		}
	}
}

func TestASlotNamesTheCalendarsThatAreFree(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.put(calendar.Event{Start: calendar.At(hour(9), ""), End: calendar.At(hour(18), "")})
	answer := findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
		in.CalendarIDs, in.Availability = []string{"third", "main"}, slots.Any
	}))
	if got := answer.Slots[0].CalendarIDs; !slices.Equal(got, []string{"third", "main"}) {
		t.Errorf("at eight %v are free", got)
	}
	if got := answer.Slots[1].CalendarIDs; !slices.Equal(got, []string{"third"}) {
		t.Errorf("at nine %v are free", got)
	}
}

func TestWhatCannotBeReadIsBusyAndNamed(t *testing.T) {
	t.Parallel()
	for _, freeBusy := range []bool{false, true} {
		w, p, c := sqliteWorld(t)
		w.meetings.freeBusy = freeBusy
		ask := func(availability slots.Availability, ids ...string) (record.SlotsAnswer, error) {
			return p.Calendar.FindSlots(background, c, askSlots(t, func(in *FindSlots) {
				in.CalendarIDs, in.Availability = ids, availability
			}))
		}
		answer, err := ask(slots.Collective, "main", "gone")
		want := record.SlotsAnswer{
			Slots: []record.Slot{}, TimeZone: "UTC", UnreadCalendars: []string{"gone"},
			Say: "I could not see every calendar just now, so I have no time to offer.",
		}
		if err != nil || !reflect.DeepEqual(answer, want) {
			t.Errorf("all calendars: %+v, %v, want %+v", answer, err, want)
		}
		answer, err = ask(slots.Any, "gone", "main")
		if err != nil || answer.Complete || len(answer.Slots) != 10 ||
			!slices.Equal(answer.UnreadCalendars, []string{"gone"}) ||
			!slices.Equal(answer.Slots[0].CalendarIDs, []string{"main"}) ||
			!strings.HasSuffix(answer.Say, " I could not see every calendar just now.") {
			t.Errorf("any calendar: %+v, %v", answer, err)
		}
		_, err = ask(slots.Any, "gone")
		wantReason(t, err, fault.NotFound, fault.ReasonCalendarNotFound)
	}
}

// One calendar of several that cannot be read for the moment is asked for again, as a single one is.
func TestACalendarThatCannotBeReadForTheMomentIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	throttled := func(wait time.Duration) *fault.Error {
		f := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Wait.")
		f.RetryAfter = wait
		return f
	}
	for rule, c := range map[string]struct {
		why   *fault.Error
		times int // that it cannot be read
		asked int
	}{
		"down":                           {down(), 1, 2},
		"throttled":                      {throttled(time.Millisecond), 1, 2},
		"down for long":                  {down(), 9, 2},
		"throttled for long":             {throttled(time.Millisecond), 9, 2},
		"with a pause beyond the answer": {throttled(time.Minute), 1, 1},
	} {
		t.Run(rule, func(t *testing.T) {
			w, p, caller := sqliteWorld(t)
			findSlots(t, p, caller, askSlots(t, nil)) // the calendars are known
			w.meetings.freeBusy, w.meetings.unknown, w.meetings.why = true, c.times, c.why
			ctx, cancel := context.WithTimeout(background, time.Minute)
			defer cancel()
			answer, err := p.Calendar.FindSlots(ctx, caller, askSlots(t, func(in *FindSlots) {
				in.CalendarIDs, in.Availability = []string{"main", "side"}, slots.Any
			}))
			if err != nil {
				t.Fatal(err)
			}
			if asked := w.meetings.called("free-busy"); asked != c.asked {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
			if want := c.times < c.asked; answer.Complete != want {
				t.Errorf("complete %t, want %t; unread are %q", answer.Complete, want, answer.UnreadCalendars)
			}
			if got := len(answer.Slots); got != 10 {
				t.Errorf("%d slots", got)
			}
		})
	}
}

// manyDriver reads several calendars in one call, which fails if one cannot be read.
type manyDriver struct {
	*calendarDriver
	broken string // a calendar
	why    error
}

func (d manyDriver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	if q.CalendarID == d.broken {
		return calendar.Page{}, d.why
	}
	return d.calendarDriver.Events(ctx, q)
}

func (d manyDriver) EventsOf(ctx context.Context, queries []calendar.Query) ([]calendar.Page, error) {
	pages, err := eachPage(ctx, queries, d.Events)
	if err != nil {
		err = fault.From(err).Because(calendar.ErrOnePart)
	}
	return pages, err
}

// A calendar that cannot be read hides none of those that are read with it in one call.
func TestOneOfManyThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for rule, why := range map[string]*fault.Error{
		"down":       down(),
		"too large":  fault.New(fault.Exhausted, "PROVIDER_ANSWER_TOO_LARGE", "Too large."),
		"unreadable": fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "An event at no time."),
		"gone":       fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "Gone."),
	} {
		t.Run(rule, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			id := w.meetings.put(calendar.Event{Start: calendar.At(hour(10), ""), End: calendar.At(hour(11), "")})
			w.meetings.instead = manyDriver{&calendarDriver{w.meetings, p}, "side", why}
			answer, err := p.Calendar.FindSlots(within(t, 20*time.Second), c, askSlots(t, func(in *FindSlots) {
				in.CalendarIDs, in.RescheduleMeetingID = []string{"main", "side"}, id
				in.Availability = slots.Any
			}))
			if err != nil || len(answer.Slots) != 10 || !slices.Equal(answer.UnreadCalendars, []string{"side"}) {
				t.Errorf("%d slots, unread %q, %v", len(answer.Slots), answer.UnreadCalendars, err)
			}
		})
	}
}

// One calendar that hangs does not use up the time of the others, whether or not they are read in one request.
func TestACalendarThatHangsIsNamedInTime(t *testing.T) {
	t.Parallel()
	for _, inOne := range []bool{false, true} {
		w, p, c := sqliteWorld(t)
		w.meetings.silent = "side"
		if inOne {
			w.meetings.instead = manyDriver{&calendarDriver{w.meetings, p}, "none", nil}
		}
		ctx, cancel := context.WithTimeout(background, 6*time.Second)
		defer cancel()
		answer, err := p.Calendar.FindSlots(ctx, c, askSlots(t, func(in *FindSlots) {
			in.CalendarIDs, in.Availability = []string{"main", "side"}, slots.Any
		}))
		if err != nil || len(answer.Slots) != 10 || !slices.Equal(answer.UnreadCalendars, []string{"side"}) {
			t.Errorf("in one request %t: got %+v, %v", inOne, answer, err)
		}
	}
}

// hangingDriver reads several calendars in one call, and answers no list of events.
type hangingDriver struct{ *calendarDriver }

func (hangingDriver) Events(ctx context.Context, _ calendar.Query) (calendar.Page, error) {
	<-ctx.Done()
	return calendar.Page{}, fault.From(ctx.Err())
}

func (hangingDriver) EventsOf(ctx context.Context, _ []calendar.Query) ([]calendar.Page, error) {
	<-ctx.Done()
	return nil, fault.From(ctx.Err())
}

// A batch that hangs counts against the provider, though its calendars are read alone next.
func TestAProviderThatHangsIsNoticedThoughItsCalendarsAreReadAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	w.options = func(_ *Options, g *guard.Options) { g.BreakerFailures, g.Patience = 1, 400*time.Millisecond }
	p, c := w.start(), w.tenant("acme")
	w.meetings.instead = hangingDriver{&calendarDriver{w.meetings, p}}
	ctx, cancel := context.WithTimeout(background, 2*time.Second)
	defer cancel()
	_, err := p.Calendar.FindSlots(ctx, c, askSlots(t, func(in *FindSlots) {
		in.CalendarIDs = []string{"main", "side"}
	}))
	if state := p.guard.Breaker(c.Connections[adapter.KindCalendar].ID); err == nil || state != "open" {
		t.Errorf("the breaker is %s after %v", state, err)
	}
}

func TestASlotThatABookingHoldsIsNotOffered(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c1 := c.Connections[adapter.KindCalendar].ID
	held := store.Hold{ID: "h", ConnectionID: c1, CalendarID: "main", From: hour(9), To: hour(16),
		EventID: "ev1", Until: w.clock.now().Add(time.Minute)}
	if _, err := w.store.TakeHolds(background, []store.Hold{held}, nil, w.clock.now()); err != nil {
		t.Fatal(err)
	}
	if got := startsOf(t, findSlots(t, p, c, askSlots(t, nil))); got != "08:00 16:00 17:00" {
		t.Errorf("while it is held, got %q", got)
	}
	moved := askSlots(t, func(in *FindSlots) { in.RescheduleMeetingID = "ev1" })
	if got := findSlots(t, p, c, moved); len(got.Slots) != 10 {
		t.Errorf("for the meeting that has it, got %q", startsOf(t, got))
	}
	w.clock.advance(time.Minute)
	if got := findSlots(t, p, c, askSlots(t, nil)); len(got.Slots) != 10 {
		t.Errorf("after it has expired, got %q", startsOf(t, got))
	}
}

func TestEveryReplicaKnowsASlotByItsID(t *testing.T) {
	t.Parallel()
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		w := newWorld(t, func(testing.TB) string { return url })
		c := w.tenant("acme")
		in := askSlots(t, func(in *FindSlots) { in.CalendarIDs = []string{"side", "main"} })
		first, second := findSlots(t, w.start(), c, in), findSlots(t, w.start(), c, in)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("two replicas answer %+v and %+v", first, second)
		}
		seen := map[string]bool{}
		for i, s := range first.Slots {
			row, found, err := w.store.SlotOffered(background, c.Tenant.ID, c.Connections[adapter.KindCalendar].ID,
				s.SlotID)
			if err != nil || !found || !row.From.Equal(hour(8+i)) || !row.To.Equal(hour(9+i)) ||
				!slices.Equal(row.CalendarIDs, []string{"side", "main"}) {
				t.Errorf("%s is %+v, %t, %v", s.SlotID, row, found, err)
			}
			if seen[s.SlotID] || len(s.SlotID) > 16 {
				t.Errorf("the id %q is there twice or too long", s.SlotID)
			}
			seen[s.SlotID] = true
		}
		other := findSlots(t, w.start(), w.tenant("other"), in)
		if seen[other.Slots[0].SlotID] {
			t.Error("two tenants have one id")
		}
	})
}

func TestRulesComeFromTheRequestTheConnectionAndTheTenant(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	hours := map[string]string{"monday": "08:00-10:00"}
	hourLong, notice := 60, 60
	c.Tenant.Settings.OpenHours, c.Tenant.Settings.DurationMinutes = hours, &hourLong
	ask := func(change func(*FindSlots)) string {
		return startsOf(t, findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
			in.Start, in.End, in.Timezone = when(t, "2030-03-04"), when(t, "2030-03-05"), "America/New_York"
			in.Rules = slots.Rules{}
			if change != nil {
				change(in)
			}
		})))
	}
	if got := ask(nil); got != "13:00 14:00" { // New York, as the calendar is
		t.Errorf("by the tenant's rules got %q", got)
	}
	connected := c.Connections[adapter.KindCalendar]
	connected.Settings = map[string]any{"slots": map[string]any{
		"open_hours": map[string]any{"monday": "09:00-10:00"}, "duration_minutes": 30.0,
	}}
	c.Connections[adapter.KindCalendar] = connected
	if got := ask(nil); got != "14:00 14:30" {
		t.Errorf("by the connection's rules got %q", got)
	}
	quarter := 15 * time.Minute
	if got := ask(func(in *FindSlots) { in.Rules.Duration = &quarter }); got != "14:00 14:15 14:30 14:45" {
		t.Errorf("by the request's rules got %q", got)
	}
	closed := map[slots.Date][]slots.Opening{{Year: 2030, Month: 3, Day: 4}: nil}
	if got := ask(func(in *FindSlots) { in.SpecificTimes = closed }); got != "" {
		t.Errorf("on a closed day got %q", got)
	}
	c.Tenant.Settings.MinimumNoticeMinutes = &notice
	w.clock.advance(hour(13).Add(time.Hour).Sub(w.clock.now())) // 09:00 in New York
	if got := ask(nil); got != "" {
		t.Errorf("with an hour's notice got %q", got)
	}
}

// Hours that the request gives for one day open no other day on which the office is closed.
func TestADateOfTheRequestReplacesThatDateAlone(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	c.Tenant.Settings.OpenHours = map[string]string{"monday": "08:00-10:00", "2030-03-11": "closed"}
	for want, given := range map[string]map[slots.Date][]slots.Opening{
		"13:00 14:00 16:00":       {{Year: 2030, Month: 3, Day: 18}: {{Start: 12 * 60, End: 13 * 60}}}, // in New York
		"13:00 14:00 12:00 13:00": {},
		"12:00 13:00":             {{Year: 2030, Month: 3, Day: 4}: nil},
	} {
		for range 2 { // the rules that are kept stay as they are
			got := startsOf(t, findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
				in.Start, in.End, in.Timezone = when(t, "2030-03-04"), when(t, "2030-03-20"), "America/New_York"
				in.Rules.Hours, in.SpecificTimes = nil, given
			})))
			if got != want {
				t.Errorf("with %v got %q, want %q", given, got, want)
			}
		}
	}
}

// Who moves a meeting changes when it is, and not how long it takes.
func TestAMeetingThatMovesKeepsItsLength(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	quarter := 15
	c.Tenant.Settings.DurationMinutes = &quarter
	booked, err := bookSlot(p, c, Write{}, Offered{SlotID: slotAt(t, p, c, 10, func(in *FindSlots) {
		in.CalendarIDs = []string{"side"}
	}).SlotID})
	if err != nil {
		t.Fatal(err)
	}
	id := w.meetings.live()[0].ID
	day := w.meetings.put(calendar.Event{Start: calendar.Day(2030, 3, 5), End: calendar.Day(2030, 3, 6)})
	half, usual, short := 30*time.Minute, 15*time.Minute, 5*time.Minute
	for rule, each := range map[string]struct {
		change       func(*FindSlots)
		length, next time.Duration
	}{
		"by its reference": {func(in *FindSlots) { in.RescheduleMeetingID = booked.MeetingReference }, time.Hour, time.Hour},
		"by its id":        {func(in *FindSlots) { in.RescheduleMeetingID = id }, time.Hour, time.Hour},
		"in the steps of the request": {func(in *FindSlots) {
			in.RescheduleMeetingID, in.Rules.Interval = id, &half
		}, time.Hour, half},
		"unless the request says how long": {func(in *FindSlots) {
			in.RescheduleMeetingID, in.Rules.Duration = id, &short
		}, short, short},
		"but for a day":                    {func(in *FindSlots) { in.RescheduleMeetingID = day }, usual, usual},
		"but for what cannot be read":      {func(in *FindSlots) { in.RescheduleMeetingID = "nothing" }, usual, usual},
		"and others have the usual length": {func(*FindSlots) {}, usual, usual},
	} {
		found := findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
			in.Rules.Duration = nil
			each.change(in)
		})).Slots
		at := func(text string) time.Time {
			instant, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			return instant
		}
		if length := at(found[0].End).Sub(at(found[0].Start)); length != each.length {
			t.Errorf("%s: a slot of %v", rule, length)
		}
		if next := at(found[1].Start).Sub(at(found[0].Start)); next != each.next {
			t.Errorf("%s: the next slot is %v later", rule, next)
		}
	}
}

// However many calendars are searched, the meeting that moves is looked for where it is, or in a few of them.
func TestAMeetingThatMovesIsReadOnce(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := w.meetings.put(calendar.Event{
		Start: calendar.At(hour(10), ""), End: calendar.At(hour(11), ""),
		Attendees: []calendar.Attendee{{Email: "pat@example.com"}},
	})
	found := findMeetings(t, p, c, FindMeetings{Email: "pat@example.com"}).Meetings
	if len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	var ids []string
	for i := range 5 {
		ids = append(ids, fmt.Sprint("colleague ", i))
		w.meetings.calendars = append(w.meetings.calendars, calendar.Calendar{ID: ids[i], Zone: "UTC"})
	}
	for meeting, most := range map[string]int{found[0].MeetingReference: 1, id: 2, "unknown": 2} {
		before := w.meetings.called("event")
		findSlots(t, p, c, askSlots(t, func(in *FindSlots) {
			in.CalendarIDs, in.RescheduleMeetingID, in.Rules.Duration = ids, meeting, nil
		}))
		if reads := w.meetings.called("event") - before; reads > most {
			t.Errorf("the meeting %s was looked for %d times", meeting, reads)
		}
	}
}

// Where neither the request nor a setting says when meetings may take place, the owner's working hours do.
func TestTheOwnersWorkingHoursAreTheDefault(t *testing.T) {
	t.Parallel()
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	mornings := calendar.WorkingWeek{Days: []time.Weekday{time.Monday}, Start: 7 * time.Hour, End: 9 * time.Hour}
	elsewhere := mornings
	elsewhere.Zone = tokyo
	always := slots.Hours{Weekly: []slots.Weekly{{
		Opening: slots.Opening{Start: 20 * 60, End: 21 * 60}, Days: []time.Weekday{time.Monday},
	}}}
	const workingWeek = "14:00 15:00 16:00 17:00 18:00 19:00 20:00 21:00" // in New York, as the calendar is
	for name, c := range map[string]struct {
		week   calendar.WorkingWeek
		tenant map[string]string
		in     *slots.Hours
		fails  bool
		want   string
		reads  int
	}{
		"in the calendar's zone":    {week: mornings, want: "12:00 13:00", reads: 1},
		"in a zone of their own":    {week: elsewhere, want: "22:00 23:00", reads: 1}, // of Sunday, in UTC
		"unknown to the provider":   {want: workingWeek, reads: 1},
		"that cannot be read":       {week: mornings, fails: true, want: workingWeek, reads: 6}, // each with two retries
		"where the tenant has some": {week: mornings, tenant: map[string]string{"monday": "08:00-09:00"}, want: "13:00"},
		"where the request has":     {week: mornings, in: &always, want: "01:00"}, // of Tuesday
	} {
		t.Run(name, func(t *testing.T) {
			w, p, caller := sqliteWorld(t)
			w.meetings.week = &c.week
			caller.Tenant.Settings.OpenHours = c.tenant
			for range 2 {
				if c.fails {
					w.meetings.times(9, "working-hours", reaction{before: fails(down())})
				}
				got := startsOf(t, findSlots(t, p, caller, askSlots(t, func(in *FindSlots) {
					in.Start, in.End = when(t, "2030-03-03T12:00:00Z"), when(t, "2030-03-05T05:00:00Z")
					in.Rules.Hours = c.in
				})))
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
			if n := w.meetings.called("working-hours"); n != c.reads {
				t.Errorf("they were read %d times, want %d", n, c.reads)
			}
		})
	}
}

func TestWindowsOfSlots(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.clock.advance(hour(8).Sub(w.clock.now()))
	for rule, in := range map[string]FindSlots{
		"end before start": {Start: when(t, "2030-03-05"), End: when(t, "2030-03-04")},
		"end in the past":  {Start: when(t, "2029-03-04"), End: when(t, "2029-03-05")},
		"61 days":          {Start: when(t, "2030-03-04"), End: when(t, "2030-05-04")},
		"and a second":     {Start: when(t, "2030-09-20"), End: when(t, "2030-11-19T00:00:01")},
	} {
		_, err := p.Calendar.FindSlots(background, c, in)
		f := fault.From(err)
		if err == nil || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Path != "end" {
			t.Errorf("%s: %v", rule, err)
		}
	}
	for rule, in := range map[string]FindSlots{ // clocks are turned back on 3 November, and forward on 10 March
		"60 days, with an hour more": {Start: when(t, "2030-09-20"), End: when(t, "2030-11-19")},
		"60 times 24 hours":          {Start: when(t, "2031-03-01T00:00:00Z"), End: when(t, "2031-04-30T00:00:00Z")},
	} {
		if _, err := p.Calendar.FindSlots(background, c, in); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
	answer := findSlots(t, p, c, FindSlots{})
	want := "I have Monday the fourth at nine in the morning, Tuesday the fifth at eleven in the morning, " +
		"Wednesday the sixth at two in the afternoon, and Thursday the seventh at nine in the morning."
	if answer.Say != want || answer.TimeZone != "America/New_York" || len(answer.Slots) != 4 {
		t.Errorf("without a window got %+v, want %q", answer, want)
	}
}
