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

// honest is a driver in memory that keeps every clause, and its own provider's side.
type honest struct {
	adaptertest.Gate
	mu        sync.Mutex
	numbers   []*number
	elsewhere []string // sold to somebody else
	purchases int

	// What honest providers differ in.
	bare  bool // Buy leaves name and routing to Change
	dated bool // orders are known by when they began, not by their keys
	async bool // orders are filled later, and have no reference until then
}

type number struct {
	telephony.Number
	key   string
	since time.Time
	looks int // how often its order was looked at while it was under way
}

var (
	_ telephony.Driver = (*honest)(nil)
	_ Spender          = (*honest)(nil)
	_ Rival            = (*honest)(nil)
	_ Mover            = (*honest)(nil)
	_ Filler           = (*honest)(nil)
	_ Blocker          = (*honest)(nil)
)

// initial is where numbers lead that were bought without routing.
var initial = telephony.Routing{VoiceURL: "https://demo.example.com/welcome"}

// template is where the honest driver's settings lead numbers.
const template = "https://agents.example.com/voice?employee={cloud_employee_id}&number={e164}"

func newHarness(*testing.T) Harness { return harnessOf(&honest{}) }

func harnessOf(h *honest) Harness {
	return Harness{
		Open:     func() telephony.Driver { return h },
		AreaCode: "415", Empty: "212", Account: telephony.Account{Name: "Desk", Ref: "AC1"}, Default: initial,
		Leads: telephony.Routing{VoiceURL: voiceURL}, Trunk: "TK1", Application: "AP1",
		Secrets: []string{"hunter2"}, Provider: h,
	}
}

