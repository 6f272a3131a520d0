package hubspot

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"frontdesk/core/crm"
	"frontdesk/core/phonenumber"
)

// The properties of a contact (knowledge.hubspot.com/properties/hubspots-default-contact-properties).
const (
	emailProperty  = "email"
	emailsProperty = "hs_additional_emails"
	phoneProperty  = "phone"
	mobileProperty = "mobilephone"
	// HubSpot calculates these from the numbers as they are typed: digits alone, and no country code, if it
	// knows that (developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm, "Limitations").
	plainPhoneProperty  = "hs_searchable_calculated_phone_number"
	plainMobileProperty = "hs_searchable_calculated_mobile_number"
	companyProperty     = "associatedcompanyid" // the primary company
)

var contactProperties = []string{
	"firstname", "lastname", emailProperty, emailsProperty, phoneProperty, mobileProperty, companyProperty,
}

// FindContacts implements crm.ContactFinder. It is one search, of which HubSpot allows five a second, and one
// reading of the companies' names. The search knows a new or changed contact only after moments.
func (d *driver) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	groups := withPhone(q.Phone)
	if q.Phone == (phonenumber.Number{}) {
		if strings.ContainsFunc(q.Email, unicode.IsControl) { // no address has them
			return crm.Contacts{}, nil
		}
		groups = withEmail(q.Email)
	}
	var page struct {
		Total   int      `json:"total"`
		Results []record `json:"results"`
	}
	err := d.query(ctx, d.path("contacts")+"/search",
		search{FilterGroups: groups, Properties: contactProperties, Limit: searchPage}, &page)
	if err != nil {
		return crm.Contacts{}, err
	}
	if page.Results == nil {
		return crm.Contacts{}, unreadable(http.MethodGet)
	}
	found := crm.Contacts{More: page.Total > len(page.Results)}
	for _, r := range page.Results {
		found.Contacts = append(found.Contacts, r.contact())
	}
	// The limit leaves out those whose numbers or addresses agree least.
	slices.SortStableFunc(found.Contacts, func(a, b crm.Contact) int { return cmp.Compare(q.Match(b), q.Match(a)) })
	if len(found.Contacts) > q.Limit {
		found.Contacts, found.More = found.Contacts[:q.Limit], true
	}
	d.nameCompanies(ctx, found.Contacts)
	return found, nil
}

// withPhone returns the filters for a number. The properties as typed are for contacts whose numbers HubSpot
// has not calculated.
func withPhone(n phonenumber.Number) []filterGroup {
	plain := []string{n.National}
	for _, other := range []string{
		strings.TrimLeft(n.National, "0"),      // in Italy, zeros are part of the number
		n.CountryCode + n.National,             // typed without the plus
		n.National[max(0, len(n.National)-7):], // a local number, the shortest that phonenumber.Compare takes
	} {
		if !slices.Contains(plain, other) {
			plain = append(plain, other)
		}
	}
	typed := n.Formats()
	return []filterGroup{
		only(filter{Property: plainPhoneProperty, Operator: "IN", Values: plain}),
		only(filter{Property: plainMobileProperty, Operator: "IN", Values: plain}),
		only(filter{Property: phoneProperty, Operator: "IN", Values: typed}),
		only(filter{Property: mobileProperty, Operator: "IN", Values: typed}),
	}
}

// plainAddress matches addresses that hold nothing with a meaning for CONTAINS_TOKEN, such as an asterisk.
var plainAddress = regexp.MustCompile(`^[a-z0-9._%+'-]+@[a-z0-9.-]+$`)

// withEmail returns the filters for an address. Further addresses of a contact are one list, of which EQ
// finds no part.
func withEmail(email string) []filterGroup {
	groups := []filterGroup{only(filter{Property: emailProperty, Operator: "EQ", Value: email})}
	if plainAddress.MatchString(email) {
		groups = append(groups, only(filter{Property: emailsProperty, Operator: "CONTAINS_TOKEN", Value: email}))
	}
	return groups
}

// contact converts the record into a contact, whose account has no name yet.
func (r record) contact() crm.Contact {
	c := crm.Contact{
		ID: r.ID, Name: strings.TrimSpace(r.property("firstname") + " " + r.property("lastname")),
		AccountID: r.property(companyProperty),
	}
	for _, email := range append([]string{r.property(emailProperty)},
		strings.Split(r.property(emailsProperty), separator)...) {
		if email = strings.TrimSpace(email); email != "" {
			c.Emails = append(c.Emails, email)
		}
	}
	for _, p := range []string{r.property(phoneProperty), r.property(mobileProperty)} {
		if p != "" {
			c.Phones = append(c.Phones, p)
		}
	}
	return c
}

// batch is the body of a batch read, of at most a hundred records
// (developers.hubspot.com/docs/api-reference/latest/crm/understanding-the-crm).
type batch struct {
	Inputs     []input  `json:"inputs"`
	Properties []string `json:"properties,omitempty"`
}

type input struct {
	ID    string `json:"id"`
	After string `json:"after,omitempty"` // the page of a record's associations
}

const mostInBatch = 100

