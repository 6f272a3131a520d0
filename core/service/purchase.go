package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

const (
	offersPerSearch = 10                     // numbers looked at,
	mostSearches    = 3                      // so often, before giving up when others snatch them away
	mostOffers      = 250                    // asked for at once, to look past those that others here have
	mostOrders      = 3                      // that one request places, each after the one before failed
	firstLook       = 150 * time.Millisecond // at an order under way; each next one after half as long again,
	latestLook      = time.Second            // but no longer than that
	mostNeighbours  = 5                      // area codes looked into when the one asked for is sold out,
	neighboursFor   = 2 * time.Second        // for so long at most
	boughtADay      = 10                     // numbers that a tenant may buy in 24 hours,
	heldInAll       = 100                    // and hold, where it says nothing else
	metaNumber      = "phone_number"         // of faults that come after money was spent
)

// buyPlan is a purchase after normalization. How far it got is in the table of purchases.
type buyPlan struct {
	AreaCode string `json:"area_code"`
	Name     string `json:"name,omitempty"`
	Inbound  *int64 `json:"inbound,omitempty"`
	Outbound *int64 `json:"outbound,omitempty"`
}

// refusal is why a number that was bought goes back, as the table of purchases keeps it. The fault is called
// undo there since plans of intents held it under this name.
type refusal struct {
	Undo struct {
		Code   fault.Code `json:"code"`
		Reason string     `json:"reason"`
		Detail string     `json:"detail"`
	} `json:"undo"`
	Unseen bool `json:"unseen,omitempty"` // a check of the settings does not find what is wrong
}

// Buy buys one number in an area code. It is a saga whose every step can be taken up again after a crash: the
// right to buy is taken under the tenant's limits; a number is chosen and claimed; exactly that one is
// ordered, named and pointed at its employee; then it is recorded as held. See the states in core/store:
// nothing touches a number at the provider before the store says whose it is. Whoever takes up a purchase
// first asks the provider what became of the order: a second number is only chosen when the first is surely
// someone else's.
func (s *Numbers) Buy(ctx context.Context, c tenant.Caller, w Write, in BuyNumber) (Answer[record.PhoneNumber], error) {
	p, err := s.phone(ctx, c)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	// A purchase that was not ordered is dropped by the recovery worker, and its order must not be on its way then: for
	// that, a replica waits longer than the lease (see overForPeers).
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opBuy, Write: w, ConnectionID: p.connection.ID, Plan: buyPlan(in),
		Repeatable: p.driver.Traits().IdempotentBuy,
	}, with(p, s.buy))
}

// purchase is one purchase under way.
type purchase struct {
	numbers *Numbers
	client  phone
	run     *journal.Run
	plan    buyPlan
	row     store.Purchase
	ends    time.Time // when the caller's time is over
	orders  int       // placed by this run
}

func (s *Numbers) buy(ctx context.Context, p phone, run *journal.Run, plan buyPlan) (journal.Result[record.PhoneNumber], error) {
	row, err := s.reserve(ctx, p, run)
	if err != nil {
		return journal.Result[record.PhoneNumber]{}, err
	}
	b := &purchase{numbers: s, client: p, run: run, plan: plan, row: row}
	if ends, ok := ctx.Deadline(); ok {
		b.ends = ends
	} else {
		b.ends = time.Now().Add(s.opts.Deadline)
	}
	number, err := b.carryThrough(ctx)
	if err != nil {
		return journal.Result[record.PhoneNumber]{}, err
	}
	return journal.Result[record.PhoneNumber]{Record: phoneNumber(number), Ref: number.Ref}, nil
}

// carryThrough takes the steps that are left, and closes a purchase that surely led to nothing.
func (b *purchase) carryThrough(ctx context.Context) (store.Number, error) {
	number, err := b.carryOut(ctx)
	if err == nil || journal.WasTakenOver(err) || !b.run.HadNoEffect(fault.From(err)) || b.isEnded() {
		return number, err
	}
	if err := b.numbers.opts.Store.EndPurchase(context.WithoutCancel(ctx), b.row); err != nil {
		b.numbers.opts.Log.ErrorContext(ctx, "a purchase could not be closed; it counts until it is looked at again",
			"tenant", b.row.TenantID, "error", err)
	}
	return number, err
}

func (b *purchase) isEnded() bool {
	return b.row.State == store.PurchaseDone || b.row.State == store.PurchaseReturned
}

