package caldav

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/adapters/calendar/caldav/recur"
	"frontdesk/core/timezone"
)

// zone converts wall clocks into instants, and back. A wall clock in a gap is read with the offset before the
// gap; one that occurs twice is read as the first (RFC 5545 section 3.3.5).
type zone interface {
	localize(wall time.Time) time.Time
	wall(at time.Time) time.Time
	name() string // IANA; "" for a zone that only the object itself defines
}

// namedZone is a zone of the time-zone database.
type namedZone struct{ location *time.Location }

func (z namedZone) name() string { return z.location.String() }

func (z namedZone) localize(wall time.Time) time.Time {
	return timezone.Localize(wall, z.location).UTC()
}

func (z namedZone) wall(at time.Time) time.Time { return timezone.Wall(at, z.location) }

// zones finds and caches the zones of TZIDs during one call. It is not safe for concurrent use.
type zones map[string]*time.Location // by TZID; nil if looked up and not found

// definitions are the VTIMEZONEs of an object, by TZID. Of those that define a zone anew, the first counts.
type definitions map[string]*ical.Component

// maxDefinitions is how many zones an object may define. Each can take a hundred thousand steps to read, and few
// objects define more than two.
const maxDefinitions = 100

func definitionsIn(object *ical.Component) definitions {
	all := definitions{}
	for _, definition := range object.ChildrenNamed("VTIMEZONE") {
		if tzid := definition.Text("TZID"); all[tzid] == nil {
			all[tzid] = definition
		}
	}
	return all
}

// find returns the zone of a TZID within an object, or nil if it is unknown. It prefers the time-zone
// database, because objects carry outdated copies of its rules. But EST is a name of the database, in which clocks
// are never set, and of those who mean New York: there, the object's own definition counts (RFC 5545 section 3.2.19).
func (zs zones) find(defined definitions, tzid string) zone {
	location := zs.location(tzid)
	if location != nil && !slices.Contains(standards, location.String()) {
		return namedZone{location}
	}
	definition := defined[tzid]
	if definition != nil && (location == nil || len(definition.ChildrenNamed("DAYLIGHT")) > 0) {
		if location := zs.location(definition.Text("X-LIC-LOCATION")); location != nil {
			return namedZone{location}
		}
		if z := readZone(definition); z != nil {
			return z
		}
	}
	if location != nil {
		return namedZone{location}
	}
	return offsetZone(tzid)
}

// standards are names of the database for standard time, without a place.
var standards = []string{"EST", "GMT", "HST", "MST"}

// exchangeUTC is what Exchange calls UTC, often without a definition (python-recurring-ical-events#126).
const exchangeUTC = "tzone://Microsoft/Utc"

var offsetName = regexp.MustCompile(`^\(?(?:GMT|UTC) ?([+-])(\d\d?)(?::?(\d\d))?\)?$`)

// offsetZone returns the zone of a TZID that is nothing but an offset from UTC, such as "GMT+05:30" or "(GMT -05:00)",
// or else nil.
func offsetZone(tzid string) zone {
	name := offsetName.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(tzid)))
	if name == nil {
		return nil
	}
	hours := ("0" + name[2])[len(name[2])-1:]
	offset, err := ical.ParseOffset(name[1] + hours + cmp.Or(name[3], "00"))
	if err != nil {
		return nil
	}
	return ruledZone{before: offset}
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

// findLocation reads a TZID as an IANA name, as a Windows name, or as an IANA name behind the slash of a
// globally unique TZID (RFC 5545 section 3.2.19), alone or with the prefix of a vendor: "/Europe/Paris",
// "/freeassociation.sourceforge.net/Europe/Berlin",
// "/softwarestudio.org/Olson_20011030_5/America/New_York".
func findLocation(tzid string) *time.Location {
	tzid = strings.Trim(strings.TrimSpace(tzid), `"`)
	if tzid == "" || len(tzid) > maxZoneNameBytes {
		return nil
	}
	if strings.EqualFold(tzid, exchangeUTC) {
		return time.UTC
	}
	if name, ok := timezone.FromWindows(tzid); ok {
		tzid = name
	}
	if location := loadZone(tzid); location != nil {
		return location
	}
	parts := strings.Split(strings.Trim(tzid, "/"), "/")
	for i := max(0, len(parts)-3); i < len(parts); i++ {
		if location := loadZone(strings.Join(parts[i:], "/")); location != nil && i < len(parts)-1 {
			return location
		}
	}
	return nil
}

