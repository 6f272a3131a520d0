package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// phoneAccount is a provider's account with numbers, and the provider's stock.
type phoneAccount struct {
	account
	ref      string // the account's id; "" is none
	traits   telephony.Traits
	stock    []string // E.164
	held     []telephony.Number
	keys     map[string]string // E.164 -> the key it was bought under
	hidden   []string          // refs that the list does not show yet
	pageSize int
	template string // of the voice URL; without it and a trunk, nothing is routed
	trunk    string
	byNumber bool           // orders have no keys: an order of a held number succeeds for anyone
	bare     bool           // an order does not set name and routing
	fills    map[string]int // E.164 -> how many more looks until the order is filled
	slow     int            // initial value of fills, for orders of an asynchronous provider
	checks   bool           // drivers can check the setup
	setup    error          // the error of that check

	// touched is called before a number is ordered, changed or given back; nil: nothing is called.
	touched func(connection, e164 string)

	bought, released int // effects
	changes          []telephony.Change
}

func newPhoneAccount() *phoneAccount {
	a := &phoneAccount{
		account: account{calls: map[string]int{}}, traits: telephony.Traits{IdempotentBuy: true},
		keys: map[string]string{}, fills: map[string]int{}, pageSize: 100,
	}
	for i := range 200 {
		a.stock = append(a.stock, fmt.Sprintf("+1415555%04d", i))
	}
	return a
}

// ordersTake makes orders of the account complete only after the given number of looks, and not repeatable.
func (a *phoneAccount) ordersTake(looks int) {
	a.traits, a.slow = telephony.Traits{AsyncBuy: true}, looks
}

// snatch lets someone else buy a number.
func (a *phoneAccount) snatch(e164 string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stock = slices.DeleteFunc(a.stock, func(s string) bool { return s == e164 })
}

// restock puts the first count numbers up for sale, except those that the account holds.
func (a *phoneAccount) restock(count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stock = nil
	for i := range count {
		e164 := fmt.Sprintf("+1415555%04d", i)
		if !slices.ContainsFunc(a.held, func(n telephony.Number) bool { return n.E164 == e164 }) {
			a.stock = append(a.stock, e164)
		}
	}
}

func (a *phoneAccount) numbers() []telephony.Number {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.held)
}

func (a *phoneAccount) index(ref string) (int, error) {
	i := slices.IndexFunc(a.held, func(n telephony.Number) bool { return n.Ref == ref })
	if i < 0 {
		return 0, fault.New(fault.NotFound, fault.ReasonNumberNotFound, "No such number.")
	}
	return i, nil
}

type phoneDriver struct {
	*phoneAccount
	process    *process
	connection string
}

// touches reports to touched what is about to be done to a number.
func (d *phoneDriver) touches(e164 string) {
	if d.touched != nil {
		d.touched(d.connection, e164)
	}
}

// touchesRef is touches for a number by its reference, if the account has it.
func (d *phoneDriver) touchesRef(ref string) {
	d.mu.Lock()
	i, err := d.index(ref)
	e164 := ""
	if err == nil {
		e164 = d.held[i].E164
	}
	d.mu.Unlock()
	if err == nil {
		d.touches(e164)
	}
}

func (d *phoneDriver) Traits() telephony.Traits { return d.traits }

func (d *phoneDriver) Account(ctx context.Context) (telephony.Account, error) {
	return step(ctx, &d.account, d.process, "account",
		func() (telephony.Account, error) { return telephony.Account{Ref: d.ref}, nil })
}

func (d *phoneDriver) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	return step(ctx, &d.account, d.process, "search", func() ([]telephony.Offer, error) {
		var offers []telephony.Offer
		for _, e164 := range d.stock {
			if e164[2:5] == s.AreaCode && len(offers) < s.Limit {
				offers = append(offers, telephony.Offer{E164: e164})
			}
		}
		return offers, nil
	})
}

