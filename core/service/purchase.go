package service

import (
	"context"
	"fmt"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

const (
	maxSearches = 3 // searches before giving up if others buy the numbers first
	maxOrders   = 3 // orders that one run places, each after the one before failed

	defaultPurchasesPerDay = 10  // numbers that a tenant may buy in 24 hours by default
	defaultHeldNumbers     = 100 // numbers that a tenant may hold by default

	metaNumber = "phone_number" // in faults that occur after money was spent
)

// buyPlan is a purchase after normalization. Its progress is in the table of purchases.
type buyPlan struct {
	AreaCode string `json:"area_code"`
	Name     string `json:"name,omitempty"`
	Inbound  *int64 `json:"inbound,omitempty"`
	Outbound *int64 `json:"outbound,omitempty"`

	Again time.Time `json:"again,omitzero"` // when a resumed run began to order
}

// Buy buys one number in an area code. It is a saga, and every step can be resumed after a crash. It first
// reserves the right to buy under the tenant's limits. Then it chooses and claims a number, orders exactly
// that number, and sets its name and routing. Finally it records the number as held. See the states in
// core/store: nothing touches a number at the provider before the store says whose it is. A resumed run first
// asks the provider for the outcome of the order. It chooses a second number only if the first certainly
// belongs to someone else.
func (s *Numbers) Buy(
	ctx context.Context, c apikey.Caller, w Write, in BuyNumber,
) (Answer[record.PhoneNumber], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	// Recovery drops a purchase that was not ordered, so its order must not be on its way at that time: see latestEnd.
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opBuy, Write: w, ConnectionID: client.connection.ID,
		Plan:       buyPlan{AreaCode: in.AreaCode, Name: in.Name, Inbound: in.Inbound, Outbound: in.Outbound},
		Repeatable: client.driver.Traits().IdempotentBuy,
	}, with(client, s.buy))
}

// purchase is the state of one purchase under way.
type purchase struct {
	opts         *Options
	numbers      *Numbers
	client       telephonyClient
	run          *journal.Run
	plan         buyPlan
	row          store.Purchase
	resumed      bool      // another run has begun to order before, or may have
	deadline     time.Time // when the caller's time ends
	ordersPlaced int       // placed by this run
}

// buy runs a purchase, new or resumed.
func (s *Numbers) buy(
	ctx context.Context, client telephonyClient, run *journal.Run, plan buyPlan,
) (journal.Result[record.PhoneNumber], error) {
	row, err := s.reserve(ctx, client, run)
	if err != nil {
		return journal.Result[record.PhoneNumber]{}, err
	}
	b := &purchase{
		opts: s.opts, numbers: s, client: client, run: run, plan: plan, row: row, resumed: run.Resumed(),
	}
	if ends, ok := ctx.Deadline(); ok {
		b.deadline = ends
	} else {
		b.deadline = time.Now().Add(s.opts.Deadline)
	}
	number, err := b.perform(ctx)
	if err != nil {
		return journal.Result[record.PhoneNumber]{}, err
	}
	return journal.Result[record.PhoneNumber]{Record: numberRecord(number), Ref: number.Ref}, nil
}

// perform takes the remaining steps, and closes a purchase that certainly had no effect.
func (b *purchase) perform(ctx context.Context) (store.Number, error) {
	number, err := b.takeSteps(ctx)
	if f := fault.From(err); err != nil && f.Reason == fault.ReasonOrderPending {
		pending := *f.With(metaNumber, b.row.E164)
		pending.RetryAfter = journal.PendingInterval // the order is fine, but not done yet
		err = &pending
	}
	if err == nil || journal.WasTakenOver(err) || !b.run.HadNoEffect(fault.From(err)) || b.isEnded() {
		return number, err
	}
	if err := b.opts.Store.EndPurchase(context.WithoutCancel(ctx), b.row); err != nil {
		b.opts.Log.ErrorContext(ctx, "a purchase could not be closed; it counts towards the limits until it is "+
			"recovered",
			"tenant_id", b.row.TenantID, "error", err)
	}
	return number, err
}

