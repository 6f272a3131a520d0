package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fair"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/tenant"
)

func (a *calendarAccount) fill(calendarID string, n int) {
	for i := range n {
		a.put(calendar.Event{
			CalendarID: calendarID, Title: fmt.Sprint(calendarID, i),
			Start: calendar.At(hour(10).Add(time.Duration(i)*time.Minute), "UTC"), End: calendar.At(hour(12), "UTC"),
		})
	}
}

func window(t *testing.T, ids ...string) ListEvents {
	return ListEvents{
		Start: when(t, "2030-03-04T00:00:00Z"), End: when(t, "2030-03-11T00:00:00Z"), Timezone: "UTC",
		CalendarIDs: ids,
	}
}

func subjects(a record.EventsAnswer) (list []string) {
	for _, e := range a.Events {
		list = append(list, e.Subject)
	}
	return list
}

func TestListFollowsEveryPageAndMergesTheCalendars(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.pageSize = 2
	w.meetings.fill("side", 5)
	w.meetings.fill("main", 3)
	answer, err := p.Calendar.List(background, c, window(t, "side", "main", "side"))
	w.check(err)
	want := []string{"side0", "main0", "side1", "main1", "side2", "main2", "side3", "side4"} // by start, then id
	if got := subjects(answer); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestACalendarThatIsNamedTwiceIsListedOnce(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.calendars[0].Alias = "primary"
	w.meetings.fill("main", 2)
	w.meetings.fill("side", 1)
	answer, err := p.Calendar.List(background, c, window(t, "primary", "side", "main"))
	if want := []string{"main0", "side0", "main1"}; err != nil || !slices.Equal(subjects(answer), want) {
		t.Errorf("got %q, %v", subjects(answer), err)
	}
}

func TestAnEventOnTwoPagesIsListedOnceAsItIsNow(t *testing.T) {
	t.Parallel()
	event := func(id, title string) calendar.Event {
		return calendar.Event{ID: id, Title: title, Start: calendar.At(hour(9), "UTC"), End: calendar.At(hour(10), "UTC")}
	}
	var l eventList
	l.add(calendar.Page{Events: []calendar.Event{event("a", "one"), event("b", "two")}, Next: "2"})
	l.add(calendar.Page{Events: []calendar.Event{event("b", "moved"), event("c", "three")}})
	var titles []string
	for _, e := range l.events {
		titles = append(titles, e.Title)
	}
	if want := []string{"one", "moved", "three"}; !slices.Equal(titles, want) || !l.complete {
		t.Errorf("listed are %q, want %q", titles, want)
	}
}

// Pages may lead in a circle, and each of them has events.
func TestAListWhosePagesRepeatEndsWithAFault(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		next func(page int) string
		most int // pages that are read
	}{
		"the links lead in a circle":      {func(page int) string { return fmt.Sprint(page % 2) }, 3},
		"the links are new on every page": {func(page int) string { return fmt.Sprint(page) }, maxEvents/50 + 3},
	} {
		l := eventList{next: calendar.Query{Zone: "UTC"}}
		read := 0
		for ; l.err == nil && read <= maxEvents; read++ {
			page := calendar.Page{Next: c.next(read)}
			for i := range 50 {
				page.Events = append(page.Events, calendar.Event{
					ID: fmt.Sprint(read%2, i), Start: calendar.At(hour(9), "UTC"), End: calendar.At(hour(10), "UTC"),
				})
			}
			l.add(page)
		}
		wantReason(t, l.err, fault.Unavailable, fault.ReasonProviderUnavailable)
		if read > c.most {
			t.Errorf("%s: %d pages are read", rule, read)
		}
	}
}

// An answer goes out whole: 2,500 events, each with 200 people, took 633 MiB with their records and the body.
func TestAListWithTooManyPeopleIsRefused(t *testing.T) {
	t.Parallel()
	people := slices.Repeat([]calendar.Attendee{{Email: strings.Repeat("x", 300)}}, 200)
	for events, refused := range map[int]bool{200: false, 300: true} {
		l := eventList{next: calendar.Query{Zone: "UTC"}}
		l.add(calendar.Page{Events: slices.Repeat([]calendar.Event{{Attendees: people}}, events)})
		if refused != (l.err != nil) {
			t.Errorf("%d events: %v", events, l.err)
		}
		if refused {
			wantReason(t, l.err, fault.Exhausted, fault.ReasonTooManyEvents)
		}
	}
}

