//go:build attack

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ticketSystem is a ticket system that no adapter knows. It stores the key that a ticket was opened with, but
// does not deduplicate by it.
type ticketSystem struct {
	mu      sync.Mutex
	tickets []foreignTicket
}

type foreignTicket struct {
	Number  int       `json:"number"`
	Key     string    `json:"key"`
	Title   string    `json:"title"`
	Text    string    `json:"text,omitempty"`
	State   string    `json:"state,omitempty"`
	Created time.Time `json:"created"`
}

func (s *ticketSystem) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tickets)
}

func (s *ticketSystem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	say := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	refuse := func(status int, why string) { say(status, map[string]any{"error": why}) }
	at, _ := strings.CutPrefix(r.URL.Path, "/api/")
	number, ofOne := strings.CutPrefix(at, "tickets/")
	switch {
	case r.Header.Get("Authorization") != "Bearer desk-secret":
		refuse(http.StatusUnauthorized, "Who are you?")
	case r.Method == http.MethodGet && at == "me":
		say(http.StatusOK, map[string]any{"name": "Front desk"})
	case r.Method == http.MethodGet && at == "tickets":
		found := []foreignTicket{}
		for _, one := range s.tickets {
			if one.Key == r.URL.Query().Get("key") {
				found = append(found, one)
			}
		}
		say(http.StatusOK, map[string]any{"tickets": found})
	case r.Method == http.MethodGet && ofOne:
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(s.tickets) {
			refuse(http.StatusNotFound, "There is no such ticket.")
			return
		}
		say(http.StatusOK, s.tickets[n-1])
	case r.Method == http.MethodPost && at == "tickets":
		one := foreignTicket{State: "open"}
		strict := json.NewDecoder(r.Body)
		strict.DisallowUnknownFields()
		if err := strict.Decode(&one); err != nil || one.Title == "" || one.Number != 0 || !one.Created.IsZero() {
			refuse(http.StatusUnprocessableEntity, fmt.Sprintf("This is no new ticket: %v", err))
			return
		}
		one.Number, one.Created = len(s.tickets)+1, time.Now().UTC()
		s.tickets = append(s.tickets, one)
		say(http.StatusCreated, one)
	default:
		refuse(http.StatusNotFound, "There is nothing here.")
	}
}

// described returns settings of the adapter rest for the system at an address.
func (*ticketSystem) described(base string) map[string]any {
	step := func(name, path string) map[string]any { return map[string]any{"name": name, "path": path} }
	create, search := step("create", "tickets"), step("search", "tickets")
	create["method"], create["body"] = http.MethodPost,
		"{title: .ticket.subject, text: .ticket.description, state: .ticket.status, key: .key} | given"
	search["query"] = map[string]any{"key": "{.key}"}
	return map[string]any{
		"base_url": base + "/api/",
		"statuses": []any{"open", "closed"},
		"account":  map[string]any{"steps": []any{step("me", "me")}, "name": ".steps.me.body.name"},
		"create":   map[string]any{"steps": []any{create}, "number": ".steps.create.body.number"},
		"by_key":   map[string]any{"steps": []any{search}, "number": "first(.steps.search.body.tickets[].number)"},
		"get":      map[string]any{"steps": []any{step("ticket", "tickets/{.number}")}},
		"ticket": map[string]any{
			"id": ".steps.ticket.body.number", "number": ".steps.ticket.body.number",
			"subject": ".steps.ticket.body.title", "description": ".steps.ticket.body.text",
			"status": ".steps.ticket.body.state", "created_at": ".steps.ticket.body.created",
		},
	}
}
