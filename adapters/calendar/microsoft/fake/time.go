package fake

import (
	"strings"
	"time"

	"frontdesk/core/timezone"
)

// zoneOf returns the zone with a Windows name or one of the known IANA names
// (learn.microsoft.com/graph/api/resources/datetimetimezone lists some); nil if the name is unknown.
func zoneOf(name string) *time.Location {
	iana, ok := timezone.FromWindows(name)
	if !ok {
		if _, known := timezone.ToWindows(name); !known {
			return nil
		}
		iana = name
	}
	zone, err := timezone.Load(iana)
	if err != nil {
		return nil
	}
	return zone
}

// instant parses a time. Whole days are returned as midnights in UTC. An ambiguous wall clock is taken as
// standard time, its second occurrence.
func (t dateTimeTimeZone) instant(days bool) (time.Time, *answer) {
	zone := zoneOf(t.TimeZone)
	if zone == nil {
		a := invalid("TimeZoneNotSupportedException",
			"A valid TimeZone value must be specified. The following TimeZone value is not supported: '"+
				t.TimeZone+"'.")
		return time.Time{}, &a
	}
	wall, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(t.DateTime, "Z"))
	if err != nil {
		a := invalid("ErrorPropertyValidationFailure", "The value '"+t.DateTime+"' is no dateTime.")
		return time.Time{}, &a
	}
	if days {
		return wall, nil
	}
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	late := wall.Add(-time.Duration(after) * time.Second)
	if _, offset := late.In(zone).Zone(); offset == after {
		return late, nil
	}
	return wall.Add(-time.Duration(before) * time.Second), nil
}

// shown returns a time in the preferred zone. Whole days are midnight to midnight in any zone.
func (e *event) shown(c *call, t time.Time) map[string]any {
	name := c.prefer["outlook.timezone"]
	zone := zoneOf(name)
	if zone == nil {
		name, zone = "UTC", time.UTC
	}
	if e.days {
		zone = time.UTC
	}
	return map[string]any{"dateTime": t.In(zone).Format("2006-01-02T15:04:05.0000000"), "timeZone": name}
}

// lies returns the start and end of an event; whole days are in the mailbox's zone.
func (s *Server) lies(e *event) (from, to time.Time) {
	if !e.days {
		return e.start, e.end
	}
	midnight := func(t time.Time) time.Time {
		year, month, day := t.Date()
		return time.Date(year, month, day, 0, 0, 0, 0, s.zone)
	}
	return midnight(e.start), midnight(e.end)
}
