package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// everything returns the events of all pages of a query.
func everything(ctx context.Context, d *driver, q calendar.Query) (ids []string, err error) {
	for {
		page, err := d.Events(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			ids = append(ids, e.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids, nil
		}
	}
}

func TestTheEdgesOfAWindow(t *testing.T) {
	at := func(clock string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, clock)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct {
		rule       string
		start, end string
		from, to   string
		listed     bool
	}{
		{"began a year ago", "2025-12-01T10:00:00Z", "2026-12-01T10:00:00Z", "2026-11-30T00:00:00Z",
			"2026-11-30T01:00:00Z", true},
		{"ends with the window", "2026-12-01T09:00:00Z", "2026-12-01T10:00:00Z", "2026-12-01T09:59:59Z",
			"2026-12-01T10:00:00Z", true},
		{"over as the window begins", "2026-12-01T09:00:00Z", "2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z",
			"2026-12-01T11:00:00Z", false},
		{"half a second into the window", "2026-12-01T09:00:00Z", "2026-12-01T10:00:00.5Z", "2026-12-01T10:00:00Z",
			"2026-12-01T11:00:00Z", true},
		{"over half a second before", "2026-12-01T09:00:00Z", "2026-12-01T10:00:00.5Z", "2026-12-01T10:00:00.6Z",
			"2026-12-01T11:00:00Z", false},
		{"begins in the last half second", "2026-12-01T10:59:59.5Z", "2026-12-01T12:00:00Z", "2026-12-01T10:00:00Z",
			"2026-12-01T10:59:59.6Z", true},
		{"begins half a second after", "2026-12-01T10:59:59.5Z", "2026-12-01T12:00:00Z", "2026-12-01T10:00:00Z",
			"2026-12-01T10:59:59.5Z", false},
		{"no length, at the start", "2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z",
			"2026-12-01T11:00:00Z", true},
		{"no length, at the end", "2026-12-01T11:00:00Z", "2026-12-01T11:00:00Z", "2026-12-01T10:00:00Z",
			"2026-12-01T11:00:00Z", false},
		{"all of time", "0001-01-01T00:00:00Z", "9998-12-31T23:59:59.9Z", "0000-01-01T00:00:00+14:00",
			"9999-12-31T23:59:59.9-12:00", true},
	} {
		a := newAccount(t)
		a.settings["seed"] = "empty"
		d := a.open()
		if _, err := d.Book(t.Context(), calendar.Booking{
			Key: "k", Title: c.rule, Start: at(c.start), End: at(c.end), Zone: "UTC",
		}); err != nil {
			t.Fatal(err)
		}
		ids, err := everything(t.Context(), d, calendar.Query{From: at(c.from), To: at(c.to), Zone: "UTC"})
		if err != nil || (len(ids) == 1) != c.listed {
			t.Errorf("%s: %q, %v", c.rule, ids, err)
		}
	}
}

func TestTimesThatNoCalendarKeepsAreRefused(t *testing.T) {
	d := newAccount(t).open()
	for _, year := range []int{0, 9999} {
		start := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		end := start.Add(time.Hour)
		_, err := d.Book(t.Context(), calendar.Booking{Key: "k", Start: start, End: end, Zone: "UTC"})
		if f := fault.From(err); f == nil || f.Code != fault.Invalid || len(f.Fields) != 2 {
			t.Errorf("booking in the year %d: %v", year, err)
		}
	}
}

// TestListingAgreesWithLookingAtEverything compares the ordered, paged listing with the plain definition of
// it.
func TestListingAgreesWithLookingAtEverything(t *testing.T) {
	base := time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC) // clocks are set in these weeks, in all three zones
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}
	rapid.Check(t, func(rt *rapid.T) {
		a := newAccount(t)
		a.settings["seed"] = "empty"
		d := a.open()
		minutes := rapid.IntRange(0, 30*24*60)
		var all []stored
		for i := range rapid.IntRange(0, 12).Draw(rt, "events") {
			s := stored{
				ID: fmt.Sprintf("e%d", i), Calendar: primary, Version: 1,
				Start: base.Add(time.Duration(minutes.Draw(rt, "start")) * time.Minute),
				Zone:  rapid.SampledFrom(zones).Draw(rt, "zone"),
				Form:  rapid.SampledFrom([]form{instantForm, instantForm, dayForm, floatingForm}).Draw(rt, "form"),
			}
			s.End = s.Start.Add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "length")) * time.Minute)
			if s.Form == dayForm {
				s.Start = s.Start.Truncate(24 * time.Hour)
				s.End = s.Start.AddDate(0, 0, rapid.IntRange(1, 3).Draw(rt, "days"))
			}
			if rapid.IntRange(0, 3).Draw(rt, "series") == 0 {
				s.Rule = rapid.SampledFrom([]string{"FREQ=DAILY;COUNT=9", "FREQ=WEEKLY", "FREQ=DAILY;INTERVAL=2"}).
					Draw(rt, "rule")
			}
			all = append(all, s)
			if err := a.put(t.Context(), s); err != nil {
				rt.Fatal(err)
			}
		}
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(rt, "query zone"))
		if err != nil {
			rt.Fatal(err)
		}
		from := base.Add(time.Duration(minutes.Draw(rt, "from")) * time.Minute)
		w := window{
			calendar.Span{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 9000).
				Draw(rt, "window")) * time.Minute)}, zone,
		}
		var want []string
		for _, s := range all {
			if s.Rule == "" {
				if w.holds(s) {
					want = append(want, s.ID)
				}
				continue
			}
			starts, err := s.starts()
			if err != nil {
				rt.Fatal(err)
			}
			for start := range starts {
				if start.After(base.AddDate(0, 3, 0)) {
					break
				}
				if i := s.instance(start); w.holds(i) {
					want = append(want, i.ID)
				}
			}
		}
		got, err := everything(t.Context(), d, calendar.Query{
			From: w.From, To: w.To, Zone: zone.String(), Limit: rapid.IntRange(0, 5).Draw(rt, "limit"),
		})
		if err != nil {
			rt.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Errorf("listed %q, want %q", got, want)
		}
	})
}

