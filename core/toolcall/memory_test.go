package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/api"
	"frontdesk/core/store"
)

func TestPlacesAreUnderstoodInEveryLanguage(t *testing.T) {
	for text, want := range map[string]int{
		"": theOnly, "that": theOnly, "that meeting": theOnly, "the slot": theOnly, "dieser Termin": theOnly,
		"1": 1, "2": 2, "#2": 2, "option 2": 2, "the second one": 2, "SECOND": 2, "2nd": 2, "number 3": 3, "the 2nd, second": 2,
		"der zweite Termin": 2, "la segunda": 2, "el tercero": 3, "le deuxième créneau": 2, "das fünfte": 5,
		"the last one": theLast, "el último": theLast, "der letzte": theLast, "la dernière": theLast,
		"no. 2": 2, "No 2": 2, "slot no. 3": 3, "7": 7, "option 12": 12, "#50": 50,
	} {
		if at, known := placeOf(text); !known || at != want {
			t.Errorf("%q is %d, %v, want %d", text, at, known, want)
		}
	}
	for _, text := range []string{
		"2 pm", "10:30", "the second or third", "first 2", "Tuesday", "st_0000000000", "-", "second Monday",
		"10:10", "7 7", "2:02", "0", "07", "2026", "12 pm", "7 8",
	} {
		if at, known := placeOf(text); known && at != theOnly {
			t.Errorf("%q is understood as %d", text, at)
		}
	}
	for _, text := range []string{ // which a caller says who does not mean it
		"no", "No.", "no hold", "no contact", "no, that one", "not that one", "no, ese no", "no, el segundo", "second, no",
		"none", "nein", "kein Termin", "non", "aucun créneau", "ninguna hora",
	} {
		if at, known := placeOf(text); known {
			t.Errorf("%q is understood as %d", text, at)
		}
	}
}

// world answers tools as the interface would, and keeps what it was asked.
type world struct {
	mu     sync.Mutex
	notes  map[string][]string
	fails  error
	reads  []string // kinds of notes
	writes int      // of notes
	bodies []string
	keys   []string
	answer string
}

func (w *world) NoteCall(_ context.Context, notes ...store.CallNote) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	for _, n := range notes {
		w.notes[n.TenantID+" "+n.Call+" "+n.Kind] = n.Value
	}
	return w.fails
}

func (w *world) NoteCallOnce(_ context.Context, n store.CallNote) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := n.TenantID + " " + n.Call + " " + n.Kind
	if _, there := w.notes[at]; !there {
		w.notes[at] = n.Value
	}
	return w.notes[at], w.fails
}

func (w *world) CallNote(_ context.Context, tenantID, call, kind string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, kind)
	return w.notes[tenantID+" "+call+" "+kind], w.fails
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.bodies, w.keys = append(w.bodies, string(body)), append(w.keys, r.Header.Get("Idempotency-Key"))
	_, _ = io.WriteString(rw, w.answer)
}

func newWorld() (*world, Runner) {
	w := &world{notes: map[string][]string{}}
	return w, Runner{API: func() http.Handler { return w }, Within: 10 * time.Second, Notes: w, Now: time.Now}
}

// say calls a tool in a telephone call, and returns the body and the idempotency key that the interface got.
func (w *world) say(t *testing.T, r Runner, c Call, name, arguments, answer string) (body, key string) {
	t.Helper()
	at := slices.IndexFunc(api.Tools(), func(t api.Tool) bool { return t.Name == name })
	if at < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	c.Tool, c.Arguments, c.Header, w.answer = api.Tools()[at], json.RawMessage(arguments), http.Header{}, answer
	if result, err := r.Run(t.Context(), c); err != nil || !result.OK {
		t.Fatalf("%s: %+v, %v", name, result, err)
	}
	return w.bodies[len(w.bodies)-1], w.keys[len(w.keys)-1]
}

const twoSlots = `{"slots":[{"slot_id":"st_1"},{"slot_id":"st_2"}]}`

