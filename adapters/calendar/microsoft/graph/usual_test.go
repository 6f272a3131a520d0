package graph

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// fullPage has every field of an Event, in the forms that Graph sends (learn.microsoft.com/graph/api, "List
// calendarView").
const fullPage = `{
 "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users('x')/calendarView",
 "@odata.nextLink": "https://graph.microsoft.com/v1.0/me/calendarView?$skip=10",
 "value": [
  {
   "@odata.etag": "W/\"ZlnW4RIAV06KYYwlrfNZvQAAKGWwbw==\"", "id": "AAMkAGIAAAoZDOFAAA=", "changeKey": "ZlnW",
   "createdDateTime": "2026-12-01T10:00:00.0000000Z", "lastModifiedDateTime": "2026-12-01T10:00:01.0000000Z",
   "transactionId": "t1", "seriesMasterId": null,
   "subject": "Visit 日本語 \ud83d\ude00", "isAllDay": false, "isCancelled": false, "isOrganizer": true,
   "responseRequested": true, "responseStatus": {"response": "organizer", "time": "0001-01-01T00:00:00Z"},
   "showAs": "busy", "body": {"contentType": "text", "content": "First\r\nvisit"},
   "start": {"dateTime": "2026-12-01T15:00:00.0000000", "timeZone": "UTC"},
   "end": {"dateTime": "2026-12-01T15:30:00.0000000", "timeZone": "UTC"},
   "originalStartTimeZone": "Eastern Standard Time", "originalEndTimeZone": "Eastern Standard Time",
   "location": {"displayName": "Room 1", "locationType": "default", "uniqueIdType": "unknown", "address": {}, "coordinates": {"latitude": 47.6, "longitude": -122.1}, "locationUri": "https://meet.example.com"},
   "organizer": {"emailAddress": {"name": "Office", "address": "office@example.com"}},
   "attendees": [
    {"type": "required", "status": {"response": "accepted", "time": "2026-11-01T10:00:00Z"}, "emailAddress": {"name": "Pat", "address": "pat@example.com"}},
    {"type": "resource", "status": {"response": "none"}, "emailAddress": {"address": "room@example.com"}}
   ],
   "isOnlineMeeting": true, "onlineMeetingProvider": "teamsForBusiness",
   "onlineMeeting": {"joinUrl": "https://teams.example.com/l", "conferenceId": "1", "phones": [{"number": "+1", "type": "home"}]},
   "webLink": "https://outlook.example.com/?itemid=x"
  },
  {"id": "day", "isAllDay": true, "body": null, "start": null, "attendees": [], "location": {}, "onlineMeeting": null, "organizer": {"emailAddress": null}},
  {}
 ]
}`

func batchOf(pages ...string) string {
	var parts []string
	for _, page := range pages {
		parts = append(parts, `{"id":"0","status":200,"headers":{"Content-Type":"application/json","etag":"x"},"body":`+page+`}`)
	}
	return `{"responses":[` + strings.Join(parts, ",") + `]}`
}

// decoded is what the two ways to decode make of a body.
type decoded struct {
	ours   any
	usual  bool // whether ours is made
	theirs any
	err    error // of encoding/json
}

func decode[T any](body []byte) (d decoded) {
	d.ours, d.usual = parseUsual[T](body)
	d.theirs, d.err = parseAny[T](body)
	return d
}

// models are those that are read without reflection.
var models = map[string]func([]byte) decoded{
	"page": decode[EventCollectionResponse], "event": decode[Event], "batch": decode[BatchResponse],
}

// isAsByReflection compares what parseUsual decodes with what encoding/json makes of it. usual is whether it was
// decoded.
func isAsByReflection(t *testing.T, model string, body []byte) (usual bool) {
	t.Helper()
	d := models[model](body)
	if !d.usual {
		return false
	}
	if d.err != nil {
		t.Fatalf("%q is decoded as a %s, and encoding/json says %v", body, model, d.err)
	}
	if !reflect.DeepEqual(d.ours, d.theirs) {
		ours, _ := json.Marshal(d.ours)
		theirs, _ := json.Marshal(d.theirs)
		t.Fatalf("%q is decoded as\n%s, and encoding/json decodes it as\n%s", body, ours, theirs)
	}
	return true
}

var member = regexp.MustCompile(`"([^"]+)" *:`)

// isInOtherCase reports whether a body may have a known name in another case, which encoding/json takes for that name.
func isInOtherCase(body []byte) bool {
	for _, found := range member.FindAllStringSubmatch(fullPage+batchOf("{}"), -1) {
		for _, name := range regexp.MustCompile(`(?i)"`+regexp.QuoteMeta(found[1])).FindAllString(string(body), -1) {
			if name[1:] != found[1] {
				return true
			}
		}
	}
	return false
}

