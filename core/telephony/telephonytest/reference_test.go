package telephonytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// reference is an in-memory driver that keeps every clause. It also implements the provider's side.
type reference struct {
	adaptertest.Gate
	mu            sync.Mutex
	numbers       []*number
	soldElsewhere []string // sold to somebody else
	purchases     int

	// The ways in which providers that keep the contract differ.
	bare  bool // Buy leaves name and routing to Change
	dated bool // orders are recognised by their start, not by their keys
	async bool // orders are filled later, and have no reference until then
}

type number struct {
	telephony.Number
	key   string
	since time.Time
	looks int // how often its order was looked up while it was under way
}

var (
	_ telephony.Driver = (*reference)(nil)
	_ Spender          = (*reference)(nil)
	_ Rival            = (*reference)(nil)
	_ Mover            = (*reference)(nil)
	_ Filler           = (*reference)(nil)
	_ Blocker          = (*reference)(nil)
)

// initial is the routing of numbers that were bought without one.
var initial = telephony.Routing{VoiceURL: "https://demo.example.com/welcome"}

// template is the voice URL template in the reference driver's settings.
const template = "https://agents.example.com/voice?employee={cloud_employee_id}&number={e164}"

func newHarness(*testing.T) Harness { return harnessOf(&reference{}) }

func harnessOf(h *reference) Harness {
	return Harness{
		Open:     func() telephony.Driver { return h },
		AreaCode: "415", Empty: "212", Account: telephony.Account{Name: "Desk", Ref: "AC1"}, Default: initial,
		Leads: telephony.Routing{VoiceURL: voiceURL}, Trunk: "TK1", Application: "AP1",
		Secrets: []string{"hunter2"}, Provider: h,
	}
}

