package rest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

// contactFinder is a driver whose settings describe how to look up who calls.
type contactFinder struct{ *driver }

// fullFinder is a driver whose settings describe how to find a ticket by its key and who calls.
type fullFinder struct {
	*driver
	finder
	contactFinder
}

// FindContacts implements crm.ContactFinder.
func (f contactFinder) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	return f.contactsOf(ctx, f.begin, q)
}

// OpenTickets implements crm.ContactFinder.
func (f contactFinder) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	return f.openTicketsOf(ctx, f.begin, contactID, limit)
}

// contactsOf runs the steps of find_contacts, in a run that begin returns.
func (d *driver) contactsOf(
	ctx context.Context, begin func(map[string]any) *run, q crm.ContactQuery,
) (crm.Contacts, error) {
	r := begin(map[string]any{"phone": asCaller(q.Phone), "email": nil, "limit": q.Limit})
	if q.Phone == (phonenumber.Number{}) {
		r.input["email"] = q.Email
	}
	items, err := r.list(ctx, d.compiled.findContacts, d.contacts)
	if err != nil {
		return crm.Contacts{}, err
	}
	var found crm.Contacts
	for _, item := range items {
		c, ok := contactFrom(item)
		if !ok {
			return crm.Contacts{}, misfit(d.contacts.setting,
				"gives a list of something other than {id, name, emails, phones, account_id, account_name}")
		}
		known := slices.ContainsFunc(found.Contacts, func(known crm.Contact) bool { return known.ID == c.ID })
		// A loose search may list others first, and the limit would leave it out.
		if !known && q.Match(c) != phonenumber.None {
			found.Contacts = append(found.Contacts, c)
		}
	}
	if found.More, err = d.moreContacts.holds(ctx, r.input); err != nil {
		return crm.Contacts{}, err
	}
	found.More = found.More || len(found.Contacts) > q.Limit
	found.Contacts = found.Contacts[:min(len(found.Contacts), q.Limit)]
	return found, nil
}

// asCaller returns a number as expressions see it, or nil for the zero Number.
func asCaller(n phonenumber.Number) any {
	if n == (phonenumber.Number{}) {
		return nil
	}
	formats := []any{}
	for _, f := range n.Formats() {
		formats = append(formats, f)
	}
	return map[string]any{
		"e164": n.E164, "country_code": n.CountryCode, "national": n.National, "formats": formats,
	}
}

// list runs the steps of a look-up and returns the items that the expression finds in their responses. If a
// step finds nothing at its path, there are none.
func (r *run) list(ctx context.Context, steps []step, of expression) ([]any, error) {
	if err := r.steps(ctx, steps); errors.Is(err, fault.NotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	v, err := of.value(ctx, r.input)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if v != nil && !ok {
		return nil, misfit(of.setting, "gives "+kindOf(v)+", where a list is needed")
	}
	return items, nil
}

// contactFrom converts an item of the list of contacts. Null and empty texts count as absent.
func contactFrom(item any) (crm.Contact, bool) {
	members, ok := item.(map[string]any)
	if !ok {
		return crm.Contact{}, false
	}
	var c crm.Contact
	for name, into := range map[string]*string{
		"id": &c.ID, "name": &c.Name, "account_id": &c.AccountID, "account_name": &c.AccountName,
	} {
		if *into, ok = textOf(members[name]); !ok {
			return crm.Contact{}, false
		}
	}
	for name, into := range map[string]*[]string{"emails": &c.Emails, "phones": &c.Phones} {
		list, isList := members[name].([]any)
		if !isList && members[name] != nil {
			return crm.Contact{}, false
		}
		for _, v := range list {
			text, ok := textOf(v)
			if !ok {
				return crm.Contact{}, false
			}
			if text != "" {
				*into = append(*into, text)
			}
		}
	}
	return c, c.ID != ""
}

// openTicketsOf runs the steps of open_tickets, in a run that begin returns.
func (d *driver) openTicketsOf(
	ctx context.Context, begin func(map[string]any) *run, contactID string, limit int,
) ([]crm.Ticket, error) {
	// No ticket system has such an id, and not every one can be sent in a path.
	if strings.Trim(contactID, ".") == "" || strings.ContainsFunc(contactID, unicode.IsControl) {
		return nil, nil
	}
	items, err := begin(map[string]any{"contact_id": contactID, "limit": limit}).
		list(ctx, d.compiled.openTickets, d.tickets)
	if err != nil {
		return nil, err
	}
	var open []crm.Ticket
	for _, item := range items {
		t, err := d.listedTicket(ctx, item)
		if err != nil {
			return nil, err
		}
		open = append(open, t)
	}
	slices.SortStableFunc(open, func(a, b crm.Ticket) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return open[:min(len(open), limit)], nil
}

// listedTicket converts an item of the list of tickets. Its members are named as those of the setting ticket.
func (d *driver) listedTicket(ctx context.Context, item any) (crm.Ticket, error) {
	members, ok := item.(map[string]any)
	if !ok {
		return crm.Ticket{}, misfit(d.tickets.setting, "gives a list of something other than objects")
	}
	m := d.listed
	if members["status_value"] == nil {
		m.statusValue = expression{}
	}
	if members["priority_value"] == nil {
		m.priorityValue = expression{}
	}
	return m.ticket(ctx, &run{driver: d, input: members})
}
