package hubspot

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// The properties of a ticket (developers.hubspot.com/docs/api-reference/latest/crm/objects/tickets/guide).
const (
	subjectProperty  = "subject"
	contentProperty  = "content"
	pipelineProperty = "hs_pipeline"
	stageProperty    = "hs_pipeline_stage"
	priorityProperty = "hs_ticket_priority"
	ownerProperty    = "hubspot_owner_id"
	closedProperty   = "closed_date"
	createdProperty  = "createdate"
)

// wanted are the properties to request. HubSpot returns most properties only if they are named.
var wanted = []string{
	subjectProperty, contentProperty, pipelineProperty, stageProperty, priorityProperty, ownerProperty,
	closedProperty,
}

// record is a ticket as HubSpot returns it. Empty properties are null.
type record struct {
	ID           string                  `json:"id"`
	Properties   map[string]*string      `json:"properties"`
	CreatedAt    string                  `json:"createdAt"`
	UpdatedAt    string                  `json:"updatedAt"`
	Associations map[string]associations `json:"associations"`
}

type associations struct {
	Results []related `json:"results"`
}

type related struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// creation is the body of a request that creates a ticket.
type creation struct {
	Properties   map[string]string `json:"properties"`
	Associations []association     `json:"associations,omitempty"`
}

type association struct {
	To    to                `json:"to"`
	Types []associationType `json:"types"`
}

type to struct {
	ID string `json:"id"`
}

type associationType struct {
	Category string `json:"associationCategory"`
	ID       int    `json:"associationTypeId"`
}

// Types of association from a ticket
// (developers.hubspot.com/docs/api-reference/latest/crm/associations/associate-records/guide, "Association
// type ID values").
const (
	ticketToContact        = 16
	ticketToPrimaryCompany = 26
)

// newCreation builds the body. It leaves out empty values, since HubSpot would clear those properties.
func newCreation(t crm.NewTicket, pipelineID, stageID, priority string) creation {
	c := creation{Properties: map[string]string{
		subjectProperty: t.Subject, pipelineProperty: pipelineID, stageProperty: stageID,
	}}
	for property, value := range map[string]string{
		contentProperty: t.Description, priorityProperty: priority, ownerProperty: t.OwnerID,
	} {
		if value != "" {
			c.Properties[property] = value
		}
	}
	for _, other := range []struct {
		id   string
		kind int
	}{{t.ContactID, ticketToContact}, {t.AccountID, ticketToPrimaryCompany}} {
		if other.id != "" {
			c.Associations = append(c.Associations, association{
				To: to{other.id}, Types: []associationType{{"HUBSPOT_DEFINED", other.kind}},
			})
		}
	}
	return c
}

// wellFormed returns an error that names the ids that are not HubSpot's, which are all numbers.
func wellFormed(t crm.NewTicket) error {
	var faults []fault.Field
	for _, field := range []struct{ path, given, what string }{
		{"owner_id", t.OwnerID, "owner"}, {"account_id", t.AccountID, "company"},
		{"contact_id", t.ContactID, "contact"},
	} {
		if field.given != "" && !isID(field.given) {
			faults = append(faults, fault.Field{
				Path: field.path, Message: "is not the id of a HubSpot " + field.what + ", which is a number.",
			})
		}
	}
	if len(faults) > 0 {
		return fault.InvalidFields(faults...)
	}
	return nil
}

// isID reports whether s is an id: a number of up to 18 digits, as HubSpot writes it.
func isID(s string) bool { return ids.MatchString(s) }

var ids = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)

// property returns the value of a property, or "" if HubSpot has none.
func (r record) property(name string) string {
	if value := r.Properties[name]; value != nil {
		return *value
	}
	return ""
}

// ticket converts the record into a ticket with the labels of s and priority, and without a last comment.
func (r record) ticket(s stage, priority string) crm.Ticket {
	t := crm.Ticket{
		ID: r.ID, Number: r.ID, // a ticket has no other number: hs_ticket_id is its id
		Subject: r.property(subjectProperty), Description: description(r.property(contentProperty)),
		Status: s.Label, Priority: priority,
		OwnerID: r.property(ownerProperty), AccountID: r.association("companies", "ticket_to_company"),
		ContactID: r.association("contacts", "ticket_to_contact"),
		CreatedAt: instant(r.CreatedAt), UpdatedAt: instant(r.UpdatedAt),
	}
	if s.ID == "" || s.closed() { // a ticket that was opened again may keep the date
		t.ClosedAt = instant(r.property(closedProperty))
	}
	return t
}

// association returns the id of an associated record of this kind. It prefers an association of the type
// first: a company is associated by several types at once, one of which is the primary company's.
func (r record) association(kind, first string) string {
	list := r.Associations[kind].Results
	if len(list) == 0 {
		return ""
	}
	return list[max(0, slices.IndexFunc(list, func(r related) bool { return r.Type == first }))].ID
}

// description distinguishes plain text from HTML. What people type into the property is plain text. Forms and
// mails put whole HTML into it, which begins with the tag of a block and ends with a tag.
func description(content string) crm.Text {
	return crm.Text{Body: content, HTML: blocks.MatchString(content)}
}

// asSent returns the ticket that a Create of t created: what was sent is plain text, also if it looks like HTML.
func asSent(t crm.NewTicket, ticket crm.Ticket) crm.Ticket {
	if crm.SameText(ticket.Description.Body, t.Description) {
		ticket.Description.HTML = false
	}
	return ticket
}

var blocks = regexp.MustCompile(
	`(?is)^\s*(<!doctype[^>]*>\s*)?<(html|body|div|p|table|ul|ol|h[1-6]|blockquote|span|br)(\s[^>]*)?/?>.*>\s*$`)

// instant parses a time. It returns the zero time if s is not a time.
func instant(s string) time.Time {
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(s))
	if err != nil {
		return time.Time{}
	}
	return at
}
