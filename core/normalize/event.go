package normalize

import (
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/record"
)

// Meeting is the record of a booked or changed event. Its times are shown in the requested zone, else in the event's
// own, else in the fallback.
func Meeting(e calendar.Event, requested, fallback *time.Location) record.Meeting {
	start, end := span(e, requested, fallback)
	return record.Meeting{EventID: e.ID, EventURL: e.URL, StartTime: start.Format(time.RFC3339Nano), EndTime: end.Format(time.RFC3339Nano)}
}

// Events are the records of listed events, sorted by start and then by id.
func Events(list []calendar.Event, requested, fallback *time.Location) []record.Event {
	type placed struct {
		at time.Time
		record.Event
	}
	all := make([]placed, 0, len(list))
	for _, e := range list {
		start, end := span(e, requested, fallback)
		all = append(all, placed{start, record.Event{
			EventID: e.ID, Subject: e.Title, StartTime: start.Format(time.RFC3339Nano), EndTime: end.Format(time.RFC3339Nano),
			OrganizerEmail: e.Organizer.Email, Attendees: attendees(e.Attendees), EventURL: e.URL, IsCancelled: e.IsCancelled,
		}})
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.EventID, b.EventID)
	})
	records := make([]record.Event, len(all))
	for i := range all {
		records[i] = all[i].Event
	}
	return records
}

// span places an event's times and shows them in the zone that counts. Whole days run from local midnight to local
// midnight of that zone.
func span(e calendar.Event, requested, fallback *time.Location) (start, end time.Time) {
	zone := requested
	if zone == nil && e.Start.Zone != "" {
		if own, err := LoadZone(e.Start.Zone); err == nil {
			zone = own
		}
	}
	if zone == nil {
		zone = fallback
	}
	if zone == nil {
		zone = time.UTC
	}
	start, end = Instant(e.Start, zone).In(zone), Instant(e.End, zone).In(zone)
	if end.Before(start) {
		end = start
	}
	return start, end
}

func attendees(list []calendar.Attendee) []record.Attendee {
	records := make([]record.Attendee, 0, len(list))
	for _, a := range list {
		records = append(records, record.Attendee{
			Email: a.Email, Name: a.Name, Type: known(a.Type, attendeeTypes, "required"), ResponseStatus: known(a.Response, responses, "needs_action"),
		})
	}
	return records
}

// attendeeTypes and responses map what drivers may hand over to the interface's words.
var (
	attendeeTypes = map[string]string{"required": "required", "optional": "optional", "resource": "resource", "room": "resource"}
	responses     = map[string]string{
		"needs_action": "needs_action", "accepted": "accepted", "declined": "declined", "tentative": "tentative",
	}
)

func known(given string, words map[string]string, otherwise string) string {
	if word, ok := words[strings.ToLower(given)]; ok {
		return word
	}
	return otherwise
}
