package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/store/storetest"
)

// keyed sends a key with each request, and the number of whoever calls.
type keyed struct{ key, number string }

// RoundTrip adds the key.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	r.Header.Set("X-Caller-Number", k.number)
	r.Header.Set("X-Call-Id", "call-"+k.number)
	return http.DefaultTransport.RoundTrip(r)
}

// tools calls a tool as an agent would in a telephone call from a number. It returns what is to be said, the rest
// of the answer, and whether it is a failure.
type tools func(number, name string, arguments map[string]any) (said string, found answer, failed bool)

// protocols are the ways to call tools.
var protocols = map[string]func(t *testing.T, c caller) tools{
	"MCP":    toolsByMCP,
	"Vapi":   toolsByVapi,
	"Retell": toolsByRetell,
	"Retell, args at the root": func(t *testing.T, c caller) tools {
		return toolsByPath(t, c,
			"/alpha/agents/retell/")
	},
	"plain JSON": func(t *testing.T, c caller) tools {
		return toolsByPath(t, c,
			"/alpha/agents/tools/")
	},
}

func toolsByMCP(t *testing.T, c caller) tools {
	sessions := map[string]*sdk.ClientSession{}
	return func(number, name string, arguments map[string]any) (string, answer, bool) {
		t.Helper()
		session := sessions[number]
		if session == nil {
			session = toolSession(t, c, number)
			sessions[number] = session
		}
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
		if err != nil || len(result.Content) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, result)
		}
		said, raw, _ := strings.Cut(result.Content[0].(*sdk.TextContent).Text, "\n")
		return said, answer{body: []byte(raw)}, result.IsError
	}
}

// toolSession connects a client of the Model Context Protocol.
func toolSession(t *testing.T, c caller, number string) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: c.base + "/mcp", DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: keyed{c.key, number}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// toolsByVapi gives equal calls one id, as a repeat of the platform has, until slots are asked for again.
func toolsByVapi(t *testing.T, c caller) tools {
	searches := 0
	return func(number, name string, arguments map[string]any) (string, answer, bool) {
		t.Helper()
		if name == "find_slots" {
			searches++
		}
		id := sha256.Sum256([]byte(fmt.Sprint(searches, name, jsonOf(t, arguments))))
		a := c.do(http.StatusOK, http.MethodPost, "/alpha/agents/vapi",
			jsonOf(t, map[string]any{"message": map[string]any{
				"type": "tool-calls", "call": map[string]any{"id": "call-" + number},
				"customer": map[string]any{"number": number}, "toolCallList": []any{map[string]any{
					"id": hex.EncodeToString(id[:8]), "type": "function",
					"function": map[string]any{"name": name, "arguments": jsonOf(t, arguments)},
				}},
			}}))
		line, failed := a.text("results", 0, "result"), false
		if line == "" {
			line, failed = a.text("results", 0, "error"), true
		}
		said, raw, _ := strings.Cut(line, " {")
		return said, answer{body: []byte("{" + raw)}, failed
	}
}

func toolsByRetell(t *testing.T, c caller) tools {
	return func(number, name string, arguments map[string]any) (string, answer, bool) {
		t.Helper()
		return flat(c.do(http.StatusOK, http.MethodPost, "/alpha/agents/retell", jsonOf(t, map[string]any{
			"name": name, "args": arguments, "call": map[string]any{
				"call_id": "call-" + number, "direction": "inbound", "from_number": number,
			},
		})))
	}
}

func toolsByPath(t *testing.T, c caller, path string) tools {
	return func(number, name string, arguments map[string]any) (string, answer, bool) {
		t.Helper()
		return flat(c.do(http.StatusOK, http.MethodPost, path+name, jsonOf(t, arguments),
			"X-Caller-Number: "+number, "X-Call-Id: call-"+number))
	}
}

// flat reads an answer with "say" among its fields.
func flat(a answer) (string, answer, bool) { return a.text("say"), a, a.get("ok") != true }

// A dialogue by tools: a slot is found, held and booked, the meeting found, moved and cancelled, and a ticket
// opened and read. Each call that changes something is sent twice and has one effect.
func TestADialogueByTools(t *testing.T) {
	t.Parallel()
	for name, open := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := demo(t, newDeployment(t, ""))
			dialogue(t, c, open(t, c))
		})
	}
	t.Run("MCP on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		_, c := demo(t, newDeployment(t, storetest.Postgres(t)))
		dialogue(t, c, toolsByMCP(t, c))
	})
}

