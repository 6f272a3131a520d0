package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"frontdesk/core/calendar"
	"frontdesk/core/service"
)

// with returns a valid book-meeting body with some fields changed; nil removes a field.
func with(changes map[string]any) string {
	body := map[string]any{
		"title": "Consultation", "start_time": "2026-12-01T10:00:00-05:00", "end_time": "2026-12-01T10:30:00-05:00",
	}
	for name, value := range changes {
		if body[name] = value; value == nil {
			delete(body, name)
		}
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type fields = map[string]any

func TestV1RefusesInputByField(t *testing.T) {
	g := startGateway(t)
	manyEmails, manyIDs := make([]string, 201), make([]string, 51)
	for i := range manyEmails {
		manyEmails[i] = "p" + strconv.Itoa(i) + "@example.com"
	}
	for i := range manyIDs {
		manyIDs[i] = "cal" + strconv.Itoa(i)
	}
	for _, c := range []struct {
		rule, path, body string
		want             map[string]string // by field: a part of its message
	}{
		{"book needs title, start and end", bookPath, `{}`,
			map[string]string{"title": "is required", "start_time": "is required", "end_time": "is required"}},
		{"null, empty strings and empty arrays are not given", bookPath,
			`{"title":"","start_time":null,"end_time":[],"attendee_emails":""}`,
			map[string]string{"title": "is required", "start_time": "is required", "end_time": "is required"}},
		{"a blank title is none", bookPath, with(fields{"title": " \n "}),
			map[string]string{"title": "must not be blank"}},
		{"update needs an event", updatePath, `{"title":"x"}`, map[string]string{"event_id": "is required"}},
		{"update needs a change", updatePath, `{"event_id":"e","timezone":"UTC","selected_calendar_ids":["a"]}`,
			map[string]string{"body": "must have at least one change"}},
		{"cancel needs an event", cancelPath, `{"calendar_id":"c"}`, map[string]string{"event_id": "is required"}},
		{"create-ticket needs a subject", createPath, `{"description":"x"}`,
			map[string]string{"subject": "is required"}},
		{"get-ticket needs a number", ticketPath, `{"ticket_number":null}`,
			map[string]string{"ticket_number": "is required"}},

		{"an unknown field is named with the nearest", bookPath,
			with(fields{"attendees": []string{"a@example.com"}}),
			map[string]string{"attendees": "did you mean attendee_emails?"}},
		{"an unknown field is refused even when null", bookPath,
			with(fields{"locaton_url": json.RawMessage("null")}),
			map[string]string{"locaton_url": "did you mean location_url?"}},
		{"names are case-sensitive", bookPath, with(fields{"Title": "x"}),
			map[string]string{"Title": "did you mean title?"}},
		{"a strange name is quoted", bookPath, with(fields{"path.id": 1}),
			map[string]string{`["path.id"]`: "is not a field"}},
		{"an empty name is quoted", bookPath, with(fields{"": 1}), map[string]string{`[""]`: "is not a field"}},
		{"a field named body is not the body", bookPath, with(fields{"body": 1}),
			map[string]string{`["body"]`: "is not a field"}},
		{"operations without fields take none", calendarsPath, `{"x":1}`,
			map[string]string{"x": "which takes none"}},
		{"update takes no conferencing_type", updatePath, `{"event_id":"e","title":"x","conferencing_type":"url"}`,
			map[string]string{"conferencing_type": "is not a field"}},

		{"a number is no string", bookPath, with(fields{"title": 7}),
			map[string]string{"title": "must be a string, not a number"}},
		{"an object is no string", bookPath, with(fields{"description": fields{}}),
			map[string]string{"description": "must be a string, not an object"}},
		{"an array with something is no string", bookPath, with(fields{"title": []string{"x"}}),
			map[string]string{"title": "must be a string, not an array"}},
		{"a string is no array", bookPath, with(fields{"attendee_emails": "a@example.com"}),
			map[string]string{"attendee_emails": "must be an array of strings, not a string"}},
		{"elements are judged one by one", bookPath,
			with(fields{"attendee_emails": []any{"a@example.com", 1, nil, ""}}),
			map[string]string{"attendee_emails[1]": "not a number", "attendee_emails[2]": "not null",
				"attendee_emails[3]": ""}},

		{"a title has 1,024 bytes", bookPath, with(fields{"title": strings.Repeat("ü", 513)}),
			map[string]string{"title": "is 1,026 bytes long, at most 1,024"}},
		{"a description has 8,192 bytes", bookPath, with(fields{"description": strings.Repeat("x", 8193)}),
			map[string]string{"description": "at most 8,192"}},
		{"an id has 1,024 bytes", cancelPath, `{"event_id":"` + strings.Repeat("x", 1025) + `"}`,
			map[string]string{"event_id": "at most 1,024"}},
		{"control characters are refused", bookPath, with(fields{"title": "a\u0000b", "description": "a\u0085b"}),
			map[string]string{"title": "U+0000", "description": "U+0085"}},
		{"a carriage return is one", bookPath, with(fields{"description": "a\r\nb"}),
			map[string]string{"description": "U+000D"}},

		{"a time must be one", bookPath, with(fields{"start_time": "tomorrow at ten"}),
			map[string]string{"start_time": "RFC 3339"}},
		{"a bare date is for list-events only", bookPath, with(fields{"start_time": "2026-12-01"}),
			map[string]string{"start_time": ""}},
		{"a time zone is an IANA name", bookPath, with(fields{"timezone": "Eastern"}),
			map[string]string{"timezone": ""}},
		{"Local is no IANA name", bookPath, with(fields{"timezone": "Local"}), map[string]string{"timezone": ""}},
		{"the end is after the start, both with offset", bookPath,
			with(fields{"end_time": "2026-12-01T16:00:00+01:00"}),
			map[string]string{"end_time": "must be after start_time"}},
		{"the end is not the start", bookPath, with(fields{"end_time": "2026-12-01T10:00:00-05:00"}),
			map[string]string{"end_time": "must be after start_time"}},
		{"the end is after the start, both local", bookPath,
			with(fields{"start_time": "2026-12-01T10:00:00", "end_time": "2026-12-01T09:00:00"}),
			map[string]string{"end_time": "must be after start_time"}},
		{"the end is after the start, one local in a known zone", bookPath,
			with(fields{
				"start_time": "2026-12-01T10:00:00Z", "end_time": "2026-12-01T04:00:00", "timezone": "America/New_York",
			}),
			map[string]string{"end_time": "must be after start_time"}},
		{"the end of a window is after its start", eventsPath,
			`{"start_time":"2026-12-08","end_time":"2026-12-01"}`,
			map[string]string{"end_time": "must be after start_time"}},

		{"a bad address is refused by index", bookPath,
			with(fields{"attendee_emails": []string{"a@example.com", "Pat <pat@example.com>", "pat"}}),
			map[string]string{"attendee_emails[1]": "", "attendee_emails[2]": ""}},
		{"200 addresses at most", bookPath, with(fields{"attendee_emails": manyEmails}),
			map[string]string{"attendee_emails": "at most 200"}},
		{"50 calendars at most", bookPath, with(fields{"selected_calendar_ids": manyIDs}),
			map[string]string{"selected_calendar_ids": "50"}},
		{"a calendar id is not blank", eventsPath, `{"selected_calendar_ids":["a"," "]}`,
			map[string]string{"selected_calendar_ids[1]": "must not be blank"}},

		{"conferencing_type is one of its words", bookPath, with(fields{"conferencing_type": "zoom"}),
			map[string]string{"conferencing_type": "must be provider or url"}},
		{"url needs location_url", bookPath, with(fields{"conferencing_type": "url"}),
			map[string]string{"location_url": "is required"}},
		{"location_url is absolute", bookPath, with(fields{"conferencing_type": "url", "location_url": "/room"}),
			map[string]string{"location_url": "absolute http or https"}},
		{"location_url is http", bookPath, with(fields{"location_url": "javascript:alert(1)"}),
			map[string]string{"location_url": "absolute http or https"}},
		{"location_url has a host", bookPath, with(fields{"location_url": "https:///room"}),
			map[string]string{"location_url": "absolute http or https"}},
		{"location_url holds no password", bookPath, with(fields{"location_url": "https://a:b@example.com/"}),
			map[string]string{"location_url": "password"}},
		{"location_url has 2,048 bytes", bookPath,
			with(fields{"location_url": "https://example.com/" + strings.Repeat("x", 2048)}),
			map[string]string{"location_url": "2,048"}},

		{"every fault is told at once", bookPath,
			`{"titel":"x","start_time":"soon","end_time":7,"timezone":"Mars","attendee_emails":["a","b@example.com"],"conferencing_type":"fax"}`,
			map[string]string{"titel": "did you mean title?", "title": "is required", "start_time": "",
				"end_time": "must be a string", "timezone": "",
				"attendee_emails[0]": "", "conferencing_type": ""}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := g.post(c.path, c.body)
			e := a.v1()
			if a.status != http.StatusBadRequest || e.Code != 3 || e.reason() != "INVALID_REQUEST" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			got := e.violations()
			for name, part := range c.want {
				detail, found := got[name]
				if !found || !strings.Contains(detail, part) {
					t.Errorf("%s: said %q, want %q", name, detail, part)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("it also says %v", got)
			}
		})
	}
	if g.calls != 0 {
		t.Errorf("%d of them reached a use case", g.calls)
	}
}

func TestV1HandsCheckedInputToTheUseCase(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct {
		rule, path, body string
		want             any
	}{
		{"cancel", cancelPath, `{"event_id":"e1","calendar_id":"c1"}`,
			service.CancelMeeting{EventID: "e1", CalendarID: "c1"}},
		{"unset fields of proto3 JSON", cancelPath, `{"event_id":"e1","calendar_id":""}`,
			service.CancelMeeting{EventID: "e1"}},
		{"a ticket", createPath, `{"subject":"s","description":"d","priority":"p","status":"t","owner_id":"o","account_id":"a","contact_id":"c"}`,
			service.CreateTicket{Subject: "s", Description: "d", Priority: "p", Status: "t", OwnerID: "o",
				AccountID: "a", ContactID: "c"}},
		{"newline and tab are text", createPath, `{"subject":"a\tb","description":"a\nb"}`,
			service.CreateTicket{Subject: "a\tb", Description: "a\nb"}},
		{"a ticket number goes as it was said", ticketPath, `{"ticket_number":" #1042 "}`, " #1042 "},
		{"list-events has defaults", eventsPath, `{"start_time":null,"selected_calendar_ids":[ ]}`,
			service.ListEvents{}},
		{"calendars are there once", eventsPath, `{"selected_calendar_ids":["a","b","a"]}`,
			service.ListEvents{CalendarIDs: []string{"a", "b"}}},
	} {
		if a := g.post(c.path, c.body); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", c.rule, a.status, a.body)
		}
		if !reflect.DeepEqual(g.input, c.want) {
			t.Errorf("%s: the use case got %#v, want %#v", c.rule, g.input, c.want)
		}
	}
}

func TestBookMeetingHandsOverWhatWasAsked(t *testing.T) {
	g := startGateway(t)
	a := g.post(bookPath, with(fields{"description": "First visit", "timezone": "America/New_York",
		"attendee_emails":       []string{"Pat@Example.com", "kim@example.com", "pat@example.com"},
		"selected_calendar_ids": []string{"c1"}}))
	if a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	in, _ := g.input.(service.BookMeeting)
	if in.Title != "Consultation" || in.Description != "First visit" || in.Timezone != "America/New_York" ||
		!slices.Equal(in.CalendarIDs, []string{"c1"}) {
		t.Errorf("got %+v", in)
	}
	if want := []string{"Pat@Example.com", "kim@example.com"}; !slices.Equal(in.Attendees, want) {
		t.Errorf("attendees %v, want %v: duplicates without case are dropped", in.Attendees, want)
	}
	if in.Start.IsZero() || !in.Start.HasOffset() || in.End.IsZero() {
		t.Errorf("times %v %v", in.Start, in.End)
	}
}

func TestTimesThatOnlyTheCalendarCanCompareAreLeftToIt(t *testing.T) {
	g := startGateway(t)
	if a := g.post(bookPath, with(fields{
		"start_time": "2026-12-01T10:00:00Z", "end_time": "2026-12-01T04:00:00",
	})); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestTwoHundredAttendeesAreAllowed(t *testing.T) {
	g := startGateway(t)
	emails := []string{"P0@example.com"}
	for i := range 200 {
		emails = append(emails, fmt.Sprintf("p%d@example.com", i))
	}
	a := g.post(bookPath, with(fields{"attendee_emails": emails}))
	in, _ := g.input.(service.BookMeeting)
	if a.status != http.StatusOK || len(in.Attendees) != 200 {
		t.Errorf("%d, %d attendees", a.status, len(in.Attendees))
	}
}

func TestConferencing(t *testing.T) {
	g := startGateway(t)
	const link = "https://meet.example.com/front-office"
	for _, c := range []struct {
		rule       string
		given      fields
		kind       calendar.Conferencing
		url        string
		deprecated bool
	}{
		{"absent is no link", fields{}, calendar.ConferencingNone, "", false},
		{"empty is no link", fields{"conferencing_type": "", "location_url": ""},
			calendar.ConferencingNone, "", false},
		{"provider", fields{"conferencing_type": "provider"}, calendar.ConferencingProvider, "", false},
		{"location_url beside provider is ignored",
			fields{"conferencing_type": "provider", "location_url": "not a url"},
			calendar.ConferencingProvider, "", false},
		{"url", fields{"conferencing_type": "url", "location_url": link}, calendar.ConferencingURL, link, false},
		{"location_url alone means url", fields{"location_url": link}, calendar.ConferencingURL, link, false},
		{"a legacy name means provider", fields{"conferencing_type": "nylas", "location_url": link},
			calendar.ConferencingProvider, "", true},
	} {
		a := g.post(bookPath, with(c.given))
		in, _ := g.input.(service.BookMeeting)
		if a.status != http.StatusOK || in.Conferencing != c.kind || in.LocationURL != c.url {
			t.Errorf("%s: %d %q %q %s", c.rule, a.status, in.Conferencing, in.LocationURL, a.body)
		}
		if got := a.header.Get("Deprecation") != ""; got != c.deprecated {
			t.Errorf("%s: deprecated %v", c.rule, got)
		}
	}
}

func TestAFloodOfFaultsIsToldInPart(t *testing.T) {
	g := startGateway(t)
	a := g.post(bookPath, `{"title":"x","attendee_emails":[1`+strings.Repeat(",1", 989)+`]}`)
	e := a.v1()
	if n := len(e.violations()); a.status != http.StatusBadRequest || n != maxFaults {
		t.Errorf("%d, %d faults told", a.status, n)
	}
	if !strings.Contains(e.Message, "And 989 more.") { // including two missing times
		t.Errorf("message %q", e.Message)
	}
}

func TestTheMessageTellsTheFirstFaults(t *testing.T) {
	g := startGateway(t)
	a := g.post(cancelPath, `{"event":"e1"}`)
	if got, want := a.v1().Message,
		"The request is not valid: event is not a field of this operation; did you mean event_id? event_id is "+
			"required."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A message that ends with a question mark gets no full stop.
func TestAMessageEndsInOneMark(t *testing.T) {
	g := startGateway(t)
	got := g.post(bookPath, with(fields{
		"timezone": "new york", "titel": "x", "start_time": "soon", "conferencing_type": "Url",
	})).faults()
	for path, want := range map[string]string{
		"timezone": "did you mean America/New_York?", "titel": "did you mean title?",
		"conferencing_type": "did you mean url?",
	} {
		if !strings.HasSuffix(got[path], want) {
			t.Errorf("%s: %q, want it to end in %q", path, got[path], want)
		}
	}
	if !strings.HasSuffix(got["start_time"], "2026-12-01T10:00:00.") ||
		strings.HasSuffix(got["start_time"], "..") {
		t.Errorf("start_time: %q", got["start_time"])
	}
}
