package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// Numbers is the five operations on phone numbers. The provider holds the numbers; the gateway's table gives them
// their ids and remembers the cloud employees.
type Numbers struct{ *room }

const (
	offersPerSearch = 10   // numbers looked at,
	mostSearches    = 3    // so often, before giving up when others snatch them away
	mostNumbers     = 5000 // of one account
)

// Settings of a telephony connection that say where inbound calls go.
const (
	settingVoiceURL = "voice_url_template" // {cloud_employee_id} and {e164} are filled in
	settingSIPTrunk = "sip_trunk"
)

func askTelephony[T any](ctx context.Context, s *Numbers, o tenant.Opened[telephony.Driver], op guard.Op, try func(context.Context) (T, error)) (T, error) {
	return ask(ctx, s.room, lineTo(o, o.Driver.Traits().MaxConcurrent, func(ctx context.Context) error {
		_, err := o.Driver.Account(ctx)
		return err
	}), op, try)
}

// List reads the provider's account and makes the gateway's table agree with it: numbers that came by other means get
// an id, numbers that went are released.
func (s *Numbers) List(ctx context.Context, c tenant.Caller) (record.PhoneNumbersAnswer, error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	// The table is read first: a number bought or released while the account is read is then in neither list wrongly.
	rows, err := s.Store.Numbers(ctx, c.Tenant.ID, opened.Connection.ID)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	held, err := s.account(ctx, opened)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	for i := range rows {
		n, still := held[rows[i].Ref]
		delete(held, rows[i].Ref)
		switch {
		case !still:
			// Lists of some providers lag behind; the number itself is asked for before it is given up.
			_, err = askTelephony(ctx, s, opened, read("read-phone-number"), func(ctx context.Context) (telephony.Number, error) {
				return opened.Driver.Number(ctx, rows[i].Ref)
			})
			if err != nil && fault.From(err).Code == fault.NotFound {
				rows[i].ReleasedAt = s.Now()
				err = s.Store.ReleaseNumber(ctx, c.Tenant.ID, rows[i].ID, rows[i].ReleasedAt)
			}
		case n.Name != "" && n.Name != rows[i].Name:
			err = s.renamed(ctx, c, &rows[i], n.Name)
		}
		switch f := fault.From(err); {
		case err == nil:
		case f.Code == fault.NotFound:
			rows[i].ReleasedAt = s.Now() // through the gateway, meanwhile
		default:
			return record.PhoneNumbersAnswer{}, err
		}
	}
	rows = slices.DeleteFunc(rows, func(n store.Number) bool { return !n.ReleasedAt.IsZero() })
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		row, ours, err := s.adopt(ctx, c, opened, held[ref])
		if err != nil {
			return record.PhoneNumbersAnswer{}, err
		}
		if ours {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Number) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	list := make([]record.PhoneNumber, 0, len(rows))
	for _, row := range rows {
		list = append(list, phoneNumber(row))
	}
	return record.PhoneNumbersAnswer{PhoneNumbers: list}, nil
}

// renamed takes over a name given at the provider. The row is read again, so that a change of its employees since is kept.
func (s *Numbers) renamed(ctx context.Context, c tenant.Caller, row *store.Number, name string) error {
	now, err := s.Store.Number(ctx, c.Tenant.ID, row.ID)
	if err != nil {
		return err
	}
	*row = now
	if row.Name == name {
		return nil
	}
	row.Name = name
	return s.Store.UpdateNumber(ctx, *row)
}

// account reads every page of the provider's account, by reference. Numbers still on order are left out.
func (s *Numbers) account(ctx context.Context, o tenant.Opened[telephony.Driver]) (map[string]telephony.Number, error) {
	held := map[string]telephony.Number{}
	for q := (telephony.Query{}); ; {
		page, err := askTelephony(ctx, s, o, read("list-phone-numbers"), func(ctx context.Context) (telephony.Page, error) { return o.Driver.Numbers(ctx, q) })
		if err != nil {
			return nil, err
		}
		for _, n := range page.Numbers {
			if !n.Pending {
				held[n.Ref] = n
			}
		}
		if page.Next == "" {
			return held, nil
		}
		if page.Next == q.Cursor || len(held) > mostNumbers {
			return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider's list of numbers does not end.")
		}
		q.Cursor = page.Next
	}
}

