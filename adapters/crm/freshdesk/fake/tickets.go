package fake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
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
	subject, html, kind           string
	source                        int
	group                         int64
	tags                          []string
	custom                        map[string]any
	status, priority              int
	requester, responder, company int64
	created, updated              time.Time
	resolved, closed              time.Time
	talk                          []conversation
	deleted, archived, spam       bool
}

type conversation struct {
	id      int64
	html    string
	private bool
	at      time.Time
}

// statuses holds the statuses of the account, in its order. Those beyond 5 are custom.
var statuses = []struct {
	number int
	label  string
}{
	{2, "Open"}, {3, "Pending"}, {7, "Waiting on the plumber"}, {4, "Resolved"}, {5, "Closed"},
	{6, "Waiting on customer"},
}

// fields responds with the ticket fields. The choices of a field are an object in the account's order, or a
// list (developers.freshdesk.com/api, "List All Ticket Fields").
func (c call) fields() (any, *refusal) {
	var choices []string
	for _, s := range statuses {
		choices = append(choices, fmt.Sprintf(`"%d":[%q,"As customers see it"]`, s.number, s.label))
	}
	field := func(id int, name, kind string, required bool, choices any) map[string]any {
		f := map[string]any{
			"id": id, "name": name, "label": name, "type": kind, "default": strings.HasPrefix(kind, "default_"),
			"required_for_agents":  required || slices.Contains(c.options.Require, ours[name]),
			"required_for_closure": false, "required_for_customers": false,
		}
		if choices != nil {
			f["choices"] = choices
		}
		return f
	}
	list := []any{
		field(1, "requester", "default_requester", true, nil),
		field(2, "subject", "default_subject", true, nil),
		field(3, "ticket_type", "default_ticket_type", false, kinds),
		field(4, "source", "default_source", false,
			json.RawMessage(`{"Email":1,"Portal":2,"Phone":3,"Chat":7,"Feedback Widget":9,"Outbound Email":10}`)),
		field(5, "status", "default_status", true, json.RawMessage("{"+strings.Join(choices, ",")+"}")),
		field(6, "priority", "default_priority", true, json.RawMessage(`{"Low":1,"Medium":2,"High":3,"Urgent":4}`)),
		field(7, "group", "default_group", false, map[string]any{"Plumbers": Group}),
		field(8, "agent", "default_agent", false, map[string]any{
			"Rachel Agent": Agent, "Tom Colleague": Colleague,
		}),
		field(9, "description", "default_description", true, nil),
		field(10, "company", "default_company", false, nil),
	}
	for i, own := range c.options.Fields {
		var choices any
		if own.Choices != nil {
			choices = own.Choices
		}
		list = append(list, field(11+i, own.Name, own.Type, own.Required, choices))
	}
	return list, nil
}

// ours maps names of Freshdesk's own fields to their names in a request that creates a ticket.
var ours = map[string]string{
	"ticket_type": "type", "source": "source", "group": "group_id", "agent": "responder_id",
	"company": "company_id",
}

var kinds = []string{"Question", "Incident"}

var sources = []int{1, 2, 3, 7, 9, 10}

// ask is the body of a request that creates a ticket, with the fields that the fake knows.
type ask struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
	Status      int    `json:"status"`
	Priority    int    `json:"priority"`
	Email       string `json:"email"`
	RequesterID int64  `json:"requester_id"`
	ResponderID int64  `json:"responder_id"`
	CompanyID   int64  `json:"company_id"`

	Source int            `json:"source"`
	Type   string         `json:"type"`
	Group  int64          `json:"group_id"`
	Tags   []string       `json:"tags"`
	Custom map[string]any `json:"custom_fields"`
}

