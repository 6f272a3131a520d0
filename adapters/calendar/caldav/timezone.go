package caldav

import (
	"bytes"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on what the machine has installed

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/adapters/calendar/caldav/recur"
)

// zone places wall clocks in time. A wall clock in a gap is read with the offset before the gap, one that comes twice
// as the first (RFC 5545 section 3.3.5).
type zone interface {
	place(wall time.Time) time.Time
	name() string // IANA; "" for a zone that only the object itself defines
}

// namedZone is a zone of the time-zone database.
type namedZone struct{ location *time.Location }

func (z namedZone) name() string { return z.location.String() }

func (z namedZone) place(wall time.Time) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(z.location).Zone()
	_, after := wall.Add(24 * time.Hour).In(z.location).Zone()
	earlier := wall.Add(-time.Duration(before) * time.Second)
	if _, offset := earlier.In(z.location).Zone(); offset == before {
		return earlier
	}
	later := wall.Add(-time.Duration(after) * time.Second)
	if _, offset := later.In(z.location).Zone(); offset == after {
		return later
	}
	return earlier
}

// wallIn is what clocks in the location show at the instant, as if UTC.
func wallIn(t time.Time, location *time.Location) time.Time {
	_, offset := t.In(location).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// zones finds the zones that TZIDs name. It is for one call, not for concurrent use.
type zones map[string]*time.Location // by TZID; nil: looked for and not found

// find answers the zone of a TZID within an object, or nil when nothing tells what it is. The database goes first:
// objects carry outdated copies of its rules.
func (zs zones) find(object *ical.Component, tzid string) zone {
	if location := zs.location(tzid); location != nil {
		return namedZone{location}
	}
	for _, definition := range object.Named("VTIMEZONE") {
		if definition.Text("TZID") != tzid {
			continue
		}
		if location := zs.location(definition.Text("X-LIC-LOCATION")); location != nil {
			return namedZone{location}
		}
		if z := readZone(definition); z != nil {
			return z
		}
	}
	return nil
}

func (zs zones) location(tzid string) *time.Location {
	location, known := zs[tzid]
	if !known {
		location = findLocation(tzid)
		zs[tzid] = location
	}
	return location
}

const maxZoneNameBytes = 256

// findLocation reads a TZID as an IANA name, as a name that Windows uses, or as an IANA name behind the prefix of a
// vendor: "/freeassociation.sourceforge.net/Europe/Berlin", "/softwarestudio.org/Olson_20011030_5/America/New_York".
func findLocation(tzid string) *time.Location {
	tzid = strings.Trim(strings.TrimSpace(tzid), `"`)
	if tzid == "" || len(tzid) > maxZoneNameBytes {
		return nil
	}
	if name, ok := windowsZones[tzid]; ok {
		tzid = name
	}
	if location := loadZone(tzid); location != nil {
		return location
	}
	parts := strings.Split(strings.Trim(tzid, "/"), "/")
	for i := max(1, len(parts)-3); i < len(parts); i++ {
		if location := loadZone(strings.Join(parts[i:], "/")); location != nil && i < len(parts)-1 {
			return location
		}
	}
	return nil
}

// loadZone is time.LoadLocation without the names that mean the machine's own zone.
func loadZone(name string) *time.Location {
	if name == "" || strings.EqualFold(name, "Local") {
		return nil
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return location
}

// ruledZone is a zone as a VTIMEZONE defines it (RFC 5545 section 3.6.5).
type ruledZone struct{ observances []observance }

// observance is one STANDARD or DAYLIGHT part: from each onset on, clocks show another offset. Onsets are wall clocks of the
// offset before.
type observance struct {
	start, until time.Time // until zero: none
	rule         *recur.Rule
	more         []time.Time // RDATE
	from, to     int         // offsets in seconds
}

func (ruledZone) name() string { return "" }

const (
	maxObservances = 400
	zoneSteps      = 4000
)

// readZone reads a definition, or answers nil when it says nothing usable.
func readZone(definition *ical.Component) zone {
	var z ruledZone
	for _, part := range definition.Children {
		if part.Name != "STANDARD" && part.Name != "DAYLIGHT" || len(z.observances) == maxObservances {
			continue
		}
		if o, ok := readObservance(part); ok {
			z.observances = append(z.observances, o)
		}
	}
	if len(z.observances) == 0 {
		return nil
	}
	return z
}

func readObservance(part *ical.Component) (observance, bool) {
	begin, _ := part.Get("DTSTART")
	start, err := begin.Moment()
	if err != nil {
		return observance{}, false
	}
	o := observance{start: start.Wall}
	if o.to, err = ical.ParseOffset(part.Text("TZOFFSETTO")); err != nil {
		return observance{}, false
	}
	if o.from, err = ical.ParseOffset(part.Text("TZOFFSETFROM")); err != nil {
		o.from = o.to
	}
	if text, ok := part.Get("RRULE"); ok {
		if rule, err := recur.Parse(text.Value); err == nil {
			o.rule = &rule
			if rule.Until != nil {
				o.until = rule.Until.Wall.Add(time.Duration(o.from) * time.Second) // it is in UTC here
			}
		}
	}
	for _, dates := range part.All("RDATE") {
		if moments, err := dates.Moments(); err == nil {
			for _, m := range moments {
				o.more = append(o.more, m.Wall)
			}
		}
	}
	return o, true
}

// last answers the last onset at or before the wall clock.
func (o observance) last(wall time.Time) (time.Time, bool) {
	if wall.Before(o.start) {
		return time.Time{}, false
	}
	latest := o.start
	consider := func(onset time.Time) {
		if onset.After(latest) && !onset.After(wall) {
			latest = onset
		}
	}
	for _, onset := range o.more {
		consider(onset)
	}
	if o.rule == nil {
		return latest, true
	}
	to := wall
	if !o.until.IsZero() && o.until.Before(to) {
		to = o.until
	}
	// Rules of zones are yearly: the last onset is never more than some years back.
	onsets, err := o.rule.Between(o.start, to.AddDate(-8, 0, 0), to, &recur.Budget{Steps: zoneSteps})
	if err == nil && len(onsets) > 0 {
		consider(onsets[len(onsets)-1])
	}
	return latest, true
}

func (z ruledZone) place(wall time.Time) time.Time {
	first := z.observances[0]
	var latest time.Time
	offset, found := 0, false
	for _, o := range z.observances {
		if o.start.Before(first.start) {
			first = o
		}
		gap := time.Duration(max(0, o.to-o.from)) * time.Second
		onset, ok := o.last(wall.Add(-gap))
		if ok && (!found || onset.After(latest)) {
			latest, offset, found = onset, o.to, true
		}
	}
	if !found {
		offset = first.from
	}
	return wall.Add(-time.Duration(offset) * time.Second)
}

// zoneName answers the IANA name of the first zone that an object defines; "" when there is none, or none with such a name.
func zoneName(data []byte, known zones) string {
	root, err := ical.Decode(bytes.TrimSpace(data))
	if err != nil {
		return ""
	}
	for _, definition := range root.Named("VTIMEZONE") {
		if z := known.find(root, definition.Text("TZID")); z != nil {
			return z.name()
		}
	}
	return ""
}