// adopt gives a number of the account its row. A number that another tenant holds through the same account stays that
// tenant's and is not shown.
func (s *Numbers) adopt(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], n telephony.Number) (store.Number, bool, error) {
	if !sandboxed(o.Connection) {
		holder, held, err := s.Store.NumberHolder(ctx, n.E164)
		if err != nil || held && holder.TenantID != c.Tenant.ID {
			return store.Number{}, false, err
		}
	}
	row, err := s.Store.AddNumber(ctx, store.Number{
		TenantID: c.Tenant.ID, ConnectionID: o.Connection.ID, Ref: n.Ref, E164: n.E164, Name: nameOf(n.Name, n.E164), CreatedAt: s.Now(),
	})
	return row, err == nil, err
}

// Get answers one number from the gateway's table.
func (s *Numbers) Get(ctx context.Context, c tenant.Caller, id int64) (record.PhoneNumber, error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	row, err := s.row(ctx, opened, id)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	return phoneNumber(row), nil
}

// row answers the caller's number; another tenant's, or another connection's, does not exist for it.
func (s *Numbers) row(ctx context.Context, o tenant.Opened[telephony.Driver], id int64) (store.Number, error) {
	row, err := s.Store.Number(ctx, o.Connection.TenantID, id)
	if err == nil && row.ConnectionID != o.Connection.ID {
		err = noNumber()
	}
	return row, err
}

func noNumber() error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no phone number with this id.")
}

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
		if !sandboxed(o.Connection) {
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

// changePlan is a change of a number after normalization.
type changePlan struct {
	ID       int64          `json:"id"`
	Name     *string        `json:"name,omitempty"`
	Inbound  EmployeeChange `json:"inbound"`
	Outbound EmployeeChange `json:"outbound"`
}

// Update changes a number's name and employees: at the provider first, in the gateway's table after.
func (s *Numbers) Update(ctx context.Context, c tenant.Caller, w Write, in UpdateNumber) (Answer[record.PhoneNumber], error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	plan := changePlan(in)
	if plan.Name == nil && !plan.Inbound.Set && !plan.Outbound.Set {
		return s.unchanged(ctx, opened, in.ID)
	}
	return perform(ctx, s.journal, call{
		caller: c, operation: opChange, write: w, connectionID: opened.Connection.ID, plan: plan, about: strconv.FormatInt(in.ID, 10),
	}, on(c, opened, s.change))
}

// unchanged answers a change of nothing.
func (s *Numbers) unchanged(ctx context.Context, o tenant.Opened[telephony.Driver], id int64) (Answer[record.PhoneNumber], error) {
	row, err := s.row(ctx, o, id)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	number := phoneNumber(row)
	body, err := json.Marshal(number)
	return Answer[record.PhoneNumber]{Record: number, Body: body}, err
}

// change runs a change of a number. It sets what was asked for, so it is safe to run again.
func (s *Numbers) change(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan changePlan) (outcome[record.PhoneNumber], error) {
	var none outcome[record.PhoneNumber]
	row, err := s.row(ctx, o, plan.ID)
	if err != nil {
		return none, err
	}
	change := telephony.Change{}
	if plan.Name != nil && *plan.Name != row.Name {
		change.Name = plan.Name
		row.Name = *plan.Name
	}
	if plan.Inbound.Set {
		row.Inbound = plan.Inbound.ID
		if to := routing(o.Connection, row.Inbound, row.E164); routed(o.Connection) {
			change.Routing = &to
		}
	}
	if plan.Outbound.Set {
		row.Outbound = plan.Outbound.ID
	}
	if change.Name != nil || change.Routing != nil {
		a.act(true)
		_, err := askTelephony(ctx, s, o, guard.Op{Name: opChange, Repeatable: true}, func(ctx context.Context) (telephony.Number, error) {
			return o.Driver.Change(ctx, row.Ref, change)
		})
		if err != nil {
			return none, s.vanished(ctx, c, row, err)
		}
	}
	if err := s.Store.UpdateNumber(context.WithoutCancel(ctx), row); err != nil {
		return none, err
	}
	return outcome[record.PhoneNumber]{record: phoneNumber(row), ref: row.Ref}, nil
}

// vanished releases the row of a number that the provider no longer has.
func (s *Numbers) vanished(ctx context.Context, c tenant.Caller, row store.Number, err error) error {
	if fault.From(err).Code != fault.NotFound {
		return err
	}
	if err := s.Store.ReleaseNumber(ctx, c.Tenant.ID, row.ID, s.Now()); err != nil && fault.From(err).Code != fault.NotFound {
		return err
	}
	return noNumber()
}

// releasePlan names the number to release.
type releasePlan struct {
	ID int64 `json:"id"`
}

// Release gives a number back to the provider for good. Its id is never used again.
func (s *Numbers) Release(ctx context.Context, c tenant.Caller, w Write, id int64) (Answer[struct{}], error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return Answer[struct{}]{}, err
	}
	plan := releasePlan{ID: id}
	return perform(ctx, s.journal, call{caller: c, operation: opReturn, write: w, connectionID: opened.Connection.ID, plan: plan},
		on(c, opened, s.release))
}