// What the tools of a call told can be named by words in it, and in no other call and by no other tenant.
func TestReferencesAreNamedByWords(t *testing.T) {
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme"}
	wants := func(c Call, name, arguments, answer, want string) {
		t.Helper()
		if got, _ := w.say(t, r, c, name, arguments, answer); got != want {
			t.Errorf("%s %s: the interface got %s, want %s", name, arguments, got, want)
		}
	}
	w.say(t, r, call, "find_slots", `{}`, twoSlots)
	wants(call, "hold_slot", `{"slot_id":"the second one"}`, `{"hold_id":"hd_1"}`, `{"phone_number":"unknown","slot_id":"st_2"}`)
	wants(call, "book_slot", `{"title":"A"}`, `{"meeting_reference":"mt_1"}`,
		`{"hold_id":"hd_1","phone_number":"unknown","title":"A"}`)
	wants(call, "move_meeting", `{"meeting_reference":"that meeting","slot_id":1}`, `{"meeting_reference":"mt_1"}`,
		`{"meeting_reference":"mt_1","slot_id":"st_1"}`)
	wants(call, "cancel_meeting", `{}`, `{}`, `{"meeting_reference":"mt_1"}`)
	wants(call, "cancel_meeting", `{}`, `{}`, `{"meeting_reference":"mt_1"}`) // a repeat
	wants(call, "cancel_meeting", `{"meeting_reference":"no"}`, `{}`, `{"meeting_reference":"no"}`)

	wants(call, "find_meetings", `{}`, `{"meetings":[{"meeting_reference":"mt_2"},{"meeting_reference":"mt_3"}]}`,
		`{"phone_number":"unknown"}`)
	wants(call, "cancel_meeting", `{"meeting_reference":"that meeting"}`, `{}`, `{"meeting_reference":"that meeting"}`)
	w.say(t, r, call, "find_meetings", `{}`, `{"meetings":[{"meeting_reference":"mt_2"},{"meeting_reference":"mt_3"}]}`)
	wants(call, "cancel_meeting", `{"meeting_reference":"the last one"}`, `{}`, `{"meeting_reference":"mt_3"}`)

	w.say(t, r, call, "create_ticket", `{"subject":"A"}`, `{"ticket":{"ticket_number":"1042"}}`)
	wants(call, "get_ticket", `{"ticket_number":"that ticket"}`, `{}`, `{"ticket_number":"1042"}`)
	wants(call, "get_ticket", `{}`, `{}`, `{"ticket_number":"1042"}`)
	wants(call, "get_ticket", `{"ticket_number":"1"}`, `{}`, `{"ticket_number":"1"}`)

	w.say(t, r, call, "look_up_caller", `{}`, `{"candidates":[{"contact_id":"con_1"},{"name":"B"}]}`)
	wants(call, "create_ticket", `{"subject":"A","contact_id":"this caller"}`, `{}`, `{"contact_id":"con_1","subject":"A"}`)
	wants(call, "create_ticket", `{"subject":"A"}`, `{}`, `{"subject":"A"}`)
	nobody := `{"subject":"A","contact_id":"no contact"}`
	wants(call, "create_ticket", nobody, `{}`, nobody)

	for _, other := range []Call{{CallID: "another", TenantID: "acme"}, {CallID: "call", TenantID: "other"},
		{TenantID: "acme"}} {
		wants(other, "hold_slot", `{"slot_id":"2"}`, `{}`, `{"phone_number":"unknown","slot_id":"2"}`)
	}
	w.say(t, r, call, "find_meetings", `{}`, `{"meetings":[{"meeting_reference":"mt_2"},{"meeting_reference":"mt_3"}]}`)
	wants(call, "find_slots", `{"reschedule_meeting_id":"1"}`, `{}`, `{"reschedule_meeting_id":"mt_2"}`)
	wants(call, "find_slots", `{"reschedule_meeting_id":"evt_1"}`, `{}`, `{"reschedule_meeting_id":"evt_1"}`)
	w.say(t, r, call, "find_meetings", `{}`, `{"meetings":[{"meeting_reference":"mt_2"}]}`)
	wants(call, "find_slots", `{}`, `{}`, `{}`) // who looks for a time need not move a meeting

	w.say(t, r, call, "find_slots", `{}`, twoSlots)
	wants(call, "hold_slot", `{"slot_id":"2"}`, `{"nearest_slots":[{"slot_id":"st_3"},{"slot_id":"st_4"}]}`,
		`{"phone_number":"unknown","slot_id":"st_2"}`)
	wants(call, "hold_slot", `{"slot_id":"2"}`, `{}`, `{"phone_number":"unknown","slot_id":"2"}`) // which two?

	w.say(t, r, call, "find_slots", `{}`, twoSlots)
	wants(call, "hold_slot", `{"slot_id":"3"}`, `{}`, `{"phone_number":"unknown","slot_id":"3"}`)
	wants(call, "hold_slot", `{"slot_id":"2 pm"}`, `{}`, `{"phone_number":"unknown","slot_id":"2 pm"}`)
	wants(call, "hold_slot", `{"slot_id":"st_9"}`, `{}`, `{"phone_number":"unknown","slot_id":"st_9"}`)
	wants(call, "hold_slot", `{}`, `{}`, `{"phone_number":"unknown"}`) // two could be meant

	w.fails = errors.New("the store is down")
	wants(call, "hold_slot", `{"slot_id":"2"}`, `{}`, `{"phone_number":"unknown","slot_id":"2"}`)
}

// A platform that repeats a message means what it meant the first time, also where a search of that message, or a hold,
// has since told of others. Otherwise the repeat would book another time besides.
func TestARepeatMeansWhatTheFirstCallMeant(t *testing.T) {
	for name, c := range map[string]struct {
		before, given, since, answer string
		want                         string
	}{
		"other slots": {"find_slots", `{"slot_id":"2","title":"A"}`, "find_slots",
			`{"slots":[{"slot_id":"st_3"},{"slot_id":"st_4"}]}`,
			`{"phone_number":"unknown","slot_id":"st_2","title":"A"}`},
		"a hold of the slot": {"find_slots", `{"slot_id":"st_2","title":"A"}`, "hold_slot",
			`{"hold_id":"hd_2","held_until":"2999-01-01T00:00:00Z","slot":{"slot_id":"st_2"}}`,
			`{"phone_number":"unknown","slot_id":"st_2","title":"A"}`},
		"nothing said": {"hold_slot", `{"title":"A"}`, "find_slots", `{"slots":[{"slot_id":"st_3"}]}`,
			`{"hold_id":"hd_1","phone_number":"unknown","title":"A"}`},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld()
			call := Call{CallID: "call", TenantID: "acme"}
			w.say(t, r, call, "find_slots", `{}`, twoSlots)
			if c.before == "hold_slot" {
				w.say(t, r, call, "hold_slot", `{"slot_id":"st_1"}`, `{"hold_id":"hd_1"}`)
			}
			call.ToolCallID = "book"
			body, key := w.say(t, r, call, "book_slot", c.given, `{"meeting_reference":"mt_1"}`)
			call.ToolCallID = "then"
			since := `{}`
			if c.since == "hold_slot" {
				since = `{"slot_id":"st_2"}`
			}
			w.say(t, r, call, c.since, since, c.answer)
			call.ToolCallID = "book"
			again, sameKey := w.say(t, r, call, "book_slot", c.given, `{"meeting_reference":"mt_1"}`)
			if body != c.want || again != c.want || key != sameKey {
				t.Errorf("the interface got %s, and at the repeat %s, want %s; one key: %v", body, again, c.want, key == sameKey)
			}
			call.ToolCallID = "another"
			if _, other := w.say(t, r, call, "book_slot", c.given, `{}`); other == key {
				t.Error("another call of the tool is the repeat of the first")
			}
		})
	}
}

// A reference in a form that cannot be read is no word for another one. The interface refuses it.
func TestWhatIsNoTextIsNoWordForAReference(t *testing.T) {
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme"}
	w.say(t, r, call, "find_slots", `{}`, `{"slots":[{"slot_id":"st_1"}]}`)
	w.say(t, r, call, "book_slot", `{"title":"A","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`)
	for _, given := range []string{`["mt_9"]`, `{"id":"mt_9"}`, `true`} {
		want := `{"meeting_reference":` + given + `}`
		if got, _ := w.say(t, r, call, "cancel_meeting", want, `{}`); got != want {
			t.Errorf("the interface got %s, want %s", got, want)
		}
		got, _ := w.say(t, r, call, "book_slot", `{"slot_id":`+given+`,"title":"A"}`, `{}`)
		if want := `{"phone_number":"unknown","slot_id":` + given + `,"title":"A"}`; got != want {
			t.Errorf("the interface got %s, want %s", got, want)
		}
	}
}

