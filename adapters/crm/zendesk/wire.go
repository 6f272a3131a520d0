package zendesk

import (
	"cmp"
	"strconv"
	"time"

	"frontdesk/core/crm"
)

// ticketAnswer is the response to creating and to reading a ticket
// (developer.zendesk.com/api-reference/ticketing/tickets/tickets).
type ticketAnswer struct {
	Ticket ticket `json:"ticket"`
}

type ticket struct {
	ID             int64     `json:"id"`
	ExternalID     string    `json:"external_id"`
	Subject        string    `json:"subject"`
	Description    string    `json:"description"` // of the first comment, plain
	Status         string    `json:"status"`      // with custom statuses: the category
	CustomStatusID *int64    `json:"custom_status_id"`
	Priority       string    `json:"priority"`
	AssigneeID     *int64    `json:"assignee_id"`
	OrganizationID *int64    `json:"organization_id"`
	RequesterID    *int64    `json:"requester_id"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	IsPublic       *bool     `json:"is_public"` // whether any comment is
}

// The system statuses that the adapter treats specially.
const (
	solved = "solved"
	closed = "closed"
)

// done reports whether the ticket is solved or closed. The metrics hold the times.
func (t ticket) done() bool { return t.Status == solved || t.Status == closed }

// ticketOf converts a ticket of Zendesk into one of the contract. The times of resolution and closing and the
// last comment take further requests.
func ticketOf(t ticket, words labels) crm.Ticket {
	id := strconv.FormatInt(t.ID, 10)
	return crm.Ticket{
		ID: id, Number: id, Subject: t.Subject, Description: crm.Plain(t.Description),
		Status: words.statusOf(t), Priority: words.priorityOf(t.Priority),
		OwnerID: crm.NumericID(t.AssigneeID), AccountID: crm.NumericID(t.OrganizationID),
		ContactID: crm.NumericID(t.RequesterID), CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

// newTicket holds the values that a call gives for a new ticket. Zendesk requires a first comment, which
// becomes the description.
type newTicket struct {
	Subject        string  `json:"subject"`
	Comment        comment `json:"comment"`
	ExternalID     string  `json:"external_id"`
	Status         string  `json:"status,omitempty"`
	CustomStatusID int64   `json:"custom_status_id,omitempty"`
	Priority       string  `json:"priority,omitempty"`
	AssigneeID     int64   `json:"assignee_id,omitempty"`
	OrganizationID int64   `json:"organization_id,omitempty"`
	RequesterID    int64   `json:"requester_id,omitempty"`
}

type newTicketRequest struct {
	Ticket map[string]any `json:"ticket"`
}

// comment is a comment in a request or a response. Its plain body has no markup.
type comment struct {
	Body      string `json:"body"`
	PlainBody string `json:"plain_body,omitempty"`
	Public    bool   `json:"public"`
}

// newTicketOf converts a new ticket of the contract, without its labels.
func newTicketOf(t crm.NewTicket) (newTicket, error) {
	made := newTicket{
		Subject: t.Subject, ExternalID: externalID(t.Key),
		Comment: comment{Body: cmp.Or(t.Description, t.Subject), Public: true},
	}
	err := crm.NumericIDs(t, "Zendesk", &made.AssigneeID, &made.OrganizationID, &made.RequesterID)
	return made, err
}

// externalID returns the external id of the ticket with this key.
func externalID(key string) string { return "frontdesk-" + key }

// ticketsAnswer is a list of tickets.
type ticketsAnswer struct {
	Tickets  []ticket `json:"tickets"`
	NextPage string   `json:"next_page"` // of a long list
}

// usersAnswer is a list of users, with what was requested besides.
type usersAnswer struct {
	Users []user `json:"users"`
	Count int    `json:"count"` // of all pages

	Identities []struct {
		UserID int64  `json:"user_id"`
		Type   string `json:"type"` // such as email or phone_number
		Value  string `json:"value"`
	} `json:"identities"`
	Organizations []struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"organizations"`
}

type user struct {
	ID             int64  `json:"id"`
	Name           string `json:"name"`
	Email          string `json:"email"`
	Phone          string `json:"phone"`
	OrganizationID *int64 `json:"organization_id"`
}

// commentsAnswer is a page of comments.
type commentsAnswer struct {
	Comments []comment `json:"comments"`
	Meta     struct {
		HasMore     bool   `json:"has_more"`
		AfterCursor string `json:"after_cursor"`
	} `json:"meta"`
}

// metricsAnswer holds the times of one ticket
// (developer.zendesk.com/api-reference/ticketing/tickets/ticket_metrics).
type metricsAnswer struct {
	Metric struct {
		SolvedAt        time.Time `json:"solved_at"`
		StatusUpdatedAt time.Time `json:"status_updated_at"`
	} `json:"ticket_metric"`
}

// userAnswer is the response to reading a user.
type userAnswer struct {
	User struct {
		ID    *int64 `json:"id"` // null for the anonymous user
		Name  string `json:"name"`
		Email string `json:"email"`

		Role        string `json:"role"`
		RoleType    int    `json:"role_type"`
		Restriction string `json:"ticket_restriction"`
	} `json:"user"`
}

// customStatusesAnswer holds all statuses of the account, including inactive ones
// (developer.zendesk.com/api-reference/ticketing/tickets/custom_ticket_statuses).
type customStatusesAnswer struct {
	Statuses []struct {
		ID       int64  `json:"id"`
		Label    string `json:"agent_label"`
		Active   bool   `json:"active"`
		Category string `json:"status_category"`
	} `json:"custom_statuses"`
}

// fieldsAnswer holds the ticket fields. Fields with choices have options
// (developer.zendesk.com/api-reference/ticketing/tickets/ticket_fields).
type fieldsAnswer struct {
	Fields []struct {
		ID       int64         `json:"id"`
		Type     string        `json:"type"`
		Active   *bool         `json:"active"`
		Required bool          `json:"required"`
		Options  []fieldOption `json:"system_field_options"`
		Custom   []fieldOption `json:"custom_field_options"`
	} `json:"ticket_fields"`
}

type fieldOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// text returns the text of a comment without markup. A comment on a phone call has no plain body; its body is
// used.
func (c comment) text() crm.Text { return crm.Plain(cmp.Or(c.PlainBody, c.Body)) }