// loadZone returns the location of an IANA name, or nil. Unlike time.LoadLocation it rejects "" and "Local".
func loadZone(name string) *time.Location {
	if name == "" || strings.EqualFold(name, "Local") {
		return nil
	}
	location, err := timezone.Load(name)
	if err != nil {
		return nil
	}
	return location
}

// ruledZone is a zone as a VTIMEZONE defines it (RFC 5545 section 3.6.5), expanded for the years from
// firstZoneYear to lastZoneYear.
type ruledZone struct {
	before  int // offset before the first change
	changes []change
}

// change is a change of the offset. wall is the first wall clock that is read with the new offset.
type change struct {
	wall   time.Time
	offset int
}

func (ruledZone) name() string { return "" }

func (z ruledZone) localize(wall time.Time) time.Time {
	return wall.Add(-z.offset(sort.Search(len(z.changes), func(i int) bool {
		return z.changes[i].wall.After(wall)
	})))
}

func (z ruledZone) wall(at time.Time) time.Time {
	return at.UTC().Add(z.offset(sort.Search(len(z.changes), func(i int) bool {
		return z.changes[i].wall.Add(-max(z.offset(i), z.offset(i+1))).After(at)
	})))
}

// offset returns the offset after the first n changes.
func (z ruledZone) offset(n int) time.Duration {
	if n == 0 {
		return time.Duration(z.before) * time.Second
	}
	return time.Duration(z.changes[n-1].offset) * time.Second
}

const (
	firstZoneYear = 1970
	lastZoneYear  = 2100
	maxChanges    = 20_000
	zoneSteps     = 100_000
)

// readZone parses a VTIMEZONE. It returns nil if the definition holds nothing usable.
func readZone(definition *ical.Component) zone {
	var z ruledZone
	budget := recur.Budget{Steps: zoneSteps}
	earliest := time.Time{}
	for _, part := range definition.Children {
		if part.Name != "STANDARD" && part.Name != "DAYLIGHT" || len(z.changes) > maxChanges {
			continue
		}
		to, err := ical.ParseOffset(part.Text("TZOFFSETTO"))
		if err != nil {
			continue
		}
		from, err := ical.ParseOffset(part.Text("TZOFFSETFROM"))
		if err != nil {
			from = to
		}
		// Onsets are wall clocks of the old offset. When clocks are set forward, wall clocks in the gap are
		// still read with the old offset.
		gap := time.Duration(max(0, to-from)) * time.Second
		for _, onset := range onsets(part, from, &budget) {
			if earliest.IsZero() || onset.Before(earliest) {
				earliest, z.before = onset, from
			}
			z.changes = append(z.changes, change{onset.Add(gap), to})
		}
	}
	if len(z.changes) == 0 {
		return nil
	}
	slices.SortStableFunc(z.changes, func(a, b change) int { return a.wall.Compare(b.wall) })
	return z
}

// onsets returns when a STANDARD or DAYLIGHT part takes effect: its start, its RDATEs, and its RRULEs.
func onsets(part *ical.Component, from int, budget *recur.Budget) []time.Time {
	begin, _ := part.Get("DTSTART")
	start, err := begin.Moment()
	if err != nil {
		return nil
	}
	list := []time.Time{start.Wall}
	for _, dates := range part.All("RDATE") {
		moments, err := dates.Moments()
		if err != nil {
			continue
		}
		for _, m := range moments {
			list = append(list, m.Wall)
		}
	}
	for _, text := range part.All("RRULE") {
		rule, err := recur.Parse(text.Value)
		if err != nil {
			continue
		}
		first, last := time.Date(firstZoneYear, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(lastZoneYear, 1, 1, 0, 0, 0, 0, time.UTC)
		if rule.Until != nil {
			// UNTIL is in UTC in a VTIMEZONE.
			if until := rule.Until.Wall.Add(time.Duration(from) * time.Second); until.Before(last) {
				last = until
			}
		}
		if walls, err := rule.Between(start.Wall, first, last, budget); err == nil {
			list = append(list, walls...)
		}
	}
	return list
}

// zoneName returns the IANA name of the first zone that an object defines, or "" if it defines none or the
// zone has no IANA name.
func zoneName(data []byte, known zones) string {
	root, err := ical.Decode(bytes.TrimSpace(data))
	if err != nil {
		return ""
	}
	defined := definitionsIn(root)
	if len(defined) > maxDefinitions {
		return ""
	}
	for _, definition := range root.ChildrenNamed("VTIMEZONE") {
		tzid := definition.Text("TZID")
		if defined[tzid] != definition {
			continue
		}
		if z := known.find(defined, tzid); z != nil {
			return z.name()
		}
	}
	return ""
}
