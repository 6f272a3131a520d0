package google

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	gcal "google.golang.org/api/calendar/v3"
	"pgregory.net/rapid"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func at(t testing.TB, rfc3339 string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		t.Fatal(err)
	}
	return instant.UTC()
}

func TestEventsAsGoogleTellsThem(t *testing.T) {
	const times = `"start":{"dateTime":"2026-12-01T10:00:00-05:00","timeZone":"America/New_York"},"end":{"dateTime":"2026-12-01T10:30:00-05:00","timeZone":"America/New_York"}`
	zoned := func(rfc3339, zone string) calendar.Time { return calendar.At(at(t, rfc3339), zone) }
	start, end := zoned("2026-12-01T15:00:00Z", "America/New_York"),
		zoned("2026-12-01T15:30:00Z", "America/New_York")
	for _, c := range []struct {
		rule, input string
		want        calendar.Event
	}{
		{
			"a meeting, all of it",
			`{"kind":"calendar#event","id":"abc","etag":"\"33\"","status":"confirmed","summary":"Visit","description":"First","htmlLink":"https://www.google.com/calendar/event?eid=x",
			  "location":"Room 4","organizer":{"email":"office@example.com","displayName":"Office","self":true},"attendees":[
			  {"email":"pat@example.com","displayName":"Pat","responseStatus":"accepted"},{"email":"lee@example.com","optional":true,"responseStatus":"needsAction"},
			  {"email":"room@example.com","resource":true,"optional":true,"responseStatus":"declined"},{"email":"max@example.com","responseStatus":"tentative"}],` + times + `}`,
			calendar.Event{
				ID: "abc", Version: `"33"`, Title: "Visit", Description: "First", Start: start, End: end,
				URL:       "https://www.google.com/calendar/event?eid=x",
				Organizer: calendar.Person{Email: "office@example.com", Name: "Office"},
				Attendees: []calendar.Attendee{
					{Email: "pat@example.com", Name: "Pat", Type: "required", Response: "accepted"},
					{Email: "lee@example.com", Type: "optional", Response: "needs_action"},
					{Email: "room@example.com", Type: "resource", Response: "declined"},
					{Email: "max@example.com", Type: "required", Response: "tentative"},
				},
			},
		},
		{
			"in the calendar of somebody else who is invited beside the account",
			`{"id":"abc","attendees":[{"email":"office@example.com","responseStatus":"declined"},{"email":"bob@example.com","responseStatus":"needsAction","self":true}],` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, OwnerResponse: "needs_action", Attendees: []calendar.Attendee{
				{Email: "office@example.com", Type: "required", Response: "declined"},
				{Email: "bob@example.com", Type: "required", Response: "needs_action"},
			}},
		},
		{
			"whole days, whose end is exclusive",
			`{"id":"abc","start":{"date":"2026-12-24"},"end":{"date":"2026-12-27"}}`,
			calendar.Event{ID: "abc", Start: calendar.Day(2026, 12, 24), End: calendar.Day(2026, 12, 27)},
		},
		{
			"the offset gives the instant, whatever the zone",
			`{"id":"abc","start":{"dateTime":"2026-12-01T20:45:00+05:45","timeZone":"Europe/Berlin"},"end":{"dateTime":"2026-12-01T16:00:00Z","timeZone":"Asia/Tokyo"}}`,
			calendar.Event{ID: "abc", Start: zoned("2026-12-01T15:00:00Z", "Europe/Berlin"),
				End: zoned("2026-12-01T16:00:00Z", "Asia/Tokyo")},
		},
		{
			"no zone told",
			`{"id":"abc","start":{"dateTime":"2026-12-01T15:00:00.500Z"},"end":{"dateTime":"2026-12-01T16:00:00Z"}}`,
			calendar.Event{ID: "abc", Start: zoned("2026-12-01T15:00:00.5Z", ""),
				End: zoned("2026-12-01T16:00:00Z", "")},
		},
		{
			"both passes of an hour", `{"id":"abc","start":{"dateTime":"2026-11-01T01:30:00-04:00","timeZone":"America/New_York"},"end":{"dateTime":"2026-11-01T01:30:00-05:00","timeZone":"America/New_York"}}`,
			calendar.Event{ID: "abc", Start: zoned("2026-11-01T05:30:00Z", "America/New_York"),
				End: zoned("2026-11-01T06:30:00Z", "America/New_York")},
		},
		{
			"a description in HTML is handed over as it is",
			`{"id":"abc","description":"<b>Dial in</b><br>&amp; say hello",` + times + `}`,
			calendar.Event{ID: "abc", Description: "<b>Dial in</b><br>&amp; say hello", Start: start, End: end},
		},
		{
			"an instance", `{"id":"abc_20261201T150000Z","recurringEventId":"abc","originalStartTime":{"dateTime":"2026-12-02T15:00:00Z"},` + times + `}`,
			calendar.Event{ID: "abc_20261201T150000Z", SeriesID: "abc", Start: start, End: end},
		},
		{
			"an instance after this and those that follow were changed",
			`{"id":"abc_R20261201T150000_20261201T150000Z","recurringEventId":"abc_R20261201T150000",` + times + `}`,
			calendar.Event{ID: "abc_R20261201T150000_20261201T150000Z", SeriesID: "abc", Start: start, End: end},
		},
		{
			"a day of which this and those that follow were changed",
			`{"id":"abc_20261208","recurringEventId":"abc_R20261201",` + times + `}`,
			calendar.Event{ID: "abc_20261208", SeriesID: "abc", Start: start, End: end},
		},
		{
			"the series of those that follow",
			`{"id":"abc_R20261201T150000","recurrence":["RRULE:FREQ=WEEKLY"],` + times + `}`,
			calendar.Event{ID: "abc_R20261201T150000", SeriesID: "abc_R20261201T150000", Start: start, End: end},
		},
		{
			"a series", `{"id":"abc","recurrence":["RRULE:FREQ=WEEKLY"],` + times + `}`,
			calendar.Event{ID: "abc", SeriesID: "abc", Start: start, End: end},
		},
		{
			"a cancelled instance that has its original start alone",
			`{"id":"abc_1","status":"cancelled","recurringEventId":"abc","originalStartTime":{"dateTime":"2026-12-01T15:00:00Z","timeZone":"UTC"}}`,
			calendar.Event{ID: "abc_1", SeriesID: "abc", IsCancelled: true,
				Start: zoned("2026-12-01T15:00:00Z", "UTC"), End: zoned("2026-12-01T15:00:00Z", "UTC")},
		},
		{"a deleted event that has its id alone", `{"id":"abc","status":"cancelled"}`,
			calendar.Event{ID: "abc", IsCancelled: true}},
		{"does not make busy", `{"id":"abc","transparency":"transparent",` + times + `}`,
			calendar.Event{ID: "abc", IsFree: true, Start: start, End: end}},
		{
			"nulls in lists", `{"id":"abc","attendees":[null,{"email":""},{"email":"pat@example.com"}],"conferenceData":{"entryPoints":[null]},` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end,
				Attendees: []calendar.Attendee{{Email: "pat@example.com", Type: "required"}}},
		},
		{
			"Meet, by its video entry point",
			`{"id":"abc","htmlLink":"https://h","hangoutLink":"https://meet.google.com/old","location":"https://l.example.com","conferenceData":{"entryPoints":[
			  {"entryPointType":"phone","uri":"tel:+1"},{"entryPointType":"video","uri":"https://meet.google.com/new"}]},` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://meet.google.com/new"},
		},
		{
			"Meet, by the older property",
			`{"id":"abc","htmlLink":"https://h","hangoutLink":"https://meet.google.com/old","location":"https://l.example.com",` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://meet.google.com/old"},
		},
		{
			"the link it was booked with, before what Google adds",
			`{"id":"abc","hangoutLink":"https://meet.google.com/old","location":"Room 5, https://own.example.com","extendedProperties":{"private":{"frontdeskUrl":"https://own.example.com"}},` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://own.example.com"},
		},
		{
			"another link than it was booked with",
			`{"id":"abc","location":"https://new.example.com","extendedProperties":{"private":{"frontdeskUrl":"https://own.example.com"}},` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://new.example.com"},
		},
		{
			"no link any more",
			`{"id":"abc","htmlLink":"https://h","location":"Room 5","extendedProperties":{"private":{"frontdeskUrl":"https://own.example.com"}},` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://h"},
		},
		{
			"a location that is a link",
			`{"id":"abc","htmlLink":"https://h","location":" https://l.example.com/a?b=c ",` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://l.example.com/a?b=c"},
		},
		{
			"a location with a link in front",
			`{"id":"abc","htmlLink":"https://h","location":"https://l.example.com; Room 5",` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://l.example.com"},
		},
		{
			"a location with a link in it",
			`{"id":"abc","htmlLink":"https://h","location":"Room 5 or https://l.example.com",` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end, URL: "https://h"},
		},
		{
			"a location that is another kind of link",
			`{"id":"abc","location":"javascript://l.example.com/%0aalert(1)",` + times + `}`,
			calendar.Event{ID: "abc", Start: start, End: end},
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var event gcal.Event
			if err := json.Unmarshal([]byte(c.input), &event); err != nil {
				t.Fatal(err)
			}
			got, err := eventOf(&event)
			c.want.OwnerResponse = cmp.Or(c.want.OwnerResponse, "accepted")
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestBookingsAsGoogleTakesThem(t *testing.T) {
	plain := calendar.Booking{
		Key: "k1", Title: "Visit", Description: "Q & A <b>", Start: at(t, "2026-11-01T05:30:00Z"),
		End: at(t, "2026-11-01T06:30:00.9Z"), Zone: "America/New_York",
	}
	const head = `{"id":"fddasv3qsffkpoht7pqm3fcrkpvla0g3fioh3f1pc6d2o9o251dn80","summary":"Visit","description":"Q & A <b>",` +
		`"start":{"dateTime":"2026-11-01T01:30:00-04:00","timeZone":"America/New_York"},"end":{"dateTime":"2026-11-01T01:30:00-05:00","timeZone":"America/New_York"}`
	for _, c := range []struct {
		rule string
		with func(*calendar.Booking)
		rest string
	}{
		{"plain", func(*calendar.Booking) {}, `,"extendedProperties":{"private":{"frontdeskKey":"k1"}}}`},
		{
			"with guests, each once", func(b *calendar.Booking) {
				b.Attendees = []string{"pat@example.com", "PAT@example.com", "lee@example.com"}
			},
			`,"attendees":[{"email":"pat@example.com"},{"email":"lee@example.com"}],"extendedProperties":{"private":{"frontdeskKey":"k1"}}}`,
		},
		{
			"with Meet", func(b *calendar.Booking) {
				b.Conferencing, b.LocationURL = calendar.ConferencingProvider, "https://ignored.example.com"
			},
			`,"extendedProperties":{"private":{"frontdeskKey":"k1"}},"conferenceData":{"createRequest":{"conferenceSolutionKey":{"type":"hangoutsMeet"},` +
				`"requestId":"fddasv3qsffkpoht7pqm3fcrkpvla0g3fioh3f1pc6d2o9o251dn80"}}}`,
		},
		{
			"with a link", func(b *calendar.Booking) {
				b.Conferencing, b.LocationURL = calendar.ConferencingURL, "https://own.example.com/?a=b&c"
			},
			`,"location":"https://own.example.com/?a=b&c","extendedProperties":{"private":{"frontdeskKey":"k1","frontdeskUrl":"https://own.example.com/?a=b&c"}}}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			b := plain
			c.with(&b)
			made, err := newEvent(b)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, made, head+c.rest)
		})
	}
}

func TestChangesAsGoogleTakesThem(t *testing.T) {
	title, empty, start, end, noAttendees := "Visit", "", at(t, "2026-12-01T15:00:00Z"),
		at(t, "2026-12-01T16:00:00Z"), []string{}
	for _, c := range []struct {
		rule   string
		change calendar.Change
		want   string
	}{
		{"a title", calendar.Change{Title: &title}, `{"summary":"Visit"}`},
		{"no title and no description", calendar.Change{Title: &empty, Description: &empty},
			`{"summary":"","description":""}`},
		{
			"times, of whatever was there", calendar.Change{Start: &start, End: &end, Zone: "Europe/Berlin"},
			`{"start":{"date":null,"dateTime":"2026-12-01T16:00:00+01:00","timeZone":"Europe/Berlin"},"end":{"date":null,"dateTime":"2026-12-01T17:00:00+01:00","timeZone":"Europe/Berlin"}}`,
		},
		{"nobody", calendar.Change{Attendees: &noAttendees}, `{"attendees":[]}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			patch, err := newPatch(c.change)
			if err != nil {
				t.Fatal(err)
			}
			if c.change.Attendees != nil {
				patch.Attendees = mergeAttendees(nil, *c.change.Attendees)
			}
			sameJSON(t, patch, c.want)
		})
	}
	if patch, err := newPatch(calendar.Change{IfUnchanged: "1"}); patch != nil || err != nil {
		t.Errorf("nothing to change is the patch %v, %v", patch, err)
	}
}

