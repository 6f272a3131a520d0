package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/admin"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/mcp"
	"frontdesk/core/tenant"
	"frontdesk/core/toolcall"
)

// surface is an interface that answers as a test says, and remembers what it was asked.
type surface struct {
	mu     sync.Mutex
	asked  []*http.Request
	bodies []string
	answer func(w http.ResponseWriter, r *http.Request)
}

func (s *surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked, s.bodies = append(s.asked, r), append(s.bodies, string(body))
	answer := s.answer
	s.mu.Unlock()
	answer(w, r)
}

func (s *surface) last(t *testing.T) (*http.Request, string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		t.Fatal("the interface was not called")
	}
	return s.asked[len(s.asked)-1], s.bodies[len(s.bodies)-1]
}

func says(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// world is a server of tools over HTTP.
type world struct {
	*surface
	t      *testing.T
	url    string
	header http.Header // of every request
	caller apikey.Caller
}

func open(t *testing.T, within time.Duration) *world {
	t.Helper()
	w, _ := openWith(t, within, nil)
	return w
}

// everything is a caller with all scopes.
func everything() apikey.Caller {
	return apikey.Caller{
		Tenant: tenant.Tenant{Name: "acme",
			Settings: tenant.Settings{Timezone: "America/New_York"}}, Scopes: apikey.Scopes(),
	}
}

// openWith opens a world in which the server offers more than our tools.
func openWith(t *testing.T, within time.Duration, by func(*sdk.ServerOptions) func(*sdk.Server)) (*world, *mcp.Server) {
	t.Helper()
	w := &world{
		surface: &surface{answer: says(200, `{}`)}, t: t, header: http.Header{"X-Api-Key": {"k"}}, caller: everything(),
	}
	options := mcp.Options{
		PublicURL: "https://desk.example.com", Version: "1.2.3", API: func() http.Handler { return w.surface },
		Tools: api.Tools(), Now: func() time.Time {
			return time.Date(2026, time.December, 1, 3, 4, 0, 0, time.UTC)
		},
		Zone: func(_ context.Context, c apikey.Caller) *time.Location {
			zone, _ := time.LoadLocation(c.Tenant.Zone())
			return zone
		},
		Within: within,
	}
	options.Extend(by)
	server, err := mcp.New(options)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch err := server.Protocol().Serve(rw, r, w.caller); {
		case errors.Is(err, fault.Forbidden):
			http.Error(rw, err.Error(), http.StatusForbidden)
		case err != nil:
			http.Error(rw, fault.From(err).Reason+" "+fault.From(err).Detail, http.StatusBadRequest)
		}
	}))
	t.Cleanup(h.Close)
	w.url = h.URL + mcp.Path
	return w, server
}

// RoundTrip adds the headers.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

