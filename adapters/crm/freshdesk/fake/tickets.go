package fake

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type ticket struct {
	id                            int64
	subject, html                 string
	status, priority              int
	requester, responder, company int64
	created, updated              time.Time
	resolved, closed              time.Time
	talk                          []conversation
	deleted                       bool
}

type conversation struct {
	id      int64
	html    string
	private bool
	at      time.Time
}

// Statuses of the account, by number; those beyond 5 are its own, and in its own order.
var statuses = []struct {
	number int
	label  string
}{{2, "Open"}, {3, "Pending"}, {7, "Waiting on the plumber"}, {4, "Resolved"}, {5, "Closed"}, {6, "Waiting on customer"}}

// fields answers the fields that have choices, which are objects in the account's order.
func (c call) fields() (any, *refusal) {
	var choices []string
	for _, s := range statuses {
		choices = append(choices, fmt.Sprintf(`"%d":[%q,"As customers see it"]`, s.number, s.label))
	}
	return []any{
		map[string]any{"id": 1, "name": "subject", "label": "Subject", "type": "default_subject"},
		map[string]any{"id": 2, "name": "ticket_type", "label": "Type", "type": "default_ticket_type", "choices": []any{"Question", "Incident"}},
		map[string]any{"id": 3, "name": "status", "label": "Status", "type": "default_status", "choices": json.RawMessage("{" + strings.Join(choices, ",") + "}")},
		map[string]any{"id": 4, "name": "priority", "label": "Priority", "type": "default_priority", "choices": json.RawMessage(`{"Low":1,"Medium":2,"High":3,"Urgent":4}`)},
	}, nil
}

// ask is the body of creating a ticket, so far as it is known here.
type ask struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
	Status      int    `json:"status"`
	Priority    int    `json:"priority"`
	Email       string `json:"email"`
	RequesterID int64  `json:"requester_id"`
	ResponderID int64  `json:"responder_id"`
	CompanyID   int64  `json:"company_id"`
}

func (c call) create(r *http.Request) (int, any, *refusal) {
	if r.Header.Get("Content-Type") != "application/json" {
		return 0, nil, &refusal{415, map[string]any{"code": "invalid_content_type", "message": "Content-Type should be application/json"}}
	}
	var a ask
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return 0, nil, &refusal{400, map[string]any{"code": "invalid_json", "message": "Request body has invalid json format"}}
	}
	now := c.options.Now().UTC().Truncate(time.Second)
	t := &ticket{
		subject: a.Subject, html: "<div>" + a.Description + "</div>", status: a.Status, priority: a.Priority,
		requester: a.RequesterID, responder: a.ResponderID, company: a.CompanyID, created: now, updated: now,
	}
	_, wrongEmail := mail.ParseAddress(a.Email)
	people := []int64{Agent, Colleague, Contact}
	switch {
	case a.Email == "" && a.RequesterID == 0:
		return 0, nil, invalid("requester_id", "missing_field")
	case a.Email != "" && wrongEmail != nil:
		return 0, nil, invalid("email", "invalid_value")
	case a.RequesterID != 0 && !slices.Contains(people, a.RequesterID):
		return 0, nil, invalid("requester_id", "invalid_value")
	case a.ResponderID != 0 && !slices.Contains(people[:2], a.ResponderID):
		return 0, nil, invalid("responder_id", "invalid_value")
	case a.CompanyID != 0 && a.CompanyID != Company:
		return 0, nil, invalid("company_id", "invalid_value")
	case a.Subject == "":
		return 0, nil, invalid("subject", "missing_field")
	case utf8.RuneCountInString(a.Subject) > 255:
		return 0, nil, invalid("subject", "invalid_value")
	case a.Description == "":
		return 0, nil, invalid("description", "missing_field")
	case a.Status == 0:
		return 0, nil, invalid("status", "missing_field")
	case label(a.Status) == "":
		return 0, nil, invalid("status", "invalid_value")
	case a.Priority < 1 || a.Priority > 4:
		return 0, nil, invalid("priority", "invalid_value")
	case c.options.NeedsField:
		return 0, nil, invalid("cf_room", "missing_field")
	}
	if t.requester == 0 {
		if c.contacts[a.Email] == 0 {
			c.contacts[a.Email] = Contact + c.next()
		}
		t.requester = c.contacts[a.Email]
	}
	t.id = c.next()
	t.move(a.Status, now)
	c.tickets = append(c.tickets, t)
	return http.StatusCreated, t.shown(), nil
}