func (b *purchase) isEnded() bool {
	return b.row.State == store.PurchaseDone || b.row.State == store.PurchaseReturned
}

// reserve reserves the right to buy a number, or returns the purchase that was made under the same
// Idempotency-Key. That purchase is known for as long as answers are kept, even if the intent is gone because
// there was nothing to answer any more.
func (s *Numbers) reserve(
	ctx context.Context, client telephonyClient, run *journal.Run,
) (store.Purchase, error) {
	limits, intent := purchaseLimits(client.caller.Tenant, client.sandbox), run.Intent()
	since := intent.CreatedAt.Add(-s.opts.KeepAnswers)
	row, reached, err := s.opts.Store.ReservePurchase(ctx, intent, client.realm, since, limits)
	switch {
	case err != nil:
		return row, err
	case reached.PerDay:
		f := fault.Newf(fault.Exhausted, fault.ReasonPurchaseLimit,
			"%d numbers were bought within the last 24 hours, which is the most that this tenant may buy "+
				"(max_purchases_per_day). Nothing was bought.", limits.PerDay)
		if !reached.Until.IsZero() {
			f.RetryAfter = max(0, reached.Until.Sub(s.opts.Now()))
		}
		return row, f
	case reached.Held:
		return row, fault.Newf(fault.Exhausted, fault.ReasonNumberLimit,
			"The tenant holds %d phone numbers, which is the most that it may hold (max_phone_numbers). "+
				"Nothing was bought. Release a number first.", limits.Held)
	}
	return row, nil
}

// purchaseLimits returns a tenant's limits. The default limits do not apply to sandboxes.
func purchaseLimits(t tenant.Tenant, sandbox bool) store.PurchaseLimits {
	limits := store.PurchaseLimits{PerDay: defaultPurchasesPerDay, Held: defaultHeldNumbers}
	if sandbox {
		limits = store.PurchaseLimits{PerDay: -1, Held: -1}
	}
	if own := t.Settings.MaxPurchasesPerDay; own != nil {
		limits.PerDay = *own
	}
	if own := t.Settings.MaxPhoneNumbers; own != nil {
		limits.Held = *own
	}
	return limits
}

// takeSteps takes the remaining steps. It buys a number if none was ordered or the order certainly failed.
func (b *purchase) takeSteps(ctx context.Context) (store.Number, error) {
	switch b.row.State {
	case store.PurchaseReserved:
	case store.PurchaseDone:
		return b.loadBought(ctx)
	case store.PurchaseReturned:
		return store.Number{}, b.returnedFault()
	default:
		b.run.ExpectEffect(true) // of an earlier run, whose intent may be gone
		number, err := b.resolveOrder(ctx)
		switch {
		case err == nil:
			return b.setUp(ctx, number)
		case !isNotBought(err):
			return store.Number{}, err
		case b.wasDelivered(err):
			return store.Number{}, b.recordReturn(ctx)
		}
	}
	b.run.RuleOutEffect() // the account does not have any number ordered before
	if b.run.Unattended() {
		return store.Number{}, fault.New(fault.Exhausted, fault.ReasonNoNumbersAvailable,
			"The purchase was cut off before the order. Nothing was bought.")
	}
	if err := b.checkSetup(ctx); err != nil {
		return store.Number{}, err
	}
	return b.buyOffered(ctx)
}

// buyOffered buys the first offered number that no one else gets first.
func (b *purchase) buyOffered(ctx context.Context) (store.Number, error) {
	for round := range maxSearches {
		offers, err := b.findOffers(ctx, round)
		if err != nil {
			return store.Number{}, err
		}
		for _, offer := range offers {
			number, err := b.claimAndOrder(ctx, offer.E164)
			switch {
			case err == nil:
				return b.setUp(ctx, number)
			case !isNotBought(err):
				return store.Number{}, err
			}
			b.run.RuleOutEffect()
			if b.ordersPlaced >= maxOrders {
				return store.Number{}, fault.Newf(fault.Conflict, fault.ReasonNumberTaken,
					"%d orders in area code %s failed one after the other, because others were faster. "+
						"Nothing was bought. Try another area code, or this one later.", b.ordersPlaced, b.plan.AreaCode)
			}
		}
	}
	return store.Number{}, fault.Newf(fault.Conflict, fault.ReasonNumberTaken,
		"Others were faster with every number offered in area code %s. Nothing was bought. "+
			"Try another area code, or this one later.", b.plan.AreaCode)
}

