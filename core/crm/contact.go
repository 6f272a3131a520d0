package crm

import (
	"context"
	"slices"
	"strings"

	"frontdesk/core/phonenumber"
)

// ContactFinder is a Driver that can look up who calls.
type ContactFinder interface {
	// FindContacts returns the contacts that may have the telephone number or the e-mail address of q, in
	// whatever format people typed it. A ticket can name them as its contact. It may return contacts that do
	// not have it, since searches of CRMs are loose: the caller compares. An unknown caller is an empty
	// list and no error. The values of q are data from outside: they never become part of a query unescaped.
	FindContacts(ctx context.Context, q ContactQuery) (Contacts, error)

	// OpenTickets returns the tickets of a contact that are neither resolved nor closed, the last changed
	// first, at most limit of them. Comments may be missing. If there is no such contact, it returns none or
	// fails with fault.NotFound.
	OpenTickets(ctx context.Context, contactID string, limit int) ([]Ticket, error)
}

// ContactQuery says whom to look up: by a number or by an address.
type ContactQuery struct {
	Phone phonenumber.Number // the zero Number: by Email
	Email string             // in lower case
	Limit int                // how many contacts are returned at most, from 1 to 100
}

// Match returns how well a contact fits: by the best of its numbers, or exactly if it has the address.
func (q ContactQuery) Match(c Contact) phonenumber.Match {
	if q.Email != "" {
		isIt := func(stored string) bool { return strings.EqualFold(strings.TrimSpace(stored), q.Email) }
		if slices.ContainsFunc(c.Emails, isIt) {
			return phonenumber.Exact
		}
		return phonenumber.None
	}
	match := phonenumber.None
	for _, stored := range c.Phones {
		match = max(match, q.Phone.Compare(stored))
	}
	return match
}

// Contacts is the outcome of a look-up.
type Contacts struct {
	Contacts []Contact
	More     bool // there are, or may be, more than the limit
	// Incomplete says that a part of the CRM's searches failed, so that contacts may be missing.
	Incomplete bool
}

// Contact is a person as the CRM knows them. Fields that the CRM does not report are empty.
type Contact struct {
	ID     string // as in NewTicket.ContactID
	Name   string
	Emails []string // as stored
	Phones []string // as people typed them

	AccountID   string // as in NewTicket.AccountID
	AccountName string
}
