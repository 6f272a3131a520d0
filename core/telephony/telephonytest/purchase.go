package telephonytest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// newKey returns a random key.
func newKey() string { return strings.ToLower(rand.Text()) }

// order returns a purchase that begins now.
func (h Harness) order(e164, name string) telephony.Order {
	return telephony.Order{Key: newKey(), Since: h.now(), E164: e164, Name: name}
}

// later returns the same purchase with a later start: by any clock, the account held its present numbers
// before.
func later(o telephony.Order) telephony.Order {
	o.Since = o.Since.Add(time.Hour)
	return o
}

// search returns exactly n numbers for sale.
func search(ctx context.Context, h Harness, n int) ([]telephony.Offer, error) {
	offers, err := h.Open().Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: n})
	if err != nil {
		return nil, err
	}
	if len(offers) < n {
		return nil, fmt.Errorf("%d numbers are for sale in %s, the check needs %d", len(offers), h.AreaCode, n)
	}
	return offers[:n], nil
}

// orderOf returns an order of a number that is for sale.
func orderOf(ctx context.Context, h Harness) (telephony.Order, error) {
	offers, err := search(ctx, h, 1)
	if err != nil {
		return telephony.Order{}, err
	}
	return h.order(offers[0].E164, "Front office"), nil
}

// withNumber buys and completes a number, runs the check on it, and releases it.
func withNumber(
	ctx context.Context, h Harness, how func(*telephony.Order), check func(n telephony.Number) error,
) error {
	return asBought(ctx, h, how, func(o telephony.Order, n telephony.Number) error {
		n, err := complete(ctx, h, o, n)
		if err != nil {
			return err
		}
		return check(n)
	})
}

// asBought is like withNumber, but does not complete the number.
func asBought(
	ctx context.Context, h Harness, how func(*telephony.Order),
	check func(o telephony.Order, n telephony.Number) error,
) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	if how != nil {
		how(&o)
	}
	return withOrder(ctx, h, o, func(n telephony.Number) error { return check(o, n) })
}

// withOrder makes the order, runs the check on the number as it was bought, and releases it.
func withOrder(
	ctx context.Context, h Harness, o telephony.Order, check func(n telephony.Number) error,
) error {
	n, err := buy(ctx, h, o)
	if err != nil {
		return fmt.Errorf("Buy of %+v: %w", o, err)
	}
	return giveBack(ctx, h, check(n), n)
}

// buy orders a number and waits until it has a reference.
func buy(ctx context.Context, h Harness, o telephony.Order) (telephony.Number, error) {
	n, err := h.Open().Buy(ctx, o)
	if err != nil {
		return telephony.Number{}, err
	}
	return awaitFill(ctx, h, o, n)
}

// soon is how long filling an order may take.
const soon = 10 * time.Second

// awaitFill waits until an order is filled that Buy or FindOrder returned as pending. If the provider is no
// Filler, a pending number with a reference is enough.
func awaitFill(
	ctx context.Context, h Harness, o telephony.Order, n telephony.Number,
) (telephony.Number, error) {
	if !n.Pending || !h.Open().Traits().AsyncBuy {
		return n, nil
	}
	filler, hurries := h.Provider.(Filler)
	if hurries {
		if err := filler.Fill(ctx); err != nil {
			return n, err
		}
	}
	pause, waited := 10*time.Millisecond, time.Duration(0)
	for ; n.Pending && (hurries || n.Ref == ""); pause = min(2*pause, time.Second) {
		if waited > soon {
			return n, fmt.Errorf("the order %+v is not filled after %s: %+v", o, waited, n)
		}
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-time.After(pause):
			waited += pause
		}
		var err error
		if n, err = h.Open().FindOrder(ctx, o); err != nil {
			return n, fmt.Errorf("FindOrder of an order under way: %w", err)
		}
	}
	if n.Ref == "" || n.E164 != o.E164 {
		return n, fmt.Errorf("the order %+v was filled with %+v, want that number with a reference", o, n)
	}
	return n, nil
}

