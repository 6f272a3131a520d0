package fake

import (
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"frontdesk/core/timezone"
)

// Formats of the original start, which the id of an instance adds to the series' id.
const (
	instanceTime = "20060102T150405Z"
	instanceDay  = "20060102"
)

// find returns an event, an exception of a series, or an instance that has no resource of its own yet.
func (cal *collection) find(id string) *event {
	if e, there := cal.events[id]; there {
		return e
	}
	at := strings.LastIndexByte(id, '_')
	if at < 0 {
		return nil
	}
	master := cal.events[id[:at]]
	if master == nil {
		return nil
	}
	form := instanceTime
	if textOf(objectOf(master.data, "start"), "date") != "" {
		form = instanceDay
	}
	start, err := time.Parse(form, id[at+1:])
	if err != nil {
		return nil
	}
	for _, occurrence := range master.occurrences(start, start) {
		if occurrence.Equal(start) {
			return master.instance(occurrence)
		}
	}
	return nil
}

// exceptions returns the instances of a series that have resources of their own.
func (cal *collection) exceptions(id string) (all []*event) {
	for _, e := range cal.events {
		if textOf(e.data, "recurringEventId") == id {
			all = append(all, e)
		}
	}
	return all
}

// bounds returns the start and end of an event; those of whole days are in the zone.
func (e *event) bounds(zone *time.Location) (from, to time.Time) {
	read := func(t map[string]any) time.Time {
		if day := textOf(t, "date"); day != "" {
			at, _ := time.ParseInLocation(time.DateOnly, day, zone)
			return at
		}
		at, _ := time.Parse(time.RFC3339, textOf(t, "dateTime"))
		return at
	}
	return read(objectOf(e.data, "start")), read(objectOf(e.data, "end"))
}

// occurrences returns the starts of a series from one moment to another, both included.
func (e *event) occurrences(from, to time.Time) (starts []time.Time) {
	zone, err := timezone.Load(textOf(objectOf(e.data, "start"), "timeZone"))
	if err != nil {
		return nil
	}
	first, _ := e.bounds(time.UTC)
	for _, line := range recurrence(e.data) {
		rule, is := strings.CutPrefix(line, "RRULE:")
		if !is {
			continue
		}
		option, err := rrule.StrToROption(rule)
		if err != nil {
			continue
		}
		option.Dtstart = first.In(zone)
		if expanded, err := rrule.NewRRule(*option); err == nil {
			starts = append(starts, expanded.Between(from, to, true)...)
		}
	}
	return starts
}

// instance returns the instance of a series that starts at the given time.
func (e *event) instance(start time.Time) *event {
	data := copied(e.data)
	delete(data, "recurrence")
	first, end := e.bounds(time.UTC)
	from := objectOf(data, "start")
	to := objectOf(data, "end")
	if textOf(from, "date") != "" {
		data["id"] = textOf(data, "id") + "_" + start.UTC().Format(instanceDay)
		from["date"], to["date"] = start.Format(time.DateOnly), start.Add(end.Sub(first)).Format(time.DateOnly)
	} else {
		data["id"] = textOf(data, "id") + "_" + start.UTC().Format(instanceTime)
		from["dateTime"], to["dateTime"] = start.Format(time.RFC3339),
			start.Add(end.Sub(first)).In(start.Location()).Format(time.RFC3339)
	}
	data["recurringEventId"] = textOf(e.data, "id")
	data["originalStartTime"] = copied(from)
	return &event{data: data, notices: slices.Clone(e.notices)}
}
