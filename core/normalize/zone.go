package normalize

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on what the machine has installed

	"frontdesk/core/calendar"
)

// LoadZone answers the zone of an IANA name (RFC 6557). "", "Local" and offsets are not names: an offset says nothing of
// the other half of the year.
func LoadZone(name string) (*time.Location, error) {
	if name == "UTC" {
		return time.UTC, nil
	}
	looksLikeName := name != "" && name != "Local" && !strings.ContainsAny(name, " :\\") && !strings.HasPrefix(name, "+") && !strings.HasPrefix(name, "-")
	if looksLikeName {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	hint := ""
	if near := Nearest(name, commonZones); near != "" {
		hint = fmt.Sprintf(" Did you mean %s?", near)
	}
	return nil, fmt.Errorf("must be an IANA time zone name such as America/New_York.%s", hint)
}

// commonZones are the names that a mistyped one is compared with.
var commonZones = strings.Fields(`UTC Africa/Cairo Africa/Johannesburg Africa/Lagos Africa/Nairobi America/Anchorage
	America/Argentina/Buenos_Aires America/Bogota America/Chicago America/Denver America/Edmonton America/Halifax America/Lima
	America/Los_Angeles America/Mexico_City America/New_York America/Phoenix America/Regina America/Santiago America/Sao_Paulo
	America/St_Johns America/Toronto America/Vancouver America/Winnipeg Asia/Bangkok Asia/Dubai Asia/Hong_Kong Asia/Jakarta
	Asia/Jerusalem Asia/Karachi Asia/Kolkata Asia/Manila Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei
	Asia/Tehran Asia/Tokyo Atlantic/Reykjavik Australia/Adelaide Australia/Brisbane Australia/Melbourne Australia/Perth
	Australia/Sydney Europe/Amsterdam Europe/Athens Europe/Berlin Europe/Brussels Europe/Bucharest Europe/Budapest
	Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Kyiv Europe/Lisbon Europe/London Europe/Madrid
	Europe/Moscow Europe/Oslo Europe/Paris Europe/Prague Europe/Rome Europe/Stockholm Europe/Vienna Europe/Warsaw
	Europe/Zurich Pacific/Auckland Pacific/Honolulu`)

// Format writes an instant as RFC 3339 with the offset of the zone; a fraction of a second only where there is one.
func Format(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.RFC3339Nano) }

// Instant places a provider's time: an instant is itself; a floating time (RFC 5545 section 3.3.5, form 1) and a whole
// day's midnight lie in the zone.
func Instant(t calendar.Time, zone *time.Location) time.Time {
	if !t.Floating && !t.AllDay {
		return t.Instant
	}
	return place(t.Instant, zone)
}

// place answers the instant of a wall clock, held as if it were UTC, in a zone. In a gap the offset before it counts; a
// time that occurs twice is the first occurrence (RFC 5545 section 3.3.5).
func place(wall time.Time, zone *time.Location) time.Time {
	// Offsets are at most a day away from each other, so those around the wall clock are the only candidates. The
	// larger offset gives the earlier instant, which in a fold is the first occurrence.
	_, before := wall.Add(-26 * time.Hour).In(zone).Zone()
	best := time.Time{}
	for _, near := range []time.Duration{-26 * time.Hour, -14 * time.Hour, 0, 14 * time.Hour, 26 * time.Hour} {
		_, offset := wall.Add(near).In(zone).Zone()
		candidate := wall.Add(-time.Duration(offset) * time.Second)
		if _, holds := candidate.In(zone).Zone(); holds == offset && (best.IsZero() || candidate.Before(best)) {
			best = candidate
		}
	}
	if best.IsZero() { // a gap
		best = wall.Add(-time.Duration(before) * time.Second)
	}
	return best.In(zone)
}
