package telephonytest

import (
	"context"
	"errors"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// sinceChecks returns the clauses on numbers that do not belong to an order, by its key or by its start.
func sinceChecks() []Check {
	return []Check{
		{Name: "a number that the account held before is not bought, and left as it is", Bound: provides[Mover],
			Do: heldIsLeft},
		{Name: "what an earlier purchase bought is not bought by a later one, and left as it is", Do: boughtIsLeft},
		{Name: "another order of a number bought costs nothing and changes nothing", Do: boughtIsNotPaidTwice},
		{Name: "two orders of one number at one time are one purchase", Do: twoOrdersAtOnce},
	}
}

// withArrival adds a number to the account by other means, runs the check on it, and releases it.
func withArrival(ctx context.Context, h Harness, check func(n telephony.Number) error) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	if err := h.Provider.(Mover).Arrive(ctx, o.E164); err != nil {
		return err
	}
	n, there, err := findHeld(ctx, h, o.E164)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%s came into the account and is not listed", o.E164)
	}
	return giveBack(ctx, h, check(n), n)
}

func heldIsLeft(ctx context.Context, h Harness) error {
	return withArrival(ctx, h, func(n telephony.Number) error { return isLeft(ctx, h, n) })
}

func boughtIsLeft(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(n telephony.Number) error { return isLeft(ctx, h, n) })
}

// isLeft checks that a later purchase with another name and routing is refused a number that the account
// holds.
func isLeft(ctx context.Context, h Harness, n telephony.Number) error {
	o := later(h.order(n.E164, "Somebody else's desk"))
	o.Routing = h.routes()[0]
	return wantSpent(ctx, h, 0, "Buy of a number that the account holds", func() error {
		_, err := buy(ctx, h, o)
		if err := conformance.WantFault("Buy of a number that the account holds", err, fault.Conflict,
			fault.ReasonNumberTaken); err != nil {
			return err
		}
		return readsAs(ctx, h, n)
	})
}

// boughtIsNotPaidTwice makes a second purchase with the same start: a provider without keys cannot tell the
// two apart, and may return the number to both.
func boughtIsNotPaidTwice(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(first telephony.Order, n telephony.Number) error {
		second := h.order(n.E164, "Somebody else's desk")
		second.Since, second.Routing = first.Since, h.routes()[0]
		return wantSpent(ctx, h, 0, "another order of a number bought", func() error {
			got, err := buy(ctx, h, second)
			if err != nil {
				if err := conformance.WantFault("another order of a number bought", err, fault.Conflict,
					fault.ReasonNumberTaken); err != nil {
					return err
				}
				return readsAs(ctx, h, n)
			}
			if got.Ref != n.Ref {
				return fmt.Errorf("another order of %+v answered %+v", n, got)
			}
			return readsAs(ctx, h, n)
		})
	})
}

func twoOrdersAtOnce(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	var bought [2]telephony.Number
	err = wantSpent(ctx, h, 1, "two orders of one number at one time", func() error {
		return conformance.AtOnce(len(bought), func(i int) error {
			mine := o
			mine.Key = newKey()
			n, err := buy(ctx, h, mine)
			if err == nil {
				bought[i] = n
				return nil
			}
			if f := fault.From(err); errors.Is(err, fault.Conflict) && f.Reason == fault.ReasonNumberTaken {
				return nil
			}
			return fmt.Errorf("an order beside another of the same number: %w", err)
		})
	})
	if err != nil {
		return giveBack(ctx, h, err, bought[:]...)
	}
	return giveBack(ctx, h, heldOnce(ctx, h, o.E164, bought[:]), bought[:]...)
}

// heldOnce checks that the account holds the number once, and that the orders that succeeded returned it.
func heldOnce(ctx context.Context, h Harness, e164 string, answered []telephony.Number) error {
	all, err := everyNumber(ctx, h, 0)
	if err != nil {
		return err
	}
	var ours []telephony.Number
	for _, n := range all {
		if n.E164 == e164 {
			ours = append(ours, n)
		}
	}
	if len(ours) != 1 {
		return fmt.Errorf("%s is held %d times, want once: %+v", e164, len(ours), ours)
	}
	for _, n := range answered {
		if n.Ref != "" && n.Ref != ours[0].Ref {
			return fmt.Errorf("%+v was answered, and %+v is held", n, ours[0])
		}
	}
	return nil
}
