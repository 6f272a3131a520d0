package service

import (
	"context"
	"slices"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/parallel"
	"frontdesk/core/pause"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

const (
	offersPerSearch = 10  // numbers tried in each search
	maxOffers       = 250 // most offers per search, to look past those that others here have

	firstPoll = 150 * time.Millisecond // delay before the first poll of an order; it grows by half
	maxPoll   = time.Second            // up to this at most

	maxNeighbours     = 5               // area codes searched if the requested one is sold out
	neighboursTimeout = 2 * time.Second // time limit of those searches
)

// findOffers returns numbers for sale in the area code. A provider goes on offering numbers that others here
// have chosen but not ordered yet. After a search without success, the next searches look past those numbers.
func (b *purchase) findOffers(ctx context.Context, round int) ([]telephony.Offer, error) {
	var taken []string
	if round > 0 {
		var err error
		if taken, err = b.opts.Store.TakenNumbers(ctx, b.client.realm, "+1"+b.plan.AreaCode); err != nil {
			return nil, err
		}
	}
	offers, err := b.search(ctx, b.plan.AreaCode, min(offersPerSearch+len(taken), maxOffers))
	if err != nil {
		return nil, err
	}
	if len(offers) == 0 {
		return nil, b.soldOutFault(ctx)
	}
	offers = slices.DeleteFunc(offers, func(o telephony.Offer) bool { return slices.Contains(taken, o.E164) })
	return offers[:min(len(offers), offersPerSearch)], nil
}

func (b *purchase) search(ctx context.Context, areaCode string, limit int) ([]telephony.Offer, error) {
	query, op := telephony.Search{AreaCode: areaCode, Limit: limit}, read("search-phone-numbers")
	offers, err := ask(ctx, b.client.endpoint, op, func(ctx context.Context) ([]telephony.Offer, error) {
		return b.client.driver.Search(ctx, query)
	})
	fitting := offers[:0]
	for _, offer := range offers {
		if normalize.AreaCode(offer.E164) == areaCode {
			fitting = append(fitting, offer)
		}
	}
	return fitting, err
}

// soldOutFault returns the error that no number is for sale. It names the neighbouring area codes that have
// numbers, as far as the provider responds in time.
func (b *purchase) soldOutFault(ctx context.Context) error {
	f := fault.Newf(fault.Exhausted, fault.ReasonNoNumbersAvailable,
		"No phone number is for sale in area code %s now.", b.plan.AreaCode)
	near := normalize.NeighbouringAreaCodes(b.plan.AreaCode)
	near = near[:min(len(near), maxNeighbours)]
	ctx, cancel := context.WithTimeout(ctx, min(neighboursTimeout, max(0, b.timeLeft())))
	defer cancel()
	has := make([]bool, len(near))
	group := parallel.New()
	for i, code := range near {
		group.Go(func() error {
			offers, err := b.search(ctx, code, 1)
			has[i] = err == nil && len(offers) > 0
			return nil
		})
	}
	_ = group.Wait() // no function fails
	for i, code := range near {
		if has[i] {
			f.Fields = append(f.Fields, fault.Field{
				Path: "area_code", Value: code,
				Message: "numbers are for sale in the neighbouring area code " + code + ".",
			})
		}
	}
	if len(f.Fields) > 0 {
		f.Detail += " Neighbouring area codes have some: see the errors listed."
	} else {
		f.Detail += " Try another area code."
	}
	return f
}

// claimAndOrder claims a number and orders it. It fails with NUMBER_TAKEN if someone else was faster.
func (b *purchase) claimAndOrder(ctx context.Context, e164 string) (telephony.Number, error) {
	chosen, err := b.opts.Store.ChooseNumber(ctx, b.row, e164)
	if err != nil {
		return telephony.Number{}, err
	}
	if !chosen {
		return telephony.Number{}, fault.New(fault.Conflict, fault.ReasonNumberTaken,
			"Another connection or purchase has claimed the number.")
	}
	b.row.State, b.row.E164 = store.PurchaseChosen, e164
	return b.placeOrder(ctx)
}

func (b *purchase) orderRequest() telephony.Order {
	o := telephony.Order{
		Key: b.row.ID, Since: b.row.CreatedAt, E164: b.row.E164, Name: displayName(b.plan.Name, b.row.E164),
	}
	if b.plan.Inbound != nil {
		o.Routing, _ = b.client.route(b.plan.Inbound, b.row.E164)
	}
	return o
}

// placeOrder orders the chosen number and waits until it is ready.
func (b *purchase) placeOrder(ctx context.Context) (telephony.Number, error) {
	if b.resumed && b.ordersPlaced == 0 {
		b.plan.Again = b.opts.Now()
		if err := b.run.Save(ctx, b.plan); err != nil {
			return telephony.Number{}, err
		}
	}
	repeatable := b.client.driver.Traits().IdempotentBuy
	b.ordersPlaced++
	b.run.ExpectEffect(repeatable)
	op := guard.Op{Name: opBuy, Repeatable: repeatable, Late: b.run.LateUnknown}
	number, err := ask(ctx, b.client.endpoint, op, func(ctx context.Context) (telephony.Number, error) {
		return b.client.driver.Buy(ctx, b.orderRequest())
	})
	if err != nil {
		return number, err
	}
	return b.awaitNumber(ctx, number)
}

// resolveOrder finds out the outcome of an interrupted order. If no caller waits for the number, it is not
// ordered again: no money is spent without a request.
func (b *purchase) resolveOrder(ctx context.Context) (telephony.Number, error) {
	number, err := b.lookUpOrder(ctx)
	switch {
	case err == nil:
		return b.awaitNumber(ctx, number)
	case !isNotBought(err) && b.run.HadNoEffect(fault.From(err)): // it is the look that had none
		return number, unknownAfter(fault.From(err))
	case !isNotBought(err):
		return number, err
	case fault.From(err).Code == fault.NotFound && b.row.State == store.PurchaseChosen:
		return b.orderAgain(ctx, err)
	}
	return number, err
}

// orderAgain orders the chosen number, which the account does not have, if a caller waits for it.
func (b *purchase) orderAgain(ctx context.Context, missing error) (telephony.Number, error) {
	wait := b.opts.latestEnd(b.run.Intent(), b.plan.Again).Sub(b.opts.Now())
	mayArrive := fault.NotKnownYet("The number is not ordered yet, but may still be.", wait)
	switch {
	case b.run.Unattended() && wait > 0:
		return telephony.Number{}, mayArrive
	case b.run.Unattended():
		return telephony.Number{}, missing
	case wait <= 0:
		b.run.RuleOutEffect() // there is no order
	}
	if err := b.checkSetup(ctx); err != nil {
		return telephony.Number{}, err
	}
	before := b.plan
	number, err := b.placeOrder(ctx)
	f := fault.From(err)
	if wait <= 0 || err == nil || journal.WasTakenOver(err) || f.MayHaveActed() {
		return number, err
	}
	// This order has ended: had a try of it no answer, the error would say so. So whoever repeats it often does not
	// wait for it.
	if err := b.run.Save(ctx, before); err != nil {
		return number, err
	}
	if !b.run.HadNoEffect(f) {
		return number, err
	}
	return number, mayArrive.Because(err) // whatever it says, perhaps the earlier order itself is in the way
}

// lookUpOrder asks the provider for the outcome of the order.
func (b *purchase) lookUpOrder(ctx context.Context) (telephony.Number, error) {
	op := read("look-up-order")
	return ask(ctx, b.client.endpoint, op, func(ctx context.Context) (telephony.Number, error) {
		return b.client.driver.FindOrder(ctx, b.orderRequest())
	})
}

// awaitNumber waits until the ordered number can be used, for as long as a caller waits for it.
func (b *purchase) awaitNumber(ctx context.Context, number telephony.Number) (telephony.Number, error) {
	b.run.ExpectEffect(true) // from here on every step can be repeated
	for wait := b.numbers.firstPoll; number.Pending; wait = min(wait+wait/2, maxPoll) {
		if b.run.Unattended() || b.timeLeft() < wait {
			b.markOrdered(ctx)
			return number, fault.Newf(fault.UnknownOutcome, fault.ReasonOrderPending,
				"%s is ordered and will be ready soon.", b.row.E164)
		}
		if err := pause.For(ctx, wait); err != nil {
			return number, err
		}
		next, err := b.lookUpOrder(ctx)
		switch f := fault.From(err); {
		case err == nil:
			number = next
		case f.Reason == fault.ReasonNumberTaken, f.Reason == fault.ReasonOrderPending:
			// The order failed, or it waits for a person.
			return number, err
		case f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.RateLimited:
			return number, b.unknownFault("is ordered, but the provider does not report the state of the order", err)
		}
	}
	return number, nil
}

// markOrdered records that the provider accepted the order.
func (b *purchase) markOrdered(ctx context.Context) {
	if b.row.State != store.PurchaseChosen {
		return
	}
	if err := b.opts.Store.MarkOrdered(ctx, b.row); err != nil {
		b.opts.Log.WarnContext(ctx, "a pending order could not be recorded; it will be polled less often",
			"tenant_id", b.row.TenantID, "error", err)
		return
	}
	b.row.State = store.PurchaseOrdered
}