// An empty list is nothing, as to the interface, and no word for the only one. Nor is an object, or a sign.
func TestAnEmptyListNamesNothing(t *testing.T) {
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme"}
	w.say(t, r, call, "find_slots", `{}`, `{"slots":[{"slot_id":"st_1"},{"slot_id":"st_2"}]}`)
	w.say(t, r, call, "book_slot", `{"title":"A","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`)
	w.say(t, r, call, "hold_slot", `{"slot_id":"st_2"}`, `{"hold_id":"hd_2","slot":{"slot_id":"st_2"}}`)
	for _, given := range []string{
		`{"reschedule_meeting_id":[]}`, `{"hold_id":[]}`, `{"reschedule_meeting_id":{}}`, `{"reschedule_meeting_id":"-"}`,
	} {
		if got, _ := w.say(t, r, call, "find_slots", given, `{}`); got != given {
			t.Errorf("the interface got %s, want %s", got, given)
		}
	}
	want := `{"hold_id":"hd_2","phone_number":"unknown","slot_id":[],"title":"B"}`
	if got, _ := w.say(t, r, call, "book_slot", `{"title":"B","slot_id":[]}`, `{}`); got != want {
		t.Errorf("the interface got %s, want %s", got, want)
	}
}

// A model that has no null for what it leaves out writes "null", or an empty list. Neither is a title, a reference or
// an address: whoever calls is found by the number.
func TestTheNameOfNothingIsNothing(t *testing.T) {
	w, r := newWorld()
	for _, c := range []struct{ tool, given, want string }{
		{"hold_slot", `{"slot_id":"st_1","meeting_reference":"null"}`, `{"phone_number":"+12025550101","slot_id":"st_1"}`},
		{"book_slot", `{"slot_id":"st_1","hold_id":"undefined","title":"None"}`,
			`{"phone_number":"+12025550101","slot_id":"st_1","title":"None"}`},
		{"create_ticket", `{"subject":"Null","status":"NULL"}`, `{}`},
		{"find_slots", `{"start":"null", "limit":3}`, `{"limit":3}`},
		{"find_slots", `{"start":" ", "limit":3}`, `{"limit":3}`},
		{"book_slot", `{"slot_id":"st_1","title":"A","attendee_emails":" "}`,
			`{"phone_number":"+12025550101","slot_id":"st_1","title":"A"}`},
		{"find_meetings", `{"email":"null"}`, `{"phone_number":"+12025550101"}`},
		{"find_meetings", `{"email":[]}`, `{"phone_number":"+12025550101"}`},
		{"look_up_caller", `{"email":" []"}`, `{"email":" []"}`},
		{"book_slot", `{"slot_id":"st_1","title":"A","attendee_emails":["pat@example.com","", null,"undefined"]}`,
			`{"attendee_emails":["pat@example.com"],"phone_number":"+12025550101","slot_id":"st_1","title":"A"}`},
		{"book_slot", `{"slot_id":"st_1","title":"A","attendee_emails":[""]}`,
			`{"attendee_emails":[],"phone_number":"+12025550101","slot_id":"st_1","title":"A"}`},
		{"book_slot", `{"slot_id":"st_1","title":"A","attendee_emails":"[\"null\"]"}`,
			`{"attendee_emails":[],"phone_number":"+12025550101","slot_id":"st_1","title":"A"}`},
	} {
		call := Call{CallID: "call", TenantID: "acme", Caller: "+12025550101"}
		if got, _ := w.say(t, r, call, c.tool, c.given, `{}`); got != c.want {
			t.Errorf("%s %s: the interface got %s, want %s", c.tool, c.given, got, c.want)
		}
	}
}

// A template of Bland's or Synthflow's has each value in quotes, so that there is no other way to give a number or an
// address there. What is not certain is left to the interface to refuse.
func TestATextIsTheNumberOrTheListThatItIsOf(t *testing.T) {
	w, r := newWorld()
	for _, c := range []struct{ tool, given, want string }{
		{"find_slots", `{"duration_minutes":" 45","limit":"3"}`, `{"duration_minutes":45,"limit":3}`},
		{"find_slots", `{"duration_minutes":"thirty","limit":"3.5","per_day":"{{input.n}}"}`,
			`{"duration_minutes":"thirty","limit":"3.5","per_day":"{{input.n}}"}`},
		{"find_slots", `{"limit":"","start":"2026"}`, `{"limit":"","start":"2026"}`},
		{"book_slot", `{"slot_id":"st_1","title":"A","attendee_emails":"pat@example.com"}`,
			`{"attendee_emails":["pat@example.com"],"phone_number":"+12025550101","slot_id":"st_1","title":"A"}`},
		{"book_slot", `{"slot_id":"st_1","title":12,"attendee_emails":""}`,
			`{"attendee_emails":"","phone_number":"+12025550101","slot_id":"st_1","title":"12"}`},
		{"book_slot", `{"slot_id":"st_1","attendee_emails":"[\"pat@example.com\", \"kim@example.com\"]"}`,
			`{"attendee_emails":["pat@example.com","kim@example.com"],"phone_number":"+12025550101","slot_id":"st_1"}`},
		{"get_ticket", `{"ticket_number":1042}`, `{"ticket_number":"1042"}`},
		{"get_ticket", `{"ticket_number":100000000000000000}`, `{"ticket_number":100000000000000000}`}, // or …0000001
		{"get_ticket", `{"ticket_number":["1042"]}`, `{"ticket_number":["1042"]}`},
		{"get_ticket", `{"ticket_number":true,"number":7}`, `{"ticket_number":true,"number":7}`},
	} {
		call := Call{CallID: "call", TenantID: "acme", Caller: "+12025550101"}
		if got, _ := w.say(t, r, call, c.tool, c.given, `{}`); got != c.want {
			t.Errorf("%s %s: the interface got %s, want %s", c.tool, c.given, got, c.want)
		}
	}
}

