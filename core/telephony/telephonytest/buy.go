package telephonytest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// buyChecks returns the clauses on Buy, Order and Number.
func buyChecks() []Check {
	return []Check{
		{Name: "Buy buys exactly the number ordered", Do: buysExactly},
		{Name: "a number bought reads back as it was answered", Do: boughtReadsBack},
		{Name: "Buy keeps the name, or leaves it to Change", Do: buyKeepsName},
		{Name: "Buy points the number at a voice URL, or leaves that to Change", Bound: hasVoiceURL,
			Do: buyRoutesToURL},
		{Name: "Buy points the number at an application, or leaves that to Change", Bound: hasApplication,
			Do: buyRoutesToApplication},
		{Name: "Buy points the number at a SIP trunk, or leaves that to Change", Bound: hasTrunk,
			Do: buyRoutesToTrunk},
		{Name: "Buy without routing leaves the provider's default", Do: buyLeavesDefault},
		{Name: "a number that someone else took is NUMBER_TAKEN", Bound: provides[Rival], Do: takenIsConflict},
		{Name: "a number that nobody sells is not bought", Do: unofferedIsNotBought},
		{Name: "only an asynchronous provider answers a number that is pending", Bound: synchronous,
			Do: nothingPends},
	}
}

// keyChecks returns the clauses on keys: the outcome of an order that is repeated, or cut off.
func keyChecks() []Check {
	return []Check{
		{Name: "a key may have 1 to 64 characters", Do: keysOfEveryLength},
		{Name: "a second Buy of one key answers the number held", Bound: idempotent, Do: sameKeyAnswersTheNumber},
		{Name: "a second Buy of one key costs nothing", Bound: idempotentAndCounted, Do: sameKeyCostsNothing},
		{Name: "Buys of one key at one time buy one number", Bound: idempotent, Do: sameKeyAtOnce},
		{Name: "a Buy whose reply is lost is not called unsent, and can be settled",
			Bound: provides[conformance.ReplyDropper], Do: lostReply},
	}
}

func hasTrunk(h Harness) bool { return h.Trunk != "" }

func hasApplication(h Harness) bool { return h.Application != "" }

func hasVoiceURL(h Harness) bool { return !h.NoVoiceURL }

func synchronous(h Harness) bool { return !h.Open().Traits().AsyncBuy }

func idempotentAndCounted(h Harness) bool { return idempotent(h) && provides[Spender](h) }

func idempotent(h Harness) bool { return h.Open().Traits().IdempotentBuy }

const voiceURL = "https://agents.example.com/voice?employee=7&number=%2B14155550100"

func buysExactly(ctx context.Context, h Harness) error {
	offers, err := search(ctx, h, 2)
	if err != nil {
		return err
	}
	// The second offer is ordered: a driver that buys the first one fails the check.
	n, err := buy(ctx, h, h.order(offers[1].E164, "Exactly this"))
	if err != nil {
		return err
	}
	_, first, err := findHeld(ctx, h, offers[0].E164)
	switch {
	case err != nil:
	case n.Ref == "" || n.E164 != offers[1].E164:
		err = fmt.Errorf("Buy of %s answered %+v, want that number with a reference", offers[1].E164, n)
	case first:
		err = fmt.Errorf("Buy of %s bought %s", offers[1].E164, offers[0].E164)
	}
	return giveBack(ctx, h, err, n)
}

func boughtReadsBack(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(_ telephony.Order, n telephony.Number) error {
		if err := readsAs(ctx, h, n); err != nil {
			return err
		}
		listed, there, err := findHeld(ctx, h, n.E164)
		if err != nil {
			return err
		}
		listed.Pending, n.Pending = false, false
		if !there || listed != n {
			return fmt.Errorf("the number %+v is listed as %+v", n, listed)
		}
		return nil
	})
}

func buyKeepsName(ctx context.Context, h Harness) error {
	named := func(o *telephony.Order) { o.Name = "Reception, 2nd floor (day)" }
	return asBought(ctx, h, named, func(o telephony.Order, n telephony.Number) error {
		if err := readsAs(ctx, h, n); err != nil {
			return err
		}
		n, err := complete(ctx, h, o, n)
		if err != nil {
			return err
		}
		if n.Name != o.Name {
			return fmt.Errorf("the name is %q, want %q", n.Name, o.Name)
		}
		return readsAs(ctx, h, n)
	})
}

func buyRoutesToURL(ctx context.Context, h Harness) error {
	return buyRoutes(ctx, h, telephony.Routing{VoiceURL: voiceURL})
}

func buyRoutesToApplication(ctx context.Context, h Harness) error {
	return buyRoutes(ctx, h, telephony.Routing{Application: h.Application})
}

func buyRoutesToTrunk(ctx context.Context, h Harness) error {
	return buyRoutes(ctx, h, telephony.Routing{SIPTrunk: h.Trunk})
}

func buyRoutes(ctx context.Context, h Harness, to telephony.Routing) error {
	return asBought(ctx, h, func(o *telephony.Order) { o.Routing = to }, func(
		o telephony.Order, n telephony.Number,
	) error {
		if n.Routing != to && n.Routing != h.Default {
			return fmt.Errorf("the number leads to %+v, want %+v, or the provider's default %+v until a Change",
				n.Routing, to, h.Default)
		}
		if err := readsAs(ctx, h, n); err != nil {
			return err
		}
		n, err := complete(ctx, h, o, n)
		if err != nil {
			return err
		}
		if n.Routing != to {
			return fmt.Errorf("the number leads to %+v, want %+v", n.Routing, to)
		}
		return readsAs(ctx, h, n)
	})
}

