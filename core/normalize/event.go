package normalize

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/record"
)

// Meeting returns the record of a booked or changed event. Its times are shown in the requested zone; with
// none requested in the zone the event is kept in; and where the event names none, or none that is known, in
// the fallback.
func Meeting(e calendar.Event, requested, fallback *time.Location) record.Meeting {
	zone := newZones(requested, fallback).of(&e)
	start, end := span(&e, zone)
	return record.Meeting{
		EventID: e.ID, EventURL: e.URL, StartTime: Format(start, zone), EndTime: Format(end, zone),
	}
}

// Events returns the records of events, each with its times as Meeting shows them, in the order of their
// starts, then of their ids. Whole days lie between midnights of the zone they are shown in. The list and the
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

// sortKey is what events are ordered by. It holds no pointer: moving those about would cost more than
// comparing.
type sortKey struct {
	second     int64
	nanosecond int
	index      int
}

// span places an event's times. An end before the start, which RFC 5545 section 3.8.2.2 forbids but some
// calendars hold, is taken for none: the event has no length.
func span(e *calendar.Event, zone *time.Location) (start, end time.Time) {
	start, end = Instant(e.Start, zone), Instant(e.End, zone)
	if end.Before(start) {
		end = start
	}
	return start, end
}

// zones answers the zone to show an event in, and reads each name once.
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

// of returns one zone for the start and the end, so that the two can be compared by eye and ear. An event may
// begin in one zone and end in another (RFC 5545 section 3.8.2.2): the zone of its start is its own.
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

// attendeeType maps what providers call the part of an attendee to the interface's three words: our own,
// Google's and Graph's, and ROLE and CUTYPE of RFC 5545 sections 3.2.16 and 3.2.3. Whoever is not known to be
// less is required, which is ROLE's default.
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

// responseStatus maps what providers call an answer to the interface's four words: our own, Google's and
// Graph's, and PARTSTAT of RFC 5545 section 3.2.12. Whoever is not known to have answered has not, which is
// PARTSTAT's default.
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

// plainWord returns a word without the ways of writing it: NEEDS-ACTION, needsAction and needs_action are
// one.
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