// loadBought returns the number of a purchase that was interrupted after its last step.
func (b *purchase) loadBought(ctx context.Context) (store.Number, error) {
	row, held, err := b.opts.Store.NumberHolder(ctx, b.client.realm, b.row.E164)
	switch {
	case err != nil:
		return store.Number{}, err
	case !held || row.ConnectionID != b.client.connection.ID:
		return store.Number{}, b.returnedFault()
	}
	return row, nil
}

// wasDelivered reports whether the account once had the number, which it certainly no longer has. The
// provider accepted the order, and would report a failed order as failed.
func (b *purchase) wasDelivered(err error) bool {
	switch b.row.State {
	case store.PurchaseFilled, store.PurchaseReturning:
		return true
	case store.PurchaseOrdered:
		return fault.From(err).Code == fault.NotFound
	}
	return false
}

// recordReturn ends a purchase whose number was given back, by the provider or by the gateway, and returns
// the reason as an error. The purchase still counts towards the limits: it was paid for.
func (b *purchase) recordReturn(ctx context.Context) error {
	if err := b.opts.Store.MarkReturned(context.WithoutCancel(ctx), b.row); err != nil {
		return b.unfinishedFault("and given back to the provider, but that could not be recorded yet", err)
	}
	b.row.State = store.PurchaseReturned
	return b.returnedFault()
}

// returnedFault returns the error that a number was bought and is no longer held.
func (b *purchase) returnedFault() error {
	b.run.RuleOutEffect()
	why, refused := parseRefusal(b.row.Refusal)
	if !refused {
		return fault.New(fault.NotFound, fault.ReasonNumberNotFound,
			"The number was bought, but has been released since.")
	}
	return fault.Newf(why.Fault.Code, why.Fault.Reason,
		"%s was bought and given back at once, because it could not be set up: %s", b.row.E164, why.Fault.Detail)
}

// timeLeft returns how long the provider may still be asked: the rest of the caller's time, less a margin for
// the response.
func (b *purchase) timeLeft() time.Duration { return time.Until(b.deadline) - journal.AnswerMargin }

// isNotBought reports whether err means that the account certainly has not got the number from this order.
func isNotBought(err error) bool {
	f := fault.From(err)
	isMissing := f.Code == fault.NotFound && f.Reason == fault.ReasonNumberNotFound
	return isMissing || f.Reason == fault.ReasonNumberTaken
}

// unfinishedFault returns an error that says what is left to do after the number was bought. A repeat,
// recovery or reconciliation does it.
func (b *purchase) unfinishedFault(what string, err error) error {
	return b.unknownFault("was bought, "+what, err)
}

// unknownFault returns an error that says how far a purchase that costs money has got.
func (b *purchase) unknownFault(what string, err error) error {
	if journal.WasTakenOver(err) { // the call returns the other run's answer
		return err
	}
	f := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, fmt.Sprintf("%s %s.", b.row.E164, what))
	return f.With(metaNumber, b.row.E164).Because(err)
}

// adviseBuyer advises a caller how to get a number that was bought or ordered, without buying another.
func adviseBuyer(f *fault.Error, hasKey bool) string {
	switch {
	case f.Metadata[metaNumber] == "":
		return ""
	case hasKey:
		return "Repeat the request with the same Idempotency-Key to get it; " +
			"another request would buy another number."
	}
	return "The gateway finishes the purchase: list the phone numbers in a minute to find the number. " +
		"Another request would buy another number."
}
