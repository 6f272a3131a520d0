package zendesk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
	"frontdesk/core/upstream"
)

var _ crm.ContactFinder = (*driver)(nil)

// FindContacts implements crm.ContactFinder. It searches for customers, and reads those it found with their
// further numbers and addresses and their organizations, which a search does not include
// (developer.zendesk.com/documentation/ticketing/using-the-zendesk-api/side_loading).
func (d *driver) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	terms, ok := searchTerms(q)
	if !ok {
		return crm.Contacts{}, nil
	}
	var found usersAnswer
	if err := d.get(ctx, "/users/search", url.Values{"query": {terms}}, &found); err != nil {
		return crm.Contacts{}, usersHidden(err)
	}
	if found.Users == nil {
		return crm.Contacts{}, unreadable(http.MethodGet)
	}
	users := slices.DeleteFunc(found.Users, func(u user) bool { return u.ID <= 0 })
	answer := crm.Contacts{More: found.Count > len(found.Users)}
	if len(users) == 0 {
		return answer, nil
	}
	whole, err := d.readUsers(ctx, users)
	if err != nil {
		whole, answer.Incomplete = usersAnswer{Users: users}, true
	}
	for _, c := range whole.contacts() {
		if q.Match(c) != phonenumber.None { // a search finds more, and the limit could leave out who calls
			answer.Contacts = append(answer.Contacts, c)
		}
	}
	answer.More = answer.More || len(answer.Contacts) > q.Limit
	answer.Contacts = answer.Contacts[:min(len(answer.Contacts), q.Limit)]
	return answer, nil
}

// searchTerms returns the query of a search for users. A number's digits after an asterisk match every number
// of a profile that ends with them, whatever separates its digits
// (developer.zendesk.com/documentation/voice/talk-partner-edition/retrieving-the-zendesk-user-id-of-a-caller).
// Double quotes hold a value together
// (developer.zendesk.com/api-reference/ticketing/ticket-management/search, "Query basics"). The syntax has no
// way to write a double quote inside them, so searchTerms returns false for an address that has one.
func searchTerms(q crm.ContactQuery) (string, bool) {
	const customers = "role:end-user "
	if q.Phone.National != "" {
		return customers + "phone:*" + q.Phone.National, true
	}
	unfit := func(r rune) bool { return r == '"' || r == '\\' || unicode.IsControl(r) }
	return customers + `email:"` + q.Email + `"`, !strings.ContainsFunc(q.Email, unfit)
}

// readUsers reads the users anew with their identities and organizations
// (developer.zendesk.com/api-reference/ticketing/users/users, "Show Many Users").
func (d *driver) readUsers(ctx context.Context, users []user) (usersAnswer, error) {
	var ids []string
	for _, u := range users {
		ids = append(ids, strconv.FormatInt(u.ID, 10))
	}
	var whole usersAnswer
	err := d.get(ctx, "/users/show_many",
		url.Values{"ids": {strings.Join(ids, ",")}, "include": {"identities,organizations"}}, &whole)
	return whole, err
}

// contacts converts the users.
func (a usersAnswer) contacts() []crm.Contact {
	var contacts []crm.Contact
	for _, u := range a.Users {
		c := crm.Contact{ID: strconv.FormatInt(u.ID, 10), Name: u.Name, AccountID: crm.NumericID(u.OrganizationID)}
		c.Emails, c.Phones = append(c.Emails, u.Email), append(c.Phones, u.Phone)
		for _, i := range a.Identities {
			switch {
			case i.UserID != u.ID:
			case i.Type == "email":
				c.Emails = append(c.Emails, i.Value)
			case i.Type == "phone_number":
				c.Phones = append(c.Phones, i.Value)
			}
		}
		c.Emails, c.Phones = distinct(c.Emails), distinct(c.Phones)
		for _, o := range a.Organizations {
			if u.OrganizationID != nil && o.ID == *u.OrganizationID {
				c.AccountName = o.Name
			}
		}
		contacts = append(contacts, c)
	}
	return contacts
}

// distinct returns each text once, without empty ones. A user's identities repeat the primary ones.
func distinct(texts []string) []string {
	var once []string
	for _, text := range texts {
		once = crm.AddText(once, text)
	}
	return once
}

// usersHidden says what to do if the connection may not look at users. It returns other errors unchanged.
func usersHidden(err error) error {
	if upstream.HasStatus(err, http.StatusForbidden) {
		return fault.From(err).Restate(fault.Forbidden, fault.ReasonPermissionDenied,
			"The connection may not look up customers at Zendesk. Connect the account again, or enter a token "+
				"with the scope read, of an agent whose role can see all customers.")
	}
	return err
}

// OpenTickets implements crm.ContactFinder. It lists the tickets from the database, not the search, which
// learns of a new ticket only minutes later.
func (d *driver) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	id, ok := crm.ParseNumericID(contactID)
	if !ok {
		return nil, nil
	}
	open, err := d.openTickets(ctx, id, limit)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	known, err := d.knownLabels(ctx, func(known labels) bool {
		return !slices.ContainsFunc(open, func(t ticket) bool { return !known.knows(t) })
	})
	if err != nil {
		return nil, err
	}
	var answer []crm.Ticket
	for _, t := range open {
		answer = append(answer, ticketOf(t, known))
	}
	return answer, nil
}

// openTickets lists a user's tickets, the last changed first, and leaves out those that are done. It reads
// mostPages pages at most (developer.zendesk.com/api-reference/ticketing/tickets/tickets, "List Tickets"). If
// there is no such user, it returns none.
func (d *driver) openTickets(ctx context.Context, userID int64, limit int) ([]ticket, error) {
	path := "/users/" + strconv.FormatInt(userID, 10) + "/tickets/requested"
	query := url.Values{"sort_by": {"updated_at"}, "sort_order": {"desc"}}
	var open []ticket
	for n := range mostPages {
		if n > 0 {
			query.Set("page", strconv.Itoa(n+1))
		}
		var page ticketsAnswer
		if err := d.get(ctx, path, query, &page); errors.Is(err, fault.NotFound) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		if page.Tickets == nil {
			return nil, unreadable(http.MethodGet)
		}
		for _, t := range page.Tickets {
			if t.ID > 0 && !t.done() {
				open = append(open, t)
			}
		}
		if len(open) >= limit || page.NextPage == "" {
			break
		}
	}
	return open[:min(len(open), limit)], nil
}