// Lists of one tenant leave room for those of another, while they are read, and until they are answered.
func TestListsTakeRoomByWhatTheyTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := fair.NewShares(maxListUnits)
		of := func(tenantID string) calendarClient {
			return calendarClient{room: room, tenant: tenant.Tenant{ID: tenantID}}
		}
		events := func(bytes int) []calendar.Event { return []calendar.Event{{Title: strings.Repeat("x", bytes)}} }
		read := func(tenantID string, bytes int, meanwhile func()) error {
			page := 0
			return of(tenantID).readLists(t.Context(), []*eventList{{}},
				func(context.Context, []calendar.Query) ([]pageRead, error) {
					if page++; page == 2 {
						meanwhile()
					}
					next := map[int]string{1: "2"}[page]
					return []pageRead{{page: calendar.Page{Events: events(bytes / 2), Next: next}}}, nil
				})
		}
		first, end := context.WithCancel(t.Context())
		if err := of("a").keepRoom(first, events(10<<20)); err != nil {
			t.Fatal(err)
		}
		if err := read("a", 10<<20, func() {
			wantReason(t, of("a").keepRoom(t.Context(), events(10<<20)), fault.Unavailable, fault.ReasonOverloaded)
		}); err != nil {
			t.Error(err)
		}
		if err := of("a").keepRoom(t.Context(), events(10<<20)); err != nil {
			t.Errorf("after one was read: %v", err)
		}
		wantReason(t, read("a", 10<<20, func() {}), fault.Unavailable, fault.ReasonOverloaded)
		for range 1000 {
			if err := read("a", unitBytes/2, func() {}); err != nil {
				t.Fatalf("a usual list: %v", err)
			}
		}
		if err := read("b", 10<<20, func() {}); err != nil {
			t.Errorf("of another tenant: %v", err)
		}
		end()
		synctest.Wait()
		if err := read("a", 10<<20, func() {}); err != nil {
			t.Errorf("after one was answered: %v", err)
		}
	})
}

// A long list is read in parts from the second time on. Events that last are in the answer to each part, and count
// once.
func TestAListInPartsHasAsManyPeopleAsOneInOnePart(t *testing.T) {
	t.Parallel()
	people := slices.Repeat([]calendar.Attendee{{Email: strings.Repeat("x", 300)}}, 200)
	event := calendar.Event{
		ID: "a", Start: calendar.At(hour(9), "UTC"), End: calendar.At(hour(9).AddDate(0, 1, 0), "UTC"),
		Attendees: people,
	}
	long := eventList{next: calendar.Query{From: hour(9), To: hour(9).AddDate(0, 1, 0), Zone: "UTC"}}
	parts := long.inParts()
	for _, part := range parts {
		part.add(calendar.Page{Events: slices.Repeat([]calendar.Event{event}, 200)})
	}
	if err := tooMuch(parts); err != nil || len(parts[0].events) != 200 || len(parts[1].events) != 0 {
		t.Errorf("200 events of 200 people, which are no more than one answer has: %v", err)
	}
}

func TestListFailsAsAWhole(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 2} { // the first page fails, or a later one
		w, p, c := sqliteWorld(t)
		w.meetings.pageSize = 1
		w.meetings.fill("side", 3)
		w.meetings.fill("main", 3)
		pages := 0
		w.meetings.script(func(_ *process, call string) reaction {
			if call != "events/side" {
				return reaction{}
			}
			if pages++; pages < at {
				return reaction{}
			}
			return reaction{before: fails(answers503())}
		})
		answer, err := p.Calendar.List(background, c, window(t, "main", "side"))
		wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
		if answer.Events != nil {
			t.Errorf("a part of the list is answered: %v", answer)
		}
	}
}

// panickingDriver has a defect that the events of one calendar meet.
type panickingDriver struct{ *calendarDriver }

