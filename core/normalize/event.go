package normalize

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/record"
)

// Meeting returns the record of a booked or changed event. Its times are shown in the requested zone. If none
// is requested, they are shown in the zone the event is kept in. If the event has no zone, or an unknown one,
// they are shown in the fallback.
func Meeting(e calendar.Event, requested, fallback *time.Location) record.Meeting {
	zone := newZones(requested, fallback).of(&e)
	start, end := span(&e, zone)
	return record.Meeting{
		EventID: e.ID, EventURL: e.URL, StartTime: Format(start, zone), EndTime: Format(end, zone),
	}
}

// Events returns the records of events, with times shown as by Meeting, in the order of their starts and then
// of their ids. All-day events lie between midnights of the zone they are shown in. The list and the
// attendees in it are never nil.
func Events(list []calendar.Event, requested, fallback *time.Location) []record.Event {
	type placed struct{ start, end time.Time }
	zones := newZones(requested, fallback)
	times := make([]placed, len(list))
	order := make([]sortKey, len(list))
	invited := 0
	for i := range list {
		start, end := span(&list[i], zones.of(&list[i]))
		times[i] = placed{start, end}
		order[i] = sortKey{second: start.Unix(), nanosecond: start.Nanosecond(), index: i}
		invited += len(list[i].Attendees)
	}
	slices.SortFunc(order, func(a, b sortKey) int {
		if order := cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.nanosecond, b.nanosecond)); order != 0 {
			return order
		}
		return cmp.Or(strings.Compare(list[a.index].ID, list[b.index].ID), cmp.Compare(a.index, b.index))
	})
	records := make([]record.Event, len(order))
	attendees := make([]record.Attendee, 0, invited)
	for i, key := range order {
		e, at, first := &list[key.index], times[key.index], len(attendees)
		for _, a := range e.Attendees {
			attendees = append(attendees, record.Attendee{
				Email: a.Email, Name: a.Name, Type: attendeeType(a.Type), ResponseStatus: responseStatus(a.Response),
			})
		}
		records[i] = record.Event{
			EventID:        e.ID,
			Subject:        e.Title,
			StartTime:      Format(at.start, at.start.Location()),
			EndTime:        Format(at.end, at.end.Location()),
			OrganizerEmail: e.Organizer.Email,
			Attendees:      attendees[first:len(attendees):len(attendees)],
			EventURL:       e.URL,
			IsCancelled:    e.IsCancelled,
		}
	}
	return records
}

// sortKey is the key that events are sorted by. It holds no pointer: moving pointers would cost more than
// comparing.
type sortKey struct {
	second     int64
	nanosecond int
	index      int
}

// span returns the instants of an event's start and end. RFC 5545 section 3.8.2.2 forbids an end before the
// start, but some calendars have one. Such an event is treated as having no length.
func span(e *calendar.Event, zone *time.Location) (start, end time.Time) {
	start, end = Instant(e.Start, zone), Instant(e.End, zone)
	if end.Before(start) {
		end = start
	}
	return start, end
}

// zones finds the zone to show an event in, and loads each name once.
type zones struct {
	requested, fallback *time.Location
	known               map[string]*time.Location
}

func newZones(requested, fallback *time.Location) *zones {
	if fallback == nil {
		fallback = time.UTC
	}
	return &zones{requested: requested, fallback: fallback, known: map[string]*time.Location{"": fallback}}
}

// of returns one zone for the start and the end, so that a person can compare the two. An event may begin in
// one zone and end in another (RFC 5545 section 3.8.2.2); then the zone of its start is used.
func (z *zones) of(e *calendar.Event) *time.Location {
	if z.requested != nil {
		return z.requested
	}
	name := cmp.Or(e.Start.Zone, e.End.Zone)
	zone, known := z.known[name]
	if known {
		return zone
	}
	zone, err := LoadZone(name)
	if err != nil {
		zone = z.fallback
	}
	z.known[name] = zone
	return zone
}

// attendeeType maps a provider's word for the role of an attendee to one of the interface's three words. It
// knows our own, Google's and Graph's words, and ROLE and CUTYPE of RFC 5545 sections 3.2.16 and 3.2.3. The
// default is required, as it is for ROLE.
func attendeeType(word string) string {
	switch word {
	case "required", "optional", "resource":
		return word
	}
	switch plainWord(word) {
	case "optional", "optparticipant", "nonparticipant":
		return "optional"
	case "resource", "room":
		return "resource"
	}
	return "required"
}

// responseStatus maps a provider's word for a response to one of the interface's four words. It knows our
// own, Google's and Graph's words, and PARTSTAT of RFC 5545 section 3.2.12. The default is needs_action, as
// it is for PARTSTAT.
func responseStatus(word string) string {
	switch word {
	case "needs_action", "accepted", "declined", "tentative":
		return word
	}
	switch plainWord(word) {
	case "accepted", "organizer":
		return "accepted"
	case "declined":
		return "declined"
	case "tentative", "tentativelyaccepted":
		return "tentative"
	}
	return "needs_action"
}

// plainWord returns a word in lower case and without separators, so that NEEDS-ACTION, needsAction and
// needs_action are the same.
func plainWord(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '-' || r == '_' || r == ' ':
			return -1
		}
		return r
	}, word)
}
