package fake

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/oauth/oauthtest"
)

const alice = "alice@example.com"

type client struct {
	server *Server
	token  string
}

func signedIn(t *testing.T, o Options, scopes ...string) client {
	t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"calendar.events", "calendar.calendarlist.readonly"}
	}
	for i := range scopes {
		scopes[i] = scopePrefix + scopes[i]
	}
	o.OAuth = oauthtest.Options{Clients: map[string]string{"client": "secret"}}
	s := New(o)
	form := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {s.OAuth.Grant("client", alice, scopes...)},
		"client_id": {"client"}, "client_secret": {"secret"},
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, TokenPath,
		strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var granted struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &granted); err != nil || granted.Token == "" {
		t.Fatalf("no token: %s", w.Body)
	}
	return client{s, granted.Token}
}

// ask sends a request below the API's root. The reason is that of the first error.
func (a client) ask(
	t *testing.T, method, target, body string, header ...string,
) (status int, reason string, answer map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, APIPath+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.server.ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s %s: %v: %s", method, target, err, w.Body)
		}
	}
	if errorObject, is := answer["error"].(map[string]any); is {
		first, _ := errorObject["errors"].([]any)[0].(map[string]any)
		reason, _ = first["reason"].(string)
	}
	return w.Code, reason, answer
}

const (
	events = "calendars/primary/events"
	times  = `"start":{"dateTime":"2027-03-04T12:00:00Z"},"end":{"dateTime":"2027-03-04T13:00:00Z"}`
	zoned  = `"start":{"dateTime":"2027-03-04T12:00:00","timeZone":"Asia/Tokyo"},"end":{"dateTime":"2027-03-04T13:00:00","timeZone":"Asia/Tokyo"}`
)

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		rule, method, target, body string
		status                     int
		reason                     string
	}{
		{"an unknown calendar", "GET", "calendars/nobody@example.com/events", "", 404, "notFound"},
		{"an unknown event", "GET", events + "/nothing00", "", 404, "notFound"},
		{"an unknown resource", "GET", "colors", "", 404, "notFound"},
		{"an unknown parameter", "GET", events + "?singelEvents=true", "", 400, "invalidParameter"},
		{"a parameter twice", "GET", events + "?timeZone=UTC&timeZone=UTC", "", 400, "invalidParameter"},
		{"a time without an offset", "GET", events + "?timeMin=2027-03-04T12:00:00", "", 400, "invalidParameter"},
		{"no time between", "GET", events + "?timeMin=2027-03-04T12:00:00Z&timeMax=2027-03-04T12:00:00Z", "", 400,
			"timeRangeEmpty"},
		{"an order that needs single events", "GET", events + "?orderBy=startTime", "", 400, "invalid"},
		{"a token that was never given", "GET", events + "?pageToken=x", "", 400, "invalidParameter"},
		{"a field that is none", "GET", events + "?fields=items(id,titel)", "", 400, "invalidParameter"},
		{"a mask that does not end", "GET", events + "?fields=items(id", "", 400, "invalidParameter"},
		{"no JSON", "POST", events, `{`, 400, "parseError"},
		{"an unknown property", "POST", events, `{"title":"x",` + times + `}`, 400, "badRequest"},
		{"an unknown property of an attendee", "POST", events,
			`{"attendees":[{"mail":"x@example.com"}],` + times + `}`, 400, "badRequest"},
		{"a wrong type", "POST", events, `{"summary":7,` + times + `}`, 400, "badRequest"},
		{"no end", "POST", events, `{"start":{"date":"2027-03-04"}}`, 400, "required"},
		{"an end before the start", "POST", events, `{"start":{"date":"2027-03-04"},"end":{"date":"2027-03-04"}}`,
			400, "timeRangeEmpty"},
		{"a date and a time", "POST", events,
			`{"start":{"date":"2027-03-04"},"end":{"dateTime":"2027-03-05T00:00:00Z"}}`, 400, "invalid"},
		{"both in one", "POST", events,
			`{"start":{"date":"2027-03-04","dateTime":"2027-03-04T12:00:00Z"},"end":{"date":"2027-03-05"}}`,
			400, "invalid"},
		{"a local time without a zone", "POST", events,
			`{"start":{"dateTime":"2027-03-04T12:00:00"},"end":{"dateTime":"2027-03-05T00:00:00"}}`, 400, "invalid"},
		{"a zone that is none", "POST", events,
			strings.ReplaceAll(`{`+zoned+`}`, "Asia/Tokyo", "Tokyo Standard Time"), 400, "invalid"},
		{"a series without a zone", "POST", events, `{"recurrence":["RRULE:FREQ=DAILY"],` + times + `}`,
			400, "required"},
		{"an id with letters it may not have", "POST", events, `{"id":"xyz00",` + times + `}`, 400, "invalid"},
		{"an id that is too short", "POST", events, `{"id":"abcd",` + times + `}`, 400, "invalid"},
		{"an address that is none", "POST", events, `{"attendees":[{"email":"nobody"}],` + times + `}`,
			400, "invalid"},
		{
			"a conference of a kind that the calendar does not make", "POST", events + "?conferenceDataVersion=1",
			`{"conferenceData":{"createRequest":{"requestId":"r","conferenceSolutionKey":{"type":"addOn"}}},` +
				times + `}`, 400, "invalid",
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			status, reason, answer := signedIn(t, Options{}).ask(t, c.method, c.target, c.body)
			if status != c.status || reason != c.reason {
				t.Errorf("answered %d %s, want %d %s: %v", status, reason, c.status, c.reason, answer)
			}
		})
	}
}

