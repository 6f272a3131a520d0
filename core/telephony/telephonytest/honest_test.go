package telephonytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"frontdesk/core/adapter/adaptertest"
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
}

type number struct {
	telephony.Number
	key string
}

var (
	_ telephony.Driver = (*honest)(nil)
	_ Spender          = (*honest)(nil)
	_ Rival            = (*honest)(nil)
	_ Mover            = (*honest)(nil)
)

// initial is where numbers lead that were bought without routing.
var initial = telephony.Routing{VoiceURL: "https://demo.example.com/welcome"}

func newHarness(*testing.T) Harness {
	h := &honest{}
	return Harness{
		Open:     func() telephony.Driver { return h },
		AreaCode: "415", Empty: "212", Account: telephony.Account{Name: "Desk", Ref: "AC1"}, Default: initial, Trunk: "TK1",
		Secrets: []string{"hunter2"}, Provider: h,
	}
}

func (*honest) Traits() telephony.Traits {
	return telephony.Traits{IdempotentBuy: true, MaxConcurrent: 12}
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
	for _, n := range h.numbers {
		if n.E164 == o.E164 && n.key == o.Key {
			return n.Number, nil
		}
	}
	if !h.forSale(o.E164) {
		return telephony.Number{}, fault.New(fault.Conflict, fault.ReasonNumberTaken, "Somebody else was faster.")
	}
	h.purchases++
	n := telephony.Number{Ref: fmt.Sprintf("ref-%d", h.purchases), E164: o.E164, Name: o.Name, Routing: o.Routing}
	if n.Routing == (telephony.Routing{}) {
		n.Routing = initial
	}
	h.numbers = append(h.numbers, &number{n, o.Key})
	return n, h.Leave()
}

func (h *honest) Ordered(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.numbers {
		if n.E164 == o.E164 && n.key == o.Key {
			return n.Number, nil
		}
	}
	if !h.forSale(o.E164) {
		return telephony.Number{}, fault.New(fault.Conflict, fault.ReasonNumberTaken, "Somebody else was faster.")
	}
	return telephony.Number{}, noNumber()
}

func (*honest) Route(employee int64, e164 string) (telephony.Routing, bool) {
	return telephony.Routing{VoiceURL: telephony.VoiceURL("https://agents.example.com/voice?employee={cloud_employee_id}&number={e164}", employee, e164)}, true
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
	for _, n := range h.numbers {
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
	_, err := h.with(ctx, ref, h.drop)
	return err
}

func (h *honest) drop(n *number) {
	h.numbers = slices.DeleteFunc(h.numbers, func(other *number) bool { return other == n })
}

func (h *honest) with(ctx context.Context, ref string, do func(*number)) (telephony.Number, error) {
	if err := h.Enter(ctx); err != nil {
		return telephony.Number{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.numbers {
		if n.Ref == ref {
			do(n)
			return n.Number, nil
		}
	}
	return telephony.Number{}, noNumber()
}

func noNumber() error { return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is none.") }

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
	h.numbers = append(h.numbers, &number{telephony.Number{Ref: fmt.Sprintf("ref-%d", h.purchases), E164: e164}, ""})
	return nil
}

func (h *honest) Vanish(_ context.Context, e164 string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.numbers = slices.DeleteFunc(h.numbers, func(n *number) bool { return n.E164 == e164 })
	return nil
}
