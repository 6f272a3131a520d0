package api

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/service"
)

const (
	holdPath    = "/alpha/calendar/hold-slot"
	releasePath = "/alpha/calendar/release-hold"
	slotPath    = "/alpha/calendar/book-slot"
	findPath    = "/alpha/calendar/find-meetings"
	movePath    = "/alpha/calendar/move-meeting"
	gonePath    = "/alpha/calendar/cancel-meeting"
)

func TestOperationsByReferenceHandOverWhatWasAsked(t *testing.T) {
	g := startGateway(t)
	day, err := normalize.ParseTime("2026-12-01", normalize.DateTimeOrDate)
	if err != nil {
		t.Fatal(err)
	}
	for rule, c := range map[string]struct {
		path, body string
		want       any
	}{
		"hold": {holdPath, `{"slot_id":"st_1"}`, service.HoldSlot{SlotID: "st_1", For: 5 * time.Minute}},
		"hold for long": {holdPath, `{"slot_id":"st_1","hold_minutes":15,"phone_number":"+1 202 555 0101"}`,
			service.HoldSlot{SlotID: "st_1", For: 15 * time.Minute, Phone: "+12025550101"}},
		"hold, the number withheld": {holdPath, `{"slot_id":"st_1","phone_number":"anonymous"}`,
			service.HoldSlot{SlotID: "st_1", For: 5 * time.Minute}},
		"hold for a meeting": {holdPath, `{"slot_id":"st_1","meeting_reference":"mt_1"}`,
			service.HoldSlot{SlotID: "st_1", For: 5 * time.Minute, Moves: "mt_1"}},
		"release": {releasePath, `{"hold_id":"hd_1"}`, "hd_1"},
		"book": {slotPath, `{"slot_id":"st_1","title":"t","description":"d","attendee_emails":["pat@example.com"],
			"phone_number":"+12025550101","location_url":"https://meet.example.com/a"}`, service.BookSlot{
			Offered: service.Offered{SlotID: "st_1"}, Title: "t", Description: "d",
			Attendees: []string{"pat@example.com"}, Phone: "+12025550101", Conferencing: calendar.ConferencingURL,
			LocationURL: "https://meet.example.com/a",
		}},
		"book what is held": {slotPath, `{"hold_id":"hd_1","slot_id":"","title":"t"}`,
			service.BookSlot{Offered: service.Offered{HoldID: "hd_1"}, Title: "t"}},
		"find": {findPath, `{"email":"Pat@example.com","phone_number":"+12025550101","start":"2026-12-01",
			"time_zone":"America/New_York","calendar_ids":["a"]}`, service.FindMeetings{
			Email: "Pat@example.com", Phone: "+12025550101", Start: day, Timezone: "America/New_York",
			CalendarIDs: []string{"a"},
		}},
		"find for nobody": {findPath, `{"phone_number":"anonymous"}`, service.FindMeetings{}},
		"move": {movePath, `{"meeting_reference":"mt_1","slot_id":"st_1"}`,
			service.MoveMeeting{Reference: "mt_1", Offered: service.Offered{SlotID: "st_1"}}},
		"move to what is held": {movePath, `{"meeting_reference":"mt_1","hold_id":"hd_1"}`,
			service.MoveMeeting{Reference: "mt_1", Offered: service.Offered{HoldID: "hd_1"}}},
		"cancel": {gonePath, `{"meeting_reference":"mt_1"}`, "mt_1"},
	} {
		if a := g.post(c.path, c.body); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", rule, a.status, a.body)
		}
		if !reflect.DeepEqual(g.input, c.want) {
			t.Errorf("%s: the use case got\n%#v, want\n%#v", rule, g.input, c.want)
		}
	}
}

func TestFaultsOfOperationsByReference(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct{ path, body, field, says string }{
		{holdPath, `{}`, "slot_id", "is required"},
		{holdPath, `{"slot_id":"` + strings.Repeat("s", 17) + `"}`, "slot_id", "at most 16"},
		{holdPath, `{"slot_id":"s","hold_minutes":16}`, "hold_minutes", "from 1 to 15"},
		{holdPath, `{"slot_id":"s","phone_number":"5550101"}`, "phone_number", "country code"},
		{releasePath, `{"hold_id":" "}`, "hold_id", "must not be blank"},
		{slotPath, `{"title":"t"}`, "slot_id", "is required, unless hold_id is given"},
		{slotPath, `{"title":"t","slot_id":"s","hold_id":"h"}`, "hold_id", "beside slot_id"},
		{slotPath, `{"slot_id":"s"}`, "title", "is required"},
		{findPath, `{}`, "phone_number", "is required, unless email is given"},
		{findPath, `{"email":"pat"}`, "email", "e"},
		{movePath, `{"slot_id":"s"}`, "meeting_reference", "is required"},
		{movePath, `{"meeting_reference":"m"}`, "slot_id", "is required, unless hold_id is given"},
		{gonePath, `{"event_id":"m"}`, "meeting_reference", "is required"},
	} {
		a := g.post(c.path, c.body)
		if a.status != http.StatusBadRequest || !strings.Contains(a.v1().violations()[c.field], c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, a.status, a.body)
		}
	}
	if g.calls != 0 {
		t.Errorf("%d of them reached the use case", g.calls)
	}
}

func TestARefusalNamesTheNearestSlots(t *testing.T) {
	g := startGateway(t)
	taken := fault.New(fault.Conflict, fault.ReasonSlotTaken, "This time is already taken.")
	taken.Instead = &fault.Instead{Name: "nearest_slots", Values: []record.Slot{{
		SlotID: "st_7q2m9xk4tz", Start: "2026-12-01T10:00:00-05:00", End: "2026-12-01T10:30:00-05:00",
		CalendarIDs: []string{"primary"},
	}}, Say: "I have Tuesday the first at ten in the morning."}
	g.err = taken
	a := g.post(slotPath, `{"slot_id":"st_1","title":"t"}`)
	const nearest = `{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"nearest_slots":[` +
		`{"slot_id":"st_7q2m9xk4tz","start":"2026-12-01T10:00:00-05:00","end":"2026-12-01T10:30:00-05:00",` +
		`"calendar_ids":["primary"]}]}}`
	const said = "That time is already taken. Would another time work for you? " +
		"I have Tuesday the first at ten in the morning."
	if a.status != http.StatusConflict || !strings.Contains(a.body, nearest) ||
		a.v1().detail("LocalizedMessage")["message"] != said {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = g.post(bookPath, `{"title":"t","start_time":"2026-12-01T10:00:00Z","end_time":"2026-12-01T10:30:00Z"}`)
	if a.status != http.StatusConflict || strings.Contains(a.body, "nearest") ||
		strings.Contains(a.body, "Tuesday") {
		t.Errorf("the written interface: %d %s", a.status, a.body)
	}
}
