package telephonytest

import (
	"context"
	"slices"
	"testing"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

func TestEveryCheckCatchesItsLiars(t *testing.T) {
	liars := slices.Concat(conductLiars(), accountLiars(), searchLiars(), routeLiars(), buyLiars(), keyLiars(),
		sinceLiars(), orderedLiars(), listLiars(), changeLiars(), releaseLiars())
	conformance.Catch(t, Checks(), liars, newHarness)
}

// liar is an honest driver but for the methods it has of its own.
type liar struct {
	telephony.Driver
	around  func(ctx context.Context, call func(context.Context) error) error // of every call
	traits  func() telephony.Traits
	account func(ctx context.Context) (telephony.Account, error)
	search  func(ctx context.Context, s telephony.Search) ([]telephony.Offer, error)
	buy     func(ctx context.Context, o telephony.Order) (telephony.Number, error)
	ordered func(ctx context.Context, o telephony.Order) (telephony.Number, error)
	route   func(employee int64, e164 string) (telephony.Routing, bool)
	numbers func(ctx context.Context, q telephony.Query) (telephony.Page, error)
	number  func(ctx context.Context, ref string) (telephony.Number, error)
	change  func(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error)
	release func(ctx context.Context, ref string) error
	retell  func(n telephony.Number) telephony.Number // of every number answered
}

// lie makes a liar of the honest driver. What make keeps outside the liar is shared by all drivers that are opened.
func lie(check, how string, make func(d telephony.Driver) liar) conformance.Liar[Harness] {
	return conformance.Liar[Harness]{Check: check, How: how, Lie: func(h Harness) Harness {
		d := h.Open()
		l := make(d)
		l.Driver = d
		h.Open = func() telephony.Driver { return l }
		return h
	}}
}

func (l liar) Traits() telephony.Traits {
	if l.traits != nil {
		return l.traits()
	}
	return l.Driver.Traits()
}

func (l liar) Account(ctx context.Context) (telephony.Account, error) {
	own := l.account
	if own == nil {
		own = l.Driver.Account
	}
	return ask(ctx, l, own)
}

func (l liar) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	own := l.search
	if own == nil {
		own = l.Driver.Search
	}
	return ask(ctx, l, func(ctx context.Context) ([]telephony.Offer, error) { return own(ctx, s) })
}

func (l liar) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	own := l.buy
	if own == nil {
		own = l.Driver.Buy
	}
	return l.tell(ask(ctx, l, func(ctx context.Context) (telephony.Number, error) { return own(ctx, o) }))
}

func (l liar) Ordered(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	own := l.ordered
	if own == nil {
		own = l.Driver.Ordered
	}
	return l.tell(ask(ctx, l, func(ctx context.Context) (telephony.Number, error) { return own(ctx, o) }))
}

func (l liar) Route(employee int64, e164 string) (telephony.Routing, bool) {
	if l.route != nil {
		return l.route(employee, e164)
	}
	return l.Driver.Route(employee, e164)
}

func (l liar) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	own := l.numbers
	if own == nil {
		own = l.Driver.Numbers
	}
	page, err := ask(ctx, l, func(ctx context.Context) (telephony.Page, error) { return own(ctx, q) })
	for i, n := range page.Numbers {
		page.Numbers[i], _ = l.tell(n, err)
	}
	return page, err
}

func (l liar) Number(ctx context.Context, ref string) (telephony.Number, error) {
	own := l.number
	if own == nil {
		own = l.Driver.Number
	}
	return l.tell(ask(ctx, l, func(ctx context.Context) (telephony.Number, error) { return own(ctx, ref) }))
}

func (l liar) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	own := l.change
	if own == nil {
		own = l.Driver.Change
	}
	return l.tell(ask(ctx, l, func(ctx context.Context) (telephony.Number, error) { return own(ctx, ref, c) }))
}

func (l liar) Release(ctx context.Context, ref string) error {
	own := l.release
	if own == nil {
		own = l.Driver.Release
	}
	_, err := ask(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, own(ctx, ref) })
	return err
}

func ask[T any](ctx context.Context, l liar, call func(context.Context) (T, error)) (answer T, err error) {
	if l.around == nil {
		return call(ctx)
	}
	err = l.around(ctx, func(ctx context.Context) error {
		answer, err = call(ctx)
		return err
	})
	return answer, err
}

func (l liar) tell(n telephony.Number, err error) (telephony.Number, error) {
	if err == nil && l.retell != nil {
		n = l.retell(n)
	}
	return n, err
}

// retells is a liar that tells every number in its own way.
func retells(check, how string, retell func(n *telephony.Number)) conformance.Liar[Harness] {
	return lie(check, how, func(telephony.Driver) liar {
		return liar{retell: func(n telephony.Number) telephony.Number {
			retell(&n)
			return n
		}}
	})
}

// buys is a liar with a Buy of its own.
func buys(check, how string, buy func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error)) conformance.Liar[Harness] {
	return lie(check, how, func(d telephony.Driver) liar {
		return liar{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) { return buy(ctx, d, o) }}
	})
}

// orders is a liar with an Ordered of its own.
func orders(check, how string, ordered func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error)) conformance.Liar[Harness] {
	return lie(check, how, func(d telephony.Driver) liar {
		return liar{ordered: func(ctx context.Context, o telephony.Order) (telephony.Number, error) { return ordered(ctx, d, o) }}
	})
}

// releases is a liar with a Release of its own.
func releases(check, how string, release func(ctx context.Context, d telephony.Driver, ref string) error) conformance.Liar[Harness] {
	return lie(check, how, func(d telephony.Driver) liar {
		return liar{release: func(ctx context.Context, ref string) error { return release(ctx, d, ref) }}
	})
}

// changes is a liar with a Change of its own.
func changes(check, how string, change func(ctx context.Context, d telephony.Driver, ref string, c telephony.Change) (telephony.Number, error)) conformance.Liar[Harness] {
	return lie(check, how, func(d telephony.Driver) liar {
		return liar{change: func(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
			return change(ctx, d, ref, c)
		}}
	})
}
