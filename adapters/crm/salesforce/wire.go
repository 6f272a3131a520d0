package salesforce

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// fields are the fields to read of every case. Labels are in the user's language, as in the description of
// cases ("toLabel()", SOQL and SOSL Reference).
const fields = "Id, CaseNumber, Subject, Description, toLabel(Status), toLabel(Priority), OwnerId, AccountId, " +
	"ContactId, IsClosed, ClosedDate, CreatedDate, LastModifiedDate"

// lastComment maps each choice of the setting comments to the query for the most recent public comment of a
// case. Customers see a case comment if IsPublished is set, and a post if its Visibility is AllUsers. Every
// email of a case went to a customer or came from one, except a draft (Object Reference: CaseComment,
// EmailMessage, CaseFeed).
var lastComment = map[string]string{
	"case_comments": "SELECT CommentBody FROM CaseComments WHERE IsPublished = true ORDER BY CreatedDate " +
		"DESC, Id DESC LIMIT 1",
	"emails": "SELECT TextBody, HtmlBody FROM EmailMessages WHERE Status != '5' ORDER BY MessageDate " +
		"DESC, Id DESC LIMIT 1",
	"feed": "SELECT Body, IsRichText FROM Feeds WHERE Type = 'TextPost' AND Visibility = 'AllUsers' " +
		"ORDER BY CreatedDate DESC, Id DESC LIMIT 1",
}

// selection returns the beginning of a query for cases.
func selection(comments string) string {
	return "SELECT " + fields + ", (" + lastComment[comments] + ") FROM Case"
}

// quote converts a text into a SOQL literal, in which quote and backslash are reserved ("Reserved
// Characters").
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// The parts of a composite call have names. A later part can refer to the response of an earlier one.
const (
	made      = "made"
	reference = "@{" + made + ".id}"
)

// escapedQuery escapes a query for the URL of a part, except the reference.
func escapedQuery(soql string) string {
	return strings.ReplaceAll(url.QueryEscape(soql), url.QueryEscape(reference), reference)
}

type composite struct {
	AllOrNone bool   `json:"allOrNone"`
	Parts     []part `json:"compositeRequest"`
}

type part struct {
	Method      string            `json:"method"`
	URL         string            `json:"url"`
	ReferenceID string            `json:"referenceId"`
	Headers     map[string]string `json:"httpHeaders,omitempty"`
	Body        map[string]any    `json:"body,omitempty"`
}

// decode decodes a response, which must be a JSON object.
func decode(body []byte, out any) error {
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' {
		return errNoObject
	}
	return json.Unmarshal(body, out)
}

// result is a response to a query.
type result[T any] struct {
	Records []T    `json:"records"`
	Done    *bool  `json:"done"`           // false: there are more
	Next    string `json:"nextRecordsUrl"` // path of the next batch
}

func (r result[T]) isLast() bool { return r.Next == "" && (r.Done == nil || *r.Done) }

// record is a case.
type record struct {
	ID               string `json:"Id"`
	CaseNumber       string
	Subject          string
	Description      string
	Status, Priority string
	OwnerID          string `json:"OwnerId"`
	AccountID        string `json:"AccountId"`
	ContactID        string `json:"ContactId"`
	IsClosed         bool
	ClosedDate       stamp
	CreatedDate      stamp
	LastModifiedDate stamp

	CaseComments  *result[struct{ CommentBody string }] // null if there is none
	EmailMessages *result[struct{ TextBody, HTMLBody string }]
	Feeds         *result[struct {
		Body       string
		IsRichText bool
	}]
}

// stamp is a time such as 2026-05-01T07:25:37.000+0000, which RFC 3339 does not allow. null is the zero time.
type stamp struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (s *stamp) UnmarshalJSON(text []byte) error {
	var written string
	if err := json.Unmarshal(text, &written); err != nil || written == "" {
		return err
	}
	at, err := time.Parse("2006-01-02T15:04:05Z0700", written)
	s.Time = at.UTC()
	return err
}

func (r record) ticket() crm.Ticket {
	t := crm.Ticket{
		ID: r.ID, Number: r.CaseNumber, Subject: r.Subject, Description: crm.Plain(r.Description),
		Status: strings.TrimSpace(r.Status), Priority: strings.TrimSpace(r.Priority),
		OwnerID: r.OwnerID, AccountID: r.AccountID, ContactID: r.ContactID,
		CreatedAt: r.CreatedDate.Time, UpdatedAt: r.LastModifiedDate.Time, LastComment: r.comment(),
	}
	if r.IsClosed {
		t.ClosedAt = r.ClosedDate.Time
	}
	return t
}

func (r record) comment() crm.Text {
	switch {
	case r.CaseComments != nil && len(r.CaseComments.Records) > 0:
		return crm.Plain(r.CaseComments.Records[0].CommentBody)
	case r.EmailMessages != nil && len(r.EmailMessages.Records) > 0:
		email := r.EmailMessages.Records[0]
		if strings.TrimSpace(email.TextBody) == "" && email.HTMLBody != "" {
			return crm.Text{Body: email.HTMLBody, HTML: true}
		}
		return crm.Plain(email.TextBody)
	case r.Feeds != nil && len(r.Feeds.Records) > 0:
		post := r.Feeds.Records[0]
		return crm.Text{Body: post.Body, HTML: post.IsRichText}
	}
	return crm.Text{}
}

