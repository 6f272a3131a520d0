package caldav_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/adapters/calendar/caldav/servertest"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// thisWeek is the span that these tests ask about.
func thisWeek() calendar.Span { return calendar.Span{From: week().From, To: week().To} }

func freeBusy(t *testing.T, d calendar.Driver, span calendar.Span, ids ...string) []calendar.Busy {
	t.Helper()
	busy, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, span)
	if err != nil {
		t.Fatal(err)
	}
	return busy
}

// Free/busy asks no more than a listing of the same calendars does.
func TestRequestsOfFreeBusy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule        string
		how         fake.Options
		more        map[string]any
		first, next string
	}{
		{"plain", fake.Options{}, nil, "40 calendar-query", "10 calendar-query, 10 sync-collection"},
		{"with the time range trusted", fake.Options{}, map[string]any{"trust_time_range": true},
			"10 calendar-query", "10 calendar-query"},
	} {
		for _, call := range []string{"free/busy", "lists"} {
			a := newAccount(t, c.how)
			ids := []string{a.home, a.work}
			for i := range 8 {
				ids = append(ids, a.AddCalendar(fmt.Sprint("room-", i), "Room", "", false))
			}
			d := a.open(t, "", c.more)
			if _, err := d.Calendars(t.Context()); err != nil {
				t.Fatal(err)
			}
			ask := func() error {
				_, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, thisWeek())
				return err
			}
			if call == "lists" {
				ask = func() error {
					for _, id := range ids {
						q := week()
						q.CalendarID = id
						if _, err := d.Events(t.Context(), q); err != nil {
							return err
						}
					}
					return nil
				}
			}
			for i, want := range []string{c.first, c.next} {
				if got := asked(t, a, ask); got != want {
					t.Errorf("%s, %s, call %d: asked %s, want %s", c.rule, call, i, got, want)
				}
			}
		}
	}
}

func TestWhatCountsAsBusy(t *testing.T) {
	t.Parallel()
	const own, other = "mailto:Alice@example.com", "mailto:bob@example.com"
	invited := func(stat string) []string {
		return append([]string{"ORGANIZER:" + other, "ATTENDEE;PARTSTAT=" + stat + ":" + own,
			"ATTENDEE;PARTSTAT=DECLINED:" + other}, lunchTime...)
	}
	with := func(line string) []string { return append([]string{line}, lunchTime...) }
	changed := []string{"DTSTART:20270502T120000Z", "DTEND:20270502T130000Z", "RRULE:FREQ=DAILY;COUNT=2",
		"ORGANIZER:" + other, "ATTENDEE;PARTSTAT=ACCEPTED:" + own, "END:VEVENT", "BEGIN:VEVENT", "UID:1",
		"DTSTAMP:20260101T000000Z", "RECURRENCE-ID:20270503T120000Z", "ORGANIZER:" + other,
		"ATTENDEE;PARTSTAT=DECLINED:" + own}
	for _, c := range []struct {
		rule  string
		lines []string
		busy  bool
	}{
		{"an event of one's own", lunchTime, true},
		{"a duration in place of an end", []string{"DTSTART:20270503T120000Z", "DURATION:PT1H"}, true},
		{"tentative", with("STATUS:TENTATIVE"), true},
		{"cancelled", with("STATUS:cancelled"), false},
		{"transparent", with("TRANSP:transparent"), false},
		{"transparent, with a space", with("TRANSP: TRANSPARENT"), false},
		{"opaque", with("TRANSP:OPAQUE"), true},
		{"an invitation left open", invited("NEEDS-ACTION"), true},
		{"accepted", invited("ACCEPTED"), true},
		{"accepted tentatively", invited("TENTATIVE"), true},
		{"declined", invited("DECLINED"), false},
		{"without a length", []string{"DTSTART:20270503T120000Z"}, false},
		{"an instance of a series that began long ago",
			[]string{"DTSTART:20200503T120000Z", "DTEND:20200503T130000Z", "RRULE:FREQ=YEARLY"}, true},
		{"an instance that is taken out",
			append([]string{"RRULE:FREQ=DAILY;COUNT=1", "EXDATE:20270503T120000Z"}, lunchTime...), false},
		{"an instance that was declined", append(changed, lunchTime...), false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := newAccount(t, fake.Options{})
			a.Put(a.home, "1.ics", meeting("1", c.lines...))
			noon := time.Date(2027, 5, 3, 12, 0, 0, 0, time.UTC)
			busy := freeBusy(t, a.open(t, "", nil), calendar.Span{From: noon.Add(-time.Hour),
				To: noon.Add(3 * time.Hour)},
				a.home)
			want := []calendar.Busy{{CalendarID: a.home, Span: calendar.Span{From: noon, To: noon.Add(time.Hour)}}}
			if !c.busy {
				want = nil
			}
			if !slices.Equal(busy, want) {
				t.Errorf("busy are %+v, want %+v", busy, want)
			}
		})
	}
}

