package normalize

import (
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/timezone"
)

// Format formats t in RFC 3339 with the offset of the zone, in whole seconds unless t has a fraction. "Z" is
// written for UTC alone: in London's winter the offset is +00:00, since "Z" says that the offset of the place
// is not known (RFC 9557 section 2.2).
func Format(t time.Time, zone *time.Location) string {
	return string(appendTime(make([]byte, 0, len(time.RFC3339)), t, zone))
}

func appendTime(to []byte, t time.Time, zone *time.Location) []byte {
	if zone == nil {
		zone = time.UTC
	}
	t = writable(t.In(zone))
	abbreviation, offset := t.Zone()
	if offset == 0 && abbreviation != "UTC" {
		return t.AppendFormat(to, "2006-01-02T15:04:05.999999999-07:00")
	}
	return t.AppendFormat(to, time.RFC3339Nano)
}

// writable returns t in a form that RFC 3339 section 5.6 can express: with a four-digit year and an offset of
// whole minutes. Before standard time, clocks followed the sun to the second. For such a time, the instant is
// kept and the seconds of the offset are dropped.
func writable(t time.Time) time.Time {
	if _, offset := t.Zone(); offset%60 != 0 {
		t = t.In(time.FixedZone("", offset/60*60))
	}
	switch year := t.Year(); {
	case year < 0:
		return time.Date(0, time.January, 1, 0, 0, 0, 0, t.Location())
	case year > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, t.Location())
	}
	return t
}

// Instant returns the instant that a provider's time means. A whole day begins at midnight in the zone (RFC
// 5545 section 3.3.4), and a floating time is local time in the zone (section 3.3.5, form 1). A nil zone is
// UTC.
func Instant(t calendar.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	wall := t.Instant.UTC()
	switch {
	case t.AllDay:
		year, month, day := wall.Date()
		return timezone.Localize(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), zone)
	case t.Floating:
		return timezone.Localize(wall, zone)
	}
	return t.Instant.In(zone)
}

// AddDays returns the time so many days later at which clocks in the zone show the same time of day. If they never do,
// it is read as [timezone.Localize] says: Time.AddDate may give the hour before the gap.
func AddDays(t time.Time, days int, zone *time.Location) time.Time {
	return timezone.Localize(timezone.Wall(t, zone).AddDate(0, 0, days), zone)
}