// reserve takes the right to buy a number, or answers what was bought under the same Idempotency-Key: that is known for as
// long as answers are kept, also where the intent was let go since there was nothing to answer any more.
func (s *Numbers) reserve(ctx context.Context, p phone, run *journal.Run) (store.Purchase, error) {
	limits := limitsOf(p.caller.Tenant, p.sandbox)
	row, reached, err := s.opts.Store.ReservePurchase(ctx, run.Intent(), p.realm, run.Intent().CreatedAt.Add(-s.opts.KeepAnswers), limits)
	switch {
	case err != nil:
		return row, err
	case reached.PerDay:
		f := fault.Newf(fault.Exhausted, fault.ReasonPurchaseLimit,
			"%d numbers were bought within the last 24 hours, which is the most that this tenant may buy (max_purchases_per_day). Nothing was bought.", limits.PerDay)
		if !reached.Until.IsZero() {
			f.RetryAfter = max(0, reached.Until.Sub(s.opts.Now()))
		}
		return row, f
	case reached.Held:
		return row, fault.Newf(fault.Exhausted, fault.ReasonNumberLimit,
			"The tenant holds %d phone numbers, which is the most that it may hold (max_phone_numbers). Nothing was bought. Release a number first.", limits.Held)
	}
	return row, nil
}

// limitsOf are a tenant's limits. Those that it does not set are there for real money alone.
func limitsOf(t tenant.Tenant, sandbox bool) store.PurchaseLimits {
	limits := store.PurchaseLimits{PerDay: boughtADay, Held: heldInAll}
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

// carryOut takes the steps that are left.
func (b *purchase) carryOut(ctx context.Context) (store.Number, error) {
	switch b.row.State {
	case store.PurchaseReserved:
	case store.PurchaseDone:
		return b.recorded(ctx)
	case store.PurchaseReturned:
		return store.Number{}, b.wentBack()
	default:
		number, err := b.settled(ctx)
		switch {
		case err == nil:
			return b.complete(ctx, number)
		case !notOurs(err):
			return store.Number{}, err
		case b.wasThere(err):
			return store.Number{}, b.returned(ctx)
		}
	}
	b.run.RuleOutEffect() // whatever was ordered before, the account has not got it
	if b.run.Unattended() {
		return store.Number{}, fault.New(fault.Exhausted, fault.ReasonNoNumbersAvailable, "The purchase was cut off before it was ordered. Nothing was bought.")
	}
	if err := b.checkSetup(ctx); err != nil {
		return store.Number{}, err
	}
	for round := range mostSearches {
		offers, err := b.offers(ctx, round)
		if err != nil {
			return store.Number{}, err
		}
		for _, offer := range offers {
			number, err := b.take(ctx, offer.E164)
			switch {
			case err == nil:
				return b.complete(ctx, number)
			case !notOurs(err):
				return store.Number{}, err
			}
			b.run.RuleOutEffect()
			if b.orders >= mostOrders {
				return store.Number{}, fault.Newf(fault.Conflict, fault.ReasonNumberTaken,
					"%d orders in area code %s failed one after the other, because others were faster. Nothing was bought. "+
						"Try another area code, or this one later.", b.orders, b.plan.AreaCode)
			}
		}
	}
	return store.Number{}, fault.Newf(fault.Conflict, fault.ReasonNumberTaken,
		"Others were faster with every number offered in area code %s. Nothing was bought. "+
			"Try another area code, or this one later.", b.plan.AreaCode)
}

// recorded answers a purchase that was cut off after its last step.
func (b *purchase) recorded(ctx context.Context) (store.Number, error) {
	row, held, err := b.numbers.opts.Store.NumberHolder(ctx, b.client.realm, b.row.E164)
	switch {
	case err != nil:
		return store.Number{}, err
	case !held || row.ConnectionID != b.client.connection.ID:
		return store.Number{}, b.wentBack()
	}
	return row, nil
}

// wasThere reports whether the account had the number once that it surely has not got: its provider took the
// order, and of one that failed it would say so.
func (b *purchase) wasThere(err error) bool {
	switch b.row.State {
	case store.PurchaseFilled, store.PurchaseReturning:
		return true
	case store.PurchaseOrdered:
		return fault.From(err).Code == fault.NotFound
	}
	return false
}

// returned ends a purchase whose number went back, at the provider or by us. It goes on counting: it was paid
// for.
func (b *purchase) returned(ctx context.Context) error {
	if err := b.numbers.opts.Store.MarkReturned(context.WithoutCancel(ctx), b.row); err != nil {
		return b.spent("and went back to the provider, which could not be recorded yet", err)
	}
	b.row.State = store.PurchaseReturned
	return b.wentBack()
}

// wentBack says that a number was bought and is not held any more.
func (b *purchase) wentBack() error {
	b.run.RuleOutEffect()
	why, refused := refusalOf(b.row.Refusal)
	if !refused {
		return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "The number was bought, and has been released since.")
	}
	return fault.Newf(why.Undo.Code, why.Undo.Reason,
		"%s was bought and given back at once, because it could not be set up: %s", b.row.E164, why.Undo.Detail)
}

