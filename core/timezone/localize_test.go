package timezone

import (
	"maps"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLocalTimesArePlaced(t *testing.T) {
	for rule, c := range map[string]struct{ zone, wall, want string }{
		"RFC 5545 3.3.5: the example's second occurrence is not meant": {"America/New_York", "2007-11-04T01:30:00",
			"2007-11-04T01:30:00-04:00"},
		"RFC 5545 3.3.5: the example's gap": {"America/New_York", "2007-03-11T02:30:00",
			"2007-03-11T03:30:00-04:00"},
		"the last second before a gap": {"America/New_York", "2007-03-11T01:59:59",
			"2007-03-11T01:59:59-05:00"},
		"the first second of a gap": {"America/New_York", "2007-03-11T02:00:00",
			"2007-03-11T03:00:00-04:00"},
		"the last second of a gap": {"America/New_York", "2007-03-11T02:59:59",
			"2007-03-11T03:59:59-04:00"},
		"the first second behind a gap": {"America/New_York", "2007-03-11T03:00:00",
			"2007-03-11T03:00:00-04:00"},
		"the last second before a fold": {"America/New_York", "2007-11-04T00:59:59",
			"2007-11-04T00:59:59-04:00"},
		"the first second behind a fold": {"America/New_York", "2007-11-04T02:00:00",
			"2007-11-04T02:00:00-05:00"},
		"a gap of half an hour": {"Australia/Lord_Howe",
			"2026-10-04T02:15:00", "2026-10-04T02:45:00+11:00"},
		"a fold of half an hour": {"Australia/Lord_Howe",
			"2026-04-05T01:45:00", "2026-04-05T01:45:00+11:00"},
		"a gap of a day: Samoa skipped 30 December 2011": {"Pacific/Apia", "2011-12-30T12:00:00",
			"2011-12-31T12:00:00+14:00"},
		"a fold of a day: Kwajalein had 20 August 1969 once, 1993 none": {"Pacific/Kwajalein",
			"1993-08-21T12:00:00", "1993-08-22T12:00:00+12:00"},
		"midnight in a gap: Beirut's days in March begin at one": {"Asia/Beirut", "2026-03-29T00:00:00",
			"2026-03-29T01:00:00+03:00"},
		"midnight in a fold: Havana's day in November": {"America/Havana", "2026-11-01T00:00:00",
			"2026-11-01T00:00:00-04:00"},
		"negative summer time: Dublin's winter is its DST": {"Europe/Dublin", "2026-10-25T01:30:00",
			"2026-10-25T01:30:00+01:00"},
		"summer time suspended for a month: Casablanca": {"Africa/Casablanca",
			"2026-02-15T02:30:00", "2026-02-15T02:30:00+01:00"},
		"a zone that changes no clocks": {"America/Phoenix", "2026-03-08T02:30:00",
			"2026-03-08T02:30:00-07:00"},
		"beyond the table, by the zone's rule": {"America/New_York", "2150-07-01T10:00:00",
			"2150-07-01T10:00:00-04:00"},
		"a gap beyond the table": {"America/New_York", "2150-03-08T02:30:00",
			"2150-03-08T03:30:00-04:00"},
		"before standard time": {"America/New_York", "1800-01-01T12:00:00",
			"1800-01-01T12:00:00-04:56"},
	} {
		t.Run(rule, func(t *testing.T) {
			z := zone(t, c.zone)
			if got := Localize(instant(t, c.wall+"Z"), z).Format(time.RFC3339); got != c.want {
				t.Errorf("%s in %s is %s, want %s", c.wall, c.zone, got, c.want)
			}
		})
	}
}

func TestAPlacedWallClockShowsItself(t *testing.T) {
	zones := []string{
		"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "UTC", "America/St_Johns",
	}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := Load(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(946684800, 4102444800).Draw(t, "time"), 0)
		wall := Wall(at, zone)
		placed := Localize(wall, zone)
		if !Wall(placed, zone).Equal(wall) {
			t.Errorf("%s placed in %s shows %s", wall, zone, Wall(placed, zone))
		}
		if placed.After(at) {
			t.Errorf("%s placed in %s at %s, though %s shows it too and is earlier", wall, zone, placed, at)
		}
	})
}

