package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/pause"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

const (
	offersPerSearch = 10  // numbers tried in each search
	maxSearches     = 3   // searches before giving up if others buy the numbers first
	maxOffers       = 250 // most offers per search, to look past those that others here have
	maxOrders       = 3   // orders that one run places, each after the one before failed

	firstPoll = 150 * time.Millisecond // delay before the first poll of an order; it grows by half
	maxPoll   = time.Second            // up to this at most

	maxNeighbours     = 5               // area codes searched if the requested one is sold out
	neighboursTimeout = 2 * time.Second // time limit of those searches

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

// refusal is why a number that was bought is given back, as stored in the table of purchases. The fault is
// called undo there since plans of intents used that name.
type refusal struct {
	Fault struct {
		Code   fault.Code `json:"code"`
		Reason string     `json:"reason"`
		Detail string     `json:"detail"`
	} `json:"undo"`
	Undetected bool `json:"unseen,omitempty"` // a check of the settings does not find the fault
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
	// Recovery drops a purchase that was not ordered, so its order must not be on its way at that time: see
	// purchase.latestEnd.
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
			"tenant", b.row.TenantID, "error", err)
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

func parseRefusal(raw json.RawMessage) (why refusal, refused bool) {
	return why, raw != nil && json.Unmarshal(raw, &why) == nil && why.Fault.Reason != ""
}

// checkSetup checks that the connection's settings work at the provider, before money is spent on a number
// that could not be set up. A successful check is cached for a while. If a number had to be given back since
// the settings were changed, they are checked every time. If no check finds the fault in them, nothing is
// ordered until the settings change, or until the purchase is purged with what answers are kept.
func (b *purchase) checkSetup(ctx context.Context) error {
	of := b.client.connection
	raw, err := b.opts.Store.RefusedSetup(ctx, of.TenantID, of.ID, of.Revision)
	if err != nil {
		return err
	}
	why, refused := parseRefusal(raw)
	switch {
	case refused && why.Undetected:
		return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The last number bought could not be set up and was given back, so nothing is ordered until "+
				"the connection's settings change: %s", why.Fault.Detail)
	case refused:
		return b.verifySetup(ctx)
	}
	_, err = b.numbers.setups.get(of, func() (struct{}, error) { return struct{}{}, b.verifySetup(ctx) })
	return err
}

// verifySetup asks the provider whether the settings work, if the driver supports that.
func (b *purchase) verifySetup(ctx context.Context) error {
	checker, can := b.client.driver.(adapter.SetupChecker)
	if !can {
		return nil
	}
	_, err := ask(ctx, b.client.endpoint, read("check-setup"), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, checker.CheckSetup(ctx)
	})
	return err
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
	var group sync.WaitGroup
	for i, code := range near {
		group.Go(func() {
			offers, err := b.search(ctx, code, 1)
			has[i] = err == nil && len(offers) > 0
		})
	}
	group.Wait()
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
		f := fault.From(err)
		unknown := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, f.Detail).Because(f)
		unknown.RetryAfter = f.RetryAfter
		return number, unknown
	case !isNotBought(err):
		return number, err
	case fault.From(err).Code == fault.NotFound && b.row.State == store.PurchaseChosen:
		return b.orderAgain(ctx, err)
	}
	return number, err
}

// orderAgain orders the chosen number, which the account does not have, if a caller waits for it.
func (b *purchase) orderAgain(ctx context.Context, missing error) (telephony.Number, error) {
	wait := b.latestEnd().Sub(b.opts.Now())
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
	// This order has ended: had a try of it no answer, the error would say so. So whoever repeats it often does not wait
	// for it.
	if err := b.run.Save(ctx, before); err != nil {
		return number, err
	}
	if !b.run.HadNoEffect(f) {
		return number, err
	}
	return number, mayArrive.Because(err) // whatever it says, perhaps the earlier order itself is in the way
}

// latestEnd returns when the order of an earlier run has certainly ended. An order may go on for a while after its
// caller, or the process, has gone.
func (b *purchase) latestEnd() time.Time {
	began := b.run.Intent().CreatedAt
	if b.plan.Again.After(began) {
		began = b.plan.Again
	}
	return began.Add(b.opts.Deadline + b.opts.Guard.WriteGrace())
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
			"tenant", b.row.TenantID, "error", err)
		return
	}
	b.row.State = store.PurchaseOrdered
}

