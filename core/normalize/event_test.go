package normalize

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/record"
)

// sampleEvents returns one event for each thing that a provider may tell.
func sampleEvents(t testing.TB) []calendar.Event {
	at := func(rfc3339, zone string) calendar.Time { return calendar.At(instant(t, rfc3339), zone) }
	floating := func(wall string) calendar.Time {
		return calendar.Time{Instant: instant(t, wall+"Z"), Floating: true}
	}
	return []calendar.Event{
		{
			ID: "evt_consultation", CalendarID: "primary", SeriesID: "series_1", Version: `"7"`, Title: "Consultation",
			Description: "First visit",
			Start:       at("2026-12-01T15:00:00Z", "America/New_York"),
			End:         at("2026-12-01T15:30:00Z", "America/New_York"),
			Organizer:   calendar.Person{Email: "office@example.com", Name: "Front office"},
			Attendees: []calendar.Attendee{
				{Email: "pat@example.com", Name: "Pat Doe", Type: "required", Response: "accepted"},
				{Email: "lee@example.com", Type: "optional", Response: "tentative"},
				{Email: "room-4@example.com", Name: "Room 4", Type: "resource", Response: "needs_action"},
				{Email: "max@example.com", Response: "declined"},
			},
			URL: "https://meet.example.com/abc-defg-hij",
		},
		{
			ID: "evt_words", Title: "Providers' own words",
			Start: at("2026-12-02T15:00:00Z", ""), End: at("2026-12-02T16:00:00Z", ""),
			Attendees: []calendar.Attendee{
				{Email: "ical@example.com", Type: "OPT-PARTICIPANT", Response: "NEEDS-ACTION"},
				{Email: "chair@example.com", Type: "CHAIR", Response: "ACCEPTED"},
				{Email: "room@example.com", Type: "ROOM", Response: "DELEGATED"},
				{Email: "google@example.com", Type: "", Response: "needsAction"},
				{Email: "graph@example.com", Type: "Optional", Response: "tentativelyAccepted"},
				{Email: "host@example.com", Type: "required", Response: "organizer"},
				{Email: "unknown@example.com", Type: "x-guest", Response: "x-perhaps"},
			},
		},
		{ID: "evt_day", Title: "Closed", Start: calendar.Day(2026, time.December, 1),
			End: calendar.Day(2026, time.December, 2)},
		{ID: "evt_week", Title: "Clocks change", Start: calendar.Day(2026, time.October, 31),
			End: calendar.Day(2026, time.November, 7)},
		{ID: "evt_floating", Title: "Medicine", Start: floating("2026-12-01T09:00:00"),
			End: floating("2026-12-01T09:05:00")},
		{ID: "evt_flight", Title: "Flight", Start: at("2026-12-01T23:00:00Z", "America/New_York"),
			End: at("2026-12-02T06:00:00Z", "Europe/London")},
		{ID: "evt_windows_zone", Title: "Zone unknown", Start: at("2026-12-01T15:00:00Z", "Eastern Standard Time"),
			End: at("2026-12-01T15:30:00Z", "Eastern Standard Time")},
		{ID: "evt_cancelled", Title: "Cancelled", Start: at("2026-12-01T15:00:00Z", "Asia/Kolkata"),
			End: at("2026-12-01T15:30:00.5Z", "Asia/Kolkata"), IsCancelled: true},
		{ID: "evt_fold", Title: "Twice half past one", Start: at("2026-11-01T05:30:00Z", "America/New_York"),
			End: at("2026-11-01T06:30:00Z", "America/New_York")},
		{ID: "evt_backwards", Title: "Ends before it starts", Start: at("2026-12-03T15:00:00Z", "UTC"),
			End: at("2026-12-03T14:00:00Z", "UTC")},
		{ID: "evt_moment", Title: "No length", Start: at("2026-12-03T15:00:00Z", "UTC"),
			End: at("2026-12-03T15:00:00Z", "UTC")},
		{ID: "evt_text", Title: "\"Quotes\" & <tags>, 日本語, 👩🏽‍⚕️", Start: at("2026-12-04T15:00:00Z", "UTC"),
			End: at("2026-12-04T16:00:00Z", "UTC")},
	}
}