func TestNothingIsFarFromTheEndOfALeapYear(t *testing.T) {
	// The time package has no end of the period for 31 December 2040, see endOfPeriod.
	for _, wall := range []string{"2040-12-31T00:30:00", "2040-12-31T12:00:00", "2041-01-01T00:30:00"} {
		for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Sydney", "UTC"} {
			z := zone(t, name)
			got := Localize(instant(t, wall+"Z"), z)
			if shown := got.Format("2006-01-02T15:04:05"); shown != wall {
				t.Errorf("%s in %s is placed at %s", wall, name, shown)
			}
		}
	}
}

// TestEveryChangeOfClocksInEveryZone holds Localize against the rule, worked out by trial from nothing but what
// clocks show: around each change of clocks, in each zone, in all of recorded time and some of the future.
func TestEveryChangeOfClocksInEveryZone(t *testing.T) {
	end := time.Date(2045, time.January, 1, 0, 0, 0, 0, time.UTC)
	changes := 0
	names := slices.AppendSeq([]string{"Antarctica/Troll"}, maps.Keys(zones())) // Windows has no zone for Troll
	for _, name := range names {
		z, err := Load(name)
		if err != nil {
			continue // only older databases have it
		}
		change, last := endOfPeriod(time.Date(1800, time.January, 1, 0, 0, 0, 0, time.UTC).In(z))
		for ; !last && change.Before(end); change, last = endOfPeriod(change.In(z)) {
			before, after := offsetAt(change.Add(-time.Second), z), offsetAt(change, z)
			if before == after {
				continue // the zone's name changed, or the year did
			}
			changes++
			trial := newTrial(change, z)
			for _, at := range []time.Duration{before, after, (before + after) / 2} {
				for _, shift := range []time.Duration{-time.Second, 0, time.Second} {
					wall := change.UTC().Add(at.Truncate(time.Second) + shift)
					if got, want := Localize(wall, z), trial.localize(wall); !got.Equal(want) {
						t.Fatalf("%s in %s is %s, want %s", wall.Format(time.DateTime), z, got, want.In(z))
					}
				}
			}
		}
	}
	if changes < 40_000 {
		t.Errorf("only %d changes of clocks were found", changes)
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func instant(t *testing.T, rfc3339 string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func offsetAt(at time.Time, z *time.Location) time.Duration {
	_, offset := at.In(z).Zone()
	return time.Duration(offset) * time.Second
}

// trial is the hours around a change of clocks, with what was in force at each.
type trial struct {
	zone    *time.Location
	hours   []time.Time
	offsets map[time.Duration]bool
}

func newTrial(change time.Time, z *time.Location) trial {
	tr := trial{zone: z, offsets: map[time.Duration]bool{}}
	for h := -28; h <= 28; h++ {
		at := change.Add(time.Duration(h) * time.Hour)
		tr.hours = append(tr.hours, at)
		tr.offsets[offsetAt(at, z)] = true
	}
	return tr
}

// localize tries every offset: the earliest instant that shows the wall time is its first occurrence. Where
// none does, clocks jumped over it, and the offset that counts is the one of the second before.
func (tr trial) localize(wall time.Time) time.Time {
	var first time.Time
	for offset := range tr.offsets {
		tried := wall.Add(-offset)
		if offsetAt(tried, tr.zone) == offset && (first.IsZero() || tried.Before(first)) {
			first = tried
		}
	}
	if !first.IsZero() {
		return first
	}
	shows := func(at time.Time) time.Time { return at.Add(offsetAt(at, tr.zone)) }
	for i, hour := range tr.hours[1:] {
		if from := tr.hours[i]; !shows(from).After(wall) && shows(hour).After(wall) {
			jump := sort.Search(3600, func(s int) bool {
				return shows(from.Add(time.Duration(s) * time.Second)).After(wall)
			})
			return wall.Add(-offsetAt(from.Add(time.Duration(jump-1)*time.Second), tr.zone))
		}
	}
	return time.Time{}
}