func (d panickingDriver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	if q.CalendarID == "side" {
		panic("defect")
	}
	return d.calendarDriver.Events(ctx, q)
}

// Several calendars are read in goroutines beside that of the call, in which nobody else could recover a panic.
func TestADriverThatPanicsInOneOfSeveralCalendarsEndsNoProcess(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.instead = panickingDriver{&calendarDriver{w.meetings, p}}
	_, err := p.Calendar.List(background, c, window(t, "main", "side"))
	wantReason(t, err, fault.Internal, fault.ReasonInternal)
	_, err = p.Calendar.FindSlots(background, c, askSlots(t, func(in *FindSlots) {
		in.CalendarIDs, in.Availability = []string{"main", "side"}, slots.Any
	}))
	wantReason(t, err, fault.Internal, fault.ReasonInternal)
}

func TestListHoldsAtMostTwoThousandFiveHundredEvents(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.fill("main", 2000)
	w.meetings.fill("side", 500)
	answer, err := p.Calendar.List(background, c, window(t, "main", "side"))
	if err != nil || len(answer.Events) != 2500 {
		t.Fatalf("%d events, %v", len(answer.Events), err)
	}
	w.meetings.fill("side", 1)
	_, err = p.Calendar.List(background, c, window(t, "main", "side"))
	wantReason(t, err, fault.Exhausted, fault.ReasonTooManyEvents)
}

// dense fills the main calendar for a month, with events at and across the borders of its parts, and returns the
// month. A week of it is less than a page.
func dense(t *testing.T, w *world) ListEvents {
	t.Helper()
	in := ListEvents{Start: when(t, "2030-03-01T00:00:00Z"), End: when(t, "2030-03-29T00:00:00Z"), Timezone: "UTC",
		CalendarIDs: []string{"main"}}
	begin := time.Date(2030, 3, 1, 0, 0, 0, 0, time.UTC)
	put := func(title string, start, end calendar.Time) {
		w.meetings.put(calendar.Event{CalendarID: "main", Title: title, Start: start, End: end})
	}
	for day := range 28 {
		at := begin.AddDate(0, 0, day)
		put(fmt.Sprint("at ", day), calendar.At(at, "UTC"), calendar.At(at.Add(time.Hour), "UTC"))
		put(fmt.Sprint("across ", day), calendar.At(at.Add(-time.Minute), "UTC"), calendar.At(at.Add(time.Minute), "UTC"))
	}
	for _, day := range []int{7, 8, 14} {
		put(fmt.Sprint("day ", day), calendar.Day(2030, 3, day), calendar.Day(2030, 3, day+1))
		at := calendar.At(begin.AddDate(0, 0, day), "UTC")
		put(fmt.Sprint("moment ", day), at, at)
	}
	put("long", calendar.At(begin.AddDate(0, 0, -3), "UTC"), calendar.At(begin.AddDate(0, 0, 40), "UTC"))
	w.meetings.pageSize = 25
	return in
}

var answers429 = fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "The provider answers 429.")

func TestAListInPartsFailsAsAWhole(t *testing.T) {
	t.Parallel()
	for at := 1; at <= listParts; at++ {
		w, p, c := sqliteWorld(t)
		month := dense(t, w)
		_, err := p.Calendar.List(background, c, month)
		w.check(err)
		var parts atomic.Int32
		w.meetings.script(func(_ *process, call string) reaction {
			if strings.HasPrefix(call, "events") && int(parts.Add(1)) >= at {
				return reaction{before: fails(answers429)}
			}
			return reaction{}
		})
		answer, err := p.Calendar.List(background, c, month)
		wantReason(t, err, fault.RateLimited, fault.ReasonProviderRateLimited)
		if answer.Events != nil {
			t.Errorf("a part of the list is answered: %v", answer)
		}
	}
}