func dialogue(t *testing.T, c caller, ask tools) {
	call := func(name string, arguments map[string]any) (said string, found answer) {
		t.Helper()
		said, found, failed := ask("+12025550101", name, arguments)
		if failed || !json.Valid(found.body) {
			t.Fatalf("%s: said %q, %s", name, said, found.body)
		}
		return said, found
	}
	// twice calls a tool that changes something twice, and checks that the answers are the same.
	twice := func(name string, arguments map[string]any) (said string, found answer) {
		t.Helper()
		said, found = call(name, arguments)
		saidAgain, again := call(name, arguments)
		if saidAgain != said || string(again.body) != string(found.body) {
			t.Errorf("%s: first %q %s, then %q %s", name, said, found.body, saidAgain, again.body)
		}
		return said, found
	}
	events := func() []any {
		all, _ := c.post(200, "calendar/list-events", `{"start_time":"2027-03-01","end_time":"2027-03-06"}`).
			get("events").([]any)
		return all
	}
	week := map[string]any{"start": "2027-03-01", "end": "2027-03-06", "duration_minutes": 30, "limit": 2}
	said, offered := call("find_slots", week)
	if !strings.HasPrefix(said, "I have ") {
		t.Errorf("said %q", said)
	}
	slot := offered.text("slots", 0, "slot_id")
	said, held := twice("hold_slot", map[string]any{"slot_id": slot})
	if !strings.HasPrefix(said, "I am holding ") || held.text("slot", "slot_id") != slot {
		t.Errorf("said %q, %s", said, held.body)
	}
	said, taken, failed := ask("+12025550102", "hold_slot", map[string]any{"slot_id": slot})
	if !failed || taken.text("nearest_slots", 0, "slot_id") == "" || !strings.Contains(said, "? I have ") {
		t.Errorf("another caller is told %q, %s", said, taken.body)
	}
	said, booked := twice("book_slot", map[string]any{
		"hold_id": held.text("hold_id"), "title": "Consultation", "attendee_emails": []string{"pat@example.com"},
	})
	reference := booked.text("meeting_reference")
	if !strings.HasPrefix(said, "The appointment is booked for ") || reference == "" ||
		booked.text("start") != offered.text("slots", 0, "start") || len(events()) != 1 {
		t.Errorf("said %q, %s", said, booked.body)
	}
	for rule, arguments := range map[string]map[string]any{
		"by the number of the call": {"start": "2027-03-01", "end": "2027-03-06"},
		"by address":                {"start": "2027-03-01", "end": "2027-03-06", "email": "PAT@example.com"},
	} {
		said, found := call("find_meetings", arguments)
		if !strings.HasPrefix(said, "I see an appointment on ") ||
			found.text("meetings", 0, "meeting_reference") != reference {
			t.Errorf("%s: said %q, %s", rule, said, found.body)
		}
	}
	week["reschedule_meeting_id"] = reference
	_, offered = call("find_slots", week)
	said, moved := twice("move_meeting", map[string]any{
		"meeting_reference": reference, "slot_id": offered.text("slots", 1, "slot_id"),
	})
	if !strings.HasPrefix(said, "The appointment is moved to ") || len(events()) != 1 ||
		moved.text("start") != offered.text("slots", 1, "start") {
		t.Errorf("said %q, %s", said, moved.body)
	}
	twice("cancel_meeting", map[string]any{"meeting_reference": reference})
	if left := events(); len(left) != 0 {
		t.Errorf("in the end there is %v", left)
	}
	delete(week, "reschedule_meeting_id")
	for range 2 { // what was cancelled can be booked again
		_, offered = call("find_slots", week)
		_, booked = twice("book_slot", map[string]any{"slot_id": "the second one", "title": "Consultation"})
		if booked.text("start") != offered.text("slots", 1, "start") || len(events()) != 1 {
			t.Errorf("the second of %s is %s", offered.body, booked.body)
		}
		twice("cancel_meeting", map[string]any{"meeting_reference": "that meeting"})
		if left := events(); len(left) != 0 {
			t.Errorf("in the end there is %v", left)
		}
	}
	ticket := map[string]any{"subject": "Broken handle", "priority": "high"}
	_, opened := call("create_ticket", ticket)
	_, same := call("create_ticket", ticket)
	number := opened.text("ticket", "ticket_number")
	if _, read := call("get_ticket", map[string]any{"ticket_number": number}); read.text("ticket", "subject") !=
		"Broken handle" || same.text("ticket", "ticket_number") != number {
		t.Errorf("opened %s, then %s, read %s", opened.body, same.body, read.body)
	}
	if said, _ := call("look_up_caller",
		map[string]any{"email": "pat@example.com"}); said != "This may be Pat Doe." {
		t.Errorf("said %q", said)
	}
	call("get_current_time", map[string]any{})

	if said, found, failed := ask("+12025550101", "create_ticket", map[string]any{
		"subject": "x", "status": "Nonsense",
	}); !failed || found.text("reason") != "INVALID_REQUEST" {
		t.Errorf("an unknown status: %q, %s", said, found.body)
	}
}

// Nobody without a key reaches a tool, and nothing but POST does.
func TestToolsAreForCallersWithKeys(t *testing.T) {
	t.Parallel()
	_, c := demo(t, newDeployment(t, ""))
	stranger := c
	stranger.key = "fd_live_" + strings.Repeat("x", 38)
	for _, path := range []string{
		"/mcp", "/alpha/agents/vapi", "/alpha/agents/retell", "/alpha/agents/retell/find_slots",
		"/alpha/agents/tools/find_slots", "/alpha/agents/telnyx/call-started",
	} {
		a := stranger.do(http.StatusUnauthorized, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: a stranger: %s", path, a.body)
		}
		got := c.do(http.StatusMethodNotAllowed, http.MethodGet, path, "").header["Allow"]
		if fmt.Sprint(got) != "[POST]" {
			t.Errorf("%s: GET is answered with Allow %s", path, got)
		}
	}
	listed, err := toolSession(t, c, "+12025550101").ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) != 10 {
		t.Errorf("%d tools, %v", len(listed.Tools), err)
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
