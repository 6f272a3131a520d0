package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/agents"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// asked is a request that the interface got.
type asked struct {
	path   string
	header http.Header
	body   string
}

// world is the platforms' endpoints over HTTP, before an interface that answers as a test says.
type world struct {
	t      *testing.T
	url    string
	caller apikey.Caller
	agents map[string]apikey.Agent

	mu      sync.Mutex
	got     []asked
	used    map[string]bool // ids of agents
	claimed bool            // whether the last request only claimed to come from its agent before its body was read
	answer  func(path string) (status int, body string)
	zone    func(context.Context, apikey.Caller) *time.Location
}

func open(t *testing.T) *world {
	t.Helper()
	return openWithin(t, 0)
}

// openWithin is open, where a call may take so long.
func openWithin(t *testing.T, limit time.Duration) *world {
	t.Helper()
	w := &world{t: t, used: map[string]bool{}, zone: ofTenant, answer: func(string) (int, string) {
		return 200, `{"say":"Done."}`
	}, caller: apikey.Caller{
		Tenant: tenant.Tenant{ID: "t-acme", Name: "acme", Settings: tenant.Settings{Timezone: "America/New_York"}},
		Scopes: apikey.Scopes(),
	}}
	a := agents.New(agents.Options{
		API: func() http.Handler {
			return w
		}, Callers: w, Tools: api.Tools(), Notes: storetest.Open(t, storetest.SQLite(t)),
		Now: func() time.Time { return today }, Within: limit,
		Zone: func(ctx context.Context, c apikey.Caller) *time.Location { return w.zone(ctx, c) },
	})
	mux := http.NewServeMux()
	for _, p := range a.Protocols() {
		mux.HandleFunc("POST "+p.Path, func(rw http.ResponseWriter, r *http.Request) {
			caller, claimed, err := p.Identify(r)
			if w.claimed = claimed; caller.KeyID == "" {
				caller = w.caller
			}
			if err == nil {
				err = p.Serve(rw, r, caller)
			}
			if err != nil {
				f := fault.From(err)
				text := f.Reason + " " + f.Detail
				for _, field := range f.Fields {
					text += " " + field.Path + " " + field.Message
				}
				http.Error(rw, text, http.StatusBadRequest)
			}
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func ofTenant(_ context.Context, c apikey.Caller) *time.Location {
	zone, _ := time.LoadLocation(c.Tenant.Zone())
	return zone
}

// today is Monday evening in New York.
var today = time.Date(2026, time.December, 1, 3, 4, 0, 0, time.UTC)

func (w *world) Agent(_ context.Context, id string) (apikey.Agent, error) {
	if a, has := w.agents[id]; has {
		return a, nil
	}
	return apikey.Agent{}, apikey.NoAgent()
}

func (w *world) Used(agent apikey.Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used[agent.KeyID] = true
}

func (w *world) Authenticate(_ context.Context, key string) (apikey.Caller, error) {
	switch key {
	case "fd_live_acme":
		return w.caller, nil
	case "fd_live_other":
		return apikey.Caller{Tenant: tenant.Tenant{ID: "t-other"}}, nil
	}
	return apikey.Caller{}, fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey, "")
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.got = append(w.got, asked{r.URL.Path, r.Header.Clone(), string(body)})
	status, text := w.answer(r.URL.Path)
	w.mu.Unlock()
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, text)
}

// post sends a request, and returns the status and the body.
func (w *world) post(path, body string, header ...string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "k")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(text))
}

// one returns the only request that the interface got since the last call of one.
func (w *world) one() asked {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.got) != 1 {
		w.t.Fatalf("the interface got %d requests, want 1", len(w.got))
	}
	got := w.got[0]
	w.got = nil
	return got
}

