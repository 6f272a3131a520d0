package telephonytest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func sinceMutants() []conformance.Mutant[Harness] {
	const (
		before  = "a number that the account held before is not bought, and left as it is"
		earlier = "what an earlier purchase bought is not bought by a later one, and left as it is"
		twice   = "another order of a number bought costs nothing and changes nothing"
		atOnce  = "two orders of one number at one time are one purchase"
	)
	// has returns a number of the account.
	has := func(ctx context.Context, d telephony.Driver, e164 string) (telephony.Number, error) {
		page, err := d.Numbers(ctx, telephony.Query{Limit: 100})
		if err != nil {
			return telephony.Number{}, err
		}
		for _, n := range page.Numbers {
			if n.E164 == e164 {
				return n, nil
			}
		}
		return telephony.Number{}, noNumber()
	}
	// ours treats any number of the account as bought by the order.
	ours := func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error) {
		if n, err := has(ctx, d, o.E164); !errors.Is(err, fault.NotFound) {
			return n, err
		}
		return d.Buy(ctx, o)
	}
	// refused calls a function in addition if an order is refused.
	refused := func(
		and func(ctx context.Context, d telephony.Driver, o telephony.Order) error,
	) func(context.Context, telephony.Driver, telephony.Order) (telephony.Number, error) {
		return func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, errors.Join(err, and(ctx, d, o))
			}
			return n, nil
		}
	}
	renames := refused(func(ctx context.Context, d telephony.Driver, o telephony.Order) error {
		n, err := has(ctx, d, o.E164)
		if err == nil {
			_, err = d.Change(ctx, n.Ref, telephony.Change{Name: &o.Name})
		}
		return err
	})
	reroutes := refused(func(ctx context.Context, d telephony.Driver, o telephony.Order) error {
		n, err := has(ctx, d, o.E164)
		if err == nil {
			_, err = d.Change(ctx, n.Ref, telephony.Change{Routing: &o.Routing})
		}
		return err
	})
	buysMore := refused(func(ctx context.Context, d telephony.Driver, o telephony.Order) error {
		o.E164 = stock("415")[4]
		_, err := d.Buy(ctx, o)
		return err
	})
	tries := func(check string) []conformance.Mutant[Harness] {
		return []conformance.Mutant[Harness]{
			buys(check, "takes what is held for its own", ours),
			buys(check, "names it anew", renames),
			buys(check, "leads it elsewhere", reroutes),
			buys(check, "buys another", buysMore),
		}
	}
	return append(append(tries(before), tries(earlier)...),
		buys(twice, "names it anew", renames),
		buys(twice, "leads it elsewhere", reroutes),
		buys(twice, "buys another", buysMore),
		mutate(twice, "answers a reference of its own", func(d telephony.Driver) mutant {
			orders := 0
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				n, err := ours(ctx, d, o)
				orders++
				n.Ref = fmt.Sprintf("%s-%d", n.Ref, orders)
				return n, err
			}}
		}),
		buys(twice, "does not say that it is taken", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, fault.New(fault.Conflict, fault.ReasonProviderConflict, "It conflicts.")
			}
			return n, nil
		}),
		buys(atOnce, "buys another", buysMore),
		buys(atOnce, "blames the provider", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.Buy(ctx, o)
			if err != nil {
				return n, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "It is down.")
			}
			return n, nil
		}),
		mutate(atOnce, "answers both a reference of their own", func(d telephony.Driver) mutant {
			var orders atomic.Int64
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				n, err := ours(ctx, d, o)
				if mine := orders.Add(1); mine > 1 || n.Ref == "" { // also the one that comes too late for the other
					return telephony.Number{Ref: fmt.Sprintf("own-%d", mine), E164: o.E164}, nil
				}
				return n, err
			}}
		}),
		mutate(atOnce, "buys for neither", func(telephony.Driver) mutant {
			return mutant{buy: func(context.Context, telephony.Order) (telephony.Number, error) {
				return telephony.Number{}, taken()
			}}
		}),
	)
}