// The sentences say days as people do: "Monday the thirtieth, and Tuesday the first". Then "the first" is a place or a
// day, and which of them is not guessed. A number is a place, as the prompts say.
func TestAPlaceThatIsADayOfAnotherIsNotGuessed(t *testing.T) {
	list := func(days ...string) string {
		var slots, meetings []string
		for i, day := range days {
			slots = append(slots, fmt.Sprintf(`{"slot_id":"st_%d","start":"%sT09:00:00-05:00"}`, i+1, day))
			meetings = append(meetings, fmt.Sprintf(`{"meeting_reference":"mt_%d","start":"%sT09:00:00-05:00"}`, i+1, day))
		}
		return `{"slots":[` + strings.Join(slots, ",") + `],"meetings":[` + strings.Join(meetings, ",") + `]}`
	}
	for rule, c := range map[string]struct{ told, said, want string }{
		"the day of another":       {list("2026-11-30", "2026-12-01"), "the first", ""},
		"in German":                {list("2026-11-30", "2026-12-01"), "den ersten", ""},
		"as people write a day":    {list("2026-11-30", "2026-12-01"), "1st", ""},
		"as a number":              {list("2026-11-30", "2026-12-01"), "1", "1"},
		"as the number of a slot":  {list("2026-11-30", "2026-12-01"), "slot_1.", "1"},
		"as a day in Spanish":      {list("2026-12-01", "2026-12-02", "2026-12-03", "2026-12-02"), "el 3", "3"},
		"as another's in Spanish":  {list("2026-12-02", "2026-12-03", "2026-12-04"), "el 3", ""},
		"as another's in French":   {list("2026-12-02", "2026-12-03", "2026-12-04"), "le 2", ""},
		"as another's in German":   {list("2026-12-02", "2026-12-03", "2026-12-04"), "den 2.", ""},
		"as a number in Spanish":   {list("2026-12-02", "2026-12-03"), "el número 2", "2"},
		"as an hour in Spanish":    {list("2026-12-02", "2026-12-03"), "a la 1", ""},
		"a place alone":            {list("2026-11-30", "2026-12-01"), "the second one", "2"},
		"a place and a day at one": {list("2026-12-01", "2026-12-02"), "the second", "2"},
		"a place on a day of two":  {list("2026-12-01", "2026-12-02", "2026-12-02"), "the second", ""},
		"a day of two in Spanish":  {list("2026-12-02", "2026-12-02", "2026-12-03"), "el 2", ""},
		"a number on a day of two": {list("2026-12-01", "2026-12-02", "2026-12-02"), "2", "2"},
		"the last":                 {list("2026-11-30", "2026-12-01"), "the last", "2"},
		"the day of none":          {list("2026-11-30", "2026-12-07"), "the first", "1"},
		"beyond the words":         {list(slices.Repeat([]string{"2026-11-30"}, 8)...), "8", "8"},
		"beyond the list":          {list(slices.Repeat([]string{"2026-11-30"}, 8)...), "9", ""},
		"a day beyond the words":   {list("2026-12-07", "2026-12-08", "2026-12-09"), "el 8", ""},
		"an hour":                  {list(slices.Repeat([]string{"2026-11-30"}, 12)...), "the 10 slot", ""},
		"an hour of the afternoon": {list(slices.Repeat([]string{"2026-11-30"}, 12)...), "that 2 appointment", ""},
		"an hour in Spanish":       {list(slices.Repeat([]string{"2026-11-30"}, 12)...), "hora 10", ""},
		"an hour in German":        {list(slices.Repeat([]string{"2026-11-30"}, 12)...), "Uhrzeit: 9", ""},
		"once others are told":     {list("2026-12-29", "2026-12-30"), "the first", "1"},
	} {
		w, r := newWorld()
		call := Call{CallID: "call", TenantID: "acme"}
		if rule == "once others are told" {
			w.say(t, r, call, "find_slots", `{}`, list("2026-11-30", "2026-12-01"))
		}
		w.say(t, r, call, "find_slots", `{}`, c.told)
		slot, meeting := c.said, c.said // left to the interface
		if c.want != "" {
			slot, meeting = "st_"+c.want, "mt_"+c.want
		}
		got, _ := w.say(t, r, call, "move_meeting", `{"meeting_reference":"`+c.said+`","slot_id":"`+c.said+`"}`, `{}`)
		if want := `{"meeting_reference":"` + meeting + `","slot_id":"` + slot + `"}`; got != want {
			t.Errorf("%s: the interface got %s, want %s", rule, got, want)
		}
	}
}

// What happens to one meeting of a list moves none of the others: "the first" stays the first of those that were told.
func TestAMeetingKeepsItsPlaceInTheList(t *testing.T) {
	const list = `{"meetings":[{"meeting_reference":"mt_1"},{"meeting_reference":"mt_2"},{"meeting_reference":"mt_3"}]}`
	second := func(tool, arguments string) [3]string {
		return [3]string{tool, arguments, `{"meeting_reference":"mt_2"}`}
	}
	for rule, c := range map[string]struct {
		between [3]string
		wants   map[string]string // by what the model says then
	}{
		"one is cancelled": {second("cancel_meeting", `{"meeting_reference":"2"}`), map[string]string{
			"1": "mt_1", "the second": "mt_2", "last": "mt_3", "that": "mt_2", "": "mt_2"}},
		"one is moved": {second("move_meeting", `{"meeting_reference":"mt_2","slot_id":"st_1"}`), map[string]string{
			"1": "mt_1", "2": "mt_2", "3": "mt_3", "that": "mt_2"}},
		"another is booked, and a place could mean two": {[3]string{"book_slot", `{"title":"A","slot_id":"st_1"}`,
			`{"meeting_reference":"mt_4"}`}, map[string]string{"1": "1", "last": "last", "that": "mt_4"}},
	} {
		w, r := newWorld()
		call := Call{CallID: "call", TenantID: "acme"}
		w.say(t, r, call, "book_slot", `{"title":"B","slot_id":"st_2"}`, `{"meeting_reference":"mt_9"}`)
		got, _ := w.say(t, r, call, "cancel_meeting", `{"meeting_reference":"last"}`, `{}`)
		if got != `{"meeting_reference":"mt_9"}` {
			t.Errorf("the only one that was booked: the interface got %s", got)
		}
		w.say(t, r, call, "find_meetings", `{}`, list)
		w.say(t, r, call, c.between[0], c.between[1], c.between[2])
		for said, want := range c.wants {
			got, _ := w.say(t, r, call, "cancel_meeting", `{"meeting_reference":"`+said+`"}`, `{}`)
			if got != `{"meeting_reference":"`+want+`"}` {
				t.Errorf("%s: the interface got %s for %q, want %s", rule, got, said, want)
			}
		}
	}
}

