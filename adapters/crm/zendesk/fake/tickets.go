package fake

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

type ticket struct {
	id                            int64
	externalID, subject, priority string
	status                        string // or the category of the custom status
	custom                        int64
	assignee, requester, org      int64
	created, updated              time.Time
	solved, statusChanged         time.Time
	comments                      []comment
	kind                          string
	group, brand, form            int64
	tags                          []string
	fields                        []any
}

type comment struct {
	id          int64
	html, plain string
	public      bool
	at          time.Time
}

// ask is the body of a request that creates a ticket, with the fields that the fake knows.
type ask struct {
	Ticket *struct {
		Subject string `json:"subject"`
		Comment *struct {
			Body     string `json:"body"`
			HTMLBody string `json:"html_body"`
			Public   *bool  `json:"public"`
		} `json:"comment"`
		ExternalID     string `json:"external_id"`
		Status         string `json:"status"`
		CustomStatusID int64  `json:"custom_status_id"`
		Priority       string `json:"priority"`
		AssigneeID     int64  `json:"assignee_id"`
		OrganizationID int64  `json:"organization_id"`
		RequesterID    int64  `json:"requester_id"`

		Type    string   `json:"type"`
		GroupID int64    `json:"group_id"`
		BrandID int64    `json:"brand_id"`
		FormID  int64    `json:"ticket_form_id"`
		Tags    []string `json:"tags"`
		Custom  []struct {
			ID    int64 `json:"id"`
			Value any   `json:"value"`
		} `json:"custom_fields"`
	} `json:"ticket"`
}

// create creates a ticket, or repeats its earlier response to the same Idempotency-Key
// (developer.zendesk.com/api-reference/ticketing/introduction, "Idempotency").
func (c call) create(w http.ResponseWriter, r *http.Request) (int, map[string]any, *refusal) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Content-Type") != "application/json" {
		return 0, nil, &refusal{
			status: 415, body: map[string]any{"status": "415", "error": "Unsupported Media Type"},
		}
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) > 255 {
		return 0, nil, &refusal{
			status: 400, body: map[string]any{"error": "IdempotentRequestError", "description": "The key is too long"},
		}
	}
	earlier := c.keys[key]
	if key != "" && earlier != nil && c.options.Now().Before(earlier.at.Add(keyLife)) {
		if earlier.request != string(body) {
			return 0, nil, &refusal{status: 400, body: map[string]any{
				"error":       "IdempotentRequestError",
				"description": "Request parameters don't match the given idempotency key",
			}}
		}
		w.Header().Set("X-Idempotency-Lookup", "hit")
		return http.StatusCreated, earlier.answer, nil
	}
	made, refused := c.newTicket(body)
	if refused != nil {
		return 0, nil, refused
	}
	c.tickets = append(c.tickets, made)
	answer := map[string]any{"ticket": made.shown(c.options)}
	if key != "" {
		c.keys[key] = &idempotent{string(body), answer, c.options.Now()}
		w.Header().Set("X-Idempotency-Lookup", "miss")
	}
	return http.StatusCreated, answer, nil
}

func (c call) newTicket(body []byte) (*ticket, *refusal) {
	var a ask
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil || a.Ticket == nil {
		return nil, &refusal{
			status: 400, body: map[string]any{
				"error": "Unprocessable Entity", "message": "Server could not parse JSON",
			},
		}
	}
	wanted := a.Ticket
	now := c.options.Now().UTC().Truncate(time.Second)
	t := &ticket{
		externalID: wanted.ExternalID, subject: wanted.Subject, priority: wanted.Priority, status: "new", custom: 1,
		assignee: wanted.AssigneeID, requester: wanted.RequesterID, org: wanted.OrganizationID, created: now,
		updated: now, statusChanged: now, kind: wanted.Type, group: wanted.GroupID, brand: wanted.BrandID,
		form: wanted.FormID, tags: wanted.Tags,
	}
	if t.requester == 0 {
		t.requester = Agent // the owner of the token
	}
	if t.assignee != 0 {
		t.status, t.custom = "open", 2
	}
	requester, isUser := c.user(t.requester)
	switch {
	case wanted.Comment == nil || wanted.Comment.Body == "" && wanted.Comment.HTMLBody == "":
		return nil, invalid("base", "BlankValue", "Description: cannot be blank")
	case utf8.RuneCountInString(wanted.Comment.Body) > 65535:
		return nil, invalid("comment", "TooLong", "Description: is too long (maximum is 65535 characters)")
	case utf8.RuneCountInString(wanted.Subject) > 255:
		return nil, invalid("subject", "TooLong", "Subject: is too long (maximum is 255 characters)")
	case !isUser:
		return nil, invalid("requester", "InvalidValue", "Requester: is invalid")
	case t.assignee != 0 && !c.isAgent(t.assignee):
		return nil, invalid("assignee", "InvalidValue", "Assignee: is invalid")
	case t.org != 0 && !c.isOrganization(t.org), t.org != 0 && requester.role == endUser &&
		t.org != requester.org:
		return nil, invalid("organization", "InvalidValue", "Organization: is not one of the requester's")
	case t.priority != "" && !slices.ContainsFunc(priorities,
		func(p [2]string) bool { return p[1] == t.priority }):
		return nil, invalid("priority", "InvalidValue", "Priority: "+t.priority+" is not valid")
	case wanted.CustomStatusID != 0 &&
		!c.choose(t, func(s status) bool {
			return s.id == wanted.CustomStatusID && s.active && !c.options.SystemStatuses
		}):
		return nil, invalid("custom_status_id", "InvalidValue", "Custom status: is not valid")
	case wanted.Status != "" && !c.choose(t, func(s status) bool { return s.category == wanted.Status }):
		return nil, invalid("status", "InvalidValue", "Status: "+wanted.Status+" is not valid")
	case t.kind != "" && !slices.ContainsFunc(kinds, func(k [2]string) bool { return k[1] == t.kind }):
		return nil, invalid("type", "InvalidValue", "Type: "+t.kind+" is not valid")
	case t.group != 0 && t.group != Group:
		return nil, invalid("group", "InvalidValue", "Group: is invalid")
	case t.brand != 0 && t.brand != Brand:
		return nil, invalid("brand", "InvalidValue", "Brand: is invalid")
	case t.status == "solved" && t.assignee == 0 && c.options.NeedsAssignee:
		return nil, invalid("base", "BlankValue", "Assignee: is required when solving a ticket")
	case t.status == "solved" && t.assignee == 0:
		t.assignee = Agent // who solves it
	}
	values := map[int64]any{} // an unknown field is ignored
	for _, given := range wanted.Custom {
		values[given.ID] = given.Value
	}
	for _, own := range c.options.Fields {
		value := values[own.ID]
		switch {
		case value == nil && (own.Always || own.Required && t.status == "solved"):
			return nil, invalidField(own, own.Title+": is required when solving a ticket")
		case value != nil && !own.fits(value):
			return nil, invalidField(own, own.Title+": is not valid")
		}
		t.fields = append(t.fields, map[string]any{"id": own.ID, "value": value})
	}
	if t.status == "solved" {
		t.solved = now
	}
	t.id = 35000 + c.next()
	public := wanted.Comment.Public == nil || *wanted.Comment.Public
	t.comments = []comment{{c.next(), html.EscapeString(wanted.Comment.Body), wanted.Comment.Body, public, now}}
	return t, nil
}