// TestTheReferencePassesWhateverTheProvider runs the checks on providers that keep the contract in other ways
// than the one that the mutants are made from.
func TestTheReferencePassesWhateverTheProvider(t *testing.T) {
	for name, open := range map[string]func() Harness{
		"name and routing are left to Change": func() Harness { return harnessOf(&reference{bare: true}) },
		"orders are known by when they began": func() Harness {
			return harnessOf(&reference{dated: true, bare: true})
		},
		"orders are filled when told": func() Harness {
			return harnessOf(&reference{async: true, bare: true})
		},
		"orders are filled in their own time": func() Harness {
			h := harnessOf(&reference{async: true})
			h.Provider = struct {
				conformance.ReplyDropper
				Spender
				Rival
				Mover
			}{h.Provider.(*reference), h.Provider.(*reference), h.Provider.(*reference), h.Provider.(*reference)}
			return h
		},
		"numbers lead to applications alone": func() Harness {
			h := harnessOf(&reference{})
			h.NoVoiceURL, h.Trunk = true, ""
			return h
		},
	} {
		for _, check := range Checks() {
			t.Run(name+"/"+check.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := open()
					if !check.Binds(h) {
						return
					}
					if err := check.Do(t.Context(), h); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func (r *reference) Traits() telephony.Traits {
	return telephony.Traits{IdempotentBuy: true, AsyncBuy: r.async, MaxConcurrent: 12}
}

func (r *reference) Account(ctx context.Context) (telephony.Account, error) {
	if err := r.Enter(ctx); err != nil {
		return telephony.Account{}, err
	}
	return telephony.Account{Name: "Desk", Ref: "AC1"}, nil
}

// stock returns every number that was ever for sale.
func stock(areaCode string) []string {
	if areaCode != "415" {
		return nil
	}
	return []string{"+14155550100", "+14155550101", "+14155550102", "+14155550103", "+14155550104"}
}

func (r *reference) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	if err := r.Enter(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var offers []telephony.Offer
	for _, e164 := range stock(s.AreaCode) {
		if len(offers) < s.Limit && r.forSale(e164) {
			offers = append(offers, telephony.Offer{E164: e164})
		}
	}
	return offers, nil
}

func (r *reference) forSale(e164 string) bool {
	held := slices.ContainsFunc(r.numbers, func(n *number) bool { return n.E164 == e164 })
	return slices.Contains(stock("415"), e164) && !held && !slices.Contains(r.soldElsewhere, e164)
}

func (r *reference) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if err := r.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, err := r.order(o); n != nil || err != nil {
		return r.contractNumber(n), err
	}
	if !r.forSale(o.E164) {
		return telephony.Number{}, taken()
	}
	r.purchases++
	n := &number{
		Number: telephony.Number{
			Ref: fmt.Sprintf("ref-%d", r.purchases), E164: o.E164, Name: o.E164, Routing: initial, Pending: r.async,
		},
		key: o.Key, since: time.Now(),
	}
	if !r.bare {
		n.Name = o.Name
	}
	if !r.bare && o.Routing != (telephony.Routing{}) {
		n.Routing = o.Routing
	}
	r.numbers = append(r.numbers, n)
	return r.contractNumber(n), r.Leave()
}

// order returns the number that an order has bought. Other numbers of the account are taken.
func (r *reference) order(o telephony.Order) (*number, error) {
	for _, n := range r.numbers {
		if n.E164 != o.E164 {
			continue
		}
		if n.key == o.Key || r.dated && !n.since.Before(o.Since.Add(-time.Minute)) {
			return n, nil
		}
		return nil, taken()
	}
	return nil, nil
}

func taken() error {
	return fault.New(fault.Conflict, fault.ReasonNumberTaken, "Somebody else was faster.")
}

// contractNumber returns the number as drivers report it: without a reference while its order is under way.
func (r *reference) contractNumber(n *number) telephony.Number {
	switch {
	case n == nil:
		return telephony.Number{}
	case n.Pending:
		return telephony.Number{E164: n.E164, Pending: true}
	}
	return n.Number
}

// listed returns the numbers whose orders are filled.
func (r *reference) listed() []*number {
	return slices.DeleteFunc(slices.Clone(r.numbers), func(n *number) bool { return n.Pending })
}

func (r *reference) FindOrder(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if err := r.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.order(o)
	switch {
	case err != nil:
		return telephony.Number{}, err
	case n != nil:
		if n.looks++; n.looks > 2 {
			n.Pending = false
		}
		return r.contractNumber(n), nil
	case !r.forSale(o.E164):
		return telephony.Number{}, taken()
	}
	return telephony.Number{}, noNumber()
}

func (r *reference) Fill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.numbers {
		n.Pending = false
	}
	return nil
}

func (*reference) Route(employee int64, e164 string) (telephony.Routing, bool) {
	return telephony.Routing{VoiceURL: telephony.VoiceURL(template, employee, e164)}, true
}

func (r *reference) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	if err := r.Enter(ctx); err != nil {
		return telephony.Page{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := q.Limit
	if limit == 0 {
		limit = 2
	}
	var page telephony.Page
	for _, n := range r.listed() {
		if n.Ref <= q.Cursor {
			continue
		}
		if len(page.Numbers) == limit {
			page.Next = page.Numbers[limit-1].Ref
			break
		}
		page.Numbers = append(page.Numbers, n.Number)
	}
	return page, nil
}

func (r *reference) Number(ctx context.Context, ref string) (telephony.Number, error) {
	return r.with(ctx, ref, func(*number) {})
}

func (r *reference) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	return r.with(ctx, ref, func(n *number) {
		if c.Name != nil {
			n.Name = *c.Name
		}
		if c.Routing != nil {
			n.Routing = *c.Routing
		}
	})
}

func (r *reference) Release(ctx context.Context, ref string) error {
	var refusal *fault.Error
	_, err := r.with(ctx, ref, func(n *number) {
		if refusal = n.Block.Fault(); refusal == nil {
			r.numbers = slices.DeleteFunc(r.numbers, func(other *number) bool { return other == n })
		}
	})
	if err == nil && refusal != nil {
		return refusal
	}
	return err
}

func (r *reference) with(ctx context.Context, ref string, do func(*number)) (telephony.Number, error) {
	if err := r.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.listed() {
		if n.Ref == ref {
			do(n)
			return n.Number, nil
		}
	}
	return telephony.Number{}, noNumber()
}

func noNumber() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is none.")
}

func (r *reference) Purchases(context.Context) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.purchases, nil
}

func (r *reference) Snatch(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.soldElsewhere = append(r.soldElsewhere, "+14155550100")
	return "+14155550100", nil
}

func (r *reference) Arrive(_ context.Context, e164 string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.purchases++
	r.numbers = append(r.numbers, &number{
		Number: telephony.Number{Ref: fmt.Sprintf("ref-%d", r.purchases), E164: e164}, since: time.Now(),
	})
	return nil
}

func (r *reference) Vanish(_ context.Context, e164 string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.numbers = slices.DeleteFunc(r.numbers, func(n *number) bool { return n.E164 == e164 })
	return nil
}

func (r *reference) Block(_ context.Context, e164 string, why telephony.Block) error {
	return r.block(e164, why)
}

func (r *reference) Unblock(_ context.Context, e164 string) error {
	return r.block(e164, telephony.BlockNone)
}

func (r *reference) block(e164 string, why telephony.Block) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.numbers {
		if n.E164 == e164 {
			n.Block = why
			return nil
		}
	}
	return noNumber()
}
