package fake

import (
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/core/timezone"
)

// list handles events.list.
func (c call) list(cal *collection) (map[string]any, *refusal) {
	refused := c.takes("singleEvents", "timeMin", "timeMax", "timeZone", "maxResults", "pageToken", "orderBy",
		"showDeleted", "maxAttendees")
	if refused != nil {
		return nil, refused
	}
	from, to, zone, refused := c.window(cal)
	if refused != nil {
		return nil, refused
	}
	single := c.query.Get("singleEvents") == "true"
	switch order := c.query.Get("orderBy"); {
	case order == "startTime" && !single:
		return nil, &refusal{code: 400, domain: "global", reason: "invalid", locationType: "parameter",
			location: "orderBy",
			message:  "The requested ordering is not available for the particular query."}
	case order != "" && order != "startTime":
		return nil, invalidParameter("orderBy")
	}
	found := slices.Collect(maps.Values(cal.events))
	if single {
		found = cal.expanded(from, to, zone)
	}
	found = slices.DeleteFunc(found, func(e *event) bool {
		start, end := e.bounds(zone)
		return !start.Before(to) || !end.After(from) || e.isCancelled() && c.query.Get("showDeleted") != "true"
	})
	slices.SortFunc(found, func(a, b *event) int {
		start1, _ := a.bounds(zone)
		start2, _ := b.bounds(zone)
		if order := start1.Compare(start2); order != 0 {
			return order
		}
		return strings.Compare(textOf(a.data, "id"), textOf(b.data, "id"))
	})
	var items []any
	for _, e := range found {
		item, refused := c.shown(cal, e)
		if refused != nil {
			return nil, refused
		}
		items = append(items, item)
	}
	return c.page(map[string]any{
		"kind": "calendar#events", "etag": `"1"`, "summary": cal.Name, "timeZone": cal.Zone, "accessRole": cal.Role,
		"defaultReminders": []any{},
	}, items, 250, 2500)
}

// expanded returns the calendar's events with the instances of series that may lie within a range.
func (c *collection) expanded(from, to time.Time, zone *time.Location) (all []*event) {
	for _, e := range c.events {
		if len(recurrence(e.data)) == 0 {
			all = append(all, e)
			continue
		}
		start, end := e.bounds(zone)
		for _, at := range e.occurrences(from.Add(start.Sub(end)).AddDate(0, 0, -1), to.AddDate(0, 0, 1)) {
			instance := e.instance(at)
			if _, own := c.events[textOf(instance.data, "id")]; !own {
				all = append(all, instance)
			}
		}
	}
	return all
}

// window parses the time range. Whole days are compared with it in the zone of the response
// (googleapis/google-api-dotnet-client#1778).
func (c call) window(cal *collection) (from, to time.Time, zone *time.Location, refused *refusal) {
	name := cal.Zone
	if asked := c.query.Get("timeZone"); asked != "" {
		name = asked
	}
	zone, err := timezone.Load(name)
	if err != nil {
		return from, to, nil, invalidParameter("timeZone")
	}
	from, to = time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for parameter, at := range map[string]*time.Time{"timeMin": &from, "timeMax": &to} {
		asked := c.query.Get(parameter)
		if asked == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, asked); err != nil {
			return from, to, nil, invalidParameter(parameter)
		}
		*at = at.Truncate(time.Second)
	}
	if !from.Before(to) {
		return from, to, nil, timeRangeEmpty()
	}
	return from, to, zone, nil
}