func TestEventRecords(t *testing.T) {
	newYork, berlin := zone(t, "America/New_York"), zone(t, "Europe/Berlin")
	events := sampleEvents(t)
	golden(t, "events_as_kept", record.EventsAnswer{Events: Events(events, nil, newYork)})
	golden(t, "events_requested_in_berlin", record.EventsAnswer{Events: Events(events, berlin, newYork)})
	golden(t, "events_none", record.EventsAnswer{Events: Events(nil, nil, newYork)})

	var meetings []record.MeetingAnswer
	for _, e := range events {
		meetings = append(meetings, record.MeetingAnswer{Event: Meeting(e, nil, newYork)},
			record.MeetingAnswer{Event: Meeting(e, berlin, newYork)})
	}
	golden(t, "meetings", meetings)
}

func TestEventsAreSortedByStartThenID(t *testing.T) {
	newYork := zone(t, "America/New_York")
	start := func(id string, at calendar.Time) calendar.Event {
		return calendar.Event{ID: id, Start: at, End: at}
	}
	noon := instant(t, "2026-12-01T17:00:00Z") // in New York
	list := []calendar.Event{
		start("z-same-instant-elsewhere", calendar.At(noon, "Asia/Tokyo")),
		start("b-later", calendar.At(noon.Add(time.Nanosecond), "")),
		start("m-same-instant", calendar.At(noon, "")),
		start("c-floating-noon", calendar.Time{
			Instant: time.Date(2026, time.December, 1, 12, 0, 0, 0, time.UTC), Floating: true,
		}),
		start("y-day", calendar.Day(2026, time.December, 1)),
		start("x-before-the-day", calendar.At(instant(t, "2026-12-01T04:59:59Z"), "Asia/Tokyo")),
		start("B-letter-case-counts", calendar.At(noon, "")),
	}
	want := []string{
		"x-before-the-day", "y-day", "B-letter-case-counts", "c-floating-noon", "m-same-instant",
		"z-same-instant-elsewhere", "b-later",
	}
	for range 20 {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		var got []string
		for _, e := range Events(list, nil, newYork) {
			got = append(got, e.EventID)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestEventsLeaveTheListAlone(t *testing.T) {
	list, same := sampleEvents(t), sampleEvents(t)
	records := Events(list, nil, nil)
	if !reflect.DeepEqual(list, same) {
		t.Error("the list given was changed")
	}
	before := records[1].Attendees
	_ = append(records[0].Attendees, record.Attendee{Email: "new@example.com"})
	if !reflect.DeepEqual(records[1].Attendees, before) {
		t.Error("appending to one event's attendees changes another's")
	}
}

func TestListsAreNeverNil(t *testing.T) {
	if got := Events(nil, nil, nil); got == nil {
		t.Error("no events are a nil list")
	}
	if got := Events([]calendar.Event{{ID: "evt"}}, nil, nil); got[0].Attendees == nil {
		t.Error("no attendees are a nil list")
	}
}

func TestAttendeeWords(t *testing.T) {
	for given, want := range map[string]string{
		"required": "required", "REQ-PARTICIPANT": "required", "CHAIR": "required", "": "required",
		"x-guest": "required", "INDIVIDUAL": "required", "optional": "optional", "Optional": "optional",
		"OPT-PARTICIPANT": "optional", "NON-PARTICIPANT": "optional", "resource": "resource",
		"RESOURCE": "resource", "ROOM": "resource",
	} {
		if got := attendeeType(given); got != want {
			t.Errorf("type %q is %s, want %s", given, got, want)
		}
	}
	for given, want := range map[string]string{
		"needs_action": "needs_action", "needsAction": "needs_action", "NEEDS-ACTION": "needs_action",
		"none": "needs_action", "notResponded": "needs_action", "": "needs_action", "DELEGATED": "needs_action",
		"x-perhaps": "needs_action", "accepted": "accepted", "ACCEPTED": "accepted", "organizer": "accepted",
		"declined": "declined", "DECLINED": "declined", "tentative": "tentative", "TENTATIVE": "tentative",
		"tentativelyAccepted": "tentative",
	} {
		if got := responseStatus(given); got != want {
			t.Errorf("response %q is %s, want %s", given, got, want)
		}
	}
}
