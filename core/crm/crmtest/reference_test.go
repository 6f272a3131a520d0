package crmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// full is a driver with every capability.
type full interface {
	crm.Driver
	crm.Finder
	crm.IDFinder
	crm.ContactFinder
}

// reference is a driver in memory that keeps every clause. It is also its own provider.
type reference struct {
	adaptertest.Gate
	mu      sync.Mutex
	clock   time.Time
	tickets []*ticket
	people  []crm.Contact
	drops   bool // it drops status and owner of new tickets
}

type ticket struct {
	crm.Ticket
	key string
}

var (
	_ full       = (*reference)(nil)
	_ Counter    = (*reference)(nil)
	_ Commenter  = (*reference)(nil)
	_ Mover      = (*reference)(nil)
	_ TellsTimes = (*reference)(nil)

	_ ValueDropper  = (*reference)(nil)
	_ ContactKeeper = (*reference)(nil)
)

var vocabulary = crm.Vocabulary{
	Statuses: []string{"Open", "Resolved", "Closed"}, Priorities: []string{"Normal", "High"},
}

func newHarness(*testing.T) Harness {
	h := &reference{clock: time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)}
	return Harness{
		Open: func() crm.Driver { return h }, Account: crm.Account{Email: "desk@example.com", Name: "Desk"},
		Vocabulary: vocabulary, DefaultStatus: "Open", DefaultPriority: "Normal",
		Known: Related{"owner", "account", "contact"}, Unknown: Related{"nobody", "nothing", "no one"},
		Secrets: []string{"hunter2"}, Now: h.tick, Provider: h,
	}
}

// tick returns a time that is later than every earlier one.
func (r *reference) tick() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next()
}

func (r *reference) next() time.Time {
	r.clock = r.clock.Add(time.Second)
	return r.clock
}

func (*reference) Traits() crm.Traits {
	return crm.Traits{IdempotentCreate: true, FindsByKey: true, NumberWidth: 6, MaxConcurrent: 12}
}

func (r *reference) Account(ctx context.Context) (crm.Account, error) {
	if err := r.Enter(ctx); err != nil {
		return crm.Account{}, err
	}
	return crm.Account{Email: "desk@example.com", Name: "Desk"}, nil
}

func (r *reference) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	if err := r.Enter(ctx); err != nil {
		return crm.Vocabulary{}, err
	}
	return vocabulary, nil
}

func (r *reference) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	if err := r.Enter(ctx); err != nil {
		return crm.Ticket{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if made := r.is(func(known *ticket) bool { return known.key == t.Key }); made != nil {
		return made.Ticket, nil
	}
	for _, r := range []struct{ path, given, known string }{
		{"owner_id", t.OwnerID, "owner"}, {"account_id", t.AccountID, "account"},
		{"contact_id", t.ContactID, "contact"},
	} {
		if r.given != "" && r.given != r.known && !strings.HasPrefix(r.given, "person-") {
			return crm.Ticket{}, fault.InvalidField(r.path, "does not exist.")
		}
	}
	if r.drops {
		t.Status, t.OwnerID = "", ""
	}
	n, at := len(r.tickets)+1, r.next()
	made := &ticket{key: t.Key, Ticket: crm.Ticket{
		ID: fmt.Sprintf("id-%d", n), Number: fmt.Sprintf("%06d", n), Subject: t.Subject,
		Description: crm.Plain(t.Description), Status: or(t.Status, "Open"), Priority: or(t.Priority, "Normal"),
		OwnerID: t.OwnerID, AccountID: t.AccountID, ContactID: t.ContactID, CreatedAt: at, UpdatedAt: at,
	}}
	r.tickets = append(r.tickets, made)
	return made.Ticket, r.Leave()
}

func or(given, standard string) string {
	if given == "" {
		return standard
	}
	return given
}

func (r *reference) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	return r.find(ctx, func(t *ticket) bool { return t.Number == number })
}

func (r *reference) Find(ctx context.Context, wanted crm.NewTicket) (crm.Ticket, error) {
	return r.find(ctx, func(t *ticket) bool { return t.key == wanted.Key })
}

func (r *reference) ByID(ctx context.Context, id string) (crm.Ticket, error) {
	return r.find(ctx, func(t *ticket) bool { return t.ID == id })
}

func (r *reference) find(ctx context.Context, is func(*ticket) bool) (crm.Ticket, error) {
	if err := r.Enter(ctx); err != nil {
		return crm.Ticket{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.is(is); found != nil {
		return found.Ticket, nil
	}
	return crm.Ticket{}, noTicket()
}

func noTicket() error { return fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is none.") }

func (r *reference) is(is func(*ticket) bool) *ticket {
	i := slices.IndexFunc(r.tickets, is)
	if i < 0 {
		return nil
	}
	return r.tickets[i]
}

func (r *reference) Tickets(context.Context) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tickets), nil
}

func (r *reference) DropValues(context.Context) (crm.NewTicket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drops = true
	return crm.NewTicket{Status: "Closed", OwnerID: "owner"}, nil
}

func (r *reference) Comment(_ context.Context, id string, c Comment) error {
	return r.change(id, func(t *ticket) {
		if c.Public {
			t.LastComment = crm.Text{Body: c.Body, HTML: c.HTML}
		}
	})
}

func (r *reference) Move(_ context.Context, id, status string) error {
	return r.change(id, func(t *ticket) {
		t.Status, t.ResolvedAt, t.ClosedAt = status, time.Time{}, time.Time{}
		switch status {
		case "Resolved":
			t.ResolvedAt = r.next()
		case "Closed":
			t.ClosedAt = r.next()
		}
	})
}

func (*reference) Labels() (resolved, closed, reopened string) { return "Resolved", "Closed", "Open" }

func (*reference) TellsTimes() {}

func (r *reference) change(id string, how func(*ticket)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.is(func(t *ticket) bool { return t.ID == id })
	if t == nil {
		return noTicket()
	}
	how(t)
	t.UpdatedAt = r.next()
	return nil
}

func (r *reference) AddContact(_ context.Context, c NewContact) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fmt.Sprintf("person-%d", len(r.people)+1)
	made := crm.Contact{ID: id, Name: c.Name, Emails: []string{c.Email}}
	for _, p := range []string{c.Phone, c.Mobile} {
		if p != "" {
			made.Phones = append(made.Phones, p)
		}
	}
	if c.Account != "" {
		made.AccountID, made.AccountName = "account-of-"+id, c.Account
	}
	r.people = append(r.people, made)
	return id, nil
}

func (r *reference) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	if err := r.Enter(ctx); err != nil {
		return crm.Contacts{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found crm.Contacts
	for _, c := range r.people {
		has := slices.ContainsFunc(c.Emails, func(e string) bool { return strings.EqualFold(e, q.Email) })
		if q.Email == "" {
			has = slices.ContainsFunc(c.Phones, func(p string) bool { return q.Phone.Compare(p) > 0 })
		}
		if has {
			found.Contacts = append(found.Contacts, c)
		}
	}
	if len(found.Contacts) > q.Limit {
		found.Contacts, found.More = found.Contacts[:q.Limit], true
	}
	return found, nil
}

func (r *reference) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	if err := r.Enter(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var open []crm.Ticket
	for _, t := range slices.Backward(r.tickets) {
		if t.ContactID == contactID && t.Status == "Open" && len(open) < limit {
			open = append(open, t.Ticket)
		}
	}
	return open, nil
}
