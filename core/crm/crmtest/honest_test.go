package crmtest

import (
	"context"
	"fmt"
	"slices"
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
}

// honest is a driver in memory that keeps every clause, and its own provider's side.
type honest struct {
	adaptertest.Gate
	mu      sync.Mutex
	clock   time.Time
	tickets []*ticket
	drops   bool // it drops status and owner of new tickets
}

type ticket struct {
	crm.Ticket
	key string
}

var (
	_ full       = (*honest)(nil)
	_ Counter    = (*honest)(nil)
	_ Commenter  = (*honest)(nil)
	_ Mover      = (*honest)(nil)
	_ TellsTimes = (*honest)(nil)

	_ ValueDropper = (*honest)(nil)
)

var vocabulary = crm.Vocabulary{Statuses: []string{"Open", "Resolved", "Closed"}, Priorities: []string{"Normal", "High"}}

func newHarness(*testing.T) Harness {
	h := &honest{clock: time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)}
	return Harness{
		Open:    func() crm.Driver { return h },
		Account: crm.Account{Email: "desk@example.com", Name: "Desk"}, Vocabulary: vocabulary, DefaultStatus: "Open", DefaultPriority: "Normal",
		Known: Related{"owner", "account", "contact"}, Unknown: Related{"nobody", "nothing", "no one"},
		Secrets: []string{"hunter2"}, Now: h.tick, Provider: h,
	}
}

// tick returns a time after every earlier one.
func (h *honest) tick() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next()
}

func (h *honest) next() time.Time {
	h.clock = h.clock.Add(time.Second)
	return h.clock
}

func (*honest) Traits() crm.Traits {
	return crm.Traits{IdempotentCreate: true, FindsByKey: true, NumberWidth: 6, MaxConcurrent: 12}
}

func (h *honest) Account(ctx context.Context) (crm.Account, error) {
	if err := h.Enter(ctx); err != nil {
		return crm.Account{}, err
	}
	return crm.Account{Email: "desk@example.com", Name: "Desk"}, nil
}

func (h *honest) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	if err := h.Enter(ctx); err != nil {
		return crm.Vocabulary{}, err
	}
	return vocabulary, nil
}

func (h *honest) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	if err := h.Enter(ctx); err != nil {
		return crm.Ticket{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if made := h.is(func(known *ticket) bool { return known.key == t.Key }); made != nil {
		return made.Ticket, nil
	}
	for _, r := range []struct{ path, given, known string }{{"owner_id", t.OwnerID, "owner"}, {"account_id", t.AccountID, "account"}, {"contact_id", t.ContactID, "contact"}} {
		if r.given != "" && r.given != r.known {
			return crm.Ticket{}, fault.InvalidField(r.path, "does not exist.")
		}
	}
	if h.drops {
		t.Status, t.OwnerID = "", ""
	}
	n, at := len(h.tickets)+1, h.next()
	made := &ticket{key: t.Key, Ticket: crm.Ticket{
		ID: fmt.Sprintf("id-%d", n), Number: fmt.Sprintf("%06d", n), Subject: t.Subject, Description: crm.Plain(t.Description),
		Status: or(t.Status, "Open"), Priority: or(t.Priority, "Normal"), OwnerID: t.OwnerID, AccountID: t.AccountID, ContactID: t.ContactID,
		CreatedAt: at, UpdatedAt: at,
	}}
	h.tickets = append(h.tickets, made)
	return made.Ticket, h.Leave()
}

func or(given, standard string) string {
	if given == "" {
		return standard
	}
	return given
}

func (h *honest) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	return h.find(ctx, func(t *ticket) bool { return t.Number == number })
}

func (h *honest) Find(ctx context.Context, wanted crm.NewTicket) (crm.Ticket, error) {
	return h.find(ctx, func(t *ticket) bool { return t.key == wanted.Key })
}

func (h *honest) ByID(ctx context.Context, id string) (crm.Ticket, error) {
	return h.find(ctx, func(t *ticket) bool { return t.ID == id })
}

func (h *honest) find(ctx context.Context, is func(*ticket) bool) (crm.Ticket, error) {
	if err := h.Enter(ctx); err != nil {
		return crm.Ticket{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if found := h.is(is); found != nil {
		return found.Ticket, nil
	}
	return crm.Ticket{}, noTicket()
}

func noTicket() error { return fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is none.") }

func (h *honest) is(is func(*ticket) bool) *ticket {
	i := slices.IndexFunc(h.tickets, is)
	if i < 0 {
		return nil
	}
	return h.tickets[i]
}

func (h *honest) Tickets(context.Context) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tickets), nil
}

func (h *honest) DropValues(context.Context) (crm.NewTicket, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drops = true
	return crm.NewTicket{Status: "Closed", OwnerID: "owner"}, nil
}

func (h *honest) Comment(_ context.Context, id string, c Comment) error {
	return h.change(id, func(t *ticket) {
		if c.Public {
			t.LastComment = crm.Text{Body: c.Body, HTML: c.HTML}
		}
	})
}

func (h *honest) Move(_ context.Context, id, status string) error {
	return h.change(id, func(t *ticket) {
		t.Status, t.ResolvedAt, t.ClosedAt = status, time.Time{}, time.Time{}
		switch status {
		case "Resolved":
			t.ResolvedAt = h.next()
		case "Closed":
			t.ClosedAt = h.next()
		}
	})
}

func (*honest) Labels() (resolved, closed, reopened string) { return "Resolved", "Closed", "Open" }

func (*honest) TellsTimes() {}

func (h *honest) change(id string, how func(*ticket)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.is(func(t *ticket) bool { return t.ID == id })
	if t == nil {
		return noTicket()
	}
	how(t)
	t.UpdatedAt = h.next()
	return nil
}