func sameJSON(t *testing.T, got any, want string) {
	t.Helper()
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if json.Unmarshal(encoded, &g) != nil || json.Unmarshal([]byte(want), &w) != nil ||
		!reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", encoded, want)
	}
}

func TestZonesAreNamesOfTheIANA(t *testing.T) {
	for _, zone := range []string{"", "Local", "Eastern Standard Time", "Mars/Olympus"} {
		_, err1 := newEvent(calendar.Booking{Key: "k1", Zone: zone})
		_, err2 := newPatch(calendar.Change{Start: new(time.Time), End: new(time.Time), Zone: zone})
		for _, err := range []error{err1, err2} {
			if f := fault.From(err); f == nil || f.Code != fault.Invalid || f.Fields[0].Path != "timezone" {
				t.Errorf("%q is answered with %v", zone, err)
			}
		}
	}
}

// Ids have 5 to 1024 characters of base32hex, and differ for each key
// (developers.google.com/workspace/calendar/api/v3/reference/events#id).
func TestIDsOfKeys(t *testing.T) {
	form := regexp.MustCompile(`^[a-v0-9]+$`)
	keys := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-z0-9]{1,64}`).Draw(t, "key")
		id := idOf(key)
		if !form.MatchString(id) || len(id) < 5 || len(id) > 1024 || idOf(key) != id {
			t.Fatalf("the id of %q is %q", key, id)
		}
		if other, taken := keys[id]; taken && other != key {
			t.Fatalf("the keys %q and %q share the id %q", key, other, id)
		}
		keys[id] = key
	})
}

// FuzzEvent checks that any event is either converted or refused, without a panic.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `{"id":"a"}`, `{"id":"a","start":null,"end":{}}`,
		`{"id":"a","start":{"date":"2026-02-30"},"end":{"dateTime":""}}`,
		`{"id":"a","status":"cancelled","attendees":[null],"organizer":null,"extendedProperties":{"private":null},"conferenceData":{"createRequest":{"status":null},"entryPoints":[null,{}]}}`,
		`{"id":"a","start":{"date":"2026-12-01"},"end":{"date":"2026-12-02"},"location":"http://%zz","attendees":[{"email":"a@b","self":true}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var e *gcal.Event
		if json.NewDecoder(bytes.NewReader(body)).Decode(&e) != nil {
			return
		}
		event, err := eventOf(e)
		if err != nil {
			return
		}
		if event.ID == "" || !event.IsCancelled &&
			(event.Start.Instant.IsZero() && !strings.Contains(string(body), "0001") || event.Start.Floating) {
			t.Errorf("%s is reported as %+v", body, event)
		}
		meetStatus(e)
		mergeAttendees(e.Attendees, []string{"a@b", ""})
	})
}