func TestTokensAndScopes(t *testing.T) {
	now := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	a := signedIn(t, Options{Now: func() time.Time { return now }}, "calendar.events.readonly")
	for _, c := range []struct {
		rule, method, target, body string
		status                     int
		reason                     string
	}{
		{"reading events", "GET", events, "", 200, ""},
		{"writing them", "POST", events, `{` + times + `}`, 403, "insufficientPermissions"},
		{"listing calendars", "GET", "users/me/calendarList", "", 403, "insufficientPermissions"},
	} {
		if status, reason, _ := a.ask(t, c.method, c.target, c.body); status != c.status || reason != c.reason {
			t.Errorf("%s: answered %d %s, want %d %s", c.rule, status, reason, c.status, c.reason)
		}
	}
	now = now.Add(time.Hour)
	if status, reason, _ := a.ask(t, "GET", events, ""); status != 401 || reason != "authError" {
		t.Errorf("an hour later: answered %d %s", status, reason)
	}
}

// A deleted event remains readable, keeps its id, and is restored by a patch without a condition.
func TestLifeOfAnEvent(t *testing.T) {
	a := signedIn(t, Options{})
	one := events + "/meeting0"
	stale := `"1"`
	for _, c := range []struct {
		rule, method, target, body string
		header                     []string
		status                     int
		reason, event              string
	}{
		{"it is made", "POST", events, `{"id":"meeting0",` + times + `}`, nil, 200, "", "confirmed"},
		{"once", "POST", events, `{"id":"meeting0",` + times + `}`, nil, 409, "duplicate", ""},
		{"a stale version is not changed", "PATCH", one, `{"summary":"x"}`, []string{"If-Match", stale}, 412,
			"conditionNotMet", ""},
		{"nor deleted", "DELETE", one, "", []string{"If-Match", stale}, 412, "conditionNotMet", ""},
		{"it is deleted", "DELETE", one, "", nil, 204, "", ""},
		{"once", "DELETE", one, "", nil, 410, "deleted", ""},
		{"it is still read", "GET", one, "", nil, 200, "", "cancelled"},
		{"its id stays taken", "POST", events, `{"id":"meeting0",` + times + `}`, nil, 409, "duplicate", ""},
		{"it comes back to life", "PATCH", one, `{"summary":"x"}`, nil, 200, "", "confirmed"},
	} {
		status, reason, answer := a.ask(t, c.method, c.target, c.body, c.header...)
		if state, _ := answer["status"].(string); status != c.status || reason != c.reason || state != c.event {
			t.Errorf("%s: answered %d %s %q, want %d %s %q", c.rule, status, reason, state, c.status,
				c.reason, c.event)
		}
	}
	if got := a.server.Event(alice, alice, "meeting0")["summary"]; got != "x" {
		t.Errorf("the title is %v", got)
	}
}

func TestNobodyIsToldUnlessTheCallSaysSo(t *testing.T) {
	for query, want := range map[string][]Notice{
		"": nil, "?sendUpdates=none": nil, "?sendUpdates=all": {{"pat@example.com", "invitation"}},
	} {
		a := signedIn(t, Options{})
		a.ask(t, "POST", events+query, `{"id":"meeting0","attendees":[{"email":"pat@example.com"}],`+times+`}`)
		if got := a.server.Notices(alice, alice, "meeting0"); !reflect.DeepEqual(got, want) {
			t.Errorf("%q tells %v, want %v", query, got, want)
		}
	}
}

func TestWithoutItsVersionNoConferenceIsMade(t *testing.T) {
	a := signedIn(t, Options{})
	const body = `{"conferenceData":{"createRequest":{"requestId":"r","conferenceSolutionKey":{"type":"hangoutsMeet"}}},` + times + `}`
	if _, _, answer := a.ask(t, "POST", events, body); answer["conferenceData"] != nil {
		t.Errorf("made %v", answer["conferenceData"])
	}
	if _, _, answer := a.ask(t, "POST", events+"?conferenceDataVersion=1", body); answer["hangoutLink"] == nil {
		t.Errorf("made %v", answer)
	}
}