// The three forms of a call that Vapi's documents show lead to the same call, and to the answer that its types
// ask for.
func TestVapiCallsToolsInThreeForms(t *testing.T) {
	w := open(t)
	for form, entry := range map[string]string{
		"of the types": `{"id":"tc_1","type":"function","function":{"name":"book_slot",` +
			`"arguments":"{\"slot_id\":\"st_1\"}"}}`,
		"of custom tools":  `{"id":"tc_1","name":"book_slot","arguments":{"slot_id":"st_1"}}`,
		"of server events": `{"id":"tc_1","name":"book_slot","parameters":{"slot_id":"st_1"}}`,
	} {
		status, body := w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","timestamp":1,"call":{"id":"call_9"},`+
			`"customer":{"number":"+12025550101"},"toolCallList":[`+entry+`]}}`, "X-Request-Id: of-a-proxy")
		want := `{"results":[{"toolCallId":"tc_1","name":"book_slot","result":"Done.",` +
			`"message":{"type":"request-complete","content":"Done."}}]}`
		if status != 200 || body != want {
			t.Errorf("%s: %d %s", form, status, body)
		}
		got := w.one()
		if got.path != "/alpha/calendar/book-slot" || got.body != `{"phone_number":"+12025550101","slot_id":"st_1"}` || got.header.Get("X-Api-Key") != "k" {
			t.Errorf("%s: asked for %s %s", form, got.path, got.body)
		}
		if id := got.header.Get("X-Request-Id"); id != "call_9" {
			t.Errorf("%s: the request id is %q", form, id)
		}
		if key := got.header.Get("Idempotency-Key"); !strings.HasPrefix(key, "call-") || len(key) != 37 {
			t.Errorf("%s: the idempotency key is %q", form, key)
		}
	}
}

// A change has an idempotency key within its telephone call, which a repeat has again.
func TestARepeatHasTheKeyOfTheFirst(t *testing.T) {
	w := open(t)
	key := func(callID, toolCallID, slotID string) string {
		w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","call":{"id":"`+callID+`"},"toolCallList":[`+
			`{"id":"`+toolCallID+`","name":"book_slot","arguments":{"slot_id":"`+slotID+`"}}]}}`)
		return w.one().header.Get("Idempotency-Key")
	}
	if first := key("a", "1", "st_1"); first != key("a", "1", "st_1") || first != key("a", "2", "st_1") {
		t.Error("a repeat has another key")
	}
	keys := []string{key("a", "1", "st_1"), key("a", "1", "st_2"), key("b", "1", "st_1"), key("ab", "1", "st_1")}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 4 {
		t.Error("different calls have one key")
	}
	if key("", "1", "st_1") != "" {
		t.Error("a change outside a call has a key")
	}
	plain := func(header ...string) string {
		w.post("/alpha/agents/tools/book-slot", `{"slot_id":"st_1"}`, header...)
		return w.one().header.Get("Idempotency-Key")
	}
	if plain("X-Call-Id: a", "X-Tool-Call-Id: 1") != key("a", "1", "st_1") || plain("X-Tool-Call-Id: 1") != "" {
		t.Error("the headers are not the ids")
	}
}

// A session of Vapi's has a chat for each message of a person. They are one conversation, as a telephone call is.
func TestTheChatsOfASessionAreOneConversation(t *testing.T) {
	w := open(t)
	key := func(chat string) string {
		w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","chat":`+chat+`,"toolCallList":[`+
			`{"id":"1","name":"create_ticket","arguments":{"subject":"A"}}]}}`)
		return w.one().header.Get("Idempotency-Key")
	}
	if first := key(`{"id":"c_1","sessionId":"s"}`); first == "" || first != key(`{"id":"c_2","sessionId":"s"}`) ||
		first == key(`{"id":"c_1","sessionId":"s_2"}`) {
		t.Error("a ticket that is asked for in two chats of a session is not one")
	}
	if key(`{"id":"c_1"}`) == "" || key(`{"id":"c_1"}`) == key(`{"id":"c_2"}`) {
		t.Error("a chat without a session is no conversation of its own")
	}
}

// Several calls are answered in their order, on one line each. A tool that does not exist and an operation that
// fails are answers, too.
func TestVapiGetsAnAnswerToEachCall(t *testing.T) {
	w := open(t)
	w.answer = func(path string) (int, string) {
		if path == "/alpha/calendar/find-slots" {
			return 200, `{"say":"I have two.\nWhich one?","slots":[{"slot_id":"st_1"}]}`
		}
		return 409, `{"code":10,"message":"Taken.","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SLOT_TAKEN"},` +
			`{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","message":"That one is taken."}]}`
	}
	status, body := w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","call":{"id":"c"},"toolCallList":[`+
		`{"id":"1","name":"find_slots","arguments":{}},{"id":"2","name":"book_slot","arguments":{}},`+
		`{"id":"3","name":"fly","arguments":{}},{"id":"4","name":"get_current_time"}]}}`)
	var answer struct {
		Results []struct {
			ToolCallID    string `json:"toolCallId"`
			Name          string
			Result, Error string
			Message       any
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Results) != 4 {
		t.Fatalf("%d %s, %v", status, body, err)
	}
	for i, want := range []struct{ id, result, failure string }{
		{"1", `I have two. Which one? {"slots":[{"slot_id":"st_1"}]}`, ""},
		{"2", "", `That one is taken. {"message":"Taken.","reason":"SLOT_TAKEN"}`},
		{"3", "", "UNKNOWN_TOOL"},
		{"4", "It is Monday, November 30, 22:04.", ""},
	} {
		r := answer.Results[i]
		if r.ToolCallID != want.id || !strings.Contains(r.Result, want.result) ||
			!strings.Contains(r.Error, want.failure) || (want.failure == "") != (r.Error == "") || r.Message != nil {
			t.Errorf("%d: %+v", i, r)
		}
		if strings.ContainsAny(r.Result+r.Error, "\r\n") {
			t.Errorf("%d: more than one line: %q", i, r.Result+r.Error)
		}
	}
}

