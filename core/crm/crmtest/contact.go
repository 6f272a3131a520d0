package crmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

// ContactKeeper adds contacts to the account, as its people do. A contact can be found as soon as it returns.
type ContactKeeper interface {
	AddContact(ctx context.Context, c NewContact) (id string, err error)
}

// NewContact is a contact to add. Name and Email are always given.
type NewContact struct {
	Name, Email   string
	Phone, Mobile string // two fields of a contact, as people typed them
	Account       string // the name of an account to add, which is the contact's; "": none
}

// contactChecks returns the checks of looking up who calls.
func contactChecks() []Check {
	keeps := func(h Harness) bool { return findsContacts(h) && provides[ContactKeeper](h) }
	return []Check{
		{Name: "FindContacts finds a number in whatever format it was typed", Bound: keeps, Do: numberFormats},
		{Name: "FindContacts finds an e-mail address in any case", Bound: keeps, Do: emailCase},
		{Name: "FindContacts returns what the CRM knows of a contact", Bound: keeps, Do: contactFields},
		{Name: "FindContacts returns all who share a number, up to the limit", Bound: keeps, Do: sharedNumber},
		{Name: "FindContacts says that nobody is known", Harmless: true, Bound: findsContacts, Do: unknownCaller},
		{Name: "FindContacts takes a query for data", Bound: keeps, Do: hostileQueries},
		{Name: "OpenTickets returns the open tickets of the contact, the last changed first", Bound: keeps,
			Do: openTickets},
		{Name: "OpenTickets leaves out what is resolved or closed",
			Bound: func(h Harness) bool { return keeps(h) && provides[Mover](h) }, Do: endedTickets},
		{Name: "OpenTickets takes an id for data", Harmless: true, Bound: findsContacts, Do: hostileContactIDs},
	}
}

func findsContacts(h Harness) bool {
	_, can := h.Open().(crm.ContactFinder)
	return can
}

func finderOf(h Harness) crm.ContactFinder { return h.Open().(crm.ContactFinder) }

// typed are ways to type the number whose last four digits follow. A separate number for each keeps the
// contacts apart.
var typed = []string{
	"+1513555%s", "+1 513 555 %s", "(513) 555-%s", "513-555-%s", "513.555.%s", "513555%s", "1-513-555-%s",
	"+1 (513) 555-%s",
}

func number(digits string) (phonenumber.Number, error) { return phonenumber.Parse("+1513555" + digits) }

// byPhone looks a number up and returns those who have it.
func byPhone(
	ctx context.Context, h Harness, n phonenumber.Number, limit int,
) ([]crm.Contact, crm.Contacts, error) {
	found, err := finderOf(h).FindContacts(ctx, crm.ContactQuery{Phone: n, Limit: limit})
	if err != nil {
		return nil, found, fmt.Errorf("FindContacts(%s): %w", n.E164, err)
	}
	have := slices.DeleteFunc(slices.Clone(found.Contacts), func(c crm.Contact) bool {
		return !slices.ContainsFunc(c.Phones, func(p string) bool { return n.Compare(p) >= phonenumber.National })
	})
	return have, found, nil
}