func TestAMovedEventLeavesNothingBehind(t *testing.T) {
	a := newAccount(t)
	a.settings["seed"] = "empty"
	d := a.open()
	ref := mustBook(t, d, haircut("Haircut"))
	start := time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)
	end := start.Add(time.Hour)
	if _, err := d.Change(t.Context(), ref, calendar.Change{Start: &start, End: &end, Zone: "UTC"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Cancel(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	var keys []string
	err := a.env.Storage.View(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Scan("", "", func(key string, _ []byte) bool {
			keys = append(keys, key)
			return true
		})
	})
	if want := []string{
		"count/primary", "gone/primary/20270301T100000Z/20270301T090000Z/" + ref.ID, "id/primary/" + ref.ID,
	}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("the store holds %q, %v, want %q", keys, err, want)
	}
}

// FuzzIDsAndCursors reads by any id and cursor, because callers may make them up.
func FuzzIDsAndCursors(f *testing.F) {
	for _, seed := range []string{
		"", "x", "event/", "event/team/", "event/primary/9", "long/team", "series/", "series/demoweekly",
		"series//", "series/demoweekly/x", "gone/team", "demoweekly_20261123T083000Z", "demoweekly_", "_",
		"demooffsite_20261126", "sandbox:slow", "../team", "\xff\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, made string) {
		if strings.Contains(strings.ToLower(made), "sandbox:") {
			return // it selects a scenario
		}
		d := demoAccount(t).open()
		q := calendar.Query{CalendarID: team, From: friday, To: friday.AddDate(0, 0, 9), Zone: "UTC", Cursor: made}
		page, err := d.Events(t.Context(), q)
		if err != nil {
			t.Errorf("as a cursor: %v", err)
		}
		for _, e := range page.Events {
			if e.CalendarID != team {
				t.Errorf("as a cursor it reaches into another calendar: %+v", e)
			}
		}
		e, err := d.Event(t.Context(), calendar.EventRef{CalendarID: team, ID: made})
		if err == nil && (e.CalendarID != team || e.ID != strings.TrimSpace(made)) {
			t.Errorf("as an id it finds %+v", e)
		}
		if err != nil && !errors.Is(err, fault.NotFound) {
			t.Errorf("as an id: %v", err)
		}
	})
}
