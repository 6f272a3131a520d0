package sandbox

import (
	"fmt"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

// loadZone returns the zone with that IANA name, which is read once.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is no IANA name", name)
	}
	return timezone.Load(name)
}

// wallClock returns what a clock in the zone shows at t, as if it were UTC.
func wallClock(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// localize returns the moment when a clock in the zone shows the wall clock. If there are two such moments,
// it returns the first. A skipped time is read with the offset before the gap (RFC 5545 section 3.3.5).
func localize(wall time.Time, zone *time.Location) time.Time {
	const day = 24 * time.Hour
	offsetAt := func(t time.Time) time.Duration {
		_, offset := t.In(zone).Zone()
		return time.Duration(offset) * time.Second
	}
	wall = wall.UTC()
	before, after := offsetAt(wall.Add(-day)), offsetAt(wall.Add(day))
	first := wall.Add(-before)
	if offsetAt(first) == before {
		return first
	}
	if second := wall.Add(-after); offsetAt(second) == after {
		return second
	}
	return first
}

// checkTimes rejects times and zones that the account cannot store.
func checkTimes(start, end time.Time, zone string) error {
	if _, err := loadZone(zone); err != nil {
		return fault.InvalidField("timezone", "must be the IANA name of a time zone.")
	}
	var faults []fault.Field
	if !keepable(start) {
		faults = append(faults, fault.Field{Path: "start_time", Message: "must lie in the years 1 to 9998."})
	}
	if !keepable(end) {
		faults = append(faults, fault.Field{Path: "end_time", Message: "must lie in the years 1 to 9998."})
	}
	if len(faults) > 0 {
		return fault.InvalidFields(faults...)
	}
	return nil
}

func keepable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9998
}

// span returns the time that the event spans. Whole days and floating times are read in the zone.
func (s stored) span(zone *time.Location) calendar.Span {
	if s.Form == instantForm {
		return calendar.Span{From: s.Start, To: s.End}
	}
	return calendar.Span{From: localize(s.Start, zone), To: localize(s.End, zone)}
}

// overlaps reports whether an event overlaps the window. The ends are exclusive. An event without length lies
// at its start (RFC 4791 section 9.9).
func overlaps(event, window calendar.Span) bool {
	if event.From.Equal(event.To) {
		return !event.From.Before(window.From) && event.From.Before(window.To)
	}
	return event.From.Before(window.To) && window.From.Before(event.To)
}