// Where nothing is said of a slot, the hold is booked, but not once other slots were told since: the caller may have
// asked for them to take one of those instead. The hold can still be named.
func TestAHoldIsBookedUntilOtherSlotsAreTold(t *testing.T) {
	const held, one = `{"hold_id":"hd_1"}`, `{"slots":[{"slot_id":"st_9"}]}`
	for rule, c := range map[string]struct{ tool, arguments, answer, held, slot string }{
		"nothing came in between":    {"get_ticket", `{"ticket_number":"7"}`, `{}`, `"hold_id":"hd_1",`, ``},
		"another slot is told":       {"find_slots", `{}`, one, ``, `"slot_id":"st_9",`},
		"two others are told":        {"find_slots", `{}`, twoSlots, ``, ``},
		"none is told":               {"find_slots", `{}`, `{"slots":[]}`, `"hold_id":"hd_1",`, ``},
		"a refusal tells of others":  {"hold_slot", `{"slot_id":"st_2"}`, `{"nearest_slots":[{"slot_id":"st_3"}]}`, ``, ``},
		"another slot is held since": {"hold_slot", `{"slot_id":"st_2"}`, `{"hold_id":"hd_2"}`, `"hold_id":"hd_2",`, ``},
	} {
		w, r := newWorld()
		call := Call{CallID: "call", TenantID: "acme"}
		w.say(t, r, call, "find_slots", `{}`, twoSlots)
		w.say(t, r, call, "hold_slot", `{"slot_id":"1"}`, held)
		w.say(t, r, call, c.tool, c.arguments, c.answer)
		got, _ := w.say(t, r, call, "book_slot", `{"title":"A"}`, `{}`)
		if want := `{` + c.held + `"phone_number":"unknown",` + c.slot + `"title":"A"}`; got != want {
			t.Errorf("%s: the interface got %s, want %s", rule, got, want)
		}
	}
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme"}
	w.say(t, r, call, "hold_slot", `{"slot_id":"st_1"}`, held)
	w.say(t, r, call, "find_slots", `{}`, one)
	got, _ := w.say(t, r, call, "book_slot", `{"title":"A","hold_id":"that hold"}`, `{}`)
	if want := `{"hold_id":"hd_1","phone_number":"unknown","title":"A"}`; got != want {
		t.Errorf("the hold is named: the interface got %s, want %s", got, want)
	}
}

// A model that has held a slot may name the slot all the same, or both: its own hold is not in the way.
func TestAHeldSlotIsBookedByItsHold(t *testing.T) {
	const held = `{"hold_id":"hd_2","held_until":"2126-11-26T15:05:00Z","slot":{"slot_id":"st_2"}}`
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme"}
	w.say(t, r, call, "find_slots", `{}`, twoSlots)
	w.say(t, r, call, "hold_slot", `{"slot_id":"the second one"}`, held)
	for rule, c := range map[string]struct{ tool, given, want string }{
		"by the slot":       {"book_slot", `{"title":"A","slot_id":"st_2"}`, `{"hold_id":"hd_2","phone_number":"unknown","title":"A"}`},
		"by its place":      {"book_slot", `{"title":"A","slot_id":"2"}`, `{"hold_id":"hd_2","phone_number":"unknown","title":"A"}`},
		"by both":           {"book_slot", `{"title":"A","slot_id":"st_2","hold_id":"hd_2"}`, `{"hold_id":"hd_2","phone_number":"unknown","title":"A"}`},
		"a move":            {"move_meeting", `{"meeting_reference":"mt_1","slot_id":"st_2"}`, `{"hold_id":"hd_2","meeting_reference":"mt_1"}`},
		"another slot":      {"book_slot", `{"title":"A","slot_id":"st_1"}`, `{"phone_number":"unknown","slot_id":"st_1","title":"A"}`},
		"with another hold": {"book_slot", `{"title":"A","slot_id":"st_2","hold_id":"hd_1"}`, `{"hold_id":"hd_1","phone_number":"unknown","slot_id":"st_2","title":"A"}`},
		"held once more":    {"hold_slot", `{"slot_id":"st_2"}`, `{"phone_number":"unknown","slot_id":"st_2"}`},
	} {
		if got, _ := w.say(t, r, call, c.tool, c.given, `{}`); got != c.want {
			t.Errorf("%s: the interface got %s, want %s", rule, got, c.want)
		}
	}
	if got, _ := w.say(t, r, Call{CallID: "another", TenantID: "acme"}, "book_slot", `{"title":"A","slot_id":"st_2"}`,
		`{}`); got != `{"phone_number":"unknown","slot_id":"st_2","title":"A"}` {
		t.Errorf("in another call, the interface got %s", got)
	}

	// Within the same second, the hold was used, its meeting cancelled, and the slot held anew.
	w.say(t, r, call, "hold_slot", `{"slot_id":"st_2"}`, strings.Replace(held, "hd_2", "hd_3", 1))
	if got, _ := w.say(t, r, call, "book_slot", `{"title":"B","slot_id":"st_2"}`, `{}`); got !=
		`{"hold_id":"hd_3","phone_number":"unknown","title":"B"}` {
		t.Errorf("by another hold of the slot, the interface got %s", got)
	}
}

// A person waits for what a tool told to be noted, so it costs one commit.
func TestWhatAToolToldIsNotedByOneWrite(t *testing.T) {
	w, r := newWorld()
	for _, c := range []struct{ tool, given, told string }{
		{"find_slots", `{}`, twoSlots},
		{"hold_slot", `{"slot_id":"st_2"}`,
			`{"hold_id":"hd_2","held_until":"2126-11-26T15:05:00Z","slot":{"slot_id":"st_2"}}`},
		{"book_slot", `{"title":"A","hold_id":"hd_2"}`, `{"meeting_reference":"mt_1"}`},
		{"move_meeting", `{"meeting_reference":"mt_1","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`},
		{"cancel_meeting", `{"meeting_reference":"mt_1"}`, `{"meeting_reference":"mt_1"}`},
	} {
		w.writes = 0
		if w.say(t, r, Call{CallID: "call", TenantID: "acme"}, c.tool, c.given, c.told); w.writes != 1 {
			t.Errorf("%s: %d writes", c.tool, w.writes)
		}
	}
}

