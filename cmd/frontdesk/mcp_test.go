package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// keyed sends a key with each request, and the number of whoever calls.
type keyed struct{ key, number string }

// RoundTrip adds the key.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	r.Header.Set("X-Caller-Number", k.number)
	return http.DefaultTransport.RoundTrip(r)
}

// A dialogue by tools: a slot is found, held and booked, the meeting found, moved and cancelled, and a ticket
// opened and read. Each call that changes something is sent twice and has one effect.
func TestADialogueByTools(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		_, c := demo(t, newDeployment(t, storeURL))
		client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: c.base + "/mcp", HTTPClient: &http.Client{Transport: keyed{c.key, "+12025550101"}},
			DisableStandaloneSSE: true,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		call := func(name string, arguments map[string]any) (said string, found answer) {
			t.Helper()
			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
			if err != nil || result.IsError || len(result.Content) != 1 {
				t.Fatalf("%s: %v, %+v", name, err, result)
			}
			text := result.Content[0].(*sdk.TextContent).Text
			said, raw, _ := strings.Cut(text, "\n")
			if !json.Valid([]byte(raw)) {
				t.Fatalf("%s: said %q", name, text)
			}
			return said, answer{body: []byte(raw)}
		}
		listed, err := session.ListTools(t.Context(), nil)
		if err != nil || len(listed.Tools) != 10 {
			t.Fatalf("%d tools, %v", len(listed.Tools), err)
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
		other, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: c.base + "/mcp", DisableStandaloneSSE: true,
				HTTPClient: &http.Client{Transport: keyed{c.key, "+12025550102"}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		taken, err := other.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "hold_slot", Arguments: map[string]any{"slot_id": slot},
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := taken.Content[0].(*sdk.TextContent).Text; !taken.IsError ||
			!strings.Contains(text, `"nearest_slots":[{`) || !strings.Contains(text, "? I have ") {
			t.Errorf("another caller is told %q", text)
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

		refused, err := session.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "create_ticket", Arguments: map[string]any{"subject": "x", "status": "Nonsense"},
		})
		if err != nil || !refused.IsError ||
			!strings.Contains(refused.Content[0].(*sdk.TextContent).Text, `"reason":"INVALID_REQUEST"`) {
			t.Errorf("an unknown status: %v, %+v", err, refused)
		}
		stranger := c
		stranger.key = "fd_live_" + strings.Repeat("x", 38)
		if a := stranger.do(http.StatusUnauthorized, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.
			header.Get("WWW-Authenticate") == "" {
			t.Errorf("a stranger: %s", a.body)
		}
		if got := fmt.Sprint(c.do(http.StatusMethodNotAllowed, http.MethodGet, "/mcp",
			"").header["Allow"]); got != "[POST]" {
			t.Errorf("GET is answered with Allow %s", got)
		}
	})
}
