package telephonytest

import (
	"context"
	"errors"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// findOrderChecks returns the clauses on FindOrder.
func findOrderChecks() []Check {
	return []Check{
		{Name: "FindOrder answers an order at once, and then its number", Do: findOrderAnswers},
		{Name: "FindOrder answers an order whose reply was lost", Bound: provides[conformance.ReplyDropper],
			Do: findOrderAfterLostReply},
		{Name: "FindOrder of an order that was never made is NotFound, and buys nothing", Do: neverOrdered},
		{Name: "FindOrder of a number that someone else took is NotFound or NUMBER_TAKEN",
			Bound: provides[Rival],
			Do:    orderedOfTaken},
		{Name: "FindOrder of a number that the account held before is NUMBER_TAKEN", Bound: provides[Mover],
			Do: orderedOfHeld},
		{Name: "FindOrder changes nothing", Do: findOrderChangesNothing},
		{Name: "FindOrder costs nothing", Bound: provides[Spender], Do: findOrderCostsNothing},
	}
}

func findOrderAnswers(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	first, err := h.Open().Buy(ctx, o)
	if err != nil {
		return err
	}
	n, err := h.Open().FindOrder(ctx, o)
	if err != nil {
		return giveBack(ctx, h, fmt.Errorf("FindOrder right after Buy: %w", err), first)
	}
	if err := checkFound(h, o, n); err != nil {
		return giveBack(ctx, h, err, first)
	}
	if first, err = awaitFill(ctx, h, o, first); err != nil {
		return err
	}
	return giveBack(ctx, h, wantFindOrder(ctx, h, o, first), first)
}

// checkFound returns nil if n is a valid result of FindOrder for an order that was made.
func checkFound(h Harness, o telephony.Order, n telephony.Number) error {
	switch {
	case n.E164 != o.E164:
		return fmt.Errorf("FindOrder of %s answered %+v", o.E164, n)
	case n.Ref == "" && !n.Pending:
		return fmt.Errorf("FindOrder answered %+v, which is not under way and has no reference", n)
	case n.Pending && synchronous(h):
		return fmt.Errorf("FindOrder answered %+v, but the driver is not said to buy asynchronously", n)
	}
	return nil
}

// wantFindOrder checks that FindOrder returns the number as it is.
func wantFindOrder(ctx context.Context, h Harness, o telephony.Order, want telephony.Number) error {
	got, err := h.Open().FindOrder(ctx, o)
	if err != nil {
		return fmt.Errorf("FindOrder of what was bought: %w", err)
	}
	got.Pending, want.Pending = false, false
	if got != want {
		return fmt.Errorf("FindOrder answered %+v, want %+v", got, want)
	}
	return nil
}

func findOrderAfterLostReply(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	h.Provider.(conformance.ReplyDropper).DropNextReply()
	if n, err := h.Open().Buy(ctx, o); err == nil {
		return giveBack(ctx, h, fmt.Errorf("Buy succeeded without a reply"), n)
	}
	n, err := h.Open().FindOrder(ctx, o)
	if err != nil {
		return fmt.Errorf("FindOrder of an order whose reply was lost: %w", err)
	}
	if err := checkFound(h, o, n); err != nil {
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
	n, err := h.Open().FindOrder(ctx, o)
	if err := conformance.WantFault("FindOrder of an order that was never made", err, fault.NotFound,
		""); err != nil {
		return giveBack(ctx, h, err, n)
	}
	n, bought, err := findHeld(ctx, h, o.E164)
	if bought {
		err = fmt.Errorf("FindOrder bought %+v", n)
	}
	return giveBack(ctx, h, err, n)
}

func orderedOfTaken(ctx context.Context, h Harness) error {
	taken, err := h.Provider.(Rival).Snatch(ctx)
	if err != nil {
		return err
	}
	if _, err = h.Open().FindOrder(ctx, h.order(taken, "Too late")); errors.Is(err, fault.NotFound) {
		return nil
	}
	return conformance.WantFault("FindOrder of a number that someone else took", err, fault.Conflict,
		fault.ReasonNumberTaken)
}

func orderedOfHeld(ctx context.Context, h Harness) error {
	return withArrival(ctx, h, func(n telephony.Number) error {
		_, err := h.Open().FindOrder(ctx, later(h.order(n.E164, "Not this order's")))
		return conformance.WantFault(
			"FindOrder of a number that the account held before", err, fault.Conflict,
			fault.ReasonNumberTaken)
	})
}

// findOrderChangesNothing looks up an order whose number has another name and routing by now.
func findOrderChangesNothing(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(o telephony.Order, n telephony.Number) error {
		name, to := "Renamed since", h.routes()[0]
		n, err := h.Open().Change(ctx, n.Ref, telephony.Change{Name: &name, Routing: &to})
		if err != nil {
			return err
		}
		if err := wantFindOrder(ctx, h, o, n); err != nil {
			return err
		}
		return readsAs(ctx, h, n)
	})
}

func findOrderCostsNothing(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(o telephony.Order, n telephony.Number) error {
		return wantSpent(ctx, h, 0, "FindOrder", func() error { return wantFindOrder(ctx, h, o, n) })
	})
}
