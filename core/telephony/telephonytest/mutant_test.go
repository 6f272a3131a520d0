package telephonytest

import (
	"context"
	"slices"
	"testing"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

func TestEveryCheckCatchesItsMutants(t *testing.T) {
	mutants := slices.Concat(conductMutants(), accountMutants(), searchMutants(), routeMutants(),
		buyMutants(), keyMutants(),
		sinceMutants(), orderedMutants(), listMutants(), changeMutants(), releaseMutants())
	conformance.Catch(t, Checks(), mutants, newHarness)
}

// mutant is the reference driver, except for the functions that are set.
type mutant struct {
	telephony.Driver
	around  func(ctx context.Context, call func(context.Context) error) error // wraps every call
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
	alter   func(n telephony.Number) telephony.Number // alters every number returned
}

// mutate returns a mutant of the reference driver. All drivers that its harness opens are the same one.
func mutate(check, how string, make func(d telephony.Driver) mutant) conformance.Mutant[Harness] {
	return conformance.Mutant[Harness]{Check: check, How: how, Mutate: func(h Harness) Harness {
		d := h.Open()
		m := make(d)
		m.Driver = d
		h.Open = func() telephony.Driver { return m }
		return h
	}}
}

func (m mutant) Traits() telephony.Traits {
	if m.traits != nil {
		return m.traits()
	}
	return m.Driver.Traits()
}

func (m mutant) Account(ctx context.Context) (telephony.Account, error) {
	own := m.account
	if own == nil {
		own = m.Driver.Account
	}
	return ask(ctx, m, own)
}

func (m mutant) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	own := m.search
	if own == nil {
		own = m.Driver.Search
	}
	return ask(ctx, m, func(ctx context.Context) ([]telephony.Offer, error) { return own(ctx, s) })
}

func (m mutant) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	own := m.buy
	if own == nil {
		own = m.Driver.Buy
	}
	return m.tell(ask(ctx, m, func(ctx context.Context) (telephony.Number, error) { return own(ctx, o) }))
}

func (m mutant) FindOrder(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	own := m.ordered
	if own == nil {
		own = m.Driver.FindOrder
	}
	return m.tell(ask(ctx, m, func(ctx context.Context) (telephony.Number, error) { return own(ctx, o) }))
}

func (m mutant) Route(employee int64, e164 string) (telephony.Routing, bool) {
	if m.route != nil {
		return m.route(employee, e164)
	}
	return m.Driver.Route(employee, e164)
}

func (m mutant) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	own := m.numbers
	if own == nil {
		own = m.Driver.Numbers
	}
	page, err := ask(ctx, m, func(ctx context.Context) (telephony.Page, error) { return own(ctx, q) })
	for i, n := range page.Numbers {
		page.Numbers[i], _ = m.tell(n, err)
	}
	return page, err
}

func (m mutant) Number(ctx context.Context, ref string) (telephony.Number, error) {
	own := m.number
	if own == nil {
		own = m.Driver.Number
	}
	return m.tell(ask(ctx, m, func(ctx context.Context) (telephony.Number, error) { return own(ctx, ref) }))
}

func (m mutant) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	own := m.change
	if own == nil {
		own = m.Driver.Change
	}
	return m.tell(ask(ctx, m, func(ctx context.Context) (telephony.Number, error) { return own(ctx, ref, c) }))
}

func (m mutant) Release(ctx context.Context, ref string) error {
	own := m.release
	if own == nil {
		own = m.Driver.Release
	}
	_, err := ask(ctx, m, func(ctx context.Context) (struct{}, error) { return struct{}{}, own(ctx, ref) })
	return err
}

func ask[T any](ctx context.Context, m mutant, call func(context.Context) (T, error)) (answer T, err error) {
	if m.around == nil {
		return call(ctx)
	}
	err = m.around(ctx, func(ctx context.Context) error {
		answer, err = call(ctx)
		return err
	})
	return answer, err
}

func (m mutant) tell(n telephony.Number, err error) (telephony.Number, error) {
	if err == nil && m.alter != nil {
		n = m.alter(n)
	}
	return n, err
}

// alters returns a mutant that alters every number that it returns.
func alters(check, how string, alter func(n *telephony.Number)) conformance.Mutant[Harness] {
	return mutate(check, how, func(telephony.Driver) mutant {
		return mutant{alter: func(n telephony.Number) telephony.Number {
			alter(&n)
			return n
		}}
	})
}

// buys returns a mutant with its own Buy.
func buys(
	check, how string,
	buy func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error),
) conformance.Mutant[Harness] {
	return mutate(check, how, func(d telephony.Driver) mutant {
		return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
			return buy(ctx, d, o)
		}}
	})
}

// orders returns a mutant with its own FindOrder.
func orders(
	check, how string,
	ordered func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error),
) conformance.Mutant[Harness] {
	return mutate(check, how, func(d telephony.Driver) mutant {
		return mutant{ordered: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
			return ordered(ctx, d, o)
		}}
	})
}

// releases returns a mutant with its own Release.
func releases(
	check, how string, release func(ctx context.Context, d telephony.Driver, ref string) error,
) conformance.Mutant[Harness] {
	return mutate(check, how, func(d telephony.Driver) mutant {
		return mutant{release: func(ctx context.Context, ref string) error { return release(ctx, d, ref) }}
	})
}

// changes returns a mutant with its own Change.
func changes(
	check, how string,
	change func(
		ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
	) (telephony.Number, error),
) conformance.Mutant[Harness] {
	return mutate(check, how, func(d telephony.Driver) mutant {
		return mutant{change: func(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
			return change(ctx, d, ref, c)
		}}
	})
}
