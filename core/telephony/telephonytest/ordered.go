package telephonytest

import (
	"context"
	"errors"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// orderedChecks returns the clauses on Ordered.
func orderedChecks() []Check {
	return []Check{
		{Name: "Ordered answers an order at once, and then its number", Do: orderedAnswers},
		{Name: "Ordered answers an order whose reply was lost", Bound: provides[conformance.ReplyDropper],
			Do: orderedAfterLostReply},
		{Name: "Ordered of an order that was never made is NotFound, and buys nothing", Do: neverOrdered},
		{Name: "Ordered of a number that someone else took is NotFound or NUMBER_TAKEN", Bound: provides[Rival],
			Do: orderedOfTaken},
		{Name: "Ordered of a number that the account held before is NUMBER_TAKEN", Bound: provides[Mover],
			Do: orderedOfHeld},
		{Name: "Ordered changes nothing", Do: orderedChangesNothing},
		{Name: "Ordered costs nothing", Bound: provides[Spender], Do: orderedCostsNothing},
	}
}

func orderedAnswers(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	first, err := h.Open().Buy(ctx, o)
	if err != nil {
		return err
	}
	n, err := h.Open().Ordered(ctx, o)
	if err != nil {
		return giveBack(ctx, h, fmt.Errorf("Ordered right after Buy: %w", err), first)
	}
	if err := wantOrdered(h, o, n); err != nil {
		return giveBack(ctx, h, err, first)
	}
	if first, err = filled(ctx, h, o, first); err != nil {
		return err
	}
	return giveBack(ctx, h, orderedAs(ctx, h, o, first), first)
}

// wantOrdered returns nil for what Ordered may say of an order that was made.
func wantOrdered(h Harness, o telephony.Order, n telephony.Number) error {
	switch {
	case n.E164 != o.E164:
		return fmt.Errorf("Ordered of %s answered %+v", o.E164, n)
	case n.Ref == "" && !n.Pending:
		return fmt.Errorf("Ordered answered %+v, which is not under way and has no reference", n)
	case n.Pending && synchronous(h):
		return fmt.Errorf("Ordered answered %+v, but the driver is not said to buy asynchronously", n)
	}
	return nil
}

// orderedAs wants Ordered to answer the number as it is.
func orderedAs(ctx context.Context, h Harness, o telephony.Order, want telephony.Number) error {
	got, err := h.Open().Ordered(ctx, o)
	if err != nil {
		return fmt.Errorf("Ordered of what was bought: %w", err)
	}
	got.Pending, want.Pending = false, false
	if got != want {
		return fmt.Errorf("Ordered answered %+v, want %+v", got, want)
	}
	return nil
}

func orderedAfterLostReply(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	h.Provider.(conformance.ReplyDropper).DropNextReply()
	if n, err := h.Open().Buy(ctx, o); err == nil {
		return giveBack(ctx, h, fmt.Errorf("Buy succeeded without a reply"), n)
	}
	n, err := h.Open().Ordered(ctx, o)
	if err != nil {
		return fmt.Errorf("Ordered of an order whose reply was lost: %w", err)
	}
	if err := wantOrdered(h, o, n); err != nil {
		return err
	}
	n, err = lookBack(ctx, h, o)
	return giveBack(ctx, h, err, n)
}

func neverOrdered(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	n, err := h.Open().Ordered(ctx, o)
	if err := conformance.WantFault("Ordered of an order that was never made", err, fault.NotFound,
		""); err != nil {
		return giveBack(ctx, h, err, n)
	}
	n, bought, err := held(ctx, h, o.E164)
	if bought {
		err = fmt.Errorf("Ordered bought %+v", n)
	}
	return giveBack(ctx, h, err, n)
}

func orderedOfTaken(ctx context.Context, h Harness) error {
	taken, err := h.Provider.(Rival).Snatch(ctx)
	if err != nil {
		return err
	}
	if _, err = h.Open().Ordered(ctx, h.order(taken, "Too late")); errors.Is(err, fault.NotFound) {
		return nil
	}
	return conformance.WantFault("Ordered of a number that someone else took", err, fault.Conflict,
		fault.ReasonNumberTaken)
}

func orderedOfHeld(ctx context.Context, h Harness) error {
	return withArrival(ctx, h, func(n telephony.Number) error {
		_, err := h.Open().Ordered(ctx, later(h.order(n.E164, "Not this order's")))
		return conformance.WantFault("Ordered of a number that the account held before", err, fault.Conflict,
			fault.ReasonNumberTaken)
	})
}

// orderedChangesNothing asks for an order whose number has another name and another way to go by now.
func orderedChangesNothing(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(o telephony.Order, n telephony.Number) error {
		name, to := "Renamed since", h.routes()[0]
		n, err := h.Open().Change(ctx, n.Ref, telephony.Change{Name: &name, Routing: &to})
		if err != nil {
			return err
		}
		if err := orderedAs(ctx, h, o, n); err != nil {
			return err
		}
		return readsAs(ctx, h, n)
	})
}

func orderedCostsNothing(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(o telephony.Order, n telephony.Number) error {
		return wantSpent(ctx, h, 0, "Ordered", func() error { return orderedAs(ctx, h, o, n) })
	})
}