// The prompts have a model give the number of a slot, or nothing. Neither can be a day, and a person waits for reads.
func TestANumberCostsNoReadOfDays(t *testing.T) {
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme"}
	w.say(t, r, call, "find_slots", `{}`, `{"slots":[{"slot_id":"st_1"}]}`)
	for _, said := range []string{"1", "slot 1", "that one", ""} {
		w.say(t, r, call, "hold_slot", `{"slot_id":"`+said+`"}`, `{}`)
	}
	if slices.ContainsFunc(w.reads, func(kind string) bool { return strings.HasPrefix(kind, notedDays) }) {
		t.Errorf("read were %q", w.reads)
	}
}

// A model reads the text of a result, and not what it would be in a page.
func TestAModelReadsSignsAsTheyAre(t *testing.T) {
	w, r := newWorld()
	call := Call{Tool: api.Tools()[0], CallID: "call", TenantID: "acme"}
	w.answer = `{"ticket":{"subject":"Smith \u0026 Sons \u003curgent\u003e","status":"\\u0026","priority":"\\\u0026"}}`
	result, err := r.Run(t.Context(), call)
	if want := `{"ticket":{"subject":"Smith & Sons <urgent>","status":"\\u0026","priority":"\\&"}}`; err != nil ||
		!strings.HasSuffix(result.Text(), want) {
		t.Errorf("%s, %v, want %s", result.Text(), err, want)
	}
}

// Arguments that are null are none, by every tool.
func TestNullIsNoArguments(t *testing.T) {
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme", Caller: "+12025550101"}
	for _, c := range []struct{ tool, answer, want string }{
		{"find_slots", twoSlots, ``},
		{"find_meetings", `{"meetings":[{"meeting_reference":"mt_1"}]}`, `{"phone_number":"+12025550101"}`},
		{"cancel_meeting", `{}`, `{"meeting_reference":"mt_1"}`},
	} {
		if got, _ := w.say(t, r, call, c.tool, "null\n", c.answer); got != c.want {
			t.Errorf("%s: the interface got %s, want %s", c.tool, got, c.want)
		}
	}
}

// Arguments with a name twice reach the interface as they are, which refuses them: which of the two was meant is
// nobody's to choose, whatever else is put into arguments.
func TestANameThatComesTwiceIsLeftToTheInterface(t *testing.T) {
	w, r := newWorld()
	call := Call{CallID: "call", TenantID: "acme", Caller: "+12025550101"}
	w.say(t, r, call, "find_slots", `{}`, twoSlots)
	for rule, c := range map[string]struct{ tool, given, want string }{
		"the address":         {"look_up_caller", `{"email":"a@example.com","email":"b@example.com"}`, ""},
		"the caller's number": {"find_meetings", `{"phone_number":"+12025550666","phone_number":"+12025550667"}`, ""},
		"by an escape":        {"look_up_caller", `{"email":"a@example.com", "\u0065mail":"b@example.com"}`, ""},
		"a reference":         {"move_meeting", `{"slot_id":"the first","slot_id":"the second"}`, ""},
		"further in": {"look_up_caller", `{"email":"a@example.com","a":[{"b":1,"b":2}]}`,
			`{"a":[{"b":1,"b":2}],"email":"a@example.com"}`},
		"in different objects": {"hold_slot", `{"slot_id":"the second","a":{"slot_id":1}}`,
			`{"a":{"slot_id":1},"phone_number":"+12025550101","slot_id":"st_2"}`},
	} {
		if c.want == "" {
			c.want = c.given
		}
		if got, _ := w.say(t, r, call, c.tool, c.given, `{}`); got != c.want {
			t.Errorf("%s: the interface got %s, want %s", rule, got, c.want)
		}
	}
}

// A change is one within its call, however often the platform or the model asks for it, until a change that
// undoes others came in between.
func TestEqualChangesOfACallHaveOneKey(t *testing.T) {
	w, r := newWorld()
	key := func(callID, toolCallID, name, arguments string) string {
		t.Helper()
		_, key := w.say(t, r, Call{CallID: callID, ToolCallID: toolCallID, TenantID: "acme"}, name, arguments, `{}`)
		return key
	}
	const book, cancel = `{"title":"A","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`
	first := key("call", "1", "book_slot", book)
	if !strings.HasPrefix(first, "call-") || len(first) != 37 {
		t.Fatalf("the key is %q", first)
	}
	for name, again := range map[string]string{
		"the platform's repeat":  key("call", "1", "book_slot", book),
		"the model's repeat":     key("call", "2", "book_slot", book),
		"another order":          key("call", "3", "book_slot", `{"slot_id":"st_1", "title":"A"}`),
		"a platform without ids": key("call", "", "book_slot", book),
		"what is not given":      key("call", "", "book_slot", `{"title":"A","slot_id":"st_1","hold_id":"","description":null,"attendee_emails":[]}`),
	} {
		if again != first {
			t.Errorf("%s has another key", name)
		}
	}
	invited := key("call", "a", "book_slot",
		`{"slot_id":"st_3","attendee_emails":["pat@example.com","kim@example.com"]}`)
	again := `{"slot_id":"st_3","attendee_emails":["Kim@example.com "," pat@example.com","kim@example.com"]}`
	if key("call", "b", "book_slot", again) != invited {
		t.Error("the same attendees in another order have another key")
	}
	if key("call", "c", "book_slot", `{"slot_id":"st_3","attendee_emails":["pat@example.com"]}`) == invited {
		t.Error("fewer attendees have the key")
	}
	for name, other := range map[string]string{
		"other arguments": key("call", "4", "book_slot", `{"title":"A","slot_id":"st_2"}`),
		"another call":    key("another", "1", "book_slot", book),
		"another tool":    key("call", "5", "hold_slot", book),
		"outside a call":  key("", "1", "book_slot", book),
	} {
		if other == first {
			t.Errorf("%s has the key", name)
		}
	}
	if key("", "1", "book_slot", book) != "" {
		t.Error("a change outside a call has a key")
	}

	cancelled := key("call", "6", "cancel_meeting", cancel)
	if key("call", "7", "cancel_meeting", cancel) != cancelled {
		t.Error("a repeated cancellation has another key")
	}
	second := key("call", "8", "book_slot", book)
	if second == first {
		t.Error("who books again after a cancellation gets the cancelled meeting")
	}
	if key("call", "9", "book_slot", book) != second || key("call", "1", "book_slot", book) != first {
		t.Error("a repeat after a cancellation has the wrong key")
	}
	if key("call", "10", "cancel_meeting", cancel) != cancelled { // nothing that undoes others came in between
		t.Error("a late repeat of the cancellation has another key")
	}
	there := key("call", "11", "move_meeting", `{"meeting_reference":"mt_2","slot_id":"st_1"}`)
	key("call", "12", "move_meeting", `{"meeting_reference":"mt_2","slot_id":"st_2"}`)
	if key("call", "13", "move_meeting", `{"meeting_reference":"mt_2","slot_id":"st_1"}`) == there {
		t.Error("who moves a meeting there and back again is told of the first time")
	}
}