func buyLeavesDefault(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(_ telephony.Order, n telephony.Number) error {
		if n.Routing != h.Default {
			return fmt.Errorf("the number leads to %+v, want the provider's default %+v", n.Routing, h.Default)
		}
		return nil
	})
}

func takenIsConflict(ctx context.Context, h Harness) error {
	taken, err := h.Provider.(Rival).Snatch(ctx)
	if err != nil {
		return err
	}
	n, err := buy(ctx, h, h.order(taken, "Too late"))
	return giveBack(ctx, h, conformance.WantFault("Buy of a number that someone else took", err, fault.Conflict,
		fault.ReasonNumberTaken), n)
}

func unofferedIsNotBought(ctx context.Context, h Harness) error {
	n, err := buy(ctx, h, h.order(nobodys, "Fiction"))
	if err == nil {
		return giveBack(ctx, h, fmt.Errorf("Buy of %s, which nobody sells, answered %+v", nobodys, n), n)
	}
	if f := fault.From(err); f.Code != fault.Conflict && f.Code != fault.Invalid && f.Code != fault.NotFound {
		return fmt.Errorf("Buy of %s, which nobody sells, failed with %w, want Conflict, Invalid or NotFound",
			nobodys, err)
	}
	return nil
}

func nothingPends(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(_ telephony.Order, n telephony.Number) error {
		if n.Pending {
			return fmt.Errorf("the number is pending, but the driver is not said to buy asynchronously")
		}
		return nil
	})
}

func keysOfEveryLength(ctx context.Context, h Harness) error {
	for _, key := range []string{newKey()[:1], (newKey() + newKey() + newKey())[:64]} {
		if err := withNumber(ctx, h, func(o *telephony.Order) { o.Key = key },
			func(telephony.Number) error { return nil }); err != nil {
			return fmt.Errorf("a key of %d characters: %w", len(key), err)
		}
	}
	return nil
}

func sameKeyAnswersTheNumber(ctx context.Context, h Harness) error {
	return asBought(ctx, h, nil, func(o telephony.Order, first telephony.Number) error {
		again, err := buy(ctx, h, o)
		if err != nil {
			return fmt.Errorf("the second Buy of one key: %w", err)
		}
		again.Pending, first.Pending = false, false
		if again != first {
			return fmt.Errorf("the second Buy of one key answered %+v, the first %+v", again, first)
		}
		return nil
	})
}

func sameKeyCostsNothing(ctx context.Context, h Harness) error {
	return wantSpent(ctx, h, 1, "three Buys of one key", func() error {
		return asBought(ctx, h, nil, func(o telephony.Order, _ telephony.Number) error {
			for range 2 {
				if _, err := h.Open().Buy(ctx, o); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// sameKeyAtOnce allows the provider to refuse all but one while it is busy with the key.
func sameKeyAtOnce(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	refs := map[string]telephony.Number{}
	err = conformance.AtOnce(4, func(int) error {
		n, err := buy(ctx, h, o)
		if err != nil && errors.Is(err, fault.Conflict) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		refs[n.Ref] = n
		return err
	})
	if err == nil && len(refs) != 1 {
		err = fmt.Errorf("one key at one time was answered with %d references, want 1", len(refs))
	}
	for _, n := range refs {
		err = giveBack(ctx, h, err, n)
	}
	return err
}

// lostReply checks that a caller can find out the outcome of an order whose reply was lost.
func lostReply(ctx context.Context, h Harness) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	h.Provider.(conformance.ReplyDropper).DropNextReply()
	n, err := h.Open().Buy(ctx, o)
	if err == nil {
		return giveBack(ctx, h, fmt.Errorf("Buy succeeded without a reply"), n)
	}
	switch f := fault.From(err); {
	case f.Unsent:
		return fmt.Errorf("Buy failed with %w, which claims that nothing was sent", err)
	case f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.UnknownOutcome:
		return fmt.Errorf("Buy failed with %w, want Unavailable, Timeout or UnknownOutcome", err)
	}
	if found, err := lookBack(ctx, h, o); err != nil || !idempotent(h) {
		return giveBack(ctx, h, err, found)
	}
	return withOrder(ctx, h, o, func(again telephony.Number) error {
		found, there, err := findHeld(ctx, h, o.E164)
		if err == nil && (!there || again.Ref != found.Ref) {
			err = fmt.Errorf("Buy after a lost reply answered %+v, and the account holds %+v", again, found)
		}
		return err
	})
}

// lookBack finds an order whose reply was lost, and checks that the account lists its number too.
func lookBack(ctx context.Context, h Harness, o telephony.Order) (telephony.Number, error) {
	n, err := h.Open().FindOrder(ctx, o)
	if err != nil {
		return n, fmt.Errorf("FindOrder of an order whose reply was lost: %w", err)
	}
	if n, err = awaitFill(ctx, h, o, n); err != nil {
		return n, err
	}
	found, there, err := findHeld(ctx, h, o.E164)
	if err == nil && (!there || found.Ref != n.Ref || n.Ref == "") {
		err = fmt.Errorf("%s was bought, its reply lost; FindOrder answers %+v, and the account lists %+v",
			o.E164, n, found)
	}
	return n, err
}
