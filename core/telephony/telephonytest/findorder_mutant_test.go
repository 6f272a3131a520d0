package telephonytest

import (
	"context"
	"errors"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func orderedMutants() []conformance.Mutant[Harness] {
	const (
		answers   = "FindOrder answers an order at once, and then its number"
		lostReply = "FindOrder answers an order whose reply was lost"
		never     = "FindOrder of an order that was never made is NotFound, and buys nothing"
		taken     = "FindOrder of a number that someone else took is NotFound or NUMBER_TAKEN"
		before    = "FindOrder of a number that the account held before is NUMBER_TAKEN"
		changes   = "FindOrder changes nothing"
		costs     = "FindOrder costs nothing"
	)
	tells := func(check, how string, alter func(n *telephony.Number)) conformance.Mutant[Harness] {
		return orders(check, how, func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.FindOrder(ctx, o)
			if err == nil {
				alter(&n)
			}
			return n, err
		})
	}
	refuses := func(check, how string, refusal *fault.Error) conformance.Mutant[Harness] {
		return orders(check, how, func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.FindOrder(ctx, o)
			if err != nil {
				return n, refusal
			}
			return n, nil
		})
	}
	knows := func(check, how string) conformance.Mutant[Harness] {
		return mutate(check, how, func(d telephony.Driver) mutant {
			answered := map[string]bool{}
			return mutant{
				buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
					n, err := d.Buy(ctx, o)
					answered[o.Key] = err == nil
					return n, err
				},
				ordered: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
					if !answered[o.Key] {
						return telephony.Number{}, noNumber()
					}
					return d.FindOrder(ctx, o)
				},
			}
		})
	}
	again := func(ctx context.Context, d telephony.Driver, o telephony.Order) (telephony.Number, error) {
		return d.Buy(ctx, o)
	}
	down := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "It is down.")
	return []conformance.Mutant[Harness]{
		tells(answers, "has no reference for what is not under way", func(n *telephony.Number) { n.Ref = "" }),
		tells(answers, "answers the order's reference", func(n *telephony.Number) { n.Ref = "order-1" }),
		tells(answers, "answers another number", func(n *telephony.Number) { n.E164 = "+14155550104" }),
		tells(answers, "is under way for ever", func(n *telephony.Number) { n.Ref, n.Pending = "", true }),
		tells(answers, "does not know the name", func(n *telephony.Number) { n.Name = "" }),
		mutate(answers, "learns of an order later", func(d telephony.Driver) mutant {
			asked := false
			return mutant{ordered: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				if !asked {
					asked = true
					return telephony.Number{}, noNumber()
				}
				return d.FindOrder(ctx, o)
			}}
		}),
		{Check: answers, How: "never fills an order", Mutate: func(h Harness) Harness {
			d := &reference{async: true}
			h.Provider = struct{}{}
			h.Open = func() telephony.Driver {
				return mutant{Driver: d, ordered: func(_ context.Context, o telephony.Order) (telephony.Number, error) {
					return telephony.Number{E164: o.E164, Pending: true}, nil
				}}
			}
			return h
		}},
		{Check: answers, How: "fills an order with a number that has no reference",
			Mutate: func(h Harness) Harness {
				d := &reference{async: true}
				h.Provider = d
				h.Open = func() telephony.Driver {
					return mutant{Driver: d, alter: func(n telephony.Number) telephony.Number { n.Ref = ""; return n }}
				}
				return h
			}},
		knows(lostReply, "knows an order by its answer alone"),
		tells(lostReply, "answers the order's reference", func(n *telephony.Number) { n.Ref = "order-1" }),
		mutate(lostReply, "forgets the purchase", func(d telephony.Driver) mutant {
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				n, err := d.Buy(ctx, o)
				if err == nil {
					return n, nil
				}
				if bought, looked := d.FindOrder(ctx, o); looked == nil {
					_ = d.Release(ctx, bought.Ref)
				}
				return n, err
			}}
		}),
		orders(never, "orders it", again),
		orders(never, "answers what was asked", func(
			_ context.Context, _ telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			return telephony.Number{E164: o.E164, Pending: true}, nil
		}),
		orders(never, "orders it, and does not say so", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.FindOrder(ctx, o)
			if errors.Is(err, fault.NotFound) {
				_, _ = d.Buy(ctx, o)
			}
			return n, err
		}),
		refuses(never, "says that it is taken",
			fault.New(fault.Conflict, fault.ReasonNumberTaken, "It was taken.")),
		refuses(taken, "blames the provider", down),
		refuses(taken, "does not say why",
			fault.New(fault.Conflict, fault.ReasonProviderConflict, "It conflicts.")),
		orders(taken, "answers what was asked", func(
			_ context.Context, _ telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			return telephony.Number{E164: o.E164, Pending: true}, nil
		}),
		refuses(before, "knows of none", noNumber()),
		refuses(before, "does not say why",
			fault.New(fault.Conflict, fault.ReasonProviderConflict, "It conflicts.")),
		orders(before, "takes what is held for its own", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			page, err := d.Numbers(ctx, telephony.Query{Limit: 100})
			if err != nil {
				return telephony.Number{}, err
			}
			for _, n := range page.Numbers {
				if n.E164 == o.E164 {
					return n, nil
				}
			}
			return telephony.Number{}, noNumber()
		}),
		orders(changes, "names it as it was ordered", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.FindOrder(ctx, o)
			if err != nil {
				return n, err
			}
			return d.Change(ctx, n.Ref, telephony.Change{Name: &o.Name})
		}),
		orders(changes, "leads it where it was ordered to, and does not say so", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.FindOrder(ctx, o)
			if err != nil {
				return n, err
			}
			_, err = d.Change(ctx, n.Ref, telephony.Change{Routing: &o.Routing})
			return n, err
		}),
		tells(changes, "answers what was ordered", func(n *telephony.Number) { n.Name = "Front office" }),
		orders(costs, "buys it anew", func(
			ctx context.Context, d telephony.Driver, o telephony.Order,
		) (telephony.Number, error) {
			n, err := d.FindOrder(ctx, o)
			if err != nil {
				return n, err
			}
			o.E164 = stock("415")[4]
			_, err = d.Buy(ctx, o)
			return n, err
		}),
		orders(costs, "does not know it again", func(
			context.Context, telephony.Driver, telephony.Order,
		) (telephony.Number, error) {
			return telephony.Number{}, down
		}),
	}
}