func (c call) create(r *http.Request) (int, any, *refusal) {
	if r.Header.Get("Content-Type") != "application/json" {
		return 0, nil, &refusal{
			415, map[string]any{"code": "invalid_content_type", "message": "Content-Type should be application/json"},
		}
	}
	var a ask
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return 0, nil, &refusal{
			400, map[string]any{"code": "invalid_json", "message": "Request body has invalid json format"},
		}
	}
	now := c.options.Now().UTC().Truncate(time.Second)
	t := &ticket{
		subject: a.Subject, html: "<div>" + a.Description + "</div>", status: a.Status, priority: a.Priority,
		requester: a.RequesterID, responder: a.ResponderID, company: a.CompanyID, created: now, updated: now,
		source: cmp.Or(a.Source, 2), kind: a.Type, group: a.Group, tags: a.Tags, custom: a.Custom,
	}
	_, wrongEmail := mail.ParseAddress(a.Email)
	agents := []int64{Agent, Colleague}
	switch {
	case a.Email == "" && a.RequesterID == 0:
		return 0, nil, invalid("requester_id", "missing_field")
	case a.Email != "" && wrongEmail != nil:
		return 0, nil, invalid("email", "invalid_value")
	case a.RequesterID != 0 && !slices.Contains(agents, a.RequesterID) && !c.isContact(a.RequesterID):
		return 0, nil, invalid("requester_id", "invalid_value")
	case a.ResponderID != 0 && !slices.Contains(agents, a.ResponderID):
		return 0, nil, invalid("responder_id", "invalid_value")
	case a.CompanyID != 0 && c.companies[a.CompanyID] == "":
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
	case a.Type != "" && !slices.Contains(kinds, a.Type):
		return 0, nil, invalid("type", "invalid_value")
	case !slices.Contains(sources, t.source):
		return 0, nil, invalid("source", "invalid_value")
	case a.Group != 0 && a.Group != Group:
		return 0, nil, invalid("group_id", "invalid_value")
	}
	given := map[string]bool{
		"type": a.Type != "", "source": true, "group_id": a.Group != 0, "responder_id": a.ResponderID != 0,
		"company_id": a.CompanyID != 0,
	}
	for _, name := range c.options.Require {
		if !given[name] {
			return 0, nil, invalid(name, "missing_field")
		}
	}
	if refused := c.custom(a.Custom); refused != nil {
		return 0, nil, refused
	}
	if t.requester == 0 {
		t.requester = c.requester(a.Email)
	}
	t.id = c.next()
	t.move(a.Status, now)
	c.tickets = append(c.tickets, t)
	return http.StatusCreated, t.shown(), nil
}

// custom refuses custom fields that do not exist or have an unsuitable value, and a ticket without those that
// are required.
func (c call) custom(given map[string]any) *refusal {
	for _, own := range c.options.Fields {
		value, there := given[own.Name]
		text, isText := value.(string)
		number, isNumber := value.(float64)
		_, isBool := value.(bool)
		fits := isText
		switch own.Type {
		case "custom_number":
			fits = isNumber && number == math.Trunc(number)
		case "custom_decimal":
			fits = isNumber
		case "custom_checkbox":
			fits = isBool
		}
		switch {
		case !there && own.Required:
			return invalid("custom_fields."+own.Name, "missing_field")
		case !there:
		case !fits:
			return invalid("custom_fields."+own.Name, "datatype_mismatch")
		case own.Choices != nil && !slices.Contains(own.Choices, text):
			return invalid("custom_fields."+own.Name, "invalid_value")
		}
	}
	for name := range given {
		if !slices.ContainsFunc(c.options.Fields, func(own Field) bool { return own.Name == name }) {
			return invalid("custom_fields."+name, "invalid_field")
		}
	}
	return nil
}

// move sets a status and the times that go with it. Times of an earlier resolution or closing stay.
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

// shown returns the ticket as the API shows it if nothing is included.
func (t *ticket) shown() map[string]any {
	shown := map[string]any{
		"id": t.id, "subject": t.subject, "description": t.html, "description_text": plain(t.html),
		"status": t.status, "priority": t.priority, "source": t.source, "requester_id": t.requester,
		"responder_id": orNull(t.responder), "company_id": orNull(t.company), "group_id": orNull(t.group),
		"product_id": nil, "type": nil, "tags": t.tags, "custom_fields": t.custom, "is_escalated": false,
		"spam": t.spam, "created_at": t.created, "updated_at": t.updated,
	}
	if t.kind != "" {
		shown["type"] = t.kind
	}
	if t.deleted {
		shown["deleted"] = true
	}
	if t.archived {
		shown["archived"] = true
	}
	return shown
}

// orNull returns a value as JSON shows it: null for one that there is not.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

var tag = regexp.MustCompile(`<[^>]*>`)

// plain returns the text of HTML, without its line breaks.
func plain(markup string) string { return html.UnescapeString(tag.ReplaceAllString(markup, "")) }

func (s *Server) find(id int64) (*ticket, *refusal) {
	for _, t := range s.tickets {
		if t.id == id {
			return t, nil
		}
	}
	return nil, notFound()
}