// readBatch reads the records of a kind with these ids. Ids without a record are left out.
func (d *driver) readBatch(ctx context.Context, kind string, ids, properties []string) ([]record, error) {
	ask := batch{Properties: properties}
	for _, id := range ids {
		ask.Inputs = append(ask.Inputs, input{ID: id})
	}
	var answer struct {
		Results []record `json:"results"`
	}
	if err := d.query(ctx, d.path(kind)+"/batch/read", ask, &answer); err != nil {
		return nil, err
	}
	if answer.Results == nil {
		return nil, unreadable(http.MethodGet)
	}
	return answer.Results, nil
}

// nameCompanies sets the names of the contacts' accounts. A name that cannot be read stays empty: who calls
// matters more.
func (d *driver) nameCompanies(ctx context.Context, contacts []crm.Contact) {
	var ids []string
	for _, c := range contacts {
		if c.AccountID != "" && !slices.Contains(ids, c.AccountID) {
			ids = append(ids, c.AccountID)
		}
	}
	if len(ids) == 0 {
		return
	}
	companies, err := d.readBatch(ctx, "companies", ids, []string{"name"})
	if err != nil {
		return
	}
	for i, c := range contacts {
		at := slices.IndexFunc(companies, func(r record) bool { return r.ID == c.AccountID })
		if at >= 0 {
			contacts[i].AccountName = companies[at].property("name")
		}
	}
}

// OpenTickets implements crm.ContactFinder. It follows the contact's associations, since a search of tickets
// counts against the limit of searches and misses new ones. It looks through the newest hundred tickets of
// the contact, and reads neither comments nor companies.
func (d *driver) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	if !isID(contactID) {
		return nil, nil
	}
	ids, err := d.ticketsOf(ctx, contactID)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := d.readBatch(ctx, "tickets", ids, wanted)
	if err != nil {
		return nil, err
	}
	stages, err := d.stagesOf(ctx, found)
	if err != nil {
		return nil, err
	}
	var open []crm.Ticket
	for i, r := range found {
		t := r.ticket(stages[i], r.property(priorityProperty))
		if stages[i].closed() || !t.ClosedAt.IsZero() { // the date matters where the stage is gone
			continue
		}
		t.ContactID = contactID
		open = append(open, t)
	}
	slices.SortStableFunc(open, func(a, b crm.Ticket) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	open = open[:min(limit, len(open))]
	if err := d.labelPriorities(ctx, open); err != nil {
		return nil, err
	}
	return open, nil
}

// mostPages is the most pages of a contact's tickets to read. Few people have more than one page.
const mostPages = 4

// ticketsOf returns the ids of the contact's newest tickets, at most a hundred. A contact without tickets, or
// that does not exist, is an error within the response, which then has no results
// (developers.hubspot.com/docs/api-reference/latest, "Batch read associations").
func (d *driver) ticketsOf(ctx context.Context, contactID string) ([]string, error) {
	ask := input{ID: contactID}
	var ids []string
	for range mostPages {
		var answer struct {
			Results []struct {
				To []struct {
					ID json.Number `json:"toObjectId"` // in older versions, it is not in quotation marks
				} `json:"to"`
				Paging paging `json:"paging"`
			} `json:"results"`
		}
		err := d.query(ctx, "/crm/associations/"+d.version+"/contacts/tickets/batch/read",
			batch{Inputs: []input{ask}}, &answer)
		if err != nil {
			return nil, err
		}
		if answer.Results == nil {
			return nil, unreadable(http.MethodGet)
		}
		ask.After = ""
		for _, result := range answer.Results {
			for _, t := range result.To {
				if isID(t.ID.String()) {
					ids = append(ids, t.ID.String())
				}
			}
			ask.After = result.Paging.Next.After
		}
		if ask.After == "" {
			break
		}
	}
	slices.SortFunc(ids, func(a, b string) int { // the greatest number first, which is the newest ticket
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
	})
	ids = slices.Compact(ids)
	return ids[:min(mostInBatch, len(ids))], nil
}

// stagesOf returns the stage of each ticket. It requests the pipelines at most once. A stage that does not
// exist has no label.
func (d *driver) stagesOf(ctx context.Context, tickets []record) ([]stage, error) {
	stages, _, err := look(ctx, &d.pipelines, d.now(), d.askPipelines,
		func(list []pipeline) ([]stage, bool) {
			stages, all := make([]stage, len(tickets)), true
			for i, t := range tickets {
				var known bool
				stages[i], known = stageIn(list, t.property(pipelineProperty), t.property(stageProperty))
				all = all && known
			}
			return stages, all
		})
	return stages, err
}

// labelPriorities replaces the values of the tickets' priorities by their labels. It requests them at most
// once. A priority that does not exist has no label.
func (d *driver) labelPriorities(ctx context.Context, tickets []crm.Ticket) error {
	if !slices.ContainsFunc(tickets, func(t crm.Ticket) bool { return t.Priority != "" }) {
		return nil
	}
	labels, _, err := look(ctx, &d.priorities, d.now(), d.askPriorities,
		func(list []option) (map[string]string, bool) {
			labels, all := map[string]string{}, true
			for _, t := range tickets {
				at := slices.IndexFunc(list, func(o option) bool { return o.Value == t.Priority })
				if at >= 0 {
					labels[t.Priority] = list[at].Label
				}
				all = all && (at >= 0 || t.Priority == "")
			}
			return labels, all
		})
	for i, t := range tickets {
		tickets[i].Priority = labels[t.Priority]
	}
	return err
}
