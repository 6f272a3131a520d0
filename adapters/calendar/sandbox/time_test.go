package sandbox

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAWallClockIsPlacedAsRFC5545Says(t *testing.T) {
	for _, c := range []struct{ rule, zone, wall, want string }{
		{"summer", "America/New_York", "2026-07-01T10:00:00", "2026-07-01T10:00:00-04:00"},
		{"winter", "America/New_York", "2026-12-01T10:00:00", "2026-12-01T10:00:00-05:00"},
		{"shown twice: the first", "America/New_York", "2026-11-01T01:30:00", "2026-11-01T01:30:00-04:00"},
		{"skipped: the offset before", "America/New_York", "2026-03-08T02:30:00", "2026-03-08T03:30:00-04:00"},
		{"shown twice, in the south", "Australia/Sydney", "2026-04-05T02:30:00", "2026-04-05T02:30:00+11:00"},
		{"skipped, in the south", "Australia/Sydney", "2026-10-04T02:30:00", "2026-10-04T03:30:00+11:00"},
		{"half an hour shown twice", "Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-05T01:45:00+11:00"},
		{"just before clocks are set", "Europe/Berlin", "2026-10-25T01:59:59", "2026-10-25T01:59:59+02:00"},
		{"just after", "Europe/Berlin", "2026-10-25T03:00:00", "2026-10-25T03:00:00+01:00"},
		{"far east", "Pacific/Kiritimati", "2026-11-01T00:00:00", "2026-11-01T00:00:00+14:00"},
		{"no summer time", "Asia/Kathmandu", "2026-11-01T00:00:00", "2026-11-01T00:00:00+05:45"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		wall, err := time.Parse("2006-01-02T15:04:05", c.wall)
		if err != nil {
			t.Fatal(err)
		}
		if got := localize(wall, zone).In(zone).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s in %s is %s, want %s", c.rule, c.wall, c.zone, got, c.want)
		}
	}
}

// A list needs the zone of each of its calendars.
func TestAZoneIsReadOnce(t *testing.T) {
	first, err := loadZone("Europe/Berlin")
	again, errAgain := loadZone("Europe/Berlin")
	if err != nil || errAgain != nil || first != again {
		t.Errorf("read %p, then %p; %v, %v", first, again, err, errAgain)
	}
	for _, name := range []string{"", "Local", "No/Where"} {
		if zone, err := loadZone(name); err == nil {
			t.Errorf("%q is %v", name, zone)
		}
	}
}

func TestAPlacedWallClockShowsItself(t *testing.T) {
	zones := []string{
		"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "UTC", "America/St_Johns",
	}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(946684800, 4102444800).Draw(t, "time"), 0)
		wall := wallClock(at, zone)
		placed := localize(wall, zone)
		if !wallClock(placed, zone).Equal(wall) {
			t.Errorf("%s placed in %s shows %s", wall, zone, wallClock(placed, zone))
		}
		if placed.After(at) {
			t.Errorf("%s placed in %s at %s, though %s shows it too and is earlier", wall, zone, placed, at)
		}
	})
}