// compositeAnswer holds the response to each part, in order.
type compositeAnswer struct {
	Parts []struct {
		Body   json.RawMessage `json:"body"`
		Status int             `json:"httpStatusCode"`
	} `json:"compositeResponse"`
}

// ticket returns the case that the first part created, as the second part read it.
func (a compositeAnswer) ticket() (crm.Ticket, error) {
	if len(a.Parts) != 2 {
		return crm.Ticket{}, unknown(errNoObject)
	}
	var found result[record]
	if err := decode(a.Parts[1].Body, &found); err != nil {
		return crm.Ticket{}, unknown(err)
	}
	if len(found.Records) != 1 || found.Records[0].ID == "" || found.Records[0].CaseNumber == "" {
		return crm.Ticket{}, unseen()
	}
	return found.Records[0].ticket(), nil
}

// description describes cases, as the connected user sees them ("sObject Describe", REST API Developer
// Guide).
type description struct {
	Createable bool             `json:"createable"`
	Fields     []describedField `json:"fields"`
}

type describedField struct {
	Name              string `json:"name"`
	Type              string `json:"type"`
	Createable        bool   `json:"createable"`
	Nillable          bool   `json:"nillable"`
	DefaultedOnCreate bool   `json:"defaultedOnCreate"`
	ExternalID        bool   `json:"externalId"`
	Unique            bool   `json:"unique"`

	References []string `json:"referenceTo"` // kinds of record
	Restricted bool     `json:"restrictedPicklist"`
	Values     []struct {
		Active bool   `json:"active"`
		Label  string `json:"label"` // null if it is the value itself
		Value  string `json:"value"`
	} `json:"picklistValues"`
}

// picklists holds the labels that a new case can have, and other parts of the description.
type picklists struct {
	status, priority picklist
	phone            bool // whether Phone is an origin
	createable       bool
	fields           []adapter.TicketField
	keys             []string            // fields that can hold keys
	references       map[string][]string // kinds of record, by field that holds an id
}

type picklist []struct{ label, value string }

func (p picklist) labels() []string {
	labels := make([]string, 0, len(p))
	for _, o := range p {
		labels = append(labels, o.label)
	}
	return labels
}

// value returns the API's value of a label. The value of "" is "".
func (p picklist) value(label string) (value string, known bool) {
	if label == "" {
		return "", true
	}
	for _, o := range p {
		if o.label == label {
			return o.value, true
		}
	}
	return "", false
}

// picklists leaves out inactive values. Of labels that differ only in case it keeps the first, since a caller
// could not tell them apart. A field that the user may not set has no labels.
func (d description) picklists() *picklists {
	lists := picklists{
		phone: d.offersPhone(), createable: d.Createable, fields: d.ticketFields(),
		references: map[string][]string{},
	}
	for _, field := range d.Fields {
		if field.Type == "reference" {
			lists.references[field.Name] = field.References
		}
		if field.Createable && field.ExternalID && field.Unique {
			lists.keys = append(lists.keys, field.Name)
		}
		if !field.Createable || field.Name != "Status" && field.Name != "Priority" {
			continue
		}
		var list picklist
		for _, v := range field.Values {
			label := strings.TrimSpace(v.Label)
			if label == "" {
				label = strings.TrimSpace(v.Value)
			}
			doubled := slices.ContainsFunc(list.labels(), func(l string) bool { return strings.EqualFold(l, label) })
			if v.Active && label != "" && !doubled {
				list = append(list, struct{ label, value string }{label, v.Value})
			}
		}
		if field.Name == "Status" {
			lists.status = list
		} else {
			lists.priority = list
		}
	}
	return &lists
}

// recordID matches an id: 15 characters, with or without the three that make it unique regardless of case.
var recordID = regexp.MustCompile(`\A[a-zA-Z0-9]{15}(?:[a-zA-Z0-9]{3})?\z`)

// relations returns the records that a new ticket refers to, with our path and the API's field.
func relations(t crm.NewTicket) (given []relation) {
	for _, r := range []relation{
		{"owner_id", "OwnerId", t.OwnerID}, {"account_id", "AccountId", t.AccountID},
		{"contact_id", "ContactId", t.ContactID},
	} {
		if r.id != "" {
			given = append(given, r)
		}
	}
	return given
}

type relation struct{ path, field, id string }

// withShortIDs restores ids that were given with 15 characters. The three more that the API returns add
// nothing to them.
func withShortIDs(given crm.NewTicket, t crm.Ticket) crm.Ticket {
	const short = 15
	for _, id := range []struct {
		given string
		has   *string
	}{{given.OwnerID, &t.OwnerID}, {given.AccountID, &t.AccountID}, {given.ContactID, &t.ContactID}} {
		if len(id.given) == short && strings.HasPrefix(*id.has, id.given) {
			*id.has = id.given
		}
	}
	return t
}

// checkIDs returns a fault for each id of a ticket that does not have the form of an id.
func checkIDs(t crm.NewTicket) (faults []fault.Field) {
	for _, r := range relations(t) {
		if !recordID.MatchString(r.id) {
			faults = append(faults, fault.Field{
				Path: r.path, Message: "must be a Salesforce id: 15 or 18 letters and digits.",
			})
		}
	}
	return faults
}