// The sentences that come from no operation are in the caller's language, too.
func TestTheTimeAndARefusalAreSaidInTheCallersLanguage(t *testing.T) {
	w := open(t)
	for tool, want := range map[string]string{
		"get_current_time": "Es ist Montag, der 30. November, 22:04 Uhr.",
		"fly":              "Bei mir ist etwas schiefgegangen. Es tut mir leid.",
	} {
		_, body := w.post("/alpha/agents/tools/"+tool, `{}`, "Accept-Language: de-AT, en;q=0.5")
		var answer struct{ Say string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Say != want {
			t.Errorf("%s: said %q, %v, want %q", tool, answer.Say, err, want)
		}
	}
}

// Vapi says a message in place of what the model would say. So it gets one only where the sentence is the whole
// answer: otherwise nobody hears the status of a ticket, and a model cannot correct its own call.
func TestVapiSaysForTheModelOnlyWhatIsTheWholeAnswer(t *testing.T) {
	w := open(t)
	said := func(tool string) bool {
		_, body := w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","call":{"id":"c"},"toolCallList":[`+
			`{"id":"1","name":"`+tool+`","arguments":{}}]}}`)
		return strings.Contains(body, `"message":{"type"`)
	}
	whole := []string{"find_slots", "book_slot", "find_meetings", "move_meeting", "cancel_meeting", "create_ticket"}
	for _, tool := range api.Tools() {
		if got, want := said(tool.Name), slices.Contains(whole, tool.Name); got != want {
			t.Errorf("%s: said for the model: %v", tool.Name, got)
		}
	}
	if !said("book-slot") {
		t.Error("a name with a hyphen is another tool")
	}
	for rule, c := range map[string]struct {
		answer string
		want   bool
	}{
		"a few slots":        {`{"say":"I have Monday.","slots":[{"slot_id":"st_1"}]}`, true},
		"no slot":            {`{"say":"I have no free time in that period.","slots":[]}`, false},
		"no meeting":         {`{"say":"I could not find an appointment.","meetings":[]}`, false},
		"more than is heard": {`{"say":"I have ` + strings.Repeat("Monday the first at noon or ", 30) + `."}`, false},
	} {
		w.answer = func(string) (int, string) { return 200, c.answer }
		if got := said("find_slots"); got != c.want {
			t.Errorf("%s: said for the model: %v", rule, got)
		}
	}
	w.answer = func(string) (int, string) { return 200, `{"say":"The appointment is cancelled."}` }
	for accept, want := range map[string]bool{"": true, "*": true, "de-AT": true, "it, en;q=0.5": true, "it": false} {
		_, body := w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","toolCallList":[`+
			`{"id":"1","name":"cancel_meeting"}]}}`, "Accept-Language: "+accept)
		if got := strings.Contains(body, `"message":{"type"`); got != want {
			t.Errorf("to an assistant that speaks %q: said for the model: %v", accept, got)
		}
	}
	w.answer = func(string) (int, string) {
		return 400, `{"code":3,"message":"No.","details":[{"@type":"x/google.rpc.ErrorInfo","reason":"INVALID_REQUEST"},` +
			`{"@type":"x/google.rpc.LocalizedMessage","message":"I did not get that."}]}`
	}
	for _, tool := range whole {
		if said(tool) {
			t.Errorf("%s: a failure is said for the model", tool)
		}
	}
}

// While a write goes on, the model has to ask again, for which it needs its turn.
func TestVapiDoesNotSayForTheModelThatAWriteGoesOn(t *testing.T) {
	w := openWithin(t, 100*time.Millisecond)
	goOn := make(chan struct{})
	w.answer = func(string) (int, string) {
		<-goOn
		return 200, `{"say":"Done."}`
	}
	_, body := w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","call":{"id":"c"},"toolCallList":[`+
		`{"id":"1","name":"book_slot","arguments":{"slot_id":"st_1"}}]}}`)
	close(goOn)
	if !strings.Contains(body, `"result":"I am still working on that.`) || strings.Contains(body, `"message"`) {
		t.Error(body)
	}
}