// An account is invited by any of its addresses, of which the gateway knows one at most until a verification. What it
// declined is free where events are read in place of free/busy as well.
func TestAnAnswerByAnyAddressOfTheAccount(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{Aliases: []string{"mailto:desk@example.com"}})
	for i, answer := range []string{"declined", "tentative"} {
		uid := fmt.Sprint(i)
		a.Put(a.home, uid+".ics", meeting(uid, append([]string{"ORGANIZER:mailto:boss@example.com",
			"ATTENDEE;PARTSTAT=" + strings.ToUpper(answer) + ":mailto:desk@example.com"}, lunchTime...)...))
	}
	a.Put(a.home, "own.ics", meeting("own", lunchTime...))
	d := a.open(t, "", nil)
	week := thisWeek()
	page, err := d.Events(t.Context(), calendar.Query{CalendarID: a.home, From: week.From, To: week.To, Zone: "UTC"})
	var got []string
	for _, e := range page.Events {
		got = append(got, e.OwnerResponse)
	}
	if want := []string{"declined", "tentative", "accepted"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the owner's answers are %q, %v, want %q", got, err, want)
	}
	if busy := freeBusy(t, d, thisWeek(), a.home); len(busy) != 2 {
		t.Errorf("busy are %+v", busy)
	}
}

// What the account declined takes the time of others all the same, whose calendars it may see, also where their events
// are read in place of free/busy.
func TestWhatTheAccountDeclinedIsBusyInACalendarOfOthers(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	shared := a.AddShared("boss", "Boss", "boss", "boss@example.com")
	for _, id := range []string{a.home, shared} {
		a.Put(id, "1.ics", meeting("1", append([]string{"ORGANIZER:mailto:boss@example.com",
			"ATTENDEE;PARTSTAT=DECLINED:mailto:alice@example.com"}, lunchTime...)...))
	}
	d := a.open(t, "", nil)
	busy := freeBusy(t, d, thisWeek(), a.home, shared)
	if len(busy) != 1 || busy[0].CalendarID != shared || busy[0].Unknown != nil {
		t.Errorf("busy are %+v", busy)
	}
	for id, want := range map[string]string{a.home: "declined", shared: "accepted"} {
		week := thisWeek()
		page, err := d.Events(t.Context(), calendar.Query{CalendarID: id, From: week.From, To: week.To, Zone: "UTC"})
		if err != nil || len(page.Events) != 1 || page.Events[0].OwnerResponse != want {
			t.Errorf("the events of %s are %+v, %v; want the owner's answer %q", id, page.Events, err, want)
		}
	}
}

// Whole days and floating times are those of the calendar, or of the tenant where it has no zone.
func TestBusyTimesLieInTheCalendarsZone(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	for _, id := range []string{a.work, a.home} {
		a.Put(id, "day.ics", meeting("day", "DTSTART;VALUE=DATE:20270503"))
		a.Put(id, "floating.ics", meeting("floating", "DTSTART:20270505T090000", "DTEND:20270505T100000"))
	}
	busy := freeBusy(t, a.open(t, "", nil), thisWeek(), a.work, a.home)
	at := func(day, hour int) time.Time { return time.Date(2027, 5, day, hour, 0, 0, 0, time.UTC) }
	want := []calendar.Busy{
		{CalendarID: a.home, Span: calendar.Span{From: at(3, 4), To: at(4, 4)}}, // in New York
		{CalendarID: a.home, Span: calendar.Span{From: at(5, 13), To: at(5, 14)}},
		{CalendarID: a.work, Span: calendar.Span{From: at(2, 22), To: at(3, 22)}}, // in Berlin
		{CalendarID: a.work, Span: calendar.Span{From: at(5, 7), To: at(5, 8)}},
	}
	order := func(list []calendar.Busy) string {
		var texts []string
		for _, b := range list {
			texts = append(texts, fmt.Sprint(b.CalendarID, b.Span.From.UTC(), b.Span.To.UTC(), b.Unknown))
		}
		slices.Sort(texts)
		return fmt.Sprint(texts)
	}
	if order(busy) != order(want) {
		t.Errorf("busy are %+v, want %+v", busy, want)
	}
}