func (d *phoneDriver) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	d.touches(o.E164)
	return step(ctx, &d.account, d.process, "buy", func() (telephony.Number, error) {
		if held := slices.IndexFunc(d.held, func(n telephony.Number) bool { return n.E164 == o.E164 }); held >= 0 &&
			(d.byNumber || d.traits.IdempotentBuy && d.keys[o.E164] == o.Key) {
			return d.held[held], nil
		}
		i := slices.Index(d.stock, o.E164)
		if i < 0 {
			return telephony.Number{}, fault.New(fault.Conflict, fault.ReasonNumberTaken, "Someone else took it.")
		}
		d.stock = slices.Delete(d.stock, i, i+1)
		d.bought++
		n := telephony.Number{
			Ref: fmt.Sprintf("PN%s.%d", o.E164[2:], d.bought), E164: o.E164, Name: o.Name, Routing: o.Routing,
		}
		if d.bare {
			n.Name, n.Routing = "", telephony.Routing{}
		}
		d.held, d.keys[o.E164] = append(d.held, n), o.Key
		if d.traits.AsyncBuy && d.slow > 0 {
			d.fills[o.E164] = d.slow
			return telephony.Number{E164: o.E164, Pending: true}, nil
		}
		return n, nil
	})
}

func (d *phoneDriver) FindOrder(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	return step(ctx, &d.account, d.process, "ordered", func() (telephony.Number, error) {
		held := slices.IndexFunc(d.held, func(n telephony.Number) bool { return n.E164 == o.E164 })
		switch {
		case held >= 0 && d.keys[o.E164] == o.Key && d.fills[o.E164] > 0:
			d.fills[o.E164]--
			return telephony.Number{E164: o.E164, Pending: true}, nil
		case held >= 0 && (d.byNumber || d.keys[o.E164] == o.Key):
			return d.held[held], nil
		case held >= 0 || !slices.Contains(d.stock, o.E164):
			return telephony.Number{}, fault.New(fault.Conflict, fault.ReasonNumberTaken, "Someone else took it.")
		}
		return telephony.Number{}, fault.New(fault.NotFound, fault.ReasonNumberNotFound, "No such order.")
	})
}

func (d *phoneDriver) Route(employee int64, e164 string) (telephony.Routing, bool) {
	if d.trunk != "" {
		return telephony.Routing{SIPTrunk: d.trunk}, true
	}
	return telephony.Routing{VoiceURL: telephony.VoiceURL(d.template, employee, e164)}, d.template != ""
}

func (d *phoneDriver) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	return step(ctx, &d.account, d.process, "numbers", func() (telephony.Page, error) {
		shown := slices.DeleteFunc(slices.Clone(d.held),
			func(n telephony.Number) bool { return slices.Contains(d.hidden, n.Ref) || d.fills[n.E164] > 0 })
		skip, _ := strconv.Atoi(q.Cursor)
		page := telephony.Page{Numbers: shown[min(skip, len(shown)):min(skip+d.pageSize, len(shown))]}
		if skip+d.pageSize < len(shown) {
			page.Next = strconv.Itoa(skip + d.pageSize)
		}
		return page, nil
	})
}

func (d *phoneDriver) Number(ctx context.Context, ref string) (telephony.Number, error) {
	return step(ctx, &d.account, d.process, "number", func() (telephony.Number, error) {
		i, err := d.index(ref)
		if err != nil {
			return telephony.Number{}, err
		}
		return d.held[i], nil
	})
}

func (d *phoneDriver) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	d.touchesRef(ref)
	return step(ctx, &d.account, d.process, "change", func() (telephony.Number, error) {
		i, err := d.index(ref)
		if err != nil {
			return telephony.Number{}, err
		}
		if c.Name != nil {
			d.held[i].Name = *c.Name
		}
		if c.Routing != nil {
			d.held[i].Routing = *c.Routing
		}
		d.changes = append(d.changes, c)
		return d.held[i], nil
	})
}

func (d *phoneDriver) Release(ctx context.Context, ref string) error {
	d.touchesRef(ref)
	_, err := step(ctx, &d.account, d.process, "release", func() (struct{}, error) {
		i, err := d.index(ref)
		if err != nil {
			return struct{}{}, err
		}
		if f := d.held[i].Block.Fault(); f != nil {
			return struct{}{}, f
		}
		d.held = slices.Delete(d.held, i, i+1)
		d.released++
		return struct{}{}, nil
	})
	return err
}

// checkingPhone is a driver that can check its connection's settings.
type checkingPhone struct{ *phoneDriver }

var _ adapter.SetupChecker = checkingPhone{}

func (d checkingPhone) CheckSetup(ctx context.Context) error {
	_, err := step(ctx, &d.account, d.process, "check", func() (struct{}, error) { return struct{}{}, d.setup })
	return err
}
