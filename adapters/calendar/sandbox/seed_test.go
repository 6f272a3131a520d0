package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// friday is a day in the week around which the demo events are placed.
var friday = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// demoAccount returns an account that is first used on friday.
func demoAccount(t *testing.T) *account {
	a := newAccount(t)
	a.env.Now = func() time.Time { return friday }
	return a
}

// show returns the events in a window as lines of text.
func show(t *testing.T, d *driver, calendarID string, from, to time.Time) (lines []string) {
	t.Helper()
	for q := (calendar.Query{CalendarID: calendarID, From: from, To: to, Zone: teamZone}); ; {
		page, err := d.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			at := e.Start.Instant.Format("2006-01-02")
			if !e.Start.AllDay {
				zone, err := time.LoadLocation(e.Start.Zone)
				if err != nil {
					t.Fatal(err)
				}
				at = e.Start.Instant.In(zone).Format("2006-01-02T15:04Z07:00")
			}
			line := at + " " + e.Title
			if e.IsCancelled {
				line += " [cancelled]"
			}
			if e.IsFree {
				line += " [free]"
			}
			lines = append(lines, line)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Sort(lines)
			return lines
		}
	}
}

func wantLines(t *testing.T, rule string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", rule, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestADemoAccountHasSomethingToShow(t *testing.T) {
	d := demoAccount(t).open()
	from, to := time.Date(2026, 10, 19, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	wantLines(t, "primary", show(t, d, primary, from, to))
	wantLines(t, "team", show(t, d, team, from, to),
		"2026-10-19T09:30+02:00 Weekly planning",
		"2026-10-26T09:30+01:00 Weekly planning", // clocks were set back the day before
		"2026-11-02T09:30+01:00 Weekly planning",
		"2026-11-09T09:30+01:00 Weekly planning",
		"2026-11-16T09:30+01:00 Weekly planning",
		"2026-11-23T09:30+01:00 Weekly planning",
		"2026-11-25T14:00+01:00 Cancelled: Review with Nordwind [cancelled]",
		"2026-11-26 Team day",
		"2026-11-30T09:30+01:00 Weekly planning",
	)
	wantLines(t, "holidays", show(t, d, holidays, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 5, 2, 0, 0, 0, 0, time.UTC)),
		"2026-12-25 Christmas Day [free]", "2026-12-26 Boxing Day [free]", "2027-01-01 New Year's Day [free]",
		"2027-05-01 Labour Day [free]")
}

func TestTheWeeklyMeetingHasAttendeesOfEveryKind(t *testing.T) {
	page, err := demoAccount(t).open().Events(t.Context(), calendar.Query{
		CalendarID: team, From: friday, To: friday.AddDate(0, 0, 4), Zone: "UTC",
	})
	if err != nil || len(page.Events) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	e := page.Events[0]
	if e.ID != "demoweekly_20261123T083000Z" || e.SeriesID != "demoweekly" || e.Organizer.Name != "Lena Vogt" {
		t.Errorf("got %+v", e)
	}
	var got []string
	for _, a := range e.Attendees {
		got = append(got, a.Email+" "+a.Type+" "+a.Response)
	}
	wantLines(t, "attendees", got,
		"office@example.com required accepted", "jonas.weber@example.com required accepted",
		"priya.nair@example.com required tentative",
		"tomas.lind@example.com optional declined", "room-spree@example.com resource accepted")
}

func TestAnEmptyAccountIsEmpty(t *testing.T) {
	a := demoAccount(t)
	a.settings["seed"] = "empty"
	for _, id := range []string{primary, team, holidays} {
		wantLines(t, id, show(t, a.open(), id, friday.AddDate(-1, 0, 0), friday.AddDate(1, 0, 0)))
	}
}

func TestTheDemoIsSeededOnce(t *testing.T) {
	a := demoAccount(t)
	drivers := []*driver{a.open(), a.open(), a.open(), a.open()}
	err := conformance.AtOnce(len(drivers), func(i int) error {
		_, err := drivers[i].Calendars(t.Context())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := calendar.EventRef{CalendarID: team, ID: "demooffsite"}
	if err := drivers[0].Cancel(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if e, err := a.open().Event(t.Context(), ref); err != nil || !e.IsCancelled {
		t.Errorf("what was cancelled came back: %+v, %v", e, err)
	}
}

func TestAWithdrawnInvitationStaysListedAndIsGone(t *testing.T) {
	d := demoAccount(t).open()
	ref := calendar.EventRef{CalendarID: team, ID: "demowithdrawn"}
	if e, err := d.Event(t.Context(), ref); err != nil || !e.IsCancelled {
		t.Errorf("Event: %+v, %v", e, err)
	}
	err := d.Cancel(t.Context(), ref)
	if f := fault.From(err); f == nil || f.Reason != fault.ReasonEventNotFound || f.Metadata["gone"] != "true" {
		t.Errorf("Cancel: %v", err)
	}
	busy, err := d.FreeBusy(t.Context(), []string{team}, calendar.Span{
		From: friday.AddDate(0, 0, 5), To: friday.AddDate(0, 0, 5).Add(6 * time.Hour),
	})
	if err != nil || len(busy) != 0 {
		t.Errorf("busy on the day of the withdrawn meeting: %+v, %v", busy, err)
	}
}

func TestSomeAttendeesAnswerAtOnce(t *testing.T) {
	d := newAccount(t).open()
	e, err := d.Book(t.Context(), calendar.Booking{
		Key: "k", Title: "With answers", Start: friday, End: friday.Add(time.Hour), Zone: "UTC",
		Attendees: []string{
			"accepts@example.com", "Declines@example.com", "tentative+2@example.org", "someone@example.com",
			"accepts.not@example.com",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range e.Attendees {
		got[a.Email] = a.Response
	}
	want := map[string]string{
		"accepts@example.com": "accepted", "Declines@example.com": "declined",
		"tentative+2@example.org": "tentative", "someone@example.com": "needs_action",
		"accepts.not@example.com": "needs_action",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWhatTheOwnerDeclinedLeavesThemFree(t *testing.T) {
	a := newAccount(t)
	err := a.put(t.Context(), stored{
		ID: "declined", Calendar: primary, Version: 1, Title: "Not for me", Start: friday,
		End: friday.Add(time.Hour), Zone: "UTC", Organizer: person{Email: "boss@example.com"},
		Attendees: []attendee{{person{Email: "Office@Example.com"}, "", "declined"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	busy, err := a.open().FreeBusy(t.Context(), []string{primary}, calendar.Span{
		From: friday, To: friday.Add(time.Hour),
	})
	if err != nil || len(busy) != 0 {
		t.Errorf("busy: %+v, %v", busy, err)
	}
}

func TestAWholeDayIsBusyInTheZoneOfItsCalendar(t *testing.T) {
	d := demoAccount(t).open()
	day := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	busy, err := d.FreeBusy(t.Context(), []string{team}, calendar.Span{
		From: day.Add(-2 * time.Hour), To: day.Add(26 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint([]calendar.Busy{{CalendarID: team, Span: calendar.Span{
		From: day.Add(-time.Hour), To: day.Add(23 * time.Hour),
	}}})
	for i := range busy {
		busy[i].Span = calendar.Span{From: busy[i].Span.From.UTC(), To: busy[i].Span.To.UTC()}
	}
	if fmt.Sprint(busy) != want {
		t.Errorf("got %v, want %v", busy, want)
	}
}
