package service

import (
	"context"

	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// buyPlan is a purchase after normalization, and the number that was chosen.
type buyPlan struct {
	AreaCode string `json:"area_code"`
	Name     string `json:"name,omitempty"`
	Inbound  *int64 `json:"inbound,omitempty"`
	Outbound *int64 `json:"outbound,omitempty"`
	Chosen   string `json:"chosen,omitempty"` // E.164, recorded before it is ordered
}

// Buy buys one number in an area code. The number is chosen and recorded first and then ordered by its E.164 form, so
// that a purchase that was cut off is finished, not repeated.
func (s *Numbers) Buy(ctx context.Context, c tenant.Caller, w Write, in BuyNumber) (Answer[record.PhoneNumber], error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	plan := buyPlan{AreaCode: in.AreaCode, Name: in.Name, Inbound: in.Inbound, Outbound: in.Outbound}
	return perform(ctx, s.journal, call{caller: c, operation: opBuy, write: w, connectionID: opened.Connection.ID, plan: plan},
		on(c, opened, s.buy))
}

func (s *Numbers) buy(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan buyPlan) (outcome[record.PhoneNumber], error) {
	var none outcome[record.PhoneNumber]
	if a.resumed && plan.Chosen != "" {
		number, err := s.ordered(ctx, c, o, a, plan)
		if err == nil {
			return s.bought(ctx, c, o, plan, number)
		}
		if fault.From(err).Reason != fault.ReasonNumberTaken {
			return none, err
		}
	}
	a.clear() // whatever was ordered before, someone else has it
	for range mostSearches {
		offers, err := s.offers(ctx, o, plan.AreaCode)
		if err != nil {
			return none, err
		}
		for _, offer := range offers {
			plan.Chosen = offer.E164
			if err := a.save(ctx, plan); err != nil {
				return none, err
			}
			number, err := s.order(ctx, c, o, a, plan)
			if err == nil {
				return s.bought(ctx, c, o, plan, number)
			}
			if fault.From(err).Reason != fault.ReasonNumberTaken {
				return none, err
			}
			a.clear()
		}
	}
	return none, noStock(plan.AreaCode)
}

// offers are the numbers for sale that nobody here holds.
func (s *Numbers) offers(ctx context.Context, o tenant.Opened[telephony.Driver], areaCode string) ([]telephony.Offer, error) {
	offers, err := askTelephony(ctx, s, o, read("search-phone-numbers"), func(ctx context.Context) ([]telephony.Offer, error) {
		return o.Driver.Search(ctx, telephony.Search{AreaCode: areaCode, Limit: offersPerSearch})
	})
	if err != nil {
		return nil, err
	}
	free := offers[:0]
	for _, offer := range offers {
		if normalize.AreaCode(offer.E164) != areaCode {
			continue
		}
		if !o.Target.Sandbox {
			if _, held, err := s.Store.NumberHolder(ctx, offer.E164); err != nil || held {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		free = append(free, offer)
	}
	if len(free) == 0 {
		return nil, noStock(areaCode)
	}
	return free, nil
}

func noStock(areaCode string) error {
	return fault.Newf(fault.Exhausted, fault.ReasonNoNumbersAvailable, "No phone number is available in area code %s now. Try another area code.", areaCode)
}

// order orders exactly the number chosen.
func (s *Numbers) order(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan buyPlan) (telephony.Number, error) {
	order := telephony.Order{Key: a.intent.EffectKey, E164: plan.Chosen, Name: nameOf(plan.Name, plan.Chosen), Routing: routing(o.Connection, plan.Inbound, plan.Chosen)}
	repeatable := o.Driver.Traits().IdempotentBuy
	boughtLate := func(ctx context.Context, n telephony.Number) (outcome[record.PhoneNumber], error) {
		return s.bought(ctx, c, o, plan, n)
	}
	a.act(repeatable)
	return askTelephony(ctx, s, o, guard.Op{Name: opBuy, Repeatable: repeatable, Late: late(a, boughtLate)}, func(ctx context.Context) (telephony.Number, error) {
		return o.Driver.Buy(ctx, order)
	})
}

// ordered finds out what became of an order that was cut off; NUMBER_TAKEN when someone else has the number. To order
// it again is safe, since a number is sold once; where the provider does not tell a buyer's own number from another's,
// the account is looked at first.
func (s *Numbers) ordered(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan buyPlan) (telephony.Number, error) {
	if !o.Driver.Traits().IdempotentBuy {
		held, err := s.account(ctx, o)
		if err != nil {
			return telephony.Number{}, err
		}
		for _, n := range held {
			if n.E164 == plan.Chosen {
				return n, nil
			}
		}
	}
	return s.order(ctx, c, o, a, plan)
}

// bought gives the number its id. When that cannot be recorded, the purchase stands and its outcome is said to be
// unknown until a repeat, the settler or the next list finds it.
func (s *Numbers) bought(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], plan buyPlan, n telephony.Number) (outcome[record.PhoneNumber], error) {
	row := store.Number{
		TenantID: c.Tenant.ID, ConnectionID: o.Connection.ID, Ref: n.Ref, E164: n.E164, Name: nameOf(plan.Name, n.E164),
		Inbound: plan.Inbound, Outbound: plan.Outbound, CreatedAt: s.Now(),
	}
	kept, err := s.Store.AddNumber(context.WithoutCancel(ctx), row)
	if err == nil && (kept.Name != row.Name || !sameEmployee(kept.Inbound, row.Inbound) || !sameEmployee(kept.Outbound, row.Outbound)) {
		// A list saw the number before its purchase was recorded.
		kept.Name, kept.Inbound, kept.Outbound = row.Name, row.Inbound, row.Outbound
		err = s.Store.UpdateNumber(context.WithoutCancel(ctx), kept)
	}
	if err != nil {
		f := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, "The number was bought, but could not be recorded yet.")
		return outcome[record.PhoneNumber]{}, f.Because(err)
	}
	return outcome[record.PhoneNumber]{record: phoneNumber(kept), ref: n.Ref}, nil
}