// FuzzDecode compares what is decoded here with what encoding/json makes of it.
func FuzzDecode(f *testing.F) {
	for model, bodies := range usual() {
		for _, body := range bodies {
			f.Add(model, []byte(body))
		}
	}
	for model, bodies := range unusual() {
		for _, body := range bodies {
			f.Add(model, []byte(body))
		}
	}
	f.Add("batch", []byte(`{"responses":[{"Headers":{"a":"b"}}]}`))
	f.Fuzz(func(t *testing.T, model string, body []byte) {
		if models[model] != nil && !isInOtherCase(body) {
			isAsByReflection(t, model, body)
		}
	})
}

func usual() map[string][]string {
	return map[string][]string{
		"page": {fullPage, `{}`, `{"value":[]}`, `{"value":null,"@odata.nextLink":null}`, `{"other":{"a":[1,2.5,{}]}}`},
		"event": {fullPage[strings.Index(fullPage, `{
   "@odata.etag"`):strings.Index(fullPage, `,
  {"id": "day"`)], `{"attendees":null,"isAllDay":null,"showAs":null}`, `{"body":{},"attendees":[{},{"status":{"time":null}}]}`},
		"batch": {
			batchOf(fullPage), batchOf(fullPage, `{}`, `{"value":[]}`), `{"responses":[]}`, `{}`,
			`{"responses":[{"status":200,"headers":{"a":null}},{}]}`,
		},
	}
}

func unusual() map[string][]string {
	return map[string][]string{
		"page": {
			`null`, ``, `[]`, `{"value":{}}`, `{"value":[null]}`, `{"value":[{"id":1}]}`, `{"value":[{"id":"a","id":"b"}]}`,
			`{"value":[],"value":[]}`, `{"value":[{"start":"2026"}]}`, `{"value":[{"start":{"dateTime":1}}]}`, `{"value":[{"id":"a"`,
			`{"value":[{"attendees":[null]}]}`, `{"value":[{"attendees":{}}]}`, `{"value":[{"isAllDay":"true"}]}`,
			`{"value":[{"body":{"content":"a","content":"b"}}]}`, `{"value":[]} x`, "{\"@odata.nextLink\":\"\xff\"}",
			`{"other":1e999}`, `{"value":[{"organizer":{"emailAddress":[]}}]}`,
		},
		"event": {`null`, `{"subject":{}}`, `{"location":"Room"}`, `{"onlineMeeting":[]}`, `{"webLink":"a","webLink":null}`},
		"batch": {
			`{"responses":[null]}`, `{"responses":[{"status":"200"}]}`, `{"responses":[{"status":404,"body":{}}]}`,
			`{"responses":[{"status":200,"body":null}]}`, `{"responses":[{"status":200,"body":"text"}]}`,
			`{"responses":[{"status":200,"headers":null}]}`, `{"responses":[{"headers":{"a":1}}]}`,
			`{"responses":[{"headers":{"a":"1","A":"2"}}]}`,
		},
	}
}

func TestAUsualAnswerIsDecodedAsByReflection(t *testing.T) {
	for model, bodies := range usual() {
		for _, body := range bodies {
			if !isAsByReflection(t, model, []byte(body)) {
				t.Errorf("as a %s, this is not decoded: %s", model, body)
			}
		}
	}
}

func TestAnUnusualAnswerIsLeftToReflection(t *testing.T) {
	for model, bodies := range unusual() {
		for _, body := range bodies {
			if d := models[model]([]byte(body)); d.usual {
				t.Errorf("%s is decoded as %+v", body, d.ours)
			}
		}
	}
}

// Every field of an event is read: each name that encoding/json would read is in the page of the tests above.
func TestTheUsualPageHasEveryField(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Event]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !strings.Contains(fullPage, `"`+name+`"`) {
			t.Errorf("%s is not in the page", name)
		}
	}
}

// BenchmarkDecode decodes a page of 250 events and, in turn, has encoding/json decode it.
func BenchmarkDecode(b *testing.B) {
	event := usual()["event"][0]
	body := []byte(`{"value":[` + strings.Repeat(event+",", 249) + event + `]}`)
	for name, decode := range map[string]func() bool{
		"ours": func() bool {
			_, usual := parseUsual[EventCollectionResponse](body)
			return usual
		},
		"encoding/json": func() bool {
			_, err := parseAny[EventCollectionResponse](body)
			return err == nil
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