// complete changes the name and routing that Buy left to Change, as the gateway does after a purchase.
func complete(
	ctx context.Context, h Harness, o telephony.Order, n telephony.Number,
) (telephony.Number, error) {
	var c telephony.Change
	if n.Name != o.Name {
		c.Name = &o.Name
	}
	if o.Routing != (telephony.Routing{}) && n.Routing != o.Routing {
		c.Routing = &o.Routing
	}
	if c == (telephony.Change{}) {
		return n, nil
	}
	if err := readsAs(ctx, h, n); err != nil {
		return n, fmt.Errorf("Buy left a part of the order to Change: %w", err)
	}
	changed, err := h.Open().Change(ctx, n.Ref, clone(c))
	if err != nil {
		return n, fmt.Errorf("the change %s that Buy left: %w", describe(c), err)
	}
	return changed, nil
}

// wantSpent checks that do makes that many purchases. If they cannot be counted, it only calls do.
func wantSpent(ctx context.Context, h Harness, want int, what string, do func() error) error {
	spender, counts := h.Provider.(Spender)
	if !counts {
		return do()
	}
	before, err := spender.Purchases(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := spender.Purchases(ctx)
	if err == nil && after-before != want {
		err = fmt.Errorf("%s: %d purchases, want %d", what, after-before, want)
	}
	return err
}

// giveBack releases the numbers that a check has bought, except those that are already gone.
func giveBack(ctx context.Context, h Harness, checked error, bought ...telephony.Number) error {
	all := []error{checked}
	for _, n := range bought {
		if n.Ref == "" {
			continue
		}
		if err := h.Open().Release(ctx, n.Ref); err != nil && !errors.Is(err, fault.NotFound) {
			all = append(all, fmt.Errorf("releasing what the check has bought: %w", err))
		}
	}
	return errors.Join(all...)
}

// everyNumber reads all pages and returns the numbers by reference.
func everyNumber(ctx context.Context, h Harness, limit int) (map[string]telephony.Number, error) {
	d := h.Open()
	all, cursors := map[string]telephony.Number{}, map[string]bool{}
	for q := (telephony.Query{Limit: limit}); ; {
		page, err := d.Numbers(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("Numbers(%+v): %w", q, err)
		}
		if limit > 0 && len(page.Numbers) > limit {
			return nil, fmt.Errorf("Numbers(%+v) answered %d numbers, want %d at most", q, len(page.Numbers), limit)
		}
		for _, n := range page.Numbers {
			if _, twice := all[n.Ref]; twice || n.Ref == "" || n.E164 == "" {
				return nil, fmt.Errorf("Numbers listed %+v without reference or twice", n)
			}
			all[n.Ref] = n
		}
		if page.Next == "" {
			return all, nil
		}
		if cursors[page.Next] {
			return nil, fmt.Errorf("the pages come round to cursor %q again", page.Next)
		}
		cursors[page.Next] = true
		q.Cursor = page.Next
	}
}

// findHeld reports whether the account lists a number.
func findHeld(ctx context.Context, h Harness, e164 string) (telephony.Number, bool, error) {
	all, err := everyNumber(ctx, h, 0)
	if err != nil {
		return telephony.Number{}, false, err
	}
	for _, n := range all {
		if n.E164 == e164 {
			return n, true, nil
		}
	}
	return telephony.Number{}, false, nil
}

// readsAs returns nil if the number reads as wanted.
func readsAs(ctx context.Context, h Harness, want telephony.Number) error {
	got, err := h.Open().Number(ctx, want.Ref)
	if err != nil {
		return fmt.Errorf("reading number %s back: %w", want.Ref, err)
	}
	got.Pending, want.Pending = false, false // an order may be filled in between
	if got != want {
		return fmt.Errorf("the number was told as %+v and reads as %+v", want, got)
	}
	return nil
}