func TestAListInPartsHoldsAtMostTwoThousandFiveHundredEvents(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	week := window(t, "main")
	fill := func(n int) {
		for i := range n {
			at := week.Start.In(time.UTC).Add(time.Duration(i) * 4 * time.Minute)
			w.meetings.put(calendar.Event{
				CalendarID: "main", Start: calendar.At(at, "UTC"), End: calendar.At(at.Add(time.Minute), "UTC"),
			})
		}
	}
	fill(2500)
	for range 2 {
		answer, err := p.Calendar.List(background, c, week)
		if err != nil || len(answer.Events) != 2500 {
			t.Fatalf("%d events, %v", len(answer.Events), err)
		}
	}
	fill(2500)
	fill(2500)
	before := w.meetings.called("events/main")
	_, err := p.Calendar.List(background, c, week)
	wantReason(t, err, fault.Exhausted, fault.ReasonTooManyEvents)
	if n := w.meetings.called("events/main") - before; n != listParts {
		t.Errorf("%d pages are read", n)
	}
}

func TestListEndsWherePagesDoNot(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.endless = true
	_, err := p.Calendar.List(background, c, window(t))
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	if calls := w.meetings.called("events/"); calls > maxEmptyPages+1 {
		t.Errorf("%d pages were read", calls)
	}
}

func TestListWindow(t *testing.T) {
	t.Parallel()
	sinceMonday := func(at string) time.Duration { return when(t, at).In(nil).Sub(monday) }
	for name, test := range map[string]struct {
		in     ListEvents
		within []time.Duration // starts of one-minute events, from now
		found  []string
	}{
		"nothing given is the next seven days": { // in New York, the day on which clocks go forward has 23 hours
			ListEvents{},
			[]time.Duration{-2 * time.Minute, -30 * time.Second, 0, 167*time.Hour - time.Second, 167 * time.Hour},
			[]string{"1", "2", "3"},
		},
		"a start alone is seven days from it": {
			ListEvents{Start: when(t, "2030-03-11T00:00:00Z")},
			[]time.Duration{0, 7 * 24 * time.Hour, 13*24*time.Hour + 23*time.Hour, 14 * 24 * time.Hour},
			[]string{"1", "2"},
		},
		"a bare date alone is seven days, of which one has 25 hours": {
			ListEvents{Start: when(t, "2030-10-29")},
			[]time.Duration{sinceMonday("2030-10-29T03:59:00Z"), sinceMonday("2030-10-29T04:00:00Z"),
				sinceMonday("2030-11-05T04:30:00Z"), sinceMonday("2030-11-05T05:00:00Z")},
			[]string{"1", "2"},
		},
		// In Chile, clocks go forward at midnight: the day after that has no 00:00.
		"a bare date alone is seven whole days, whatever clocks do at their end": {
			ListEvents{Start: when(t, "2030-09-01"), Timezone: "America/Santiago"},
			[]time.Duration{sinceMonday("2030-09-08T03:30:00Z"), sinceMonday("2030-09-08T04:00:00Z")},
			[]string{"0"},
		},
		"an end alone is from now": {ListEvents{End: when(t, "2030-03-05T00:00:00Z")},
			[]time.Duration{0, 24*time.Hour - time.Minute, 24 * time.Hour}, []string{"0", "1"}},
		"a bare date is its start in the calendar's zone": {
			ListEvents{Start: when(t, "2030-03-05"), End: when(t, "2030-03-06")},
			[]time.Duration{28*time.Hour + 58*time.Minute, 29 * time.Hour, 52*time.Hour + 59*time.Minute,
				53 * time.Hour},
			[]string{"1", "2"},
		},
		"a bare date with a zone lies in that": {
			ListEvents{Start: when(t, "2030-03-05"), End: when(t, "2030-03-06"), Timezone: "UTC"},
			[]time.Duration{23 * time.Hour, 24 * time.Hour, 48 * time.Hour}, []string{"1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.clock.millis.Store(monday.UnixMilli())
			for i, d := range test.within {
				at := monday.Add(d)
				w.meetings.put(calendar.Event{
					Title: fmt.Sprint(i), Start: calendar.At(at, "UTC"), End: calendar.At(at.Add(time.Minute), "UTC"),
				})
			}
			answer, err := p.Calendar.List(background, c, test.in)
			w.check(err)
			if got := subjects(answer); !slices.Equal(got, test.found) {
				t.Errorf("got %v, want %v", got, test.found)
			}
		})
	}
}