// session connects a client, which speaks the newest version of the protocol.
func (w *world) session() *sdk.ClientSession {
	w.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	s, err := client.Connect(w.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: w.url, HTTPClient: &http.Client{Transport: w}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// call calls a tool, and returns its text and whether it is an error.
func (w *world) call(name, arguments string) (string, bool) {
	w.t.Helper()
	result, err := w.session().CallTool(w.t.Context(), &sdk.CallToolParams{
		Name: name, Arguments: json.RawMessage(arguments),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(result.Content) != 1 {
		w.t.Fatalf("%d blocks", len(result.Content))
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// post sends a request as a client of a former version does.
func (w *world) post(body string, headers ...string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Client{Transport: w}).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

type keys struct{ caller apikey.Caller }

func (k keys) Authenticate(context.Context, string) (apikey.Caller, error) { return k.caller, nil }

// A call of a tool counts once, and gives way as its operation does, however it is sent.
func TestACallOfAToolIsLetInByItsOperationAlone(t *testing.T) {
	w, server := openWith(t, 0, nil)
	handler, err := api.New(api.Options{
		PublicURL: "https://desk.example.com", Keys: keys{w.caller}, Protocols: []api.Protocol{server.Protocol()},
		PerMinuteOfKey: 1, Services: api.Services{ // of which none is called
			Calendar: struct{ api.Calendar }{}, Tickets: struct{ api.Tickets }{}, Contacts: struct{ api.Contacts }{},
			Numbers: struct{ api.Numbers }{}, Admin: &admin.Service{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(body, accept string) (int, string) {
		r := httptest.NewRequest(http.MethodPost, "https://desk.example.com/mcp", strings.NewReader(body))
		r.Header = http.Header{"X-Api-Key": {"k"}, "Accept": {accept}, "Content-Type": {"application/json"}}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		return answer.Code, answer.Body.String()
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_slots","arguments":{"title":"%s"}}}`
	plain, long := fmt.Sprintf(call, ""), fmt.Sprintf(call, strings.Repeat("x", 70_000))
	const both = "application/json, text/event-stream"
	for range 2 {
		for what, c := range map[string][2]string{
			"plain": {plain, both}, "long": {long, both}, "from whoever takes everything": {plain, "*/*"},
		} {
			if status, body := send(c[0], c[1]); status != http.StatusOK {
				t.Errorf("%s: %d %s", what, status, body)
			}
		}
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if status, body := send(list, both); status != want {
			t.Errorf("a list: %d %s", status, body)
		}
	}
	clock := strings.Replace(plain, "find_slots", "get_current_time", 1)
	if status, body := send(clock, both); status != http.StatusOK {
		t.Errorf("the plain clock, which costs next to nothing: %d %s", status, body)
	}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name"`
	for what, body := range map[string]string{ // of which the library reads everything, and calls no operation
		"a long clock":                   strings.Replace(long, "find_slots", "get_current_time", 1),
		"a call that is not of JSON-RPC": strings.Replace(long, "2.0", "1.0", 1),
		"a call of two versions":         strings.Replace(long, `"name"`, meta, 1),
	} {
		if status, body := send(body, both); status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %.200s", what, status, body)
		}
	}
}

// A key has the tools of its scopes, at most ten, in the same order each time. Their schemas are plain, and
// their hints honest.
func TestToolsAreThoseOfTheKey(t *testing.T) {
	w := open(t, 0)
	for _, c := range []struct {
		scopes []apikey.Scope
		want   []string
	}{
		{apikey.Scopes(), []string{
			"book_slot", "cancel_meeting", "create_ticket", "find_meetings", "find_slots", "get_current_time",
			"get_ticket", "hold_slot", "look_up_caller", "move_meeting",
		}},
		{[]apikey.Scope{apikey.ScopeCalendarRead}, []string{"find_meetings", "find_slots",
			"get_current_time"}},
		{[]apikey.Scope{apikey.ScopeNumbersRead}, []string{"get_current_time"}},
	} {
		w.caller.Scopes = c.scopes
		listed, err := w.session().ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			raw, err := json.Marshal(tool.InputSchema)
			if err != nil || strings.Contains(string(raw), `["`) && strings.Contains(string(raw), `"type":[`) {
				t.Errorf("%s has the schema %s, %v", tool.Name, raw, err)
			}
			changes := slices.Contains([]string{"move_meeting", "cancel_meeting"}, tool.Name)
			adds := slices.Contains([]string{"book_slot", "hold_slot", "create_ticket"}, tool.Name)
			if a := tool.Annotations; *a.DestructiveHint != changes || a.ReadOnlyHint != (!changes && !adds) {
				t.Errorf("%s has the hints %+v", tool.Name, a)
			}
		}
		if raw, err := json.Marshal(listed); err != nil || len(raw) > 24<<10 {
			t.Errorf("the list has %d bytes, %v", len(raw), err) // each call of a telephone begins with it
		}
		if !slices.Equal(names, c.want) || len(names) > 10 {
			t.Errorf("%v: the tools are %q", c.scopes, names)
		}
	}
	if listed, err := w.session().ListTools(t.Context(), nil); err != nil || listed.CacheScope != "private" {
		t.Errorf("the list may be cached as %+v, %v", listed, err)
	}
}

// A tool is a call of the interface, with the caller's key, and its result a sentence and JSON.
func TestAToolCallsTheInterface(t *testing.T) {
	w := open(t, 0)
	w.header.Set("Accept-Language", "de")
	w.answer = says(200, `{"ticket": {"ticket_number": "7"}}`)
	said, failed := w.call("create_ticket", `{"subject":"Consultation"}`)
	if want := "Das Ticket ist eröffnet. Seine Nummer ist 7.\n" + `{"ticket":{"ticket_number":"7"}}`; said != want || failed {
		t.Errorf("said %q", said)
	}
	req, body := w.last(t)
	if req.Method != http.MethodPost || req.URL.Path != "/v1/tickets/create-ticket" ||
		req.Header.Get("X-Api-Key") != "k" ||
		req.Header.Get("Content-Type") != "application/json" ||
		!strings.Contains(body, `"subject":"Consultation"`) {
		t.Errorf("called %s %s, %v, %s", req.Method, req.URL, req.Header, body)
	}
	if id := req.Header.Get("X-Request-Id"); id != "" {
		t.Errorf("outside a telephone call, the request has the id %q", id)
	}
	w.answer = says(200, `{"say":"This may be Pat.","found":true}`)
	w.header.Set(toolcall.HeaderCall, "call_9") // the log of requests finds all of a telephone call
	if said, failed := w.call("look_up_caller", `{"email":"pat@example.com"}`); failed ||
		said != "This may be Pat.\n"+`{"found":true}` {
		t.Errorf("said %q", said)
	}
	if req, _ := w.last(t); req.Header.Get("X-Request-Id") != "call_9" {
		t.Errorf("in a telephone call, the request has the id %q", req.Header.Get("X-Request-Id"))
	}
}

func TestAFailureIsSaidAndExplained(t *testing.T) {
	w := open(t, 0)
	w.answer = says(400, `{"code":3,"message":"The request is not valid: title is required.","details":[
		{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"frontdesk"},
		{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"title","description":"is required"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"},
		{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"en-US","message":"Could you say that again?"}]}`)
	said, failed := w.call("create_ticket", `{}`)
	want := "Could you say that again?\n" + `{"fields":["title is required"],"message":"The request is not valid: ` +
		`title is required.","reason":"INVALID_REQUEST","retry_in":"2s"}`
	if said != want || !failed {
		t.Errorf("said %q", said)
	}
	w.answer = says(409, `{"code":10,"message":"Taken.","details":[
		{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SLOT_TAKEN","domain":"frontdesk"},
		{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"en-US","message":"I have noon."},
		{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"nearest_slots":[{"slot_id":"st_1"}]}}]}`)
	want = "I have noon.\n" + `{"message":"Taken.","nearest_slots":[{"slot_id":"st_1"}],"reason":"SLOT_TAKEN"}`
	if said, failed := w.call("book_slot", `{}`); said != want || !failed {
		t.Errorf("said %q", said)
	}
	for _, broken := range []string{"", "no JSON", "[]"} {
		for _, status := range []int{200, 500} {
			w.answer = says(status, broken)
			if said, failed := w.call("get_ticket", `{}`); !failed || said != "Something went wrong on my side. I am sorry." {
				t.Errorf("%d %q: said %q", status, broken, said)
			}
		}
	}
}

// The number of whoever calls comes from the platform's header. What a model says of it is not sent on.
func TestAModelCannotSayWhoCalls(t *testing.T) {
	w := open(t, 0)
	w.call("look_up_caller", `{}`)
	if _, body := w.last(t); body != `{"phone_number":"unknown"}` {
		t.Errorf("without the header: %s", body)
	}
	w.header.Set(toolcall.HeaderCaller, "+12025550101")
	w.call("look_up_caller", `{}`)
	if _, body := w.last(t); body != `{"phone_number":"+12025550101"}` {
		t.Errorf("with the header: %s", body)
	}
	w.call("look_up_caller", `{"phone_number":"+12025550199"}`)
	if _, body := w.last(t); body != `{"phone_number":"+12025550101"}` {
		t.Errorf("with a number of the model's: %s", body)
	}
	w.call("look_up_caller", `{"phone_number":"+12025550199","email":"pat@example.com"}`)
	if _, body := w.last(t); body != `{"email":"pat@example.com"}` {
		t.Errorf("with a number of the model's beside an address: %s", body)
	}
	for _, c := range []struct{ tool, header, given, want string }{
		{"find_meetings", "+12025550101", `{"phone_number":"+12025550199","start":"2026-12-01"}`,
			`{"phone_number":"+12025550101","start":"2026-12-01"}`},
		{"find_meetings", "+12025550101", `{"email":""}`, `{"phone_number":"+12025550101"}`},
		{"find_meetings", "+12025550101", `{"email":"pat@example.com"}`, `{"email":"pat@example.com"}`},
		{"hold_slot", "+12025550101", `{"slot_id":"st_1"}`, `{"phone_number":"+12025550101","slot_id":"st_1"}`},
		{"book_slot", "5550101", `{"slot_id":"st_1"}`, `{"phone_number":"unknown","slot_id":"st_1"}`},
		{"cancel_meeting", "+12025550101", `{"meeting_reference":"mt_1"}`, `{"meeting_reference":"mt_1"}`},
	} {
		w.header.Set(toolcall.HeaderCaller, c.header)
		w.call(c.tool, c.given)
		if _, body := w.last(t); body != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.given, body, c.want)
		}
	}
	w.call("look_up_caller", `[]`)
	if _, body := w.last(t); body != `[]` {
		t.Errorf("with a list: %s", body)
	}
}

// A read that takes too long ends. A write goes on, and the call says so.
func TestACallThatTakesLong(t *testing.T) {
	w := open(t, 50*time.Millisecond)
	ended, release := make(chan error, 2), make(chan struct{})
	w.answer = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			ended <- nil
		case <-r.Context().Done():
			ended <- r.Context().Err()
		}
	}
	if said, failed := w.call("create_ticket", `{"subject":"door"}`); failed ||
		!strings.HasPrefix(said, "I am still working on that. One moment, please.\n"+`{"message":"This has not ended`) {
		t.Errorf("a write: said %q", said)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("the write was ended: %v", err)
	}
	w.answer = func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Request-Timeout-Ms") != "50" {
			t.Errorf("a read may take %q", r.Header.Get("X-Request-Timeout-Ms"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	if said, failed := w.call("get_ticket", `{"ticket_number":"1"}`); !failed ||
		said != "That is taking longer than it should. Can we try again?" {
		t.Errorf("a read: said %q", said)
	}
}

func TestTheTimeIsThatOfTheTenant(t *testing.T) {
	w := open(t, 0)
	said, failed := w.call("get_current_time", `{}`)
	want := "It is Monday, November 30, 22:04.\n" +
		`{"date":"2026-11-30","time":"22:04","time_zone":"America/New_York","weekday":"Monday"}`
	if said != want || failed {
		t.Errorf("said %q", said)
	}
	w.header.Set("Accept-Language", "fr")
	said, _ = w.call("get_current_time", `{}`)
	if !strings.HasPrefix(said, "Nous sommes le lundi trente novembre, il est vingt-deux heures quatre.\n") {
		t.Errorf("in French: said %q", said)
	}
}

// Clients of the versions with a handshake are served as well, without a session.
func TestFormerVersions(t *testing.T) {
	w := open(t, 0)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		status, body := w.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if status != 200 || !strings.Contains(body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("%s: %d %s", version, status, body)
		}
	}
	status, body := w.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_current_time","arguments":{}}}`)
	if status != 200 || !strings.Contains(body, "It is Monday") {
		t.Errorf("a call without a handshake: %d %s", status, body)
	}
}

// A client at /mcp may have no other prompt. What was wrong may be the caller's to say, such as a misspelt address, and
// a model that may not ask for it makes it up.
func TestAModelMayAskForWhatItDoesNotKnow(t *testing.T) {
	told := open(t, 0).session().InitializeResult().Instructions
	if !strings.Contains(told, "Ask the caller only for what you do not know.") {
		t.Errorf("the instructions are\n%s", told)
	}
}

func TestStrangersPagesAreRefused(t *testing.T) {
	w := open(t, 0)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for rule, c := range map[string]struct {
		headers []string
		status  int
	}{
		"on loopback":           {nil, 200},
		"at the gateway's host": {[]string{"Host", "desk.example.com"}, 200},
		"at another host":       {[]string{"Host", "evil.example"}, 403},
		"from another site": {[]string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			403},
		"from a program":           {[]string{"User-Agent", "python"}, 200},
		"with JSON alone accepted": {[]string{"Accept", "application/json"}, 400},
	} {
		if status, body := w.post(list, c.headers...); status != c.status {
			t.Errorf("%s: %d %s", rule, status, body)
		}
	}
	if _, body := w.post(list, "Origin", "https://evil.example"); !strings.Contains(body, "FOREIGN_REQUEST") {
		t.Errorf("from another site, without Sec-Fetch-Site: %s", body)
	}
	if status, body := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"` +
		strings.Repeat("x", 300<<10) + `"}}}`); status != 400 || !strings.HasPrefix(body, "BODY_TOO_LARGE ") {
		t.Errorf("a body of 300 KiB: %d %s", status, body)
	}
}

// Clients of former versions may send several messages at once. Each may have the list of tools as its answer, so
// that their number is bounded.
func TestABatchHasAFewMessages(t *testing.T) {
	w := open(t, 0)
	batch := func(n int) string {
		messages := make([]string, n)
		for i := range messages {
			messages[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
		}
		return "[" + strings.Join(messages, ",") + "]"
	}
	for rule, c := range map[string]struct {
		body   string
		status int
		wants  string
	}{
		"as many as are allowed": {batch(32), 200, "find_slots"},
		"one more":               {batch(33), 400, "INVALID_REQUEST"},
		"behind blanks":          {"\n " + batch(33), 400, "INVALID_REQUEST"},
		"a body full":            {batch(5000), 400, "INVALID_REQUEST"},
		"broken":                 {strings.Replace(batch(40), "2.0", "\n", 1), 400, "malformed payload"},
	} {
		if status, body := w.post(c.body, "Mcp-Protocol-Version", "2025-03-26"); status != c.status ||
			!strings.Contains(body, c.wants) || len(body) > 1<<20 {
			t.Errorf("%s: %d with %d bytes, %.100s", rule, status, len(body), body)
		}
	}
}

// A message has the names and values of a few bodies at most: the library makes maps of all that it gets.
func TestAMessageHasAFewNames(t *testing.T) {
	w := open(t, 0)
	message := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + params + `}}`
	}
	names := strings.Repeat(`"name":0,`, 25_000) + `"a":0`
	for rule, body := range map[string]string{
		"arguments": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_slots","arguments":{` +
			names + `}}}`,
		"params":    message(names),
		"metadata":  message(`"_meta":{` + names + `}`),
		"a message": "{" + names + "}",
		"a batch":   "[" + message(names) + "]",
		"values":    message(`"_meta":{"a":[` + strings.Repeat("{},", 80_000) + "0]}"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer := w.post(body)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; status != 400 || made > 3 {
			t.Errorf("%s: %d %.100s for %d MiB", rule, status, answer, made)
		}
	}
	if status, answer := w.post(message(`"_meta":{"a":[` + strings.Repeat("0,", 3000) + "0]}")); status != 200 {
		t.Errorf("a few thousand values: %d %.100s", status, answer)
	}
}

// What is no request that can be answered has an error of JSON-RPC. In plain text, clients took it for a broken
// connection.
func TestRefusalsAreErrorsOfJSONRPC(t *testing.T) {
	w := open(t, 0)
	for rule, c := range map[string]struct {
		body, version string
		status        int
		wants         string
	}{
		"no JSON":    {`{"jsonrpc":"2.0","id":1,`, "2025-11-25", 400, `{"jsonrpc":"2.0","error":{"code":-32700,`},
		"no body":    {``, "2025-11-25", 400, `{"jsonrpc":"2.0","error":{"code":-32700,`},
		"no request": {`{"jsonrpc":"2.0"}`, "2025-11-25", 400, `{"jsonrpc":"2.0","error":{"code":-32600,`},
		"a number":   {`1`, "2025-11-25", 400, `{"jsonrpc":"2.0","error":{"code":-32600,`},
		"a batch": {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "2025-11-25", 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,`},
		"without an id": {`{"jsonrpc":"2.0","method":"tools/list"}`, "2025-11-25", 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,`},
		"without what it needs": {`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`, "2025-11-25", 400,
			`{"jsonrpc":"2.0","id":"a","error":{"code":-32600,`},
		"an unknown version": {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "2025-01-01", 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`},
		"an unknown method": {`{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`, "2025-11-25", 200,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,`},
		"an unknown method before any version": {`{"jsonrpc":"2.0","id":"x","method":"nope","params":{}}`, "", 200,
			`{"jsonrpc":"2.0","id":"x","error":{"code":-32601,`},
		// An answer would have another id: 9007199254740992, the least number of 64 bits, or 1.
		"an id of 54 bits": {`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`, "2025-11-25", 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,`},
		"an id of 67 bits, of a tool": {`{"jsonrpc":"2.0","id":123456789012345678901,"method":"tools/call","params":` +
			`{"name":"get_current_time"}}`, "2025-11-25", 400, `{"jsonrpc":"2.0","error":{"code":-32600,`},
		"an id with a fraction, in a batch": {`[{"jsonrpc":"2.0","id":1.5,"method":"ping"}]`, "2025-03-26", 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,`},
		"an unknown notification": {`{"jsonrpc":"2.0","method":"notifications/nope"}`, "2025-11-25", 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,`},
	} {
		status, body := w.post(c.body, "Mcp-Protocol-Version", c.version)
		if status != c.status || !strings.HasPrefix(body, c.wants) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s, want %d %s", rule, status, body, c.status, c.wants)
		}
	}
	// Clients ask it whether they can do without a handshake.
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`
	status, body := w.post(discover, "Accept", "application/json")
	if status != 400 || !strings.Contains(body, "-32600") {
		t.Errorf("a known method, asked for in a wrong way: %d %s", status, body)
	}
	res, err := http.Post(w.url, "application/json", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("the error is %s", kind)
	}
}

// A body that breaks off is refused as everywhere, and its sender is told nothing of the gateway's network. That a
// body is too slow is told by the interface; see core/api.
func TestABrokenBodyIsItsSendersFault(t *testing.T) {
	w := open(t, 0)
	at, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", at.Host)
	answer, err := io.ReadAll(conn)
	if _, said, _ := strings.Cut(string(answer), "\r\n\r\n"); err != nil ||
		!strings.HasPrefix(said, "MALFORMED_JSON ") || strings.Contains(said, at.Host) {
		t.Errorf("%s, %v", answer, err)
	}
}

// TestAPanicOfAToolIsThatOfItsRequest: the API around the request recovers it. In the goroutine in which the library
// calls a tool, it would end the process.
func TestAPanicOfAToolIsThatOfItsRequest(t *testing.T) {
	t.Parallel()
	w, server := openWith(t, 0, nil)
	w.answer = func(http.ResponseWriter, *http.Request) { panic("defect") }
	for by, arguments := range map[string]string{"the fast path": "{}", "the library": "null"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("by %s: no panic", by)
				}
			}()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_slots","arguments":`+arguments+`}}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			_ = server.Protocol().Serve(httptest.NewRecorder(), r, everything())
		}()
	}
}
