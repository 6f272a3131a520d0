package crmtest

import (
	"context"
	"testing"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
)

func TestEveryCheckCatchesItsMutants(t *testing.T) {
	conformance.Catch(t, Checks(), mutants(), newHarness)
}

func mutants() []conformance.Mutant[Harness] {
	var all []conformance.Mutant[Harness]
	for _, list := range [][]conformance.Mutant[Harness]{
		conductMutants(), accountMutants(), createMutants(), keyMutants(), readMutants(), agentMutants(),
		contactMutants(),
	} {
		all = append(all, list...)
	}
	return all
}

// mutant is the reference driver with some functions replaced.
type mutant struct {
	full
	around   func(ctx context.Context, call func(context.Context) error) error // of every call
	traits   func() crm.Traits
	account  func(ctx context.Context) (crm.Account, error)
	labels   func(ctx context.Context) (crm.Vocabulary, error)
	create   func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error)
	byNumber func(ctx context.Context, number string) (crm.Ticket, error)
	find     func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error)
	byID     func(ctx context.Context, id string) (crm.Ticket, error)
	contacts func(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error)
	open     func(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error)
	alter    func(t crm.Ticket) crm.Ticket // of every ticket returned
}

// mutate returns a mutant of the reference driver. All its drivers share the variables of make.
func mutate(check, how string, make func(d full) mutant) conformance.Mutant[Harness] {
	return conformance.Mutant[Harness]{Check: check, How: how, Mutate: func(h Harness) Harness {
		d := h.Open().(full)
		m := make(d)
		m.full = d
		h.Open = func() crm.Driver { return m }
		return h
	}}
}

func (m mutant) Traits() crm.Traits {
	if m.traits != nil {
		return m.traits()
	}
	return m.full.Traits()
}

func (m mutant) Account(ctx context.Context) (crm.Account, error) {
	return ask(ctx, m, m.full.Account, m.account)
}

func (m mutant) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	return ask(ctx, m, m.full.Vocabulary, m.labels)
}

func (m mutant) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return tell(ctx, m, t, m.full.Create, m.create)
}

func (m mutant) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	return tell(ctx, m, number, m.full.ByNumber, m.byNumber)
}

func (m mutant) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return tell(ctx, m, t, m.full.Find, m.find)
}

func (m mutant) ByID(ctx context.Context, id string) (crm.Ticket, error) {
	return tell(ctx, m, id, m.full.ByID, m.byID)
}

func (m mutant) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	find := m.full.FindContacts
	if m.contacts != nil {
		find = m.contacts
	}
	return ask(ctx, m, func(ctx context.Context) (crm.Contacts, error) { return find(ctx, q) }, nil)
}

func (m mutant) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	open := m.full.OpenTickets
	if m.open != nil {
		open = m.open
	}
	return ask(ctx, m, func(ctx context.Context) ([]crm.Ticket, error) {
		return open(ctx, contactID, limit)
	}, nil)
}

func ask[T any](
	ctx context.Context, m mutant, reference, own func(context.Context) (T, error),
) (answer T, err error) {
	if own != nil {
		reference = own
	}
	if m.around == nil {
		return reference(ctx)
	}
	err = m.around(ctx, func(ctx context.Context) error {
		answer, err = reference(ctx)
		return err
	})
	return answer, err
}

func tell[A any](
	ctx context.Context, m mutant, a A, reference, own func(context.Context, A) (crm.Ticket, error),
) (crm.Ticket, error) {
	if own != nil {
		reference = own
	}
	t, err := ask(ctx, m, func(ctx context.Context) (crm.Ticket, error) { return reference(ctx, a) }, nil)
	if err == nil && m.alter != nil {
		t = m.alter(t)
	}
	return t, err
}