// Who asks for a time again that this call has booked, with another title, hears that it is booked, and is offered no
// second one.
func TestATimeOfTheCallsOwnIsNotTakenByAnother(t *testing.T) {
	const taken = `{"code":6,"message":"This time is already taken.","details":[{"@type":"x/google.rpc.ErrorInfo",` +
		`"reason":"SLOT_TAKEN"},{"@type":"x/google.rpc.LocalizedMessage","message":"That time is already taken."},` +
		`{"@type":"x/google.protobuf.Struct","value":{"nearest_slots":[{"slot_id":"st_3"}]}}]}`
	w, r := newWorld()
	said := func(callID, name, arguments string) Result {
		t.Helper()
		at := slices.IndexFunc(api.Tools(), func(t api.Tool) bool { return t.Name == name })
		r.API = func() http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(rw, taken)
			})
		}
		defer func() { r.API = func() http.Handler { return w } }()
		result, err := r.Run(t.Context(), Call{CallID: callID, TenantID: "acme", Tool: api.Tools()[at],
			Arguments: json.RawMessage(arguments), Header: http.Header{"Accept-Language": {"de"}}})
		if err != nil || result.OK {
			t.Fatalf("%+v, %v", result, err)
		}
		return result
	}
	call := Call{CallID: "call", TenantID: "acme"}
	w.say(t, r, call, "book_slot", `{"title":"A","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`)
	w.say(t, r, call, "hold_slot", `{"slot_id":"st_2"}`, `{"hold_id":"hd_2","held_until":"2100-01-01T00:00:00Z","slot":{"slot_id":"st_2"}}`)
	w.say(t, r, call, "book_slot", `{"title":"B","hold_id":"hd_2"}`, `{"meeting_reference":"mt_2"}`)
	for rule, c := range map[string]struct{ callID, name, arguments, want string }{
		"by the slot":          {"call", "book_slot", `{"title":"C","slot_id":"st_1"}`, `"mt_1"`},
		"by the hold":          {"call", "book_slot", `{"title":"C","hold_id":"hd_2"}`, `"mt_2"`},
		"by the slot held":     {"call", "book_slot", `{"title":"C","slot_id":"st_2"}`, `"mt_2"`},
		"held once more":       {"call", "hold_slot", `{"slot_id":"st_1"}`, `"mt_1"`},
		"that of another slot": {"call", "book_slot", `{"title":"C","slot_id":"st_9"}`, ""},
		"in another call":      {"another", "book_slot", `{"title":"C","slot_id":"st_1"}`, ""},
	} {
		result := said(c.callID, c.name, c.arguments)
		_, others := result.Answer["nearest_slots"]
		own := result.Said == "Diese Zeit ist schon für Sie gebucht." && !others
		if string(result.Answer["meeting_reference"]) != c.want || own != (c.want != "") ||
			string(result.Answer["reason"]) != `"SLOT_TAKEN"` {
			t.Errorf("%s: %+v", rule, result)
		}
	}
	for _, change := range []struct{ name, arguments, own, taken string }{
		{"move_meeting", `{"meeting_reference":"mt_1","slot_id":"st_4"}`, "st_4", "st_1"},
		{"move_meeting", `{"meeting_reference":"mt_1","slot_id":"st_1"}`, "st_1", "st_4"},
		{"cancel_meeting", `{"meeting_reference":"mt_1"}`, "", "st_1"},
	} {
		w.say(t, r, call, change.name, change.arguments, `{"meeting_reference":"mt_1"}`)
		for slot, want := range map[string]string{
			change.own: "Diese Zeit ist schon für Sie gebucht.", change.taken: "That time is already taken.",
		} {
			if slot == "" {
				continue
			}
			if result := said("call", "book_slot", `{"title":"C","slot_id":"`+slot+`"}`); result.Said != want {
				t.Errorf("%s after %s %s: %+v", slot, change.name, change.arguments, result)
			}
		}
	}
}

// What stands in the place of a telephone call's id where a platform has not filled it in makes no two calls one.
func TestAPlaceholderIsNoCall(t *testing.T) {
	w, r := newWorld()
	for id, isCall := range map[string]bool{
		"CALL_ID": false, "{{call_control_id}}": false, "{{ call.id }}": false, "{call_id}": false, "null": false,
		"undefined": false, "None": false, " unknown ": false, "{3F2504E0-4F89}": true, "call_8f3a": true,
		"<call_id>": false, "<3F2504E0@example.com>": true,
	} {
		call := Call{CallID: id, TenantID: "acme"}
		w.say(t, r, call, "find_meetings", `{}`, `{"meetings":[{"meeting_reference":"mt_1"}]}`)
		body, key := w.say(t, r, call, "cancel_meeting", `{}`, `{}`)
		if strings.Contains(body, "mt_1") != isCall || key != "" != isCall {
			t.Errorf("%q: the interface got %s with the key %q", id, body, key)
		}
	}
	call := Call{CallID: "call", ToolCallID: "undefined", TenantID: "acme"} // as JavaScript writes a header of nothing
	_, first := w.say(t, r, call, "book_slot", `{"title":"A","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`)
	w.say(t, r, call, "cancel_meeting", `{"meeting_reference":"mt_1"}`, `{}`)
	if _, again := w.say(t, r, call, "book_slot", `{"title":"A","slot_id":"st_1"}`, `{}`); again == first {
		t.Error("who books again after a cancellation gets the cancelled meeting")
	}
}

