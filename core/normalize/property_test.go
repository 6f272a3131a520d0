package normalize

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/calendar"
	"frontdesk/core/record"
	"frontdesk/core/timezone"
)

// zoneGen draws any zone there is.
func zoneGen(t *testing.T) *rapid.Generator[*time.Location] {
	return rapid.Map(rapid.SampledFrom(strings.Fields(zoneNames)),
		func(name string) *time.Location { return zone(t, name) })
}

// secondGen draws a time of whole seconds that ParseTime takes, more often of our days.
func secondGen() *rapid.Generator[time.Time] {
	whole := func(from, to int64) *rapid.Generator[time.Time] {
		return rapid.Map(rapid.Int64Range(from, to), func(s int64) time.Time { return time.Unix(s, 0).UTC() })
	}
	return rapid.OneOf(whole(0, 4102444800), whole(earliest, latest))
}

func instantGen() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		return secondGen().Draw(t, "second").Add(time.Duration(rapid.SampledFrom([]int{
			0, 0, 1, 500_000_000, 120_000_000, 999_999_999,
		}).Draw(t, "nanoseconds")))
	})
}

func parse(t *rapid.T, s string) InputTime {
	got, err := ParseTime(s, DateTime)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return got
}

// What Format writes, in whatever zone, ParseTime reads as the same instant.
func TestFormattedTimesAreReadBack(t *testing.T) {
	zones := zoneGen(t)
	rapid.Check(t, func(t *rapid.T) {
		at, shown, read := instantGen().Draw(t, "at"), zones.Draw(t, "shown in"), zones.Draw(t, "read in")
		text := Format(at, shown)
		back := parse(t, text)
		if !back.HasOffset() {
			t.Fatalf("%s has no offset", text)
		}
		if got := back.In(read); !got.Equal(at) || got.Location() != read {
			t.Fatalf("%s in %s is written %s and read as %s", at, shown, text, got)
		}
		if again := Format(back.In(shown), shown); again != text {
			t.Fatalf("%s is written again as %s", text, again)
		}
	})
}

// A local time shows in its zone as it was written, or it lies in a gap, and then it shows later by the gap's
// length, with the offset from before the gap when written in that.
func TestLocalTimesShowAsWritten(t *testing.T) {
	zones := zoneGen(t)
	rapid.Check(t, func(t *rapid.T) {
		wall, z := instantGen().Draw(t, "wall"), zones.Draw(t, "zone")
		text := wall.Format("2006-01-02T15:04:05.999999999")
		local := parse(t, text)
		if local.HasOffset() {
			t.Fatalf("%s has an offset", text)
		}
		got := local.In(z)
		shows := got.Add(offsetAt(got, z)).UTC()
		if shows.Equal(wall) {
			if earlier := placeByShift(wall, got, z); !earlier.IsZero() {
				t.Fatalf("%s in %s is %s, but %s is earlier", text, z, got, earlier)
			}
			return
		}
		if !shows.After(wall) {
			t.Fatalf("%s in %s shows as %s", text, z, shows)
		}
		gap := shows.Sub(wall)
		if before := offsetAt(got.Add(-gap-time.Second), z); !got.Equal(wall.Add(-before)) {
			t.Fatalf("%s in %s lies in a gap of %s, and is %s", text, z, gap, got)
		}
	})
}

// placeByShift looks for an earlier instant at which the same wall time shows.
func placeByShift(wall, got time.Time, z *time.Location) time.Time {
	for hours := range 26 {
		offset := offsetAt(got.Add(-time.Duration(hours)*time.Hour), z)
		if tried := wall.Add(-offset); tried.Before(got) && offsetAt(tried, z) == offset {
			return tried
		}
	}
	return time.Time{}
}

// Away from changes of clocks, a stretch of local time is as long as it is written.
func TestLocalDurationsAreKept(t *testing.T) {
	zones := zoneGen(t)
	rapid.Check(t, func(t *rapid.T) {
		wall, z := secondGen().Draw(t, "wall"), zones.Draw(t, "zone")
		length := time.Duration(rapid.IntRange(1, 24*60).Draw(t, "minutes")) * time.Minute
		if wall.Add(length).Unix() > latest {
			return
		}
		const local = "2006-01-02T15:04:05"
		start, end := parse(t, wall.Format(local)).In(z), parse(t, wall.Add(length).Format(local)).In(z)
		if offsetAt(start.Add(-26*time.Hour), z) != offsetAt(end.Add(26*time.Hour), z) ||
			offsetAt(start, z) != offsetAt(end, z) {
			return
		}
		if got := end.Sub(start); got != length {
			t.Fatalf("%s from %s in %s is %s", length, wall.Format(local), z, got)
		}
	})
}

