package crmtest

import (
	"context"
	"testing"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
)

func TestEveryCheckCatchesItsLiars(t *testing.T) {
	conformance.Catch(t, Checks(), liars(), newHarness)
}

func liars() []conformance.Liar[Harness] {
	var all []conformance.Liar[Harness]
	for _, list := range [][]conformance.Liar[Harness]{conductLiars(), accountLiars(), createLiars(), keyLiars(), readLiars(), agentLiars()} {
		all = append(all, list...)
	}
	return all
}

// liar is an honest driver but for the methods it has of its own.
type liar struct {
	full
	around   func(ctx context.Context, call func(context.Context) error) error // of every call
	traits   func() crm.Traits
	account  func(ctx context.Context) (crm.Account, error)
	labels   func(ctx context.Context) (crm.Vocabulary, error)
	create   func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error)
	byNumber func(ctx context.Context, number string) (crm.Ticket, error)
	find     func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error)
	byID     func(ctx context.Context, id string) (crm.Ticket, error)
	retell   func(t crm.Ticket) crm.Ticket // of every ticket answered
}

// lie makes a liar of the honest driver. What make keeps outside the liar is shared by all drivers that are opened.
func lie(check, how string, make func(d full) liar) conformance.Liar[Harness] {
	return conformance.Liar[Harness]{Check: check, How: how, Lie: func(h Harness) Harness {
		d := h.Open().(full)
		l := make(d)
		l.full = d
		h.Open = func() crm.Driver { return l }
		return h
	}}
}

func (l liar) Traits() crm.Traits {
	if l.traits != nil {
		return l.traits()
	}
	return l.full.Traits()
}

func (l liar) Account(ctx context.Context) (crm.Account, error) {
	return ask(ctx, l, l.full.Account, l.account)
}

func (l liar) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	return ask(ctx, l, l.full.Vocabulary, l.labels)
}

func (l liar) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return tell(ctx, l, t, l.full.Create, l.create)
}

func (l liar) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	return tell(ctx, l, number, l.full.ByNumber, l.byNumber)
}

func (l liar) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return tell(ctx, l, t, l.full.Find, l.find)
}

func (l liar) ByID(ctx context.Context, id string) (crm.Ticket, error) {
	return tell(ctx, l, id, l.full.ByID, l.byID)
}

func ask[T any](ctx context.Context, l liar, honest, own func(context.Context) (T, error)) (answer T, err error) {
	if own != nil {
		honest = own
	}
	if l.around == nil {
		return honest(ctx)
	}
	err = l.around(ctx, func(ctx context.Context) error {
		answer, err = honest(ctx)
		return err
	})
	return answer, err
}

func tell[A any](ctx context.Context, l liar, a A, honest, own func(context.Context, A) (crm.Ticket, error)) (crm.Ticket, error) {
	if own != nil {
		honest = own
	}
	t, err := ask(ctx, l, func(ctx context.Context) (crm.Ticket, error) { return honest(ctx, a) }, nil)
	if err == nil && l.retell != nil {
		t = l.retell(t)
	}
	return t, err
}