func refusalOf(raw json.RawMessage) (why refusal, refused bool) {
	return why, raw != nil && json.Unmarshal(raw, &why) == nil && why.Undo.Reason != ""
}

// checkSetup sees that the connection's settings work at the provider, before money is spent on a number that
// could not be set up. That they do is remembered for a while, unless a number had to go back since they were
// changed: then they are looked at again, and where no look finds what is wrong with them, nothing is ordered
// before they change.
func (b *purchase) checkSetup(ctx context.Context) error {
	raw, err := b.numbers.opts.Store.RefusedSetup(ctx, b.client.connection.TenantID, b.client.connection.ID, b.client.connection.Revision)
	if err != nil {
		return err
	}
	why, refused := refusalOf(raw)
	switch {
	case refused && why.Unseen:
		return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The last number bought could not be set up and was given back, so nothing is ordered until the connection's "+
				"settings change: %s", why.Undo.Detail)
	case refused:
		return b.checkLive(ctx)
	}
	_, err = b.numbers.setups.get(b.client.connection, func() (struct{}, error) { return struct{}{}, b.checkLive(ctx) })
	return err
}

// checkLive asks the provider, where the driver can.
func (b *purchase) checkLive(ctx context.Context) error {
	checker, can := b.client.driver.(adapter.SetupChecker)
	if !can {
		return nil
	}
	_, err := ask(ctx, b.client.endpoint, read("check-setup"), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, checker.CheckSetup(ctx)
	})
	return err
}

// patience is for how long the provider may still be asked: what is left of the caller's time, but for a margin in which
// to answer.
func (b *purchase) patience() time.Duration { return time.Until(b.ends) - journal.AnswerMargin }

// notOurs reports whether a failure says that the account surely has not got the number from this order.
func notOurs(err error) bool {
	f := fault.From(err)
	return f.Reason == fault.ReasonNumberTaken || f.Code == fault.NotFound && f.Reason == fault.ReasonNumberNotFound
}

// offers are numbers for sale in the area code. A provider goes on offering what others here have chosen and not ordered
// yet; when the first search led to nothing, the next ones look past those.
func (b *purchase) offers(ctx context.Context, round int) ([]telephony.Offer, error) {
	var taken []string
	if round > 0 {
		var err error
		if taken, err = b.numbers.opts.Store.TakenNumbers(ctx, b.client.realm, "+1"+b.plan.AreaCode); err != nil {
			return nil, err
		}
	}
	offers, err := b.search(ctx, b.plan.AreaCode, min(offersPerSearch+len(taken), mostOffers))
	if err != nil {
		return nil, err
	}
	if len(offers) == 0 {
		return nil, b.soldOut(ctx)
	}
	offers = slices.DeleteFunc(offers, func(o telephony.Offer) bool { return slices.Contains(taken, o.E164) })
	return offers[:min(len(offers), offersPerSearch)], nil
}

func (b *purchase) search(ctx context.Context, areaCode string, limit int) ([]telephony.Offer, error) {
	offers, err := ask(ctx, b.client.endpoint, read("search-phone-numbers"), func(ctx context.Context) ([]telephony.Offer, error) {
		return b.client.driver.Search(ctx, telephony.Search{AreaCode: areaCode, Limit: limit})
	})
	fitting := offers[:0]
	for _, offer := range offers {
		if normalize.AreaCode(offer.E164) == areaCode {
			fitting = append(fitting, offer)
		}
	}
	return fitting, err
}

// soldOut says that there is nothing for sale, and which neighbouring area codes have something, as far as the provider
// tells in time.
func (b *purchase) soldOut(ctx context.Context) error {
	f := fault.Newf(fault.Exhausted, fault.ReasonNoNumbersAvailable, "No phone number is for sale in area code %s now.", b.plan.AreaCode)
	near := normalize.NeighbouringAreaCodes(b.plan.AreaCode)
	near = near[:min(len(near), mostNeighbours)]
	ctx, cancel := context.WithTimeout(ctx, min(neighboursFor, max(0, b.patience())))
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
			f.Fields = append(f.Fields, fault.Field{Path: "area_code", Value: code, Message: "numbers are for sale in the neighbouring area code " + code + "."})
		}
	}
	if len(f.Fields) > 0 {
		f.Detail += " Neighbouring area codes have some: see the errors listed."
	} else {
		f.Detail += " Try another area code."
	}
	return f
}

