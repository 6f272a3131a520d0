package settingspage

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestExamplesAreMadeValid(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2027, time.March, 14, 12, 0, 0, 0, time.UTC) // when clocks change in New York
	for name, c := range map[string]struct {
		text, given, zone, want string
	}{
		"the same day of the week and hour, later": {
			text: `{"start_time": "2026-12-01T10:00:00-05:00", "end_time": "2026-12-01T10:30:00-05:00"}`,
			zone: "America/New_York",
			want: `{"start_time": "2027-03-16T10:00:00-04:00", "end_time": "2027-03-16T10:30:00-04:00"}`,
		},
		"local times and dates": {
			text: `{"start": "2026-12-01", "at": "2026-12-03T09:00:00", "end": "2026-12-08"}`,
			want: `{"start": "2027-03-16", "at": "2027-03-18T09:00:00", "end": "2027-03-23"}`,
		},
		"an example that is too far away": {
			text: `{"start": "2029-03-20"}`, want: `{"start": "2027-03-16"}`,
		},
		"not before a day has passed": {
			text: `{"start": "2027-03-15T11:59:59Z"}`, want: `{"start": "2027-03-22T11:59:59Z"}`,
		},
		"the tenant's time zone": {
			text: `{"timezone": "America/New_York", "time_zone": "UTC"}`, zone: "Europe/Paris",
			want: `{"timezone": "Europe/Paris", "time_zone": "Europe/Paris"}`,
		},
		"a zone that there is not": {
			text: `{"timezone": "America/New_York"}`, zone: "Mars/Base", want: `{"timezone": "UTC"}`,
		},
		"ids that are given": {
			text: `{"event_id": "evt_4k1v9s", "ticket_number": "1042"}`, given: "event_id=a%22b&title=x",
			want: `{"event_id": "a\"b", "ticket_number": "1042"}`,
		},
		"what is no time": {
			text: `{"title": "On 2026-12-01", "date": "2026-13-01"}`,
			want: `{"title": "On 2026-12-01", "date": "2026-13-01"}`,
		},
	} {
		given, err := url.ParseQuery(c.given)
		if err != nil {
			t.Fatal(err)
		}
		if got := example(c.text, given, c.zone, sunday); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

// Whatever the time, the first time of an example is one to eight days away, on its own day of the week and
// at its own hour.
func TestExamplesAreAlwaysToCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(1_700_000_000, 2_000_000_000).Draw(t, "now"), 0).UTC()
		zones := []string{"", "America/New_York", "Pacific/Apia", "Asia/Kathmandu"}
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		var got struct{ Start time.Time }
		text := example(`{"start": "2026-12-01T10:00:00-05:00"}`, nil, zone, now)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		away := got.Start.Sub(now)
		if away < 22*time.Hour || away > 8*24*time.Hour+2*time.Hour { // clocks may change in between
			t.Fatalf("%v is %v away", got.Start, away)
		}
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		if local := got.Start.In(location); local.Weekday() != time.Tuesday || local.Hour() != 10 {
			t.Fatalf("%v is not at its hour", local)
		}
	})
}

func TestWhatAnAnswerLeadsTo(t *testing.T) {
	t.Parallel()
	p := &Pages{root: "/settings", opts: Options{Trial: Trial{Operations: []Operation{
		{ID: "book", Kind: "calendar", Title: "Book", Example: `{"title": "x"}`},
		{ID: "cancel", Kind: "calendar", Title: "Cancel", Example: `{"event_id": "e"}`},
		{ID: "ticket", Kind: "crm", Title: "Ticket", Example: `{"event_id": "e"}`},
		{ID: "buy", Kind: "telephony", Title: "Buy"},
		{ID: "one", Kind: "telephony", Title: "One", Path: "/n/{id}"},
	}}}}
	const cancel = "Cancel /settings/tenants/acme/try/cancel?event_id="
	for name, c := range map[string]struct {
		done int
		body string
		want string
	}{
		"the id of a booking":     {0, `{"event":{"event_id":"a b"}}`, cancel + "a+b"},
		"the first of a list":     {0, `{"events":[{"event_id":"1"},{"event_id":"2"}]}`, cancel + "1"},
		"not the operation again": {1, `{"event_id":"1"}`, ""},
		"a number in the path":    {3, `{"id":4711}`, "One /settings/tenants/acme/try/one?id=4711"},
		"an empty id":             {0, `{"event":{"event_id":""}}`, ""},
		"no JSON":                 {0, `<html>`, ""},
	} {
		var got []string
		for _, n := range p.next("acme", p.opts.Trial.Operations[c.done], []byte(c.body)) {
			got = append(got, n.Title+" "+n.URL)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s leads to %v, want %s", name, got, c.want)
		}
	}
}

// A command to paste is about days that are soon, in the time zone of the documented example.
func TestCommandsAreAboutDaysThatAreSoon(t *testing.T) {
	t.Parallel()
	documented := `{"start_time": "2026-12-01T10:00:00-05:00", "timezone": "America/New_York"}`
	p := &Pages{opts: Options{
		Now: func() time.Time { return time.Date(2027, 7, 5, 9, 0, 0, 0, time.UTC) },
		Trial: Trial{
			Operations: []Operation{{ID: "bookMeeting", Method: "POST", Path: "/v1/{id}", Example: documented}},
			Curl:       func(a Attempt) string { return a.Method + " " + a.Path + " " + a.Body },
		},
	}}
	want := `POST /v1/id {"start_time": "2027-07-06T10:00:00-04:00", "timezone": "America/New_York"}`
	if got := p.curl("bookMeeting"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := p.curl("none"); got != "" {
		t.Errorf("an unknown operation: %s", got)
	}
}