func TestWhatTheMaskLeavesOutIsNotAnswered(t *testing.T) {
	a := signedIn(t, Options{PageSize: 1})
	a.server.AddCalendar(alice, Calendar{ID: "work@example.com", Name: "Work"})
	for mask, want := range map[string]map[string]any{
		"items(id,primary)": {"items": []any{map[string]any{"id": alice,
			"primary": true}}},
		"items/id": {"items": []any{map[string]any{"id": alice}}},
		"kind,items/conferenceProperties": {"kind": "calendar#calendarList",
			"items": []any{map[string]any{
				"conferenceProperties": map[string]any{"allowedConferenceSolutionTypes": []any{"hangoutsMeet"}},
			}}},
		"items(id,conferenceProperties(kind)),etag": {"etag": `"1"`,
			"items": []any{map[string]any{"id": alice, "conferenceProperties": map[string]any{}}}},
		"items(id),items/summary": {"items": []any{map[string]any{"id": alice,
			"summary": alice}}},
		"items/conferenceProperties/kind,items(id )": {"items": []any{map[string]any{"id": alice,
			"conferenceProperties": map[string]any{}}}},
	} {
		_, _, answer := a.ask(t, "GET", "users/me/calendarList?fields="+url.QueryEscape(mask), "")
		if !reflect.DeepEqual(answer, want) {
			t.Errorf("%s: answered %v, want %v", mask, answer, want)
		}
	}
}

// A series is one event unless single events are requested. Its instances keep their wall clock when the
// offset of the zone changes.
func TestSeries(t *testing.T) {
	a := signedIn(t, Options{})
	a.ask(t, "POST", events, `{"id":"each0","recurrence":["RRULE:FREQ=DAILY;COUNT=3"],
		"start":{"dateTime":"2027-03-27T09:00:00","timeZone":"Europe/London"},"end":{"dateTime":"2027-03-27T10:00:00","timeZone":"Europe/London"}}`)
	a.ask(t, "PATCH", events+"/each0_20270328T080000Z",
		`{"summary":"moved","start":{"dateTime":"2027-03-28T15:00:00"},"end":{"dateTime":"2027-03-28T16:00:00"}}`)
	a.ask(t, "DELETE", events+"/each0_20270329T080000Z", "")
	ids := func(query string) (list []string) {
		_, _, answer := a.ask(t, "GET", events+query, "")
		items, _ := answer["items"].([]any)
		for _, item := range items {
			event, _ := item.(map[string]any)
			start, _ := event["start"].(map[string]any)
			list = append(list, textOf(event, "id")+" "+textOf(start, "dateTime"))
		}
		return list
	}
	for query, want := range map[string][]string{
		"?singleEvents=true": {"each0_20270327T090000Z 2027-03-27T09:00:00Z",
			"each0_20270328T080000Z 2027-03-28T15:00:00+01:00"},
		"?singleEvents=true&showDeleted=true": {"each0_20270327T090000Z 2027-03-27T09:00:00Z",
			"each0_20270328T080000Z 2027-03-28T15:00:00+01:00", "each0_20270329T080000Z 2027-03-29T09:00:00+01:00"},
		"?timeZone=UTC": {"each0 2027-03-27T09:00:00Z",
			"each0_20270328T080000Z 2027-03-28T14:00:00Z"},
		"?singleEvents=true&timeMin=2027-03-27T10:00:00Z&timeMax=2027-03-28T14:00:00Z": nil,
	} {
		if got := ids(query); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: listed %q, want %q", query, got, want)
		}
	}
	for _, id := range []string{
		"each0_20270330T080000Z", "each0_20270328T090000Z", "each0_x", "weekly_20270328T080000Z",
	} {
		if status, _, _ := a.ask(t, "GET", events+"/"+id, ""); status != 404 {
			t.Errorf("%s: answered %d", id, status)
		}
	}
	a.ask(t, "DELETE", events+"/each0", "")
	if got := ids("?singleEvents=true"); got != nil {
		t.Errorf("after the series was deleted: listed %q", got)
	}
}

func TestPropertiesThatAreTooLongAreCutSilently(t *testing.T) {
	a := signedIn(t, Options{})
	a.ask(t, "POST", events, `{"id":"meeting0","extendedProperties":{"private":{"long":"`+strings.Repeat("ä",
		1025)+`","`+strings.Repeat("k", 45)+`":"x"}},`+times+`}`)
	kept := objectOf(objectOf(a.server.Event(alice, alice, "meeting0"), "extendedProperties"), "private")
	if want := map[string]any{"long": strings.Repeat("ä", 1024)}; !reflect.DeepEqual(kept, want) {
		t.Errorf("kept %v", kept)
	}
}