// A change of one meeting is no reason to make another one again, nor a hold, nor a ticket: an interrupted model asks
// for all that it had asked for. What a hold became is undone with its meeting.
func TestAChangeOfOneMeetingUndoesNoOther(t *testing.T) {
	const (
		book, booked      = `{"title":"A","slot_id":"st_1"}`, `{"meeting_reference":"mt_1"}`
		hold, held        = `{"slot_id":"st_2"}`, `{"hold_id":"hd_2","held_until":"2126-11-26T15:05:00Z"}`
		take, taken       = `{"title":"B","hold_id":"hd_2"}`, `{"meeting_reference":"mt_2"}`
		ticket, opened    = `{"subject":"A"}`, `{"ticket":{"ticket_number":"1042"}}`
		ofOther, ofBooked = `{"meeting_reference":"mt_9"}`, `{"meeting_reference":"mt_1"}`
	)
	w, r := newWorld()
	key := func(name, arguments, answer string) string {
		t.Helper()
		_, key := w.say(t, r, Call{CallID: "call", TenantID: "acme"}, name, arguments, answer)
		return key
	}
	first, kept, open := key("book_slot", book, booked), key("hold_slot", hold, held), key("create_ticket", ticket, opened)
	key("cancel_meeting", ofOther, `{}`)
	key("move_meeting", `{"meeting_reference":"mt_8","slot_id":"st_8"}`, `{"meeting_reference":"mt_8"}`)
	if key("book_slot", book, booked) != first {
		t.Error("a meeting is booked again after another one was changed")
	}
	if key("hold_slot", hold, held) != kept {
		t.Error("a slot is held again after another meeting was changed")
	}
	if key("create_ticket", ticket, opened) != open {
		t.Error("a ticket is opened again after a meeting was changed")
	}

	key("cancel_meeting", ofBooked, `{}`)
	second := key("book_slot", book, `{"meeting_reference":"mt_3"}`)
	if second == first {
		t.Error("who books again after the cancellation gets the cancelled meeting")
	}
	key("cancel_meeting", ofOther, `{}`)
	if key("book_slot", book, `{"meeting_reference":"mt_3"}`) != second {
		t.Error("the second meeting is booked again after another one was changed")
	}

	key("book_slot", take, taken)
	if key("hold_slot", hold, held) != kept {
		t.Error("a slot is held again for which there is a meeting")
	}
	key("cancel_meeting", `{"meeting_reference":"mt_2"}`, `{}`)
	if key("hold_slot", hold, held) == kept {
		t.Error("a hold is promised again though its meeting was cancelled")
	}
	key("hold_slot", `{"slot_id":"st_4"}`, `{"hold_id":"hd_4","held_until":"2126-11-26T15:05:00Z"}`)
	there := key("hold_slot", `{"slot_id":"st_4"}`, `{"hold_id":"hd_4","held_until":"2126-11-26T15:05:00Z"}`)
	key("move_meeting", `{"meeting_reference":"mt_3","hold_id":"hd_4"}`, `{"meeting_reference":"mt_3"}`)
	if key("hold_slot", `{"slot_id":"st_4"}`, held) == there {
		t.Error("a hold is promised again though a meeting was moved to it")
	}
}

// A hold is promised as long as it lasts. An equal one after its end is another, which is one again while it lasts:
// the answer of the first would promise a slot that somebody else may have taken.
func TestAHoldThatHasEndedIsNotPromisedAgain(t *testing.T) {
	w, r := newWorld()
	begin := time.Date(2026, time.November, 26, 15, 0, 0, 0, time.UTC)
	at := begin
	r.Now = func() time.Time { return at }
	zone := time.FixedZone("", -5*60*60)
	hold := func(after time.Duration, toolCallID, slotID string, until time.Duration) string {
		t.Helper()
		at = begin.Add(after)
		_, key := w.say(t, r, Call{CallID: "call", ToolCallID: toolCallID, TenantID: "acme"}, "hold_slot",
			`{"slot_id":"`+slotID+`"}`,
			`{"hold_id":"hd_1","held_until":"`+begin.Add(until).In(zone).Format(time.RFC3339)+`"}`)
		return key
	}
	const minute = time.Minute
	first := hold(0, "1", "st_1", 5*minute)
	other := hold(minute, "2", "st_2", 6*minute)
	if hold(4*minute, "3", "st_1", 5*minute) != first {
		t.Error("a repeat while the hold lasts is another hold")
	}
	if hold(5*minute+time.Second/2, "", "st_1", 5*minute) != first {
		t.Error("within its last second, a hold is in the way of an equal one")
	}
	second := hold(6*minute, "4", "st_1", 11*minute)
	if second == first {
		t.Error("a hold that has ended is promised again")
	}
	if hold(6*minute, "5", "st_2", 6*minute) != other {
		t.Error("the end of one hold ends another")
	}
	if hold(7*minute, "1", "st_1", 5*minute) != first {
		t.Error("the platform's own repeat has another key")
	}
	if hold(8*minute, "6", "st_1", 11*minute) != second || hold(9*minute, "", "st_1", 11*minute) != second {
		t.Error("a repeat while the second hold lasts is another hold")
	}
	if third := hold(12*minute, "7", "st_1", 17*minute); third == first || third == second {
		t.Error("the second hold is promised after its end")
	}
	at = begin.Add(30 * minute)
	key := func() string {
		_, key := w.say(t, r, Call{CallID: "call", TenantID: "acme"}, "book_slot", `{"title":"A","slot_id":"st_1"}`, `{}`)
		return key
	}
	if booked := key(); booked != key() {
		t.Error("a booking is another one after a hold has ended")
	}
}

// A platform that hangs up leaves the calls of tools that it asked for and that have not begun. Writes are not
// cancelled with it, so that none may begin.
func TestNothingBeginsForAClientThatIsGone(t *testing.T) {
	for _, tool := range api.Tools() {
		synctest.Test(t, func(t *testing.T) {
			w, r := newWorld()
			ctx, hangUp := context.WithCancel(t.Context())
			hangUp()
			_, err := r.Run(ctx, Call{Tool: tool, Arguments: json.RawMessage(`{}`), Header: http.Header{}})
			synctest.Wait()
			if !errors.Is(err, context.Canceled) || len(w.bodies) != 0 {
				t.Errorf("%s: %v, and the interface got %d requests", tool.Name, err, len(w.bodies))
			}
		})
	}
}