// move gives a status, and the times that go with it. Those of an earlier end stay.
func (t *ticket) move(status int, now time.Time) {
	t.status = status
	if status == 4 || status == 5 {
		t.resolved = now
	}
	if status == 5 {
		t.closed = now
	}
}

func label(status int) string {
	for _, s := range statuses {
		if s.number == status {
			return s.label
		}
	}
	return ""
}

// shown is the ticket as the API tells it when nothing is included.
func (t *ticket) shown() map[string]any {
	shown := map[string]any{
		"id": t.id, "subject": t.subject, "description": t.html, "description_text": plain(t.html), "status": t.status, "priority": t.priority,
		"source": 2, "requester_id": t.requester, "responder_id": orNull(t.responder), "company_id": orNull(t.company), "group_id": nil, "product_id": nil,
		"type": nil, "tags": []any{}, "custom_fields": map[string]any{}, "is_escalated": false, "spam": false,
		"created_at": t.created, "updated_at": t.updated,
	}
	if t.deleted {
		shown["deleted"] = true
	}
	return shown
}

func orNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func timeOrNull(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

var tag = regexp.MustCompile(`<[^>]*>`)

// plain is the text of HTML, of which ends of lines are lost.
func plain(markup string) string { return html.UnescapeString(tag.ReplaceAllString(markup, "")) }

func (s *Server) find(id int64) (*ticket, *refusal) {
	for _, t := range s.tickets {
		if t.id == id {
			return t, nil
		}
	}
	return nil, notFound()
}

// included is how many conversations come with a ticket: the first ones.
const included = 10

func (c call) show() (any, *refusal) {
	t, refused := c.find(c.id)
	if refused != nil {
		return nil, refused
	}
	shown := t.shown()
	for _, part := range strings.Split(c.query.Get("include"), ",") {
		switch part {
		case "":
		case "conversations":
			shown["conversations"] = told(t, t.talk[:min(len(t.talk), included)])
		case "stats":
			shown["stats"] = map[string]any{"resolved_at": timeOrNull(t.resolved), "closed_at": timeOrNull(t.closed), "first_responded_at": nil}
		default:
			return nil, invalid("include", "invalid_value")
		}
	}
	return shown, nil
}

// conversations answers a page, oldest first.
func (c call) conversations() (any, *refusal) {
	t, refused := c.find(c.id)
	if refused != nil {
		return nil, refused
	}
	number := func(name string, usual, most int) (int, *refusal) {
		given := c.query.Get(name)
		if given == "" {
			return usual, nil
		}
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > most {
			return 0, invalid(name, "invalid_value")
		}
		return n, nil
	}
	page, refused := number("page", 1, 1<<20)
	if refused != nil {
		return nil, refused
	}
	size, refused := number("per_page", 30, 100)
	if refused != nil {
		return nil, refused
	}
	from := min((page-1)*size, len(t.talk))
	return told(t, t.talk[from:min(from+size, len(t.talk))]), nil
}

func told(t *ticket, talk []conversation) []any {
	list := []any{}
	for _, one := range talk {
		list = append(list, map[string]any{
			"id": one.id, "ticket_id": t.id, "user_id": Agent, "incoming": false, "private": one.private, "source": 2,
			"body": one.html, "body_text": plain(one.html), "created_at": one.at, "updated_at": one.at, "attachments": []any{},
		})
	}
	return list
}
