package fake

import (
	"encoding/json"
	"slices"
	"time"

	"frontdesk/core/timezone"
)

// The most calendars of one query, and its longest time, which Google does not document.
const (
	calendarExpansionMax = 50
	longestQuery         = 90 * 24 * time.Hour
)

// freeBusy handles freebusy.query (developers.google.com/workspace/calendar/api/v3/reference/freebusy/query).
// What cannot be told of one calendar is an error of that calendar, in a successful response.
func (c call) freeBusy() (map[string]any, *refusal) {
	if refused := c.requireScope("calendar", "calendar.readonly", "calendar.freebusy",
		"calendar.events.freebusy"); refused != nil {
		return nil, refused
	}
	if refused := c.takes(); refused != nil {
		return nil, refused
	}
	var asked struct {
		TimeMin, TimeMax time.Time
		TimeZone         string
		Items            []struct{ ID string }
	}
	if json.NewDecoder(c.request.Body).Decode(&asked) != nil {
		return nil, badRequest("Parse Error")
	}
	switch {
	case asked.TimeMin.IsZero() || asked.TimeMax.IsZero():
		return nil, required("Missing timeMin or timeMax parameter.")
	case !asked.TimeMin.Before(asked.TimeMax):
		return nil, timeRangeEmpty()
	case asked.TimeMax.Sub(asked.TimeMin) > longestQuery:
		return nil, invalid("The requested time range is too long.")
	}
	calendars := map[string]any{}
	for i, item := range asked.Items {
		found := c.account.calendar(item.ID)
		switch {
		case i >= calendarExpansionMax:
			calendars[item.ID] = busyError("tooManyCalendarsRequested")
		case found == nil:
			calendars[item.ID] = busyError("notFound")
		default:
			calendars[item.ID] = map[string]any{"busy": found.busy(asked.TimeMin, asked.TimeMax)}
		}
	}
	return map[string]any{
		"kind": "calendar#freeBusy", "timeMin": asked.TimeMin.UTC().Format(time.RFC3339),
		"timeMax": asked.TimeMax.UTC().Format(time.RFC3339), "calendars": calendars,
	}, nil
}

func busyError(reason string) map[string]any {
	return map[string]any{
		"errors": []any{map[string]any{"domain": "global", "reason": reason}}, "busy": []any{},
	}
}

// busy returns the calendar's busy times within a range: joined, clipped to it, and in order.
func (c *collection) busy(from, to time.Time) []any {
	zone, err := timezone.Load(c.Zone)
	if err != nil {
		zone = time.UTC
	}
	type period struct{ from, to time.Time }
	var taken []period
	for _, e := range c.expanded(from, to, zone) {
		start, end := e.bounds(zone)
		if e.takesTime() && start.Before(to) && end.After(from) {
			taken = append(taken, period{latest(start, from), earliest(end, to)})
		}
	}
	slices.SortFunc(taken, func(a, b period) int { return a.from.Compare(b.from) })
	var joined []period
	for _, p := range taken {
		if last := len(joined) - 1; last >= 0 && !p.from.After(joined[last].to) {
			joined[last].to = latest(joined[last].to, p.to)
			continue
		}
		joined = append(joined, p)
	}
	told := []any{}
	for _, p := range joined {
		told = append(told, map[string]any{
			"start": p.from.UTC().Format(time.RFC3339), "end": p.to.UTC().Format(time.RFC3339),
		})
	}
	return told
}

// takesTime reports whether an event counts as busy: not if it is cancelled, shown as available, or declined.
func (e *event) takesTime() bool {
	if e.isCancelled() || textOf(e.data, "transparency") == "transparent" {
		return false
	}
	return !slices.ContainsFunc(attendeesOf(e.data), func(g map[string]any) bool {
		return g["self"] == true && g["responseStatus"] == "declined"
	})
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
