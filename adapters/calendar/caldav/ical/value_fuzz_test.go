package ical_test

import (
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
)

// FuzzValues checks that values are rejected, or parsed within bounds that keep sums of them in range.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"20270302T100000Z", "20270302", "20270302T235960", "P1DT2H", "-PT15M", "P99999999W", "PT9999999999999999S",
		"+053020", "-0000", "+2400", "P", "ᴬ0270302",
	} {
		f.Add(seed, "Europe/Paris")
	}
	f.Fuzz(func(t *testing.T, text, zone string) {
		if m, err := ical.ParseMoment(text, zone); err == nil && (m.Wall.Year() < 0 || m.Wall.Year() > 9999) {
			t.Fatalf("%q is %v", text, m)
		}
		if d, err := ical.ParseDuration(text); err == nil {
			const century = 100 * 366 * 24 * time.Hour
			if d.Days > 100_000 || d.Days < -100_000 || d.Exact > 2*century+century/2 ||
				d.Exact < -2*century-century/2 {
				t.Fatalf("%q is %v", text, d)
			}
		}
		if n, err := ical.ParseOffset(text); err == nil {
			again, err := ical.ParseOffset(ical.FormatOffset(n))
			if err != nil || again != n || n > 24*3600 || n < -24*3600 {
				t.Fatalf("%q is %d, written %q, read %d", text, n, ical.FormatOffset(n), again)
			}
		}
	})
}