// take claims a number and orders it. It is NUMBER_TAKEN where someone else was faster.
func (b *purchase) take(ctx context.Context, e164 string) (telephony.Number, error) {
	chosen, err := b.numbers.opts.Store.ChooseNumber(ctx, b.row, e164)
	if err != nil {
		return telephony.Number{}, err
	}
	if !chosen {
		return telephony.Number{}, fault.New(fault.Conflict, fault.ReasonNumberTaken, "Someone here holds or orders the number.")
	}
	b.row.State, b.row.E164 = store.PurchaseChosen, e164
	return b.ordered(ctx)
}

// order is the order of the number chosen.
func (b *purchase) order() telephony.Order {
	o := telephony.Order{Key: b.row.ID, Since: b.row.CreatedAt, E164: b.row.E164, Name: nameOf(b.plan.Name, b.row.E164)}
	if b.plan.Inbound != nil {
		o.Routing, _ = b.client.routing(b.plan.Inbound, b.row.E164)
	}
	return o
}

// ordered orders the number chosen, and waits until it is there.
func (b *purchase) ordered(ctx context.Context) (telephony.Number, error) {
	repeatable := b.client.driver.Traits().IdempotentBuy
	b.orders++
	b.run.ExpectEffect(repeatable)
	number, err := ask(ctx, b.client.endpoint, guard.Op{Name: opBuy, Repeatable: repeatable, Late: b.run.LateUnknown}, func(ctx context.Context) (telephony.Number, error) {
		return b.client.driver.Buy(ctx, b.order())
	})
	if err != nil {
		return number, err
	}
	return b.arrived(ctx, number)
}

// settled finds out what became of an order that was cut off. Where nobody waits for the number, it is not ordered
// again: no money is spent unasked.
func (b *purchase) settled(ctx context.Context) (telephony.Number, error) {
	number, err := b.whatOf(ctx)
	switch {
	case err == nil:
		return b.arrived(ctx, number)
	case fault.From(err).Code == fault.NotFound && !b.run.Unattended() && b.row.State == store.PurchaseChosen:
		if err := b.checkSetup(ctx); err != nil {
			return number, err
		}
		return b.ordered(ctx)
	}
	return number, err
}

// whatOf asks what became of the order.
func (b *purchase) whatOf(ctx context.Context) (telephony.Number, error) {
	return ask(ctx, b.client.endpoint, read("look-up-order"), func(ctx context.Context) (telephony.Number, error) {
		return b.client.driver.Ordered(ctx, b.order())
	})
}

// arrived waits until the number ordered can be used, as long as someone waits for it.
func (b *purchase) arrived(ctx context.Context, number telephony.Number) (telephony.Number, error) {
	b.run.ExpectEffect(true) // from here on everything can be done again
	for wait := b.numbers.firstLook; number.Pending; wait = min(wait+wait/2, latestLook) {
		if b.run.Unattended() || b.patience() < wait {
			b.underWay(ctx)
			f := fault.Newf(fault.UnknownOutcome, fault.ReasonOrderPending, "%s is ordered and will be there soon.", b.row.E164)
			f.RetryAfter = journal.PendingInterval // it only takes its time
			return number, f.With(metaNumber, b.row.E164)
		}
		if err := sleep(ctx, wait); err != nil {
			return number, err
		}
		next, err := b.whatOf(ctx)
		switch f := fault.From(err); {
		case err == nil:
			number = next
		case f.Reason == fault.ReasonNumberTaken: // the order failed
			return number, err
		case f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.RateLimited:
			return number, b.inDoubt("is ordered, but the provider does not say what became of it", err)
		}
	}
	return number, nil
}

// underWay records that the provider took the order.
func (b *purchase) underWay(ctx context.Context) {
	if b.row.State != store.PurchaseChosen {
		return
	}
	if err := b.numbers.opts.Store.MarkOrdered(ctx, b.row); err != nil {
		b.numbers.opts.Log.WarnContext(ctx, "that an order is under way could not be recorded; it is looked at less often",
			"tenant", b.row.TenantID, "error", err)
		return
	}
	b.row.State = store.PurchaseOrdered
}