// ticket returns the ticket of the path: one in the archive is at the paths of the archive alone.
func (c call) ticket() (*ticket, *refusal) {
	t, refused := c.find(c.id)
	if refused != nil || t.archived != c.archived {
		return nil, notFound()
	}
	return t, nil
}

// included is the number of conversations that come with a ticket: the first ones.
const included = 10

func (c call) show() (any, *refusal) {
	t, refused := c.ticket()
	if refused != nil {
		return nil, refused
	}
	shown := t.shown()
	for _, part := range strings.Split(c.query.Get("include"), ",") {
		switch part {
		case "":
		case "conversations":
			shown["conversations"] = render(t, t.talk[:min(len(t.talk), included)])
		case "stats":
			shown["stats"] = map[string]any{
				"resolved_at": orNull(t.resolved), "closed_at": orNull(t.closed), "first_responded_at": nil,
			}
		default:
			return nil, invalid("include", "invalid_value")
		}
	}
	return shown, nil
}

// conversations responds with a page of conversations, oldest first.
func (c call) conversations() (any, *refusal) {
	t, refused := c.ticket()
	if refused != nil {
		return nil, refused
	}
	talk, refused := pageOf(c, t.talk)
	return render(t, talk), refused
}

// pageOf returns the requested page.
func pageOf[T any](c call, all []T) ([]T, *refusal) {
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
	page, refused := number("page", 1, 300)
	if refused != nil {
		return nil, refused
	}
	size, refused := number("per_page", 30, 100)
	if refused != nil {
		return nil, refused
	}
	from := min((page-1)*size, len(all))
	return all[from:min(from+size, len(all))], nil
}

// list responds with a page of the tickets ("List All Tickets"). The defaults are newest first, the last 30
// days, and no descriptions. Deleted tickets and spam are left out, unless one of them is the filter.
func (c call) list() (any, *refusal) {
	since := c.options.Now().AddDate(0, 0, -30)
	changed := func(t *ticket) time.Time { return t.created }
	if given := c.query.Get("updated_since"); given != "" {
		at, err := time.Parse(time.RFC3339, given)
		if err != nil {
			return nil, invalid("updated_since", "datatype_mismatch")
		}
		since, changed = at, func(t *ticket) time.Time { return t.updated }
	}
	sortedBy := func(t *ticket) time.Time { return t.created }
	switch c.query.Get("order_by") {
	case "", "created_at":
	case "updated_at":
		sortedBy = func(t *ticket) time.Time { return t.updated }
	default:
		return nil, invalid("order_by", "invalid_value")
	}
	var requester int64
	if given := c.query.Get("requester_id"); given != "" {
		var err error
		if requester, err = strconv.ParseInt(given, 10, 64); err != nil || !c.isContact(requester) {
			return nil, invalid("requester_id", "invalid_value")
		}
	}
	order := c.query.Get("order_type")
	if order != "" && order != "asc" && order != "desc" {
		return nil, invalid("order_type", "invalid_value")
	}
	if include := c.query.Get("include"); include != "" && include != "description" {
		return nil, invalid("include", "invalid_value")
	}
	filter := c.query.Get("filter")
	if !slices.Contains([]string{"", "spam", "deleted"}, filter) {
		return nil, invalid("filter", "invalid_value")
	}
	var seen []*ticket
	for _, t := range c.tickets {
		if requester != 0 && t.requester != requester {
			continue
		}
		listed := t.deleted == (filter == "deleted") && t.spam == (filter == "spam")
		if listed && !changed(t).Before(since) && (c.options.Scope <= 1 || t.responder == Agent) {
			seen = append(seen, t)
		}
	}
	slices.SortStableFunc(seen, func(a, b *ticket) int { return sortedBy(a).Compare(sortedBy(b)) })
	if order != "asc" {
		slices.Reverse(seen)
	}
	page, refused := pageOf(c, seen)
	shown := []any{}
	for _, t := range page {
		one := t.shown()
		if c.query.Get("include") == "" {
			delete(one, "description")
			delete(one, "description_text")
		}
		shown = append(shown, one)
	}
	return shown, refused
}

func render(t *ticket, talk []conversation) []any {
	list := []any{}
	for _, one := range talk {
		list = append(list, map[string]any{
			"id": one.id, "ticket_id": t.id, "user_id": Agent, "incoming": false, "private": one.private, "source": 2,
			"body": one.html, "body_text": plain(one.html), "created_at": one.at, "updated_at": one.at,
			"attachments": []any{},
		})
	}
	return list
}
