package freshdesk

import (
	"cmp"
	"html"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/crm"
)

// ticket is the response to creating and to reading a ticket (developers.freshdesk.com/api, "Tickets").
type ticket struct {
	ID              int64          `json:"id"`
	Subject         string         `json:"subject"`
	Description     string         `json:"description"` // HTML
	DescriptionText string         `json:"description_text"`
	Status          int            `json:"status"`
	Priority        int            `json:"priority"`
	ResponderID     *int64         `json:"responder_id"`
	CompanyID       *int64         `json:"company_id"`
	RequesterID     *int64         `json:"requester_id"`
	CreatedAt       time.Time      `json:"created_at"`
	UpdatedAt       time.Time      `json:"updated_at"`
	Deleted         bool           `json:"deleted"`
	Archived        bool           `json:"archived"`
	Stats           stats          `json:"stats"`         // if requested
	Conversations   []conversation `json:"conversations"` // if requested
}

type stats struct {
	ResolvedAt time.Time `json:"resolved_at"`
	ClosedAt   time.Time `json:"closed_at"`
}

type conversation struct {
	Private   bool      `json:"private"`
	BodyText  string    `json:"body_text"`
	CreatedAt time.Time `json:"created_at"`
}

// The statuses that every account has. Their labels can differ. Custom statuses have other numbers.
const (
	statusOpen     = 2
	statusPending  = 3
	statusResolved = 4
	statusClosed   = 5
)

// The priorities, which are the same in every account.
const (
	priorityLow    = 1
	priorityMedium = 2
	priorityHigh   = 3
	priorityUrgent = 4
)

// ticketOf converts a ticket of Freshdesk into one of the contract, without the last comment. The stats of a
// reopened ticket still hold the times of its earlier resolution and closing, so the status decides.
func ticketOf(t ticket, words labels) crm.Ticket {
	id := strconv.FormatInt(t.ID, 10)
	made := crm.Ticket{
		ID: id, Number: id, Subject: t.Subject, Description: crm.Plain(t.DescriptionText),
		Status: words.statuses.labelOf(t.Status), Priority: words.priorities.labelOf(t.Priority),
		OwnerID: crm.NumericID(t.ResponderID), AccountID: crm.NumericID(t.CompanyID), ContactID: crm.NumericID(t.RequesterID),
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
	if t.Description != "" { // the HTML keeps the ends of lines
		made.Description = crm.Text{Body: t.Description, HTML: true}
	}
	if t.Status == statusResolved || t.Status == statusClosed {
		made.ResolvedAt = t.Stats.ResolvedAt
	}
	if t.Status == statusClosed {
		made.ClosedAt = t.Stats.ClosedAt
	}
	return made
}

// lastPublic returns the newest public conversation, whatever the order of all.
func lastPublic(all []conversation) crm.Text {
	var last conversation
	for _, c := range all {
		if !c.Private && !c.CreatedAt.Before(last.CreatedAt) {
			last = c
		}
	}
	return crm.Plain(last.BodyText)
}

// newTicket holds the values that a call gives for a new ticket.
type newTicket struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
	Status      int    `json:"status,omitempty"`
	Priority    int    `json:"priority,omitempty"`
	Email       string `json:"email,omitempty"`
	RequesterID int64  `json:"requester_id,omitempty"`
	ResponderID int64  `json:"responder_id,omitempty"`
	CompanyID   int64  `json:"company_id,omitempty"`

	text string // the description before its conversion to HTML
}

// newTicketOf converts a new ticket of the contract, without its labels.
func newTicketOf(t crm.NewTicket, requester string) (newTicket, error) {
	plain := cmp.Or(t.Description, t.Subject) // Freshdesk accepts no ticket without a description
	made := newTicket{Subject: t.Subject, Description: htmlOf(plain), text: plain}
	if t.ContactID == "" {
		made.Email = requester
	}
	err := crm.NumericIDs(t, "Freshdesk", &made.ResponderID, &made.CompanyID, &made.RequesterID)
	return made, err
}

// lineEnds replaces the ends of lines with line breaks of HTML.
var lineEnds = strings.NewReplacer("\r\n", "<br>", "\n", "<br>", "\r", "<br>")

// htmlOf converts plain text into HTML, which is the format of a description.
func htmlOf(plain string) string { return lineEnds.Replace(html.EscapeString(plain)) }

// contact is one person in a list or a search (developers.freshdesk.com/api, "Contacts").
type contact struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Email       string   `json:"email"`
	OtherEmails []string `json:"other_emails"`
	Phone       string   `json:"phone"`
	Mobile      string   `json:"mobile"`
	CompanyID   *int64   `json:"company_id"`
}

// contactsAnswer is a page of a search for contacts.
type contactsAnswer struct {
	Total   int       `json:"total"`
	Results []contact `json:"results"`
}

type company struct {
	Name string `json:"name"`
}

// agent is the agent that the API key belongs to.
type agent struct {
	ID      int64  `json:"id"`
	Type    string `json:"type"`
	Scope   int    `json:"ticket_scope"`
	Contact struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"contact"`
}