// byEmail looks an address up and returns those who have it.
func byEmail(ctx context.Context, h Harness, email string, limit int) ([]crm.Contact, error) {
	found, err := finderOf(h).FindContacts(ctx, crm.ContactQuery{Email: email, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("FindContacts(%q): %w", email, err)
	}
	return slices.DeleteFunc(found.Contacts, func(c crm.Contact) bool {
		return !slices.ContainsFunc(c.Emails, func(e string) bool { return strings.EqualFold(e, email) })
	}), nil
}

func ids(contacts []crm.Contact) []string {
	var ids []string
	for _, c := range contacts {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}

// wantContacts returns an error unless exactly the contacts with these ids were found.
func wantContacts(what string, found []crm.Contact, want ...string) error {
	slices.Sort(want)
	if got := ids(found); !slices.Equal(got, want) {
		return fmt.Errorf("%s found the contacts %q, want %q", what, got, want)
	}
	return nil
}

func numberFormats(ctx context.Context, h Harness) error {
	keeper := h.Provider.(ContactKeeper)
	for i, format := range typed {
		digits := fmt.Sprintf("76%02d", i)
		c := NewContact{
			Name: "Pat Format " + digits, Email: "format" + digits + "@example.com", Phone: fmt.Sprintf(format,
				digits),
		}
		if i%2 == 1 {
			c.Phone, c.Mobile = "", c.Phone
		}
		id, err := keeper.AddContact(ctx, c)
		if err != nil {
			return err
		}
		n, err := number(digits)
		if err != nil {
			return err
		}
		found, all, err := byPhone(ctx, h, n, 10)
		if err != nil {
			return err
		}
		if err := wantContacts("the number typed as "+c.Phone+c.Mobile, found, id); err != nil {
			return fmt.Errorf("%w; the driver returned %+v", err, all)
		}
	}
	return nil
}

func emailCase(ctx context.Context, h Harness) error {
	id, err := h.Provider.(ContactKeeper).AddContact(ctx, NewContact{Name: "Ann Case",
		Email: "Ann.Case@Example.com"})
	if err != nil {
		return err
	}
	found, err := byEmail(ctx, h, "ann.case@example.com", 10)
	if err != nil {
		return err
	}
	if err := wantContacts("ann.case@example.com", found, id); err != nil {
		return err
	}
	found, err = byEmail(ctx, h, "case@example.com", 10)
	if err != nil {
		return err
	}
	return wantContacts("the end of an address", found)
}

func contactFields(ctx context.Context, h Harness) error {
	id, err := h.Provider.(ContactKeeper).AddContact(ctx, NewContact{
		Name: "Robin Known", Email: "robin@example.com", Phone: "+1 513 555 7701", Mobile: "(513) 555-7702",
		Account: "Known & Sons",
	})
	if err != nil {
		return err
	}
	for _, digits := range []string{"7701", "7702"} {
		n, err := number(digits)
		if err != nil {
			return err
		}
		found, _, err := byPhone(ctx, h, n, 10)
		if err != nil {
			return err
		}
		if err := wantContacts(n.E164, found, id); err != nil {
			return err
		}
		c := found[0]
		if c.Name != "Robin Known" || !slices.Contains(c.Emails, "robin@example.com") || len(c.Phones) != 2 ||
			h.Known.AccountID != "" && c.AccountID == "" || c.AccountName != "Known & Sons" {
			return fmt.Errorf("%s is %+v, want a name, an address, two numbers and an account", n.E164, c)
		}
	}
	return nil
}

func sharedNumber(ctx context.Context, h Harness) error {
	n, err := number("7801")
	if err != nil {
		return err
	}
	var family []string
	for i, format := range []string{typed[0], typed[0], typed[0]} {
		id, err := h.Provider.(ContactKeeper).AddContact(ctx, NewContact{
			Name: fmt.Sprintf("Kim %d Shared", i), Email: fmt.Sprintf("kim%d@example.com", i),
			Phone: fmt.Sprintf(format, "7801"),
		})
		if err != nil {
			return err
		}
		family = append(family, id)
	}
	found, all, err := byPhone(ctx, h, n, 10)
	if err != nil {
		return err
	}
	if err := wantContacts("a shared number", found, family...); err != nil {
		return err
	}
	if all.Incomplete {
		return errors.New("a look-up that failed nowhere is marked incomplete")
	}
	_, few, err := byPhone(ctx, h, n, 2)
	if err != nil {
		return err
	}
	if len(few.Contacts) > 2 || !few.More {
		return fmt.Errorf("with a limit of 2, of 3 contacts %d were returned, more: %t", len(few.Contacts),
			few.More)
	}
	return nil
}

func unknownCaller(ctx context.Context, h Harness) error {
	n, err := number("0199")
	if err != nil {
		return err
	}
	found, all, err := byPhone(ctx, h, n, 10)
	if err != nil {
		return err
	}
	if err := wantContacts("an unknown number", found); err != nil {
		return err
	}
	if all.Incomplete {
		return errors.New("a look-up that failed nowhere is marked incomplete")
	}
	found, err = byEmail(ctx, h, "nobody-has-this-address@example.com", 10)
	if err != nil {
		return err
	}
	return wantContacts("an unknown address", found)
}

// hostileQueries looks up addresses that are valid (RFC 5322) and mean something to query languages. A driver
// that searched for a part of one would find the contact that is there.
func hostileQueries(ctx context.Context, h Harness) error {
	_, err := h.Provider.(ContactKeeper).AddContact(ctx, NewContact{
		Name: "Sam Victim", Email: "victim@example.com", Phone: "+15135557901",
	})
	if err != nil {
		return err
	}
	for _, email := range []string{
		"*@example.com", "%@example.com", "victim*", "_ictim@example.com", "?ictim@example.com",
		"x'or'1'='1@example.com", `x"or"email:*@example.com`, "{victim}@example.com", "a\\'b@example.com",
		"victim@example.com&phone=1", "victim@example.com#", "a+b@example.com", "$(x)@example.com", "{{email}}@x.example",
		"a b@example.com", "a\r\nb@example.com", "a\x00@example.com", "ü@example.com",
		strings.Repeat("v", 300) +
			"@example.com", "victim@example.com OR email:*", "victim@example.com,a@b.example",
	} {
		found, err := finderOf(h).FindContacts(ctx, crm.ContactQuery{Email: email, Limit: 5})
		if err != nil {
			return fmt.Errorf("FindContacts(%.40q): %w", email, err)
		}
		for _, c := range found.Contacts {
			if slices.ContainsFunc(c.Emails, func(e string) bool {
				return strings.EqualFold(e, "victim@example.com")
			}) {
				return fmt.Errorf("FindContacts(%.40q) found %+v", email, c)
			}
		}
	}
	return nil
}

// addTickets adds a contact and tickets of it, and returns the contact's id and the tickets.
func addTickets(
	ctx context.Context, h Harness, name string, subjects ...string,
) (string, []crm.Ticket, error) {
	local := strings.ToLower(strings.ReplaceAll(name, " ", "."))
	id, err := h.Provider.(ContactKeeper).AddContact(ctx, NewContact{Name: name, Email: local + "@example.com"})
	if err != nil {
		return "", nil, err
	}
	var all []crm.Ticket
	for _, subject := range subjects {
		t := newTicket(subject)
		t.ContactID = id
		made, err := h.Open().Create(ctx, t)
		if err != nil {
			return "", nil, err
		}
		all = append(all, made)
	}
	return id, all, nil
}

func openTickets(ctx context.Context, h Harness) error {
	_, _, err := addTickets(ctx, h, "Other Caller", "Of somebody else")
	if err != nil {
		return err
	}
	id, made, err := addTickets(ctx, h, "Open Caller", "The first", "The second", "The third")
	if err != nil {
		return err
	}
	open, err := finderOf(h).OpenTickets(ctx, id, 10)
	if err != nil {
		return fmt.Errorf("OpenTickets: %w", err)
	}
	if len(open) != len(made) {
		return fmt.Errorf("OpenTickets returned %d tickets of %d", len(open), len(made))
	}
	for i, t := range open {
		if i > 0 && t.UpdatedAt.After(open[i-1].UpdatedAt) {
			return fmt.Errorf("OpenTickets returned one changed at %s after one changed at %s", t.UpdatedAt,
				open[i-1].UpdatedAt)
		}
		own := slices.ContainsFunc(made, func(m crm.Ticket) bool { return m.ID == t.ID && m.Number == t.Number })
		if !own || t.Subject == "" || t.Status == "" {
			return fmt.Errorf("OpenTickets returned %+v, want one of the contact's, with subject and status", t)
		}
	}
	few, err := finderOf(h).OpenTickets(ctx, id, 2)
	if err != nil {
		return err
	}
	if len(few) != 2 {
		return fmt.Errorf("OpenTickets with a limit of 2 returned %d tickets", len(few))
	}
	return nil
}

func endedTickets(ctx context.Context, h Harness) error {
	mover := h.Provider.(Mover)
	id, made, err := addTickets(ctx, h, "Ended Caller", "Stays open", "Is resolved", "Is closed")
	if err != nil {
		return err
	}
	resolved, closed, _ := mover.Labels()
	want := []string{made[0].ID}
	for i, status := range []string{resolved, closed} {
		if status == "" {
			want = append(want, made[i+1].ID)
			continue
		}
		if err := mover.Move(ctx, made[i+1].ID, status); err != nil {
			return err
		}
	}
	open, err := finderOf(h).OpenTickets(ctx, id, 10)
	if err != nil {
		return fmt.Errorf("OpenTickets: %w", err)
	}
	var got []string
	for _, t := range open {
		got = append(got, t.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("OpenTickets returned %q, want %q", got, want)
	}
	return nil
}

func hostileContactIDs(ctx context.Context, h Harness) error {
	for _, id := range []string{
		"no-such-contact", "999999999999999999", "../1", "1/tickets", "1?include=all", "1&x=1", "'", `"`, "*", "%",
		"\x00", "1\r\nX-Injected: yes", "{{1}}", strings.Repeat("9", 400),
	} {
		open, err := finderOf(h).OpenTickets(ctx, id, 5)
		if len(open) > 0 || err != nil && fault.From(err).Code != fault.NotFound {
			return fmt.Errorf("OpenTickets(%.40q) returned %d tickets, %w", id, len(open), err)
		}
	}
	return nil
}