func (s *Numbers) release(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan releasePlan) (outcome[struct{}], error) {
	var none outcome[struct{}]
	row, err := s.row(ctx, o, plan.ID)
	if err != nil {
		if a.resumed && fault.From(err).Code == fault.NotFound {
			return outcome[struct{}]{ref: strconv.FormatInt(plan.ID, 10)}, nil // the earlier run got this far
		}
		return none, err
	}
	a.act(true)
	_, err = askTelephony(ctx, s, o, guard.Op{Name: opReturn, Repeatable: true}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.Driver.Release(ctx, row.Ref)
	})
	gone := err != nil && fault.From(err).Code == fault.NotFound
	if err != nil && !gone {
		return none, err
	}
	if err := s.Store.ReleaseNumber(context.WithoutCancel(ctx), c.Tenant.ID, row.ID, s.Now()); err != nil && fault.From(err).Code != fault.NotFound { // a list may have seen it go
		return none, fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, "The number was released, but that could not be recorded yet.").Because(err)
	}
	return outcome[struct{}]{ref: row.Ref}, nil
}

// numberRun is a run that needs to know whose account it works on.
type numberRun[P, T any] func(context.Context, tenant.Caller, tenant.Opened[telephony.Driver], *attempt, P) (outcome[T], error)

// on makes a run of it.
func on[P, T any](c tenant.Caller, o tenant.Opened[telephony.Driver], do numberRun[P, T]) run[P, T] {
	return func(ctx context.Context, a *attempt, plan P) (outcome[T], error) { return do(ctx, c, o, a, plan) }
}

// resumeNumber takes up an intent that nobody waits for.
func resumeNumber[P, T any](ctx context.Context, s *Numbers, a *attempt, do numberRun[P, T]) error {
	_, err := finish(ctx, a, func(ctx context.Context, a *attempt, plan P) (outcome[T], error) {
		c, err := s.callerFor(ctx, a.intent)
		if err != nil {
			return outcome[T]{}, err
		}
		opened, err := s.Directory.Telephony(ctx, c)
		if err != nil {
			return outcome[T]{}, err
		}
		return do(ctx, c, opened, a, plan)
	})
	return err
}

func (s *Numbers) resumeBuy(ctx context.Context, a *attempt) error {
	return resumeNumber(ctx, s, a, s.buy)
}

func (s *Numbers) resumeUpdate(ctx context.Context, a *attempt) error {
	return resumeNumber(ctx, s, a, s.change)
}

func (s *Numbers) resumeRelease(ctx context.Context, a *attempt) error {
	return resumeNumber(ctx, s, a, s.release)
}

// routed reports whether the connection says where inbound calls go.
func routed(c tenant.Connection) bool {
	return text(c, settingVoiceURL) != "" || text(c, settingSIPTrunk) != ""
}

// routing is where an employee's inbound calls go; nowhere when none is assigned.
func routing(c tenant.Connection, employee *int64, e164 string) telephony.Routing {
	if employee == nil {
		return telephony.Routing{}
	}
	if trunk := text(c, settingSIPTrunk); trunk != "" {
		return telephony.Routing{SIPTrunk: trunk}
	}
	fill := strings.NewReplacer("{cloud_employee_id}", strconv.FormatInt(*employee, 10), "{e164}", strings.Replace(e164, "+", "%2B", 1))
	return telephony.Routing{VoiceURL: fill.Replace(text(c, settingVoiceURL))}
}

// text answers a setting that is text, "" when it is not set.
func text(c tenant.Connection, setting string) string {
	if c.Settings[setting] == nil {
		return ""
	}
	return fmt.Sprint(c.Settings[setting])
}

// nameOf is a number's display name: its own, else the number itself.
func nameOf(name, e164 string) string {
	if name == "" {
		return e164
	}
	return name
}

func sameEmployee(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// phoneNumber is the interface's record of a number.
func phoneNumber(n store.Number) record.PhoneNumber {
	return record.PhoneNumber{
		ID: n.ID, Name: n.Name, E164: n.E164, AreaCode: normalize.AreaCode(n.E164),
		InboundCloudEmployeeID: n.Inbound, OutboundCloudEmployeeID: n.Outbound,
	}
}
