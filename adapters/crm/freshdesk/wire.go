package freshdesk

import (
	"cmp"
	"html"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// ticket is what creating and reading a ticket answer (developers.freshdesk.com/api, "Tickets").
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
	Stats           stats          `json:"stats"`         // where they are asked for
	Conversations   []conversation `json:"conversations"` // likewise
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

// The statuses that every account has, whatever it calls them; those of its own are other numbers.
const (
	statusOpen     = 2
	statusPending  = 3
	statusResolved = 4
	statusClosed   = 5
)

// The priorities, which are the same everywhere.
const (
	priorityLow    = 1
	priorityMedium = 2
	priorityHigh   = 3
	priorityUrgent = 4
)

// ticketOf makes a ticket of what Freshdesk told, but for the last comment. Of a ticket that was opened
// again, the times of its earlier end stay in the stats.
func ticketOf(t ticket, words labels) crm.Ticket {
	id := strconv.FormatInt(t.ID, 10)
	made := crm.Ticket{
		ID: id, Number: id, Subject: t.Subject, Description: crm.Plain(t.DescriptionText),
		Status: words.statuses.labelOf(t.Status), Priority: words.priorities.labelOf(t.Priority),
		OwnerID: text(t.ResponderID), AccountID: text(t.CompanyID), ContactID: text(t.RequesterID),
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
	if t.Description != "" { // which keeps the ends of lines
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

func text(id *int64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatInt(*id, 10)
}

// lastPublic returns the newest public one of conversations, in whatever order they come.
func lastPublic(all []conversation) crm.Text {
	var last conversation
	for _, c := range all {
		if !c.Private && !c.CreatedAt.Before(last.CreatedAt) {
			last = c
		}
	}
	return crm.Plain(last.BodyText)
}

// newTicket is what a call gives of a ticket to be made.
type newTicket struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
	Status      int    `json:"status,omitempty"`
	Priority    int    `json:"priority,omitempty"`
	Email       string `json:"email,omitempty"`
	RequesterID int64  `json:"requester_id,omitempty"`
	ResponderID int64  `json:"responder_id,omitempty"`
	CompanyID   int64  `json:"company_id,omitempty"`

	text string // the description before it was made HTML
}

// newTicketOf reads a call, but for the labels.
func newTicketOf(t crm.NewTicket, requester string) (newTicket, error) {
	plain := cmp.Or(t.Description, t.Subject) // Freshdesk takes no ticket without one
	made := newTicket{Subject: t.Subject, Description: htmlOf(plain), text: plain}
	if t.ContactID == "" {
		made.Email = requester
	}
	var faults []fault.Field
	for _, related := range []struct {
		path, given string
		to          *int64
	}{
		{"owner_id", t.OwnerID, &made.ResponderID}, {"account_id", t.AccountID, &made.CompanyID},
		{"contact_id", t.ContactID, &made.RequesterID},
	} {
		if related.given == "" {
			continue
		}
		var ok bool
		if *related.to, ok = parseID(related.given); !ok {
			faults = append(faults, fault.Field{Path: related.path, Message: "is not a Freshdesk id. Send " +
				"its digits."})
		}
	}
	if len(faults) > 0 {
		return made, fault.InvalidFields(faults...)
	}
	return made, nil
}

// lineEnds are written so that HTML shows them.
var lineEnds = strings.NewReplacer("\r\n", "<br>", "\n", "<br>", "\r", "<br>")

// htmlOf writes plain text as the HTML that a description is.
func htmlOf(plain string) string { return lineEnds.Replace(html.EscapeString(plain)) }

// parseID reads an id exactly as Freshdesk writes it.
func parseID(id string) (int64, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == id
}

// agent is who the key belongs to.
type agent struct {
	ID      int64  `json:"id"`
	Type    string `json:"type"`
	Scope   int    `json:"ticket_scope"`
	Contact struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"contact"`
}
