package sandbox

import (
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func week(d int) time.Time { return time.Date(2026, 11, 16+d, 0, 0, 0, 0, time.UTC) }

func instance(stamp string) calendar.EventRef {
	return calendar.EventRef{CalendarID: team, ID: "demoweekly_" + stamp}
}

func TestAnInstanceThatIsMovedKeepsItsID(t *testing.T) {
	d := demoAccount(t).open()
	ref := instance("20261123T083000Z")
	start := time.Date(2026, 11, 18, 13, 0, 0, 0, time.UTC) // into the week before
	end := start.Add(2 * time.Hour)
	e, err := d.Change(t.Context(), ref, calendar.Change{Start: &start, End: &end, Zone: "UTC"})
	if err != nil || e.ID != ref.ID || e.SeriesID != "demoweekly" {
		t.Fatalf("%+v, %v", e, err)
	}
	wantLines(t, "the week it moved into", show(t, d, team, week(0), week(7)),
		"2026-11-16T09:30+01:00 Weekly planning", "2026-11-18T13:00Z Weekly planning")
	wantLines(t, "the week it left", show(t, d, team, week(7), week(9)))
	if e, err := d.Event(t.Context(), ref); err != nil || !e.Start.Instant.Equal(start) {
		t.Errorf("read by its id: %+v, %v", e, err)
	}
}

func TestTheVersionOfAnInstanceIsItsOwn(t *testing.T) {
	d := demoAccount(t).open()
	other, err := d.Event(t.Context(), instance("20261130T083000Z"))
	if err != nil {
		t.Fatal(err)
	}
	title := "Another planning"
	if _, err := d.Change(t.Context(), instance("20261123T083000Z"),
		calendar.Change{Title: &title}); err != nil {
		t.Fatal(err)
	}
	_, err = d.Change(t.Context(), instance("20261130T083000Z"), calendar.Change{
		IfUnchanged: other.Version, Title: &title,
	})
	if err != nil {
		t.Errorf("a change of another instance made this one stale: %v", err)
	}
}

func TestTheSeriesItselfCanBeChangedAndCancelled(t *testing.T) {
	d := demoAccount(t).open()
	ref := calendar.EventRef{CalendarID: team, ID: "demoweekly"}
	own, title := "Special planning", "Planning"
	if _, err := d.Change(t.Context(), instance("20261123T083000Z"), calendar.Change{Title: &own}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Change(t.Context(), ref, calendar.Change{Title: &title}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "renamed", show(t, d, team, week(0), week(8)),
		"2026-11-16T09:30+01:00 Planning", "2026-11-23T09:30+01:00 Special planning")
	start := time.Date(2026, 10, 19, 9, 0, 0, 0, time.UTC) // eleven in Berlin's summer
	end := start.Add(time.Hour)
	if _, err := d.Change(t.Context(), ref, calendar.Change{
		Start: &start, End: &end, Zone: teamZone,
	}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "moved as a whole", show(t, d, team, week(0), week(8)),
		"2026-11-16T11:00+01:00 Planning", "2026-11-23T11:00+01:00 Planning")
	if err := d.Cancel(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "cancelled as a whole", show(t, d, team, week(0), week(8)))
	e, err := d.Event(t.Context(), instance("20261116T100000Z"))
	if err != nil || !e.IsCancelled {
		t.Errorf("an instance of a cancelled series: %+v, %v", e, err)
	}
	err = d.Cancel(t.Context(), instance("20261116T100000Z"))
	if f := fault.From(err); f == nil || f.Metadata["gone"] != "true" {
		t.Errorf("cancelling an instance of a cancelled series: %v", err)
	}
}

func TestInstancesAreNamedByTheirOriginalStart(t *testing.T) {
	d := demoAccount(t).open()
	for rule, c := range map[string]struct {
		calendar, id string
		found        bool
	}{
		"an instance":                    {team, "demoweekly_20261116T083000Z", true},
		"in summer an hour earlier":      {team, "demoweekly_20261019T073000Z", true},
		"before the first one":           {team, "demoweekly_20261012T073000Z", false},
		"an hour beside it":              {team, "demoweekly_20261116T093000Z", false},
		"on another day":                 {team, "demoweekly_20261117T083000Z", false},
		"not a time":                     {team, "demoweekly_tomorrow", false},
		"no stamp":                       {team, "demoweekly_", false},
		"of an event that is no series":  {team, "demooffsite_20261126", false},
		"a day of a series of days":      {holidays, "christmas_20261225", true},
		"a time of a series of days":     {holidays, "christmas_20261225T000000Z", false},
		"far beyond every horizon":       {team, "demoweekly_99981116T083000Z", false},
		"in the calendar of another one": {primary, "demoweekly_20261116T083000Z", false},
	} {
		e, err := d.Event(t.Context(), calendar.EventRef{CalendarID: c.calendar, ID: c.id})
		if found := err == nil && e.ID == c.id; found != c.found {
			t.Errorf("%s: %q is %+v, %v", rule, c.id, e, err)
		}
	}
}

func TestASeriesIsPagedWhileItsInstancesChange(t *testing.T) {
	d := demoAccount(t).open()
	q := calendar.Query{CalendarID: team, From: week(0), To: week(42), Zone: "UTC", Limit: 2}
	page, err := d.Events(t.Context(), q)
	if err != nil || len(page.Events) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	// An instance of the page that was read.
	if err := d.Cancel(t.Context(), instance("20261116T083000Z")); err != nil {
		t.Fatal(err)
	}
	title := "Changed"
	if _, err := d.Change(t.Context(), instance("20261214T083000Z"),
		calendar.Change{Title: &title}); err != nil { // an instance of a later page
		t.Fatal(err)
	}
	q.Cursor = page.Next
	var got []string
	for {
		page, err = d.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			got = append(got, e.ID+" "+e.Title)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	wantLines(t, "the other pages", got,
		"demoweekly_20261130T083000Z Weekly planning", "demoweekly_20261207T083000Z Weekly planning",
		"demoweekly_20261214T083000Z Changed", "demoweekly_20261221T083000Z Weekly planning",
		"demowithdrawn Cancelled: Review with Nordwind", "demooffsite Team day")
}