// TestHonestDriversPassWhateverTheProvider holds the checks against providers that keep the contract in other ways than
// the one that the liars are made from.
func TestHonestDriversPassWhateverTheProvider(t *testing.T) {
	for name, open := range map[string]func() Harness{
		"name and routing are left to Change": func() Harness { return harnessOf(&honest{bare: true}) },
		"orders are known by when they began": func() Harness { return harnessOf(&honest{dated: true, bare: true}) },
		"orders are filled when told":         func() Harness { return harnessOf(&honest{async: true, bare: true}) },
		"orders are filled in their own time": func() Harness {
			h := harnessOf(&honest{async: true})
			h.Provider = struct {
				conformance.ReplyDropper
				Spender
				Rival
				Mover
			}{h.Provider.(*honest), h.Provider.(*honest), h.Provider.(*honest), h.Provider.(*honest)}
			return h
		},
		"numbers lead to applications alone": func() Harness {
			h := harnessOf(&honest{})
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

func (h *honest) Traits() telephony.Traits {
	return telephony.Traits{IdempotentBuy: true, AsyncBuy: h.async, MaxConcurrent: 12}
}

func (h *honest) Account(ctx context.Context) (telephony.Account, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Account{}, err
	}
	return telephony.Account{Name: "Desk", Ref: "AC1"}, nil
}

// stock is every number that was ever for sale.
func stock(areaCode string) []string {
	if areaCode != "415" {
		return nil
	}
	return []string{"+14155550100", "+14155550101", "+14155550102", "+14155550103", "+14155550104"}
}

func (h *honest) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	if err := h.Enter(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var offers []telephony.Offer
	for _, e164 := range stock(s.AreaCode) {
		if len(offers) < s.Limit && h.forSale(e164) {
			offers = append(offers, telephony.Offer{E164: e164, AreaCode: s.AreaCode})
		}
	}
	return offers, nil
}

func (h *honest) forSale(e164 string) bool {
	held := slices.ContainsFunc(h.numbers, func(n *number) bool { return n.E164 == e164 })
	return slices.Contains(stock("415"), e164) && !held && !slices.Contains(h.elsewhere, e164)
}

func (h *honest) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n, err := h.order(o); n != nil || err != nil {
		return h.told(n), err
	}
	if !h.forSale(o.E164) {
		return telephony.Number{}, taken()
	}
	h.purchases++
	n := &number{Number: telephony.Number{Ref: fmt.Sprintf("ref-%d", h.purchases), E164: o.E164, Name: o.E164, Routing: initial, Pending: h.async}, key: o.Key, since: time.Now()}
	if !h.bare {
		n.Name = o.Name
	}
	if !h.bare && o.Routing != (telephony.Routing{}) {
		n.Routing = o.Routing
	}
	h.numbers = append(h.numbers, n)
	return h.told(n), h.Leave()
}

// order finds what an order has bought. What the account holds otherwise is taken.
func (h *honest) order(o telephony.Order) (*number, error) {
	for _, n := range h.numbers {
		if n.E164 != o.E164 {
			continue
		}
		if n.key == o.Key || h.dated && !n.since.Before(o.Since.Add(-time.Minute)) {
			return n, nil
		}
		return nil, taken()
	}
	return nil, nil
}

func taken() error {
	return fault.New(fault.Conflict, fault.ReasonNumberTaken, "Somebody else was faster.")
}

// told is the number as it is told: without its reference while its order is under way.
func (h *honest) told(n *number) telephony.Number {
	switch {
	case n == nil:
		return telephony.Number{}
	case n.Pending:
		return telephony.Number{E164: n.E164, Pending: true}
	}
	return n.Number
}

// listed are the numbers whose orders are filled.
func (h *honest) listed() []*number {
	return slices.DeleteFunc(slices.Clone(h.numbers), func(n *number) bool { return n.Pending })
}

func (h *honest) Ordered(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.order(o)
	switch {
	case err != nil:
		return telephony.Number{}, err
	case n != nil:
		if n.looks++; n.looks > 2 {
			n.Pending = false
		}
		return h.told(n), nil
	case !h.forSale(o.E164):
		return telephony.Number{}, taken()
	}
	return telephony.Number{}, noNumber()
}

func (h *honest) Fill(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.numbers {
		n.Pending = false
	}
	return nil
}

func (*honest) Route(employee int64, e164 string) (telephony.Routing, bool) {
	return telephony.Routing{VoiceURL: telephony.VoiceURL(template, employee, e164)}, true
}

func (h *honest) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Page{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := q.Limit
	if limit == 0 {
		limit = 2
	}
	var page telephony.Page
	for _, n := range h.listed() {
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

func (h *honest) Number(ctx context.Context, ref string) (telephony.Number, error) {
	return h.with(ctx, ref, func(*number) {})
}

func (h *honest) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	return h.with(ctx, ref, func(n *number) {
		if c.Name != nil {
			n.Name = *c.Name
		}
		if c.Routing != nil {
			n.Routing = *c.Routing
		}
	})
}

func (h *honest) Release(ctx context.Context, ref string) error {
	var refusal *fault.Error
	_, err := h.with(ctx, ref, func(n *number) {
		if refusal = n.Block.Fault(); refusal == nil {
			h.numbers = slices.DeleteFunc(h.numbers, func(other *number) bool { return other == n })
		}
	})
	if err == nil && refusal != nil {
		return refusal
	}
	return err
}

func (h *honest) with(ctx context.Context, ref string, do func(*number)) (telephony.Number, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.listed() {
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

func (h *honest) Purchases(context.Context) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.purchases, nil
}

func (h *honest) Snatch(context.Context) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.elsewhere = append(h.elsewhere, "+14155550100")
	return "+14155550100", nil
}

func (h *honest) Arrive(_ context.Context, e164 string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.purchases++
	h.numbers = append(h.numbers, &number{Number: telephony.Number{Ref: fmt.Sprintf("ref-%d", h.purchases), E164: e164}, since: time.Now()})
	return nil
}

func (h *honest) Vanish(_ context.Context, e164 string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.numbers = slices.DeleteFunc(h.numbers, func(n *number) bool { return n.E164 == e164 })
	return nil
}

func (h *honest) Block(_ context.Context, e164 string, why telephony.Block) error {
	return h.block(e164, why)
}

func (h *honest) Unblock(_ context.Context, e164 string) error {
	return h.block(e164, telephony.BlockNone)
}

func (h *honest) block(e164 string, why telephony.Block) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.numbers {
		if n.E164 == e164 {
			n.Block = why
			return nil
		}
	}
	return noNumber()
}