// complete gives a number that was bought its name and routing, and its id.
func (b *purchase) complete(ctx context.Context, number telephony.Number) (store.Number, error) {
	b.run.ExpectEffect(true)
	switch b.row.State {
	case store.PurchaseReturning:
		return store.Number{}, b.undo(ctx, number)
	case store.PurchaseChosen, store.PurchaseOrdered:
		if err := b.numbers.opts.Store.MarkFilled(context.WithoutCancel(ctx), b.row); err != nil {
			return store.Number{}, b.spent("but that could not be recorded yet", err)
		}
		b.row.State = store.PurchaseFilled
	}
	want := b.order()
	change := telephony.Change{}
	if number.Name != want.Name {
		change.Name = &want.Name
	}
	if want.Routing != (telephony.Routing{}) && number.Routing != want.Routing {
		change.Routing = &want.Routing
	}
	if change != (telephony.Change{}) {
		if err := b.numbers.set(ctx, b.client, number.Ref, change); err != nil {
			return store.Number{}, b.notSetUp(ctx, number, change, err)
		}
	}
	held := store.Number{
		TenantID: b.row.TenantID, ConnectionID: b.row.ConnectionID, Ref: number.Ref, Name: want.Name,
		Inbound: b.plan.Inbound, Outbound: b.plan.Outbound, Leads: leads(want.Routing), CreatedAt: b.numbers.opts.Now(),
	}
	var rows []store.AuditRow
	if b.run.Intent().Key == "" { // whoever ends the intent of a purchase records that it was made
		var err error
		if rows, err = b.numbers.opts.auditNumber(ctx, numberFound, held); err != nil {
			return held, err
		}
	}
	row, err := b.numbers.opts.Store.AddPurchased(context.WithoutCancel(ctx), b.row, held, rows...)
	if err != nil {
		return row, b.spent("but could not be recorded yet", err)
	}
	b.row.State = store.PurchaseDone
	return row, nil
}

// notSetUp answers for a number that was bought and could not be named and routed: a refusal sends it back, anything else
// is tried again later.
func (b *purchase) notSetUp(ctx context.Context, number telephony.Number, change telephony.Change, err error) error {
	f := fault.From(err)
	switch f.Code {
	case fault.Invalid, fault.Unsupported, fault.Conflict, fault.Exhausted, fault.Forbidden:
	default:
		return b.spent("but its name and routing could not be set yet", err)
	}
	var why refusal
	why.Undo.Code, why.Undo.Reason, why.Undo.Detail = f.Code, f.Reason, f.Detail
	var revision int64 // of the connection, unless it is the caller's request that was refused
	if change.Routing != nil && len(f.Fields) == 0 {
		revision = b.client.connection.Revision
	}
	why.Unseen = revision != 0 && b.checkLive(ctx) == nil
	raw, err := json.Marshal(why)
	if err == nil {
		err = b.numbers.opts.Store.MarkReturning(context.WithoutCancel(ctx), b.row, raw, revision)
	}
	if err != nil {
		return b.spent("but its name and routing are refused, and that could not be recorded yet", err)
	}
	b.row.State, b.row.Refusal = store.PurchaseReturning, raw
	return b.undo(ctx, number)
}

// undo gives a number back that cannot be set up.
func (b *purchase) undo(ctx context.Context, number telephony.Number) error {
	if err := b.numbers.giveBack(ctx, b.client, number.Ref); err != nil {
		why, _ := refusalOf(b.row.Refusal)
		return b.spent("but its name and routing are refused ("+why.Undo.Detail+"), and it could not be given back yet", err)
	}
	return b.returned(ctx)
}

// spent says what is left to do after the number was bought. A repeat, the settler or reconciliation does it.
func (b *purchase) spent(what string, err error) error { return b.inDoubt("was bought, "+what, err) }

// inDoubt says how far a purchase got that costs money.
func (b *purchase) inDoubt(what string, err error) error {
	if journal.WasTakenOver(err) { // whose answer is this call's, too
		return err
	}
	f := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, fmt.Sprintf("%s %s.", b.row.E164, what))
	return f.With(metaNumber, b.row.E164).Because(err)
}

// adviseBuyer returns how a caller gets a number that was bought or ordered, without buying another.
func adviseBuyer(f *fault.Error, hasKey bool) string {
	switch {
	case f.Metadata[metaNumber] == "":
		return ""
	case hasKey:
		return "Repeat the request with the same Idempotency-Key to get it; another request would buy another number."
	}
	return "The gateway goes on by itself: list the phone numbers in a minute to find it. " +
		"Another request would buy another number."
}
