package normalize

import (
	"testing"
	"time"

	"frontdesk/core/calendar"
)

func TestFormatWritesRFC3339(t *testing.T) {
	for rule, c := range map[string]struct{ at, zone, want string }{
		"the offset of the zone": {"2026-12-01T15:00:00Z", "America/New_York",
			"2026-12-01T10:00:00-05:00"},
		"the offset in force then": {"2026-07-01T14:00:00Z", "America/New_York",
			"2026-07-01T10:00:00-04:00"},
		"an offset with minutes": {"2026-12-01T15:00:00Z", "Asia/Kathmandu",
			"2026-12-01T20:45:00+05:45"},
		"RFC 3339 5.6: Z is for UTC": {"2026-12-01T10:00:00-05:00", "UTC", "2026-12-01T15:00:00Z"},
		"Etc/UTC is UTC": {"2026-12-01T10:00:00-05:00", "Etc/UTC",
			"2026-12-01T15:00:00Z"},
		"RFC 9557 2.2: a place whose offset is zero": {"2026-12-01T15:00:00Z", "Europe/London",
			"2026-12-01T15:00:00+00:00"},
		"no fraction when there is none": {"2026-12-01T15:00:00.000Z", "UTC", "2026-12-01T15:00:00Z"},
		"a fraction without trailing zeros": {"2026-12-01T15:00:00.120Z", "UTC",
			"2026-12-01T15:00:00.12Z"},
		"a fraction and a zero offset": {"2026-12-01T15:00:00.120Z", "Europe/London",
			"2026-12-01T15:00:00.12+00:00"},
		"an offset with seconds: the instant is kept": {"1800-01-01T00:00:00Z", "America/New_York",
			"1799-12-31T19:04:00-04:56"},
		"an offset of less than a minute": {"1800-01-01T00:00:00Z", "Europe/London",
			"1799-12-31T23:59:00-00:01"},
		"four digits of the year: the last moment": {"9999-12-31T23:00:00Z", "Asia/Tokyo",
			"9999-12-31T23:59:59+09:00"},
		"four digits of the year: the first moment": {"0000-01-01T00:00:00Z", "Etc/GMT+5",
			"0000-01-01T00:00:00-05:00"},
	} {
		t.Run(rule, func(t *testing.T) {
			if got := Format(instant(t, c.at), zone(t, c.zone)); got != c.want {
				t.Errorf("%s in %s is %s, want %s", c.at, c.zone, got, c.want)
			}
		})
	}
	if got := Format(instant(t, "2026-12-01T10:00:00-05:00"), nil); got != "2026-12-01T15:00:00Z" {
		t.Errorf("a nil zone is not UTC: %s", got)
	}
}

func TestInstantPlacesProvidersTimes(t *testing.T) {
	floating := func(wall string) calendar.Time {
		return calendar.Time{Instant: instant(t, wall+"Z"), Floating: true}
	}
	for rule, c := range map[string]struct {
		told calendar.Time
		zone string
		want string
	}{
		"an instant is itself, shown in the zone": {calendar.At(instant(t, "2026-12-01T15:00:00Z"),
			"Europe/Berlin"), "America/New_York", "2026-12-01T10:00:00-05:00"},
		"RFC 5545 3.3.4: a day begins at its midnight": {calendar.Day(2026, time.December, 1),
			"America/New_York", "2026-12-01T00:00:00-05:00"},
		"a day is the same day in every zone": {calendar.Day(2026, time.December, 1),
			"Pacific/Kiritimati", "2026-12-01T00:00:00+14:00"},
		"a day without midnight begins behind the gap": {calendar.Day(2026, time.March, 29), "Asia/Beirut",
			"2026-03-29T01:00:00+03:00"},
		"a day's time of day is not looked at": {calendar.Time{Instant: instant(t,
			"2026-12-01T23:00:00Z"), AllDay: true}, "America/New_York", "2026-12-01T00:00:00-05:00"},
		"RFC 5545 3.3.5 form 1: a floating time": {floating("2026-12-01T10:00:00"), "America/New_York",
			"2026-12-01T10:00:00-05:00"},
		"a floating time is the same clock in every zone": {floating("2026-12-01T10:00:00"), "Asia/Tokyo",
			"2026-12-01T10:00:00+09:00"},
		"RFC 5545 3.3.5: a floating time in a gap": {floating("2027-03-14T02:30:00"), "America/New_York",
			"2027-03-14T03:30:00-04:00"},
		"RFC 5545 3.3.5: a floating time that occurs twice": {floating("2026-11-01T01:30:00"), "America/New_York",
			"2026-11-01T01:30:00-04:00"},
	} {
		t.Run(rule, func(t *testing.T) {
			z := zone(t, c.zone)
			got := Instant(c.told, z)
			if shown := got.Format(time.RFC3339); shown != c.want || got.Location() != z {
				t.Errorf("got %s in %s, want %s", shown, got.Location(), c.want)
			}
		})
	}
	if got := Instant(calendar.Day(2026, time.December, 1),
		nil); !got.Equal(instant(t, "2026-12-01T00:00:00Z")) {
		t.Errorf("a nil zone is not UTC: %s", got)
	}
}