// An event that cannot be read makes its calendar unknown, never free; the others are told.
func TestACalendarThatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	a.Put(a.home, "1.ics", meeting("1", lunchTime...))
	a.Put(a.work, "strange.ics", meeting("2", append([]string{"RRULE:FREQ=SOMETIMES"}, lunchTime...)...))
	busy := freeBusy(t, a.open(t, "", nil), thisWeek(), a.work, a.home, a.home+"nowhere/")
	if len(busy) != 3 || busy[1].CalendarID != a.home || busy[1].Unknown != nil {
		t.Fatalf("busy are %+v", busy)
	}
	for i, code := range map[int]fault.Code{0: fault.Unsupported, 2: fault.NotFound} {
		if busy[i].Span != thisWeek() || !errors.Is(busy[i].Unknown, code) {
			t.Errorf("busy are %+v, want %s", busy[i], string(code))
		}
	}
	a.Stop()
	_, err := a.open(t, "", nil).(calendar.FreeBusyer).FreeBusy(t.Context(), []string{a.work, a.home},
		thisWeek())
	want(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
}

// Tasks among the events of a calendar take no time, and make none unknown, though they have times as well.
func TestTasksAmongEventsAreLeftOut(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	a.Behave(fake.Quirks{ListsTasks: true})
	a.Put(a.home, "1.ics", meeting("1", lunchTime...))
	a.Put(a.home, "2.ics", strings.ReplaceAll(meeting("2", append([]string{"RRULE:FREQ=DAILY"}, lunchTime...)...),
		"VEVENT", "VTODO"))
	for range 2 {
		busy := freeBusy(t, a.open(t, "", nil), thisWeek(), a.home)
		if len(busy) != 1 || busy[0].Unknown != nil || busy[0].Span.From.Hour() != 12 {
			t.Errorf("busy are %+v", busy)
		}
	}
}

// A refused password is not tried again for each calendar: servers lock accounts out.
func TestFreeBusyStopsWhereThePasswordIsRefused(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	var ids []string
	for i := range 20 {
		ids = append(ids, a.AddCalendar(fmt.Sprint("room-", i), "Room", "", false))
	}
	known, stranger := a.open(t, "", nil), a.open(t, "", nil)
	freeBusy(t, known, thisWeek(), ids...)
	a.Revoke()
	for what, d := range map[string]calendar.Driver{"the account is known": known, "it is not": stranger} {
		before := a.Calls()
		_, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, thisWeek())
		want(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
		if n := a.Calls() - before; n > 2*10 { // ten of the twenty calendars at once, with two requests each
			t.Errorf("%s: %d requests", what, n)
		}
	}
}

// What the servers themselves answer wrongly to a free-busy-query, the driver tells rightly.
func TestFreeBusyIsRightWhereServersAreNot(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) servertest.Account{
		"Radicale": servertest.Radicale, "Xandikos": servertest.Xandikos,
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			other := &outsider{url: a.URL, user: a.User, password: a.Password, client: http.DefaultClient}
			for _, lines := range [][]string{
				{"DTSTART:20270101T090000Z", "DTEND:20270101T100000Z", "RRULE:FREQ=DAILY"},
				{"DTSTART:20270503T120000Z", "DTEND:20270503T130000Z", "ORGANIZER:mailto:bob@example.com",
					"ATTENDEE;PARTSTAT=DECLINED:mailto:" + email},
				{"DTSTART;VALUE=DATE:20270504", "TRANSP:TRANSPARENT"},
			} {
				if err := other.put(t.Context(), a.Calendar, nil, lines...); err != nil {
					t.Fatal(err)
				}
			}
			from := time.Date(2027, 5, 3, 0, 0, 0, 0, time.UTC)
			busy := freeBusy(t, open(t, a.URL, a.User, a.Password, nil),
				calendar.Span{From: from, To: from.AddDate(0, 0, 1)}, a.Calendar)
			if len(busy) != 1 || !busy[0].Span.From.Equal(from.Add(9*time.Hour)) || busy[0].Unknown != nil {
				t.Errorf("busy are %+v", busy)
			}
		})
	}
}

// One calendar whose server does not answer leaves the others their times.
func TestACalendarThatHangsLeavesTheOthersTheirTimes(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "REPORT" && strings.HasPrefix(r.URL.Path, a.work) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	a.url = served.URL
	d := a.open(t, "", nil)
	if _, err := d.Calendars(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Put(a.home, "lunch.ics", "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\n"+
		"DTSTAMP:20260101T000000Z\r\nDTSTART:20270503T100000Z\r\nDTEND:20270503T110000Z\r\nEND:VEVENT\r\n"+
		"END:VCALENDAR\r\n")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	busy, err := d.(calendar.FreeBusyer).FreeBusy(ctx, []string{a.home, a.work},
		calendar.Span{From: week().From, To: week().To})
	if err != nil || len(busy) != 2 || busy[0].Unknown != nil || busy[1].Unknown == nil || ctx.Err() != nil {
		t.Errorf("busy: %+v, %v", busy, err)
	}
}
