package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// keyed sends a key with each request.
type keyed string

// RoundTrip adds the key.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// A dialogue by tools: a meeting is booked, found, moved and cancelled, and a ticket opened and read. Each
// call that changes something is sent twice and has one effect.
func TestADialogueByTools(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		_, c := demo(t, newDeployment(t, storeURL))
		client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: c.base + "/mcp", HTTPClient: &http.Client{Transport: keyed(c.key)}, DisableStandaloneSSE: true,
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
		book := map[string]any{
			"title": "Consultation", "start_time": "2027-03-02T10:00:00Z", "end_time": "2027-03-02T10:30:00Z",
		}
		said, first := call("book_meeting", book)
		_, again := call("book_meeting", book)
		id := first.text("event", "event_id")
		if said != "The meeting is booked." || id == "" || again.text("event", "event_id") != id {
			t.Errorf("said %q, %s and %s", said, first.body, again.body)
		}
		for range 2 {
			if _, moved := call("update_meeting", map[string]any{
				"event_id": id, "start_time": "2027-03-02T11:00:00Z", "end_time": "2027-03-02T11:30:00Z",
			}); moved.text("event", "event_id") != id {
				t.Errorf("moved: %s", moved.body)
			}
		}
		_, events := call("list_events", map[string]any{"start_time": "2027-03-02", "end_time": "2027-03-03"})
		if all, _ := events.get("events").([]any); len(all) != 1 || events.text("events", 0, "event_id") != id {
			t.Errorf("listed: %s", events.body)
		}
		for range 2 {
			call("cancel_meeting", map[string]any{"event_id": id})
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
		if said, slots := call("find_slots", map[string]any{"duration_minutes": 30,
			"limit": 1}); !strings.HasPrefix(said,
			"I have ") || slots.text("slots", 0, "slot_id") == "" {
			t.Errorf("said %q, %s", said, slots.body)
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