// What goes on is not done yet: a backend that goes by "ok" must not take a meeting for booked that may still be
// refused. The sentence is for the caller, and the message tells the model what to do.
func TestAWriteThatGoesOnIsNotToldAsDone(t *testing.T) {
	w := openWithin(t, 50*time.Millisecond)
	goOn := make(chan struct{})
	w.answer = func(string) (int, string) {
		<-goOn
		return 200, `{"say":"Done."}`
	}
	_, body := w.post("/alpha/agents/tools/book_slot", `{"slot_id":"st_1"}`)
	close(goOn)
	var answer struct {
		OK           bool
		Say, Message string
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.OK ||
		answer.Say != "I am still working on that. One moment, please." ||
		!strings.Contains(answer.Message, "exactly the same values") {
		t.Errorf("%v: %s", err, body)
	}
}

// Each call of a tool has an answer of some hundred bytes, so that their number is bounded, and a list is not read
// further than that. The list of old servers counts where it is the one that is answered.
func TestVapiAsksForAFewCallsAtATime(t *testing.T) {
	w := open(t)
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("{},", n), ",") + "]" }
	for rule, c := range map[string]struct{ lists, refused string }{
		"as many as are allowed":         {`"toolCallList":` + list(32), ""},
		"one more":                       {`"toolCallList":` + list(33), "message.toolCallList"},
		"a body full":                    {`"toolCallList":` + list(340_000), "message.toolCallList"},
		"a body full for old servers":    {`"toolCallList":null,"toolCalls":` + list(340_000), "message.toolCalls"},
		"beside a list that is answered": {`"toolCallList":` + list(1) + `,"toolCalls":` + list(33), ""},
	} {
		body := `{"message":{"type":"tool-calls",` + c.lists + `}}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer := w.post("/alpha/agents/vapi", body)
		runtime.ReadMemStats(&after)
		if c.refused == "" {
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", rule, status, answer)
			}
			continue
		}
		if status != http.StatusBadRequest || !strings.HasPrefix(answer, "INVALID_REQUEST") ||
			!strings.Contains(answer, c.refused+" has more than 32 calls of tools") {
			t.Errorf("%s: %d %.300s", rule, status, answer)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%s: a body of %d bytes took %d", rule, len(body), took)
		}
	}
}

// The changes of one message are made one after the other in their order, since a later one may rest upon an earlier.
func TestVapisChangesAreMadeInTheirOrder(t *testing.T) {
	w := open(t)
	var running atomic.Int32
	w.answer = func(path string) (int, string) {
		defer running.Add(-1)
		if running.Add(1) > 1 {
			t.Errorf("%s begins beside another change", path)
		}
		time.Sleep(5 * time.Millisecond) // for the next one to begin in, if it does not wait
		return 200, `{"say":"Done."}`
	}
	_, body := w.post("/alpha/agents/vapi", `{"message":{"type":"tool-calls","call":{"id":"c"},"toolCallList":[`+
		`{"id":"1","name":"cancel_meeting","arguments":{"meeting_reference":"mt_1"}},`+
		`{"id":"2","name":"get_current_time"},`+
		`{"id":"3","name":"hold_slot","arguments":{"slot_id":"st_1"}},`+
		`{"id":"4","name":"book_slot","arguments":{"slot_id":"st_1","title":"A"}}]}}`)
	var paths []string
	for _, got := range w.got {
		paths = append(paths, got.path)
	}
	if !slices.Equal(paths, []string{"/alpha/calendar/cancel-meeting", "/alpha/calendar/hold-slot",
		"/alpha/calendar/book-slot"}) || strings.Count(body, `"toolCallId"`) != 4 {
		t.Errorf("asked %v, answered %s", paths, body)
	}
}

// The calls of one request share its time: the platform waits for all of them together. What has no time left does not
// begin, so that the model can ask for it again.
func TestVapiGetsAllAnswersInTime(t *testing.T) {
	w := openWithin(t, 300*time.Millisecond)
	goOn := make(chan struct{})
	w.answer = func(string) (int, string) {
		<-goOn
		return 200, `{"say":"Done."}`
	}
	var calls []string
	for n := range 9 {
		calls = append(calls, fmt.Sprintf(`{"id":"%d","name":"create_ticket","arguments":{"subject":"%[1]d"}}`, n))
	}
	_, body := w.post("/alpha/agents/vapi",
		`{"message":{"type":"tool-calls","call":{"id":"c"},"toolCallList":[`+strings.Join(calls, ",")+`]}}`)
	close(goOn)
	w.mu.Lock()
	defer w.mu.Unlock()
	goOns, late := strings.Count(body, "I am still working on that."), strings.Count(body, "Can we try again?")
	if late < 8 || goOns+late != 9 || len(w.got) > goOns {
		t.Errorf("%d go on, %d were late, and %d reached the interface: %s", goOns, late, len(w.got), body)
	}
}

func TestVapiMessagesThatAskForNothingGetNothing(t *testing.T) {
	w := open(t)
	for _, kind := range []string{"status-update", "end-of-call-report", "hang", "", "something-new"} {
		status, body := w.post("/alpha/agents/vapi", `{"message":{"type":"`+kind+`","call":{"id":"c"}}}`)
		if status != 200 || body != "{}" || len(w.got) != 0 {
			t.Errorf("%s: %d %s", kind, status, body)
		}
	}
}

func TestRetellCallsTools(t *testing.T) {
	w := open(t)
	const args = `{"subject":"A broken door"}`
	for _, c := range []struct{ path, body string }{
		{"/alpha/agents/retell", `{"name":"create_ticket","args":` + args + `,"call":{"call_id":"c","call_type":` +
			`"phone_call","direction":"inbound","from_number":"+12025550101","to_number":"+12025550199","transcript":"` +
			strings.Repeat("x", 600<<10) + `"}}`},
		{"/alpha/agents/retell/create_ticket", args},
		{"/alpha/agents/tools/create-ticket", args},
	} {
		status, body := w.post(c.path, c.body)
		if status != 200 || body != `{"ok":true,"say":"Done."}` {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
		if got := w.one(); got.path != "/v1/tickets/create-ticket" || got.body != args {
			t.Errorf("%s: asked for %s %s", c.path, got.path, got.body)
		}
	}
	w.answer = func(string) (int, string) {
		return 503, `{"code":14,"message":"Down.","details":[{"@type":"x/google.rpc.ErrorInfo","reason":"PROVIDER_UNAVAILABLE"},` +
			`{"@type":"x/google.rpc.LocalizedMessage","message":"Please call later."}]}`
	}
	status, body := w.post("/alpha/agents/tools/create_ticket", args)
	if want := `{"message":"Down.","ok":false,"reason":"PROVIDER_UNAVAILABLE","say":"Please call later."}`; status != 200 ||
		body != want {
		t.Errorf("%d %s", status, body)
	}
}

// What Retell adds to the arguments is none of the tool's: the interface would refuse the call for it. Everything
// else reaches the interface as it is, which says what is wrong.
func TestWhatRetellAddsIsNoArgument(t *testing.T) {
	w := open(t)
	const spoken = `"execution_message":"One moment, {\"I\"} am looking."`
	for rule, c := range map[string]struct{ path, body, want string }{
		"with the envelope": {"/alpha/agents/retell", `{"name":"create_ticket","args":{"subject":"A",` + spoken + `}}`,
			`{"subject":"A"}`},
		"nothing else": {"/alpha/agents/retell", `{"name":"create_ticket","args":{` + spoken + `}}`, `{}`},
		"at the root":  {"/alpha/agents/retell/create_ticket", `{` + spoken + `,"subject":"A"}`, `{"subject":"A"}`},
		"at the root with the call": {"/alpha/agents/retell/create_ticket", `{"call":{"call_id":"c"},"subject":"A"}`,
			`{"subject":"A"}`},
		"a name twice": {"/alpha/agents/retell", `{"name":"create_ticket","args":{"subject":"A","subject":"B",` +
			spoken + `}}`, `{"subject":"A","subject":"B"}`},
		"further in": {"/alpha/agents/retell", `{"name":"create_ticket","args":{"a":{` + spoken + `}}}`,
			`{"a":{` + spoken + `}}`},
		"what breaks off":    {"/alpha/agents/retell/create_ticket", `{` + spoken, `{` + spoken},
		"what goes on":       {"/alpha/agents/retell/create_ticket", `{` + spoken + `} {}`, `{` + spoken + `} {}`},
		"of other platforms": {"/alpha/agents/tools/create_ticket", `{` + spoken + `}`, `{` + spoken + `}`},
	} {
		if status, body := w.post(c.path, c.body); status != 200 {
			t.Errorf("%s: %d %s", rule, status, body)
		}
		if got := w.one(); got.body != c.want {
			t.Errorf("%s: the interface got %s, want %s", rule, got.body, c.want)
		}
	}
	for _, tool := range api.Tools() {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		for _, added := range []string{"call", "execution_message"} {
			if _, has := schema.Properties[added]; has {
				t.Errorf("%s has a field %s, which is never filled for Retell", tool.Name, added)
			}
		}
	}
}

// A megabyte of names is refused by the interface, and costs little until then.
func TestNobodyReadsMoreFieldsThanTheInterface(t *testing.T) {
	w := open(t)
	fields := strings.Repeat(`"name":1,`, 100_000)
	for _, c := range []struct{ path, body string }{
		{"/alpha/agents/retell", `{"name":"find_slots","args":{` + fields + `"execution_message":"A"}}`},
		{"/alpha/agents/retell/find_slots", `{` + fields + `"call":{}}`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, body := w.post(c.path, c.body)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; status != 200 || made > 25 {
			t.Errorf("%s: %d %s for %d MiB", c.path, status, body, made)
		}
		if got := w.one(); len(got.body) < len(fields) {
			t.Errorf("%s: the interface got %d bytes", c.path, len(got.body))
		}
	}
}

// Who calls is what the platform says. What the model says of it is thrown away, and without a platform's word
// nobody is looked up.
func TestAModelCannotSayWhoCalls(t *testing.T) {
	w := open(t)
	const forged = `{"phone_number":"+12025550666"}`
	for name, c := range map[string]struct{ path, body, header, want string }{
		"Vapi": {"/alpha/agents/vapi", `{"message":{"type":"tool-calls","call":{"id":"c","customer":{"number":` +
			`"+12025550101"}},"toolCallList":[{"id":"1","name":"look_up_caller","arguments":` + forged + `}]}}`, "",
			"+12025550101"},
		"Vapi on the web": {"/alpha/agents/vapi", `{"message":{"type":"tool-calls","chat":{"id":"c"},"toolCallList":[` +
			`{"id":"1","name":"look_up_caller","arguments":` + forged + `}]}}`, "", "unknown"},
		"Retell, inbound": {"/alpha/agents/retell", `{"name":"look_up_caller","args":` + forged + `,"call":{"direction":` +
			`"inbound","from_number":"+12025550101","to_number":"+12025550199"}}`, "", "+12025550101"},
		"Retell, outbound": {"/alpha/agents/retell", `{"name":"look_up_caller","args":` + forged + `,"call":{"direction":` +
			`"outbound","from_number":"+12025550199","to_number":"+12025550101"}}`, "", "+12025550101"},
		"Retell on the web": {"/alpha/agents/retell", `{"name":"look_up_caller","args":` + forged + `,"call":{"call_type":` +
			`"web_call"}}`, "", "unknown"},
		"a header": {"/alpha/agents/tools/look_up_caller", forged, "X-Caller-Number: +12025550101",
			"+12025550101"},
		"no header":   {"/alpha/agents/tools/look_up_caller", forged, "X-Other: 1", "unknown"},
		"a SIP user":  {"/alpha/agents/tools/look_up_caller", forged, "X-Caller-Number: alice", "unknown"},
		"no argument": {"/alpha/agents/tools/look_up_caller", "", "X-Caller-Number: +12025550101", "+12025550101"},
	} {
		header := c.header
		if header == "" {
			header = "X-Other: 1"
		}
		if status, body := w.post(c.path, c.body, header); status != 200 {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if got := w.one(); got.body != `{"phone_number":"`+c.want+`"}` {
			t.Errorf("%s: looked up %s", name, got.body)
		}
	}
}

// A calendar that is slow to tell its zone is waited for beside the look-up of the caller, not before it: the platform
// waits for both.
func TestCallStartedAsksForEverythingAtOnce(t *testing.T) {
	w := open(t)
	lookedUp := make(chan struct{})
	var once sync.Once
	w.answer = func(string) (int, string) {
		once.Do(func() { close(lookedUp) })
		return 200, `{}`
	}
	w.zone = func(ctx context.Context, c apikey.Caller) *time.Location {
		select {
		case <-lookedUp:
		case <-ctx.Done():
			t.Error("nobody is looked up until the zone is known")
		}
		return ofTenant(ctx, c)
	}
	status, body := w.post("/alpha/agents/telnyx/call-started",
		`{"data":{"payload":{"telnyx_end_user_target":"+12025550101"}}}`)
	if status != 200 || !strings.Contains(body, `"today":"2026-11-30"`) {
		t.Errorf("got %d %s", status, body)
	}
}

// Before the first word, each platform is answered in its shape, with the same variables.
func TestCallStarted(t *testing.T) {
	w := open(t)
	w.answer = func(path string) (int, string) {
		if path == "/alpha/callers/look-up" {
			return 200, `{"candidates":[{"name":"Pat Doe","match":"exact","account":{"name":"Maple Court"},` +
				`"open_tickets":[{"ticket_number":"17","subject":"Door","status":"New"}]}]}`
		}
		return 200, `{"meetings":[{"meeting_reference":"mt_1","start":"2026-12-02T10:00:00-05:00"},{"start":"x"}]}`
	}
	variables := `{"caller_account":"Maple Court","caller_known":"true","caller_name":"Pat Doe",` +
		`"caller_number":"+12025550101","next_meeting":"2026-12-02T10:00:00-05:00","next_meeting_reference":"mt_1",` +
		`"open_tickets":"17: Door (New)","time":"22:04","time_zone":"America/New_York","today":"2026-11-30",` +
		`"weekday":"Monday"}`
	requests := map[string]struct{ path, body, want string }{
		"vapi": {
			"/alpha/agents/vapi?assistant_id=as_1",
			`{"message":{"type":"assistant-request","call":{"id":"c","customer":{"number":"+12025550101"}}}}`,
			`{"assistantId":"as_1","assistantOverrides":{"variableValues":` + variables + `}}`,
		},
		"vapi's own": {
			"/alpha/agents/vapi/call-started?assistant_id=as_1", `{"message":{"customer":{"number":"+12025550101"}}}`,
			`{"assistantId":"as_1","assistantOverrides":{"variableValues":` + variables + `}}`,
		},
		"retell": {
			"/alpha/agents/retell/call-started", `{"event":"call_inbound","call_inbound":{"agent_id":"a",` +
				`"from_number":"+12025550101","to_number":"+12025550199"}}`,
			`{"call_inbound":{"dynamic_variables":` + variables + `}}`,
		},
		"retell, by SMS": {
			"/alpha/agents/retell/call-started", `{"event":"chat_inbound","chat_inbound":{"agent_id":"a",` +
				`"agent_version":1,"from_number":"+12025550101","to_number":"+12025550199"}}`,
			`{"chat_inbound":{"dynamic_variables":` + variables + `}}`,
		},
		"elevenlabs": {
			"/alpha/agents/elevenlabs/call-started", `{"caller_id":"+12025550101","agent_id":"a","called_number":` +
				`"+12025550199","call_sid":"CA1"}`,
			`{"dynamic_variables":` + variables + `,"type":"conversation_initiation_client_data"}`,
		},
		"telnyx": {
			"/alpha/agents/telnyx/call-started", `{"data":{"event_type":"assistant.initialization","payload":` +
				`{"telnyx_end_user_target":"+12025550101","telnyx_agent_target":"+12025550199"}}}`,
			`{"dynamic_variables":` + variables + `}`,
		},
	}
	for name, c := range requests {
		if status, body := w.post(c.path, c.body); status != 200 || body != c.want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}

	unknown := strings.NewReplacer(`"caller_known":"true"`, `"caller_known":"false"`, "Maple Court", "", "Pat Doe", "",
		"17: Door (New)", "", "2026-12-02T10:00:00-05:00", "", "mt_1", "").Replace(variables)
	for why, answer := range map[string]func(string) (int, string){
		"nobody is known":   func(string) (int, string) { return 200, `{"candidates":[],"meetings":[]}` },
		"two are known":     func(string) (int, string) { return 200, `{"candidates":[{"name":"A"},{"name":"B"}]}` },
		"a stranger may be": func(string) (int, string) { return 200, `{"candidates":[{"name":"A","match":"suffix"}]}` },
		"the CRM is down":   func(string) (int, string) { return 503, `{"code":14,"message":"Down."}` },
		"it is not JSON":    func(string) (int, string) { return 200, `<html>` },
		"it may not ask":    func(string) (int, string) { return 403, `{"code":7,"message":"No."}` },
		"all is different":  func(string) (int, string) { return 200, `{"candidates":7,"meetings":"x"}` },
	} {
		w.answer = answer
		want := `{"dynamic_variables":` + unknown + `}`
		if status, body := w.post(requests["telnyx"].path, requests["telnyx"].body); status != 200 || body != want {
			t.Errorf("%s: %d %s", why, status, body)
		}
	}

	for caller, told := range map[string]string{
		"anonymous": "", "+266696687": "", "sip:anonymous@anonymous.invalid": "", // withheld
		"sip:reception@example.com": "sip:reception@example.com", // whoever calls without a number
	} {
		body := strings.Replace(requests["elevenlabs"].body, "+12025550101", caller, 1)
		empty := strings.Replace(unknown, "+12025550101", told, 1)
		want := strings.Replace(requests["elevenlabs"].want, variables, empty, 1)
		if status, body := w.post(requests["elevenlabs"].path, body); status != 200 || body != want {
			t.Errorf("%s: %d %s", caller, status, body)
		}
	}

	status, body := w.post("/alpha/agents/vapi", requests["vapi"].body)
	if status != 400 || !strings.Contains(body, "assistant_id") && !strings.Contains(body, "INVALID_REQUEST") {
		t.Errorf("without an assistant: %d %s", status, body)
	}
}

// A meeting of whole days is told by the first of them, and by no time, since nobody should come at midnight.
func TestAWholeDayIsNoMidnightBeforeTheFirstWord(t *testing.T) {
	for meeting, want := range map[string]string{
		`"start":"2026-12-24T00:00:00-05:00","end":"2026-12-25T00:00:00-05:00"`: "2026-12-24",
		`"start":"2026-12-24T00:00:00Z","end":"2026-12-27T00:00:00Z"`:           "2026-12-24",
		`"start":"2026-12-24T00:00:00-05:00","end":"2026-12-24T00:30:00-05:00"`: "2026-12-24T00:00:00-05:00",
		`"start":"2026-12-24T23:00:00-05:00","end":"2026-12-25T00:00:00-05:00"`: "2026-12-24T23:00:00-05:00",
	} {
		w := open(t)
		w.answer = func(string) (int, string) { return 200, `{"meetings":[{"meeting_reference":"mt_1",` + meeting + `}]}` }
		_, body := w.post("/alpha/agents/telnyx/call-started", `{"data":{"payload":{"telnyx_end_user_target":"+12025550101"}}}`)
		if !strings.Contains(body, `"next_meeting":"`+want+`"`) {
			t.Errorf("%s: %s", meeting, body)
		}
	}
}

// A key without the scopes of a tool is not used to ask for it.
func TestCallStartedAsksForWhatTheKeyMay(t *testing.T) {
	w := open(t)
	w.caller.Scopes = []apikey.Scope{}
	status, body := w.post("/alpha/agents/telnyx/call-started", `{"data":{"payload":{"telnyx_end_user_target":"+12025550101"}}}`)
	if status != 200 || len(w.got) != 0 || !strings.Contains(body, `"caller_known":"false"`) {
		t.Errorf("%d %s after %d requests", status, body, len(w.got))
	}
}

// A body that breaks off is its sender's fault. That a body is too slow is told by the interface; see core/api.
func TestABrokenBodyIsItsSendersFault(t *testing.T) {
	w := open(t)
	w.agents = map[string]apikey.Agent{"agent_a": {Caller: w.caller, Platform: "vapi", Signing: []byte("s")}}
	for _, path := range []string{"/alpha/agents/vapi", "/alpha/agents/tools/find_slots", "/alpha/agents/vapi/agent_a"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Vapi-Secret: s\r\n"+
			"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", path)
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(answer), "\r\n\r\nMALFORMED_JSON ") {
			t.Errorf("%s: %s, %v", path, answer, err)
		}
	}
}

func TestBodiesThatAreNoneAreRefused(t *testing.T) {
	w := open(t)
	for _, path := range []string{"/alpha/agents/vapi", "/alpha/agents/retell",
		"/alpha/agents/retell/call-started"} {
		for _, body := range []string{"", "no JSON", "[]", `"x"`, `{"message":7,"call":7,"call_inbound":7}`} {
			if status, answer := w.post(path, body); status != 400 || !strings.HasPrefix(answer, "INVALID_REQUEST") {
				t.Errorf("%s, %q: %d %s", path, body, status, answer)
			}
		}
		if status, answer := w.post(path, strings.Repeat(" ", 1<<20+1)); status != 400 ||
			!strings.HasPrefix(answer, "BODY_TOO_LARGE") {
			t.Errorf("%s, too large: %d %s", path, status, answer)
		}
	}
	if len(w.got) != 0 {
		t.Errorf("the interface got %d requests", len(w.got))
	}
	limits, err := os.ReadFile("../../deploy/limits.md")
	if row := "(`/alpha/agents`) | 1 MiB |"; err != nil || !strings.Contains(string(limits), row) {
		t.Errorf("deploy/limits.md does not say %s: %v", row, err)
	}
}
