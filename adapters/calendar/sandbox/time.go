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

// localize returns the moment, in UTC, when a clock in the zone shows the wall clock.
func localize(wall time.Time, zone *time.Location) time.Time {
	return timezone.Localize(wall, zone).UTC()
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