// fits reports whether the field accepts the value.
func (f Field) fits(value any) bool {
	text, isText := value.(string)
	switch f.Type {
	case "checkbox":
		_, isBool := value.(bool)
		return isBool
	case "integer":
		n, isNumber := value.(float64)
		return isNumber && n == math.Trunc(n)
	case "multiselect":
		list, isList := value.([]any)
		return isList && !slices.ContainsFunc(list,
			func(v any) bool { return !slices.Contains(f.Options, fmt.Sprint(v)) })
	case "tagger":
		return isText && slices.Contains(f.Options, text)
	}
	return isText
}

func (c call) choose(t *ticket, fits func(status) bool) bool {
	s, found := c.statusOf(fits)
	if found {
		t.status, t.custom = s.category, s.id
	}
	return found
}

// shown returns the ticket as the API shows it.
func (t *ticket) shown(o Options) map[string]any {
	shown := map[string]any{
		"id": t.id, "url": "https://acme.zendesk.com/api/v2/tickets/0.json", "external_id": orNull(t.externalID),
		"subject": t.subject, "raw_subject": t.subject, "description": t.comments[0].plain, "status": t.status,
		"priority": orNull(t.priority), "type": orNull(t.kind), "tags": t.tags, "custom_fields": t.fields,
		"group_id": orNull(t.group), "brand_id": orNull(t.brand), "ticket_form_id": orNull(t.form),
		"assignee_id": orNull(t.assignee), "organization_id": orNull(t.org), "requester_id": t.requester,
		"submitter_id": Agent, "created_at": t.created, "updated_at": t.updated, "due_at": nil,
		"via":       map[string]any{"channel": "api"},
		"is_public": slices.ContainsFunc(t.comments, func(c comment) bool { return c.public }),
	}
	if !o.SystemStatuses && !o.NoStatuses {
		shown["custom_status_id"] = t.custom
	}
	return shown
}

// Ticket returns a ticket as agents see it, or nil if no ticket has that id.
func (s *Server) Ticket(ticketID string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.ticket(ticketID)
	if err != nil {
		return nil
	}
	return t.shown(s.options)
}

func (c call) list() (map[string]any, *refusal) {
	found := []any{}
	for _, t := range c.tickets {
		listed := !c.options.Now().Before(t.created.Add(c.options.ListLag))
		if want := c.query.Get("external_id"); listed && (want == "" || strings.EqualFold(t.externalID, want)) {
			found = append(found, t.shown(c.options))
		}
	}
	return map[string]any{"tickets": found, "count": len(found), "next_page": nil, "previous_page": nil}, nil
}

func (s *Server) find(id int64) (*ticket, *refusal) {
	for _, t := range s.tickets {
		if t.id == id {
			return t, nil
		}
	}
	return nil, notFound()
}

func (c call) show() (map[string]any, *refusal) {
	t, refused := c.find(c.id)
	if refused != nil {
		return nil, refused
	}
	return map[string]any{"ticket": t.shown(c.options)}, nil
}

func (c call) metrics() (map[string]any, *refusal) {
	t, refused := c.find(c.id)
	if refused != nil {
		return nil, refused
	}
	metric := map[string]any{
		"id": t.id + 1000, "ticket_id": t.id, "created_at": t.created, "solved_at": nil,
		"status_updated_at": t.statusChanged,
	}
	if !t.solved.IsZero() {
		metric["solved_at"] = t.solved
	}
	return map[string]any{"ticket_metric": metric}, nil
}
