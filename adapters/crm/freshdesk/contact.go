package freshdesk

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/phonenumber"
	"frontdesk/core/upstream"
)

var _ crm.ContactFinder = (*driver)(nil)

// FindContacts implements crm.ContactFinder.
func (d *driver) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	var found []contact
	var answer crm.Contacts
	var err error
	if q.Phone.E164 != "" {
		found, answer, err = d.byPhone(ctx, q.Phone)
	} else {
		found, err = d.byEmail(ctx, q)
	}
	if err != nil {
		return crm.Contacts{}, contactsHidden(err)
	}
	answer.More = answer.More || len(found) > q.Limit
	found = found[:min(len(found), q.Limit)]
	companies := d.companies(ctx, found)
	for _, c := range found {
		answer.Contacts = append(answer.Contacts, contactOf(c, companies))
	}
	return answer, nil
}

// byPhone searches in both fields that hold numbers, at the same time.
func (d *driver) byPhone(ctx context.Context, n phonenumber.Number) ([]contact, crm.Contacts, error) {
	fields := []string{"phone", "mobile"}
	pages, errs := make([]contactsAnswer, len(fields)), make([]error, len(fields))
	group := parallel.New()
	for i, field := range fields {
		group.Go(func() error {
			errs[i] = d.get(ctx, "/search/contacts", url.Values{"query": {numberQuery(field, n)}}, &pages[i])
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	if errs[0] != nil && errs[1] != nil {
		return nil, crm.Contacts{}, errs[0]
	}
	answer := crm.Contacts{Incomplete: errs[0] != nil || errs[1] != nil}
	var found []contact
	for _, page := range pages {
		answer.More = answer.More || page.Total > len(page.Results)
		for _, c := range page.Results {
			if c.ID > 0 && !slices.ContainsFunc(found, func(known contact) bool { return known.ID == c.ID }) {
				found = append(found, c)
			}
		}
	}
	return found, answer, nil
}

// longestQuery is how many characters a query of a search has at most.
const longestQuery = 512

// numberQuery returns the query of a search for contacts with the number in this field, in any of its usual
// formats: Freshdesk compares texts, not digits (developers.freshdesk.com/api, "Filter Contacts").
func numberQuery(field string, n phonenumber.Number) string {
	var query string
	for _, format := range n.Formats() {
		term := field + ":'" + format + "'"
		if query != "" {
			term = query + " OR " + term
		}
		if utf8.RuneCountInString(term)+len(`""`) > longestQuery {
			break
		}
		query = term
	}
	return `"` + query + `"`
}

// byEmail lists the contacts with the address (developers.freshdesk.com/api, "List All Contacts"). The list
// reads the database, while a search finds a new contact only minutes later. Freshdesk refuses what it does
// not take for an address: nobody has it.
func (d *driver) byEmail(ctx context.Context, q crm.ContactQuery) ([]contact, error) {
	var found []contact
	err := d.get(ctx, "/contacts", url.Values{"email": {q.Email}}, &found)
	if refusesFilter(err, "email") {
		return nil, nil
	}
	return slices.DeleteFunc(found, func(c contact) bool { return c.ID <= 0 }), err
}

// mostCompanies is how many companies are read for the sake of their names, which contacts do not have.
const mostCompanies = 5

// companies returns the names of the contacts' first companies, by id. It leaves out those that cannot be
// read: what is known of the contacts is worth more.
func (d *driver) companies(ctx context.Context, of []contact) map[int64]string {
	var ids []int64
	for _, c := range of {
		if c.CompanyID != nil && !slices.Contains(ids, *c.CompanyID) && len(ids) < mostCompanies {
			ids = append(ids, *c.CompanyID)
		}
	}
	read := make([]company, len(ids))
	group := parallel.New()
	for i, id := range ids {
		group.Go(func() error {
			if d.get(ctx, "/companies/"+strconv.FormatInt(id, 10), nil, &read[i]) != nil {
				read[i] = company{}
			}
			return nil
		})
	}
	_ = group.Wait() // a company that cannot be read has no name
	names := map[int64]string{}
	for i, id := range ids {
		names[id] = read[i].Name
	}
	return names
}

func contactOf(c contact, companies map[int64]string) crm.Contact {
	filled := func(texts ...string) []string {
		return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	}
	made := crm.Contact{
		ID: strconv.FormatInt(c.ID, 10), Name: c.Name, AccountID: crm.NumericID(c.CompanyID),
		Emails: filled(append([]string{c.Email}, c.OtherEmails...)...), Phones: filled(c.Phone, c.Mobile),
	}
	if c.CompanyID != nil {
		made.AccountName = companies[*c.CompanyID]
	}
	return made
}

// contactsHidden says what to do if the agent may not look at contacts. It returns other errors unchanged.
func contactsHidden(err error) error {
	if upstream.HasStatus(err, http.StatusForbidden) {
		return fault.From(err).Restate(fault.Forbidden, fault.ReasonPermissionDenied,
			"The connection's agent may not view contacts at Freshdesk. Give the agent a role that can.")
	}
	return err
}

// firstTickets is before the first ticket of Freshdesk. Without a time, the list has those of the last 30
// days alone.
const firstTickets = "2010-01-01T00:00:00Z"

// OpenTickets implements crm.ContactFinder. It lists the contact's tickets from the database
// (developers.freshdesk.com/api, "List All Tickets") and leaves out those that are resolved or closed. It
// reads mostPages pages at most.
func (d *driver) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	if _, ok := crm.ParseNumericID(contactID); !ok {
		return nil, nil
	}
	var open []ticket
	for n := range mostPages {
		query := url.Values{
			"requester_id": {contactID}, "updated_since": {firstTickets}, "order_by": {"updated_at"},
			"order_type": {"desc"}, "include": {"description"}, "per_page": {strconv.Itoa(ticketsPerPage)},
			"page": {strconv.Itoa(n + 1)},
		}
		var page []ticket
		if err := d.get(ctx, "/tickets", query, &page); refusesFilter(err, "requester_id") {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		for _, t := range page {
			if t.ID > 0 && t.Status != statusResolved && t.Status != statusClosed {
				open = append(open, t)
			}
		}
		if len(open) >= limit || len(page) < ticketsPerPage {
			break
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	known, err := d.knownLabels(ctx, func(known labels) bool {
		return !slices.ContainsFunc(open, func(t ticket) bool { return !known.statuses.knows(t.Status) })
	})
	if err != nil {
		return nil, err
	}
	var answer []crm.Ticket
	for _, t := range open[:min(len(open), limit)] {
		answer = append(answer, ticketOf(t, known))
	}
	return answer, nil
}