func eventGen(t *testing.T) *rapid.Generator[calendar.Event] {
	zones := zoneGen(t)
	times := rapid.Custom(func(t *rapid.T) [2]calendar.Time {
		from := secondGen().Draw(t, "start")
		from = from.Add(-14 * 24 * time.Hour) // so that RFC 3339 can express every end
		to := from.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "seconds")) * time.Second)
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			year, month, day := from.Date()
			return [2]calendar.Time{
				calendar.Day(year, month, day), calendar.Day(year, month, day+rapid.IntRange(1, 9).Draw(t, "days")),
			}
		case 1:
			return [2]calendar.Time{{Instant: from, Floating: true}, {Instant: to, Floating: true}}
		}
		name := rapid.SampledFrom([]string{"", zones.Draw(t, "zone").String(), "Eastern Standard Time"}).
			Draw(t, "name")
		return [2]calendar.Time{calendar.At(from, name), calendar.At(to, name)}
	})
	return rapid.Custom(func(t *rapid.T) calendar.Event {
		drawn := times.Draw(t, "times")
		return calendar.Event{
			ID: rapid.StringMatching(`[a-c]{1,2}`).Draw(t, "id"), Title: rapid.String().Draw(t, "title"),
			Start: drawn[0], End: drawn[1],
		}
	})
}

// However events come in, their records come out in order of instant and id, each once, whatever zones they
// show.
func TestRecordsAreOrderedAcrossZones(t *testing.T) {
	zones, events := zoneGen(t), eventGen(t)
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(events, 0, 12).Draw(t, "events")
		fallback := zones.Draw(t, "fallback")
		var requested *time.Location
		if rapid.Bool().Draw(t, "requested") {
			requested = zones.Draw(t, "in")
		}
		records := Events(list, requested, fallback)
		if len(records) != len(list) {
			t.Fatalf("%d events made %d records", len(list), len(records))
		}
		for i, r := range records {
			start, end := parseRecord(t, r.StartTime), parseRecord(t, r.EndTime)
			if end.Before(start) {
				t.Fatalf("%s ends before it starts, at %s", r.StartTime, r.EndTime)
			}
			if i == 0 {
				continue
			}
			before := parseRecord(t, records[i-1].StartTime)
			if c := before.Compare(start); c > 0 || c == 0 && records[i-1].EventID > r.EventID {
				t.Fatalf("%s %s comes before %s %s", records[i-1].StartTime, records[i-1].EventID, r.StartTime, r.EventID)
			}
		}
		for _, e := range list {
			want := Meeting(e, requested, fallback)
			if !slices.ContainsFunc(records, func(r record.Event) bool {
				return r.EventID == e.ID && r.Subject == e.Title && r.StartTime == want.StartTime &&
					r.EndTime == want.EndTime
			}) {
				t.Fatalf("%v has no record", e)
			}
		}
	})
}

// An event's record is as long as the event; a whole day's as the day in the zone.
func TestRecordsKeepDurations(t *testing.T) {
	zones, events := zoneGen(t), eventGen(t)
	rapid.Check(t, func(t *rapid.T) {
		e, z := events.Draw(t, "event"), zones.Draw(t, "zone")
		r := Meeting(e, z, nil)
		start, end := parseRecord(t, r.StartTime), parseRecord(t, r.EndTime)
		if !e.Start.AllDay && !e.Start.Floating {
			if got, want := end.Sub(start), e.End.Instant.Sub(e.Start.Instant); got != want {
				t.Fatalf("%s became %s", want, got)
			}
			return
		}
		if e.Start.AllDay {
			days := int(e.End.Instant.Sub(e.Start.Instant).Hours()+12) / 24
			if got := end.Sub(start); got < time.Duration(days*24-26)*time.Hour ||
				got > time.Duration(days*24+26)*time.Hour {
				t.Fatalf("%d days became %s", days, got)
			}
		}
		if want := timezone.Localize(e.Start.Instant, z); !start.Equal(want) {
			t.Fatalf("%s in %s starts at %s, want %s", e.Start.Instant, z, start, want)
		}
	})
}

func offsetAt(at time.Time, z *time.Location) time.Duration {
	_, offset := at.In(z).Zone()
	return time.Duration(offset) * time.Second
}

func parseRecord(t *rapid.T, rfc3339 string) time.Time {
	at, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