// setUp sets the name and routing of a number that was bought, and assigns its id.
func (b *purchase) setUp(ctx context.Context, number telephony.Number) (store.Number, error) {
	b.run.ExpectEffect(true)
	switch b.row.State {
	case store.PurchaseReturning:
		return store.Number{}, b.returnNumber(ctx, number)
	case store.PurchaseChosen, store.PurchaseOrdered:
		if err := b.opts.Store.MarkFilled(context.WithoutCancel(ctx), b.row); err != nil {
			return store.Number{}, b.unfinishedFault("but that could not be recorded yet", err)
		}
		b.row.State = store.PurchaseFilled
	}
	want := b.orderRequest()
	change := telephony.Change{}
	if number.Name != want.Name {
		change.Name = &want.Name
	}
	if want.Routing != (telephony.Routing{}) && number.Routing != want.Routing {
		change.Routing = &want.Routing
	}
	if change != (telephony.Change{}) {
		if err := b.client.setNumber(ctx, number.Ref, change); err != nil {
			return store.Number{}, b.refuseSetup(ctx, number, change, err)
		}
	}
	held := store.Number{
		TenantID: b.row.TenantID, ConnectionID: b.row.ConnectionID, Ref: number.Ref, Name: want.Name,
		Inbound: b.plan.Inbound, Outbound: b.plan.Outbound, Leads: marshalRouting(want.Routing),
		CreatedAt: b.opts.Now(),
	}
	var rows []store.AuditRow
	if b.run.Intent().Key == "" { // otherwise, the purchase is audited when its intent ends
		var err error
		if rows, err = b.opts.auditNumber(ctx, actionAdopt, held); err != nil {
			return held, err
		}
	}
	row, err := b.opts.Store.AddPurchased(context.WithoutCancel(ctx), b.row, held, rows...)
	if err != nil {
		return row, b.unfinishedFault("but could not be recorded yet", err)
	}
	b.row.State = store.PurchaseDone
	return row, nil
}

// refuseSetup handles a number that was bought but could not be named and routed. If the provider rejected
// the change, the number is given back. Other failures are tried again later.
func (b *purchase) refuseSetup(
	ctx context.Context, number telephony.Number, change telephony.Change, err error,
) error {
	f := fault.From(err)
	switch f.Code {
	case fault.Invalid, fault.Unsupported, fault.Conflict, fault.Exhausted, fault.Forbidden:
	default:
		return b.unfinishedFault("but its name and routing could not be set yet", err)
	}
	var why refusal
	why.Fault.Code, why.Fault.Reason, why.Fault.Detail = f.Code, f.Reason, f.Detail
	if len(f.Fields) > 0 { // the answer lists no fields: they would replace that a number was bought
		why.Fault.Detail = f.Fields[0].Path + " " + f.Fields[0].Text()
	}
	var revision int64 // of the connection; 0 if it is the caller's request that was refused
	if change.Routing != nil && len(f.Fields) == 0 {
		revision = b.client.connection.Revision
	}
	why.Undetected = revision != 0 && b.verifySetup(ctx) == nil
	raw, err := json.Marshal(why)
	if err == nil {
		err = b.opts.Store.MarkReturning(context.WithoutCancel(ctx), b.row, raw, revision)
	}
	if err != nil {
		return b.unfinishedFault("but the provider refuses its name or routing, and that could not be recorded yet",
			err)
	}
	b.row.State, b.row.Refusal = store.PurchaseReturning, raw
	return b.returnNumber(ctx, number)
}

// returnNumber gives back a number that cannot be set up.
func (b *purchase) returnNumber(ctx context.Context, number telephony.Number) error {
	if err := b.client.releaseAtProvider(ctx, number.Ref); err != nil {
		why, _ := parseRefusal(b.row.Refusal)
		refused := "but the provider refuses its name or routing (" + why.Fault.Detail + ")"
		return b.unfinishedFault(refused+", and it could not be given back yet", err)
	}
	return b.recordReturn(ctx)
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
