package caldav

import (
	"fmt"
	"slices"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/timezone"
)

// zoneYears is for how many years after an event its zone's changes are listed without a yearly rule.
const zoneYears = 10

// transition is one change of a zone's clocks.
type transition struct {
	onset    time.Time // wall clock of the old offset, as if UTC
	from, to int
	name     string
	isDST    bool
}

// defineZone builds the VTIMEZONE of a location (RFC 5545 section 3.6.5), valid from the year before from.
// Changes that follow one yearly rule are written as that rule, others as a list of dates until zoneYears
// after to.
func defineZone(location *time.Location, from, to time.Time) *ical.Component {
	begin := time.Date(from.Year()-1, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(to.Year()+zoneYears+1, 1, 1, 0, 0, 0, 0, time.UTC)
	changes := transitions(location, begin, end)

	definition := ical.New("VTIMEZONE", ical.Text("TZID", location.String()))
	name, offset := begin.In(location).Zone()
	first := transition{onset: begin, from: offset, to: offset, name: name, isDST: begin.In(location).IsDST()}
	definition.Children = append(definition.Children, first.component(""))
	for len(changes) > 0 {
		c := changes[0]
		same := func(t transition) bool {
			return t.from == c.from && t.to == c.to && t.name == c.name && t.isDST == c.isDST
		}
		group := slices.DeleteFunc(slices.Clone(changes), func(t transition) bool { return !same(t) })
		changes = slices.DeleteFunc(changes, same)
		rule := yearlyRule(group, begin.Year(), end.Year())
		part := group[0].component(rule)
		if rule == "" && len(group) > 1 {
			var more []ical.Moment
			for _, t := range group[1:] {
				more = append(more, ical.Moment{Wall: t.onset})
			}
			part.Add(more[0].Property("RDATE", more[1:]...))
		}
		definition.Children = append(definition.Children, part)
	}
	return definition
}

func (t transition) component(rule string) *ical.Component {
	kind := "STANDARD"
	if t.isDST {
		kind = "DAYLIGHT"
	}
	c := ical.New(kind,
		ical.Moment{Wall: t.onset}.Property("DTSTART"),
		ical.Raw("TZOFFSETFROM", ical.FormatOffset(t.from)),
		ical.Raw("TZOFFSETTO", ical.FormatOffset(t.to)),
		ical.Text("TZNAME", t.name))
	if rule != "" {
		c.Add(ical.Raw("RRULE", rule))
	}
	return c
}

// transitions lists the changes of the zone's clocks between two instants.
func transitions(location *time.Location, begin, end time.Time) []transition {
	var list []transition
	for at := begin.In(location); ; {
		_, next := at.ZoneBounds()
		if next.IsZero() || !next.Before(end) || !at.Before(end) {
			return list
		}
		_, from := at.Zone()
		if !next.After(at) {
			// On the last day of a leap year after a zone's table ends, the time package returns an end in
			// the past (go.dev/issue/81583).
			next = at.Add(24 * time.Hour)
		}
		at = next.In(location)
		name, to := at.Zone()
		if from == to {
			continue // another name, or the end of what one rule describes
		}
		list = append(list, transition{
			onset: next.UTC().Add(time.Duration(from) * time.Second),
			from:  from, to: to, name: name, isDST: at.IsDST(),
		})
	}
}

// yearlyRule returns the rule by which the changes happen once in every year, "" when there is none.
func yearlyRule(group []transition, firstYear, endYear int) string {
	first := group[0].onset
	years := endYear - firstYear
	if len(group) < years || len(group) < zoneYears {
		return ""
	}
	rules := map[string]int{}
	for _, t := range group {
		if t.onset.Month() != first.Month() || t.onset.Sub(midnight(t.onset)) != first.Sub(midnight(first)) {
			return ""
		}
		for _, rule := range rulesOf(t.onset) {
			rules[rule]++
		}
	}
	for _, rule := range rulesOf(first) {
		if rules[rule] == len(group) {
			return rule
		}
	}
	return ""
}

// rulesOf returns the yearly rules that match a date: by the week from either end of its month, by the first
// such weekday on or after a date, or by the date.
func rulesOf(date time.Time) []string {
	month, day := int(date.Month()), date.Day()
	weekday := [...]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}[date.Weekday()]
	length := time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	rules := []string{
		fmt.Sprintf("FREQ=YEARLY;BYMONTH=%d;BYDAY=%d%s", month, (day-1)/7+1, weekday),
		fmt.Sprintf("FREQ=YEARLY;BYMONTH=%d;BYDAY=-%d%s", month, (length-day)/7+1, weekday),
		fmt.Sprintf("FREQ=YEARLY;BYMONTH=%d;BYMONTHDAY=%d", month, day),
	}
	for from := max(1, day-6); from <= min(day, length-6); from++ {
		days := ""
		for d := from; d < from+7; d++ {
			days += fmt.Sprintf(",%d", d)
		}
		rules = append(rules, fmt.Sprintf("FREQ=YEARLY;BYMONTH=%d;BYMONTHDAY=%s;BYDAY=%s", month,
			days[1:], weekday))
	}
	return rules
}

func midnight(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// withZone ensures that the object defines the zone correctly for the given moments. A correct definition
// that came with the object stays.
func withZone(object *ical.Component, location *time.Location, moments ...time.Time) {
	if isUTC(location) {
		return
	}
	slices.SortFunc(moments, time.Time.Compare)
	for i, c := range object.Children {
		if c.Name != "VTIMEZONE" || c.Text("TZID") != location.String() {
			continue
		}
		if !defines(c, location, moments) {
			object.Children[i] = defineZone(location, moments[0], moments[len(moments)-1])
		}
		return
	}
	definition := defineZone(location, moments[0], moments[len(moments)-1])
	object.Children = slices.Insert(object.Children, 0, definition)
}

func defines(definition *ical.Component, location *time.Location, moments []time.Time) bool {
	z := readZone(definition)
	return z != nil && !slices.ContainsFunc(moments, func(t time.Time) bool {
		wall := timezone.Wall(t, location)
		return !z.localize(wall).Equal(namedZone{location}.localize(wall))
	})
}