func TestListRefusesAWindowWithoutLength(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.clock.millis.Store(monday.UnixMilli())
	for _, in := range []ListEvents{
		{Start: when(t, "2030-03-05T00:00:00Z"), End: when(t, "2030-03-05T00:00:00Z")},
		{End: when(t, "2030-03-03T00:00:00Z")}, // before now
	} {
		_, err := p.Calendar.List(background, c, in)
		wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	}
}

func TestListShowsEachEventInTheRequestedZoneElseInItsOwnCalendars(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	for _, id := range []string{"main", "side"} {
		w.meetings.put(calendar.Event{
			CalendarID: id, Title: id, Start: calendar.Day(2030, 3, 5), End: calendar.Day(2030, 3, 6),
		})
	}
	for zone, want := range map[string][]string{
		"":    {"2030-03-05T00:00:00+01:00", "2030-03-05T00:00:00-05:00"},
		"UTC": {"2030-03-05T00:00:00Z", "2030-03-05T00:00:00Z"},
	} {
		answer, err := p.Calendar.List(background, c, ListEvents{
			Start: when(t, "2030-03-04T00:00:00Z"), Timezone: zone, CalendarIDs: []string{"main", "side"},
		})
		w.check(err)
		if got := []string{answer.Events[0].StartTime, answer.Events[1].StartTime}; !slices.Equal(got, want) {
			t.Errorf("zone %q: got %v, want %v", zone, got, want)
		}
	}
}

func TestCalendarsAreAskedLive(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	for range 2 {
		answer, err := p.Calendar.Calendars(background, c)
		w.check(err)
		want := []record.Calendar{
			{ID: "main", Name: "Main"}, {ID: "side", Name: "Side"}, {ID: "third", Name: "Third"},
		}
		if !slices.Equal(answer.Calendars, want) {
			t.Fatalf("got %v, want %v", answer.Calendars, want)
		}
	}
	if calls := w.meetings.called("calendars"); calls != 2 {
		t.Errorf("the provider is asked %d times", calls)
	}
}

// The business is where its calendar is, in whose zone slots are offered. While the provider is away, it is where the
// calendar was. The tenant's zone is for where that is not known.
func TestZoneOfTheBusiness(t *testing.T) {
	t.Parallel()
	set := func(c apikey.Caller) apikey.Caller {
		c.Tenant.Settings.Timezone = "Europe/Paris"
		return c
	}
	none := func(c apikey.Caller) apikey.Caller {
		c.Connections = nil
		return c
	}
	away := func(w *world) {
		w.meetings.script(func(*process, string) reaction { return reaction{before: fails(answers429)} })
	}
	alone := func(c apikey.Caller) apikey.Caller { return set(none(c)) }
	for rule, c := range map[string]struct {
		prepare func(*world)
		caller  func(apikey.Caller) apikey.Caller
		want    string
	}{
		"the default calendar's":                        {want: "America/New_York"},
		"the default calendar's, whatever the tenant's": {caller: set, want: "America/New_York"},
		"else the tenant's, where the provider is away": {prepare: away, caller: set, want: "Europe/Paris"},
		"else the tenant's, where there is no calendar": {caller: alone, want: "Europe/Paris"},
		"else UTC, where the provider is away":          {prepare: away, want: "UTC"},
		"else UTC, where there is no calendar":          {caller: none, want: "UTC"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			w, p, caller := sqliteWorld(t)
			if c.prepare != nil {
				c.prepare(w)
			}
			if c.caller != nil {
				caller = c.caller(caller)
			}
			if got := p.Calendar.Zone(background, caller); got.String() != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
	t.Run("the default calendar's as it was, where the provider is away since", func(t *testing.T) {
		t.Parallel()
		w, p, caller := sqliteWorld(t)
		p.list(t, caller, anyZone(t))
		w.clock.advance(2 * sureFor)
		away(w)
		for _, p := range []*process{p, w.start()} {
			if got := p.Calendar.Zone(background, set(caller)); got.String() != "America/New_York" {
				t.Errorf("it is %s", got)
			}
		}
	})
}
