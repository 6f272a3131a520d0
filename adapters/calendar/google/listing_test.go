package google

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	gcal "google.golang.org/api/calendar/v3"
)

// fullPage has every field that is asked for, in the forms that Google sends.
const fullPage = `{
 "kind": "calendar#events",
 "nextPageToken": "CigKGm",
 "items": [
  {
   "id": "abc", "etag": "\"33\"", "status": "confirmed", "summary": "Visit 日本語", "description": "First\n\u003cb\u003evisit\u003c/b\u003e \ud83d\ude00",
   "location": "https://meet.example.com/a", "htmlLink": "https://www.google.com/calendar/event?eid=x", "hangoutLink": "https://meet.example.com/h",
   "start": {"dateTime": "2026-12-01T10:00:00-05:00", "timeZone": "America/New_York"},
   "end": {"dateTime": "2026-12-01T10:30:00-05:00", "timeZone": "America/New_York"},
   "organizer": {"email": "office@example.com", "displayName": "Office", "self": true},
   "attendees": [
    {"email": "pat@example.com", "displayName": "Pat", "optional": true, "responseStatus": "accepted", "self": true},
    {"email": "room@example.com", "resource": true, "responseStatus": "needsAction"}
   ],
   "extendedProperties": {"private": {"frontdeskKey": "k1", "frontdeskUrl": "https://a.example", "other": null}},
   "conferenceData": {
    "entryPoints": [{"entryPointType": "video", "uri": "https://meet.example.com/h"}, {"entryPointType": "phone", "uri": "tel:+1"}],
    "createRequest": {"status": {"statusCode": "success"}}
   }
  },
  {"id": "day", "start": {"date": "2026-12-24"}, "end": {"date": "2026-12-27"}, "transparency": "transparent", "attendees": []},
  {"id": "i_1", "recurringEventId": "i", "status": "cancelled", "originalStartTime": {"dateTime": "2026-12-01T10:00:00Z"}, "conferenceData": {}, "extendedProperties": {}}
 ]
}`

// FuzzDecodeEvents compares the pages that decodeEvents decodes with what Google's library makes of them. The
// library decodes with encoding/json.
func FuzzDecodeEvents(f *testing.F) {
	f.Add([]byte(fullPage))
	for _, page := range unusualPages() {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		page, usual := decodeEvents(body)
		if !usual {
			return
		}
		var want *gcal.Events
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q is decoded, and the library says %v", body, err)
		}
		if !reflect.DeepEqual(page, want) {
			got, _ := json.Marshal(page)
			t.Fatalf("%q is decoded as %s", body, got)
		}
	})
}

func TestAUsualPageIsDecodedAsByTheLibrary(t *testing.T) {
	for _, body := range []string{fullPage, `{"kind":"calendar#events","items":[]}`, `{"kind":"calendar#events"}`, `{}`} {
		page, usual := decodeEvents([]byte(body))
		var want *gcal.Events
		if err := json.Unmarshal([]byte(body), &want); err != nil || !usual || !reflect.DeepEqual(page, want) {
			t.Errorf("%s is not decoded as by the library: %v %v", body, usual, err)
		}
	}
}

func TestAUsualEventIsDecodedAsByTheLibrary(t *testing.T) {
	var page struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(fullPage), &page); err != nil {
		t.Fatal(err)
	}
	for _, body := range page.Items {
		event, usual := decodeEvent(body)
		var want *gcal.Event
		if err := json.Unmarshal(body, &want); err != nil || !usual || !reflect.DeepEqual(event, want) {
			t.Errorf("%s is not decoded as by the library: %v %v", body, usual, err)
		}
	}
}

// Every field that is asked for is decoded: each name of the mask is in the page of the test above, which
// would not be usual otherwise.
func TestTheUsualPageHasEveryField(t *testing.T) {
	for _, name := range strings.FieldsFunc(pageFields, func(r rune) bool { return strings.ContainsRune(",()/", r) }) {
		if !strings.Contains(fullPage, `"`+name+`"`) {
			t.Errorf("%s is asked for", name)
		}
	}
}

func unusualPages() []string {
	return []string{
		`null`, ``, `[]`, `{"items":null}`, `{"items":[null]}`, `{"items":[{"id":1}]}`, `{"items":[{"ID":"a"}]}`,
		`{"items":[{"id":"a","id":"b"}]}`, `{"items":[],"items":[]}`, `{"items":[{"start":null}]}`, `{"items":[{"id":"a"`,
		`{"items":[{"start":{"date":"a","date":"b"}}]}`, `{"items":[{"attendees":[{"comment":"Late"}]}]}`, `{"summary":"Work"}`,
		`{"items":[{"organizer":{"email":"a","email":"b"}}]}`, `{"items":[{"extendedProperties":{"shared":{}}}]}`,
		`{"items":[{"conferenceData":{"createRequest":{"status":{"statusCode":"a","statusCode":"b"}}}}]}`,
		`{"items":[]} x`, "{\"kind\":\"\xff\"}",
	}
}

func TestAnUnusualPageIsLeftToTheLibrary(t *testing.T) {
	for _, body := range unusualPages() {
		if page, usual := decodeEvents([]byte(body)); usual {
			t.Errorf("%s is decoded as %+v", body, page)
		}
	}
}

// BenchmarkDecodeEvents decodes a page of 250 events and, in turn, has Google's library decode it.
func BenchmarkDecodeEvents(b *testing.B) {
	begin, end := strings.Index(fullPage, `{
   "id": "abc"`), strings.Index(fullPage, `,
  {"id": "day"`)
	body := []byte(`{"items":[` + strings.Repeat(fullPage[begin:end]+",", 249) + fullPage[begin:end] + `]}`)
	for name, decode := range map[string]func() bool{
		"ours": func() bool { _, usual := decodeEvents(body); return usual },
		"library": func() bool {
			var page gcal.Events
			return json.Unmarshal(body, &page) == nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if !decode() {
					b.Fatal("not decoded")
				}
			}
		})
	}
}
