package telephonytest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// newKey makes a key that no account has seen.
func newKey() string { return strings.ToLower(rand.Text()) }

// offered answers exactly n numbers for sale.
func offered(ctx context.Context, h Harness, n int) ([]telephony.Offer, error) {
	offers, err := h.Open().Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: n})
	if err != nil {
		return nil, err
	}
	if len(offers) < n {
		return nil, fmt.Errorf("%d numbers are for sale in %s, the check needs %d", len(offers), h.AreaCode, n)
	}
	return offers[:n], nil
}

// orderOf asks for one number that is for sale.
func orderOf(ctx context.Context, h Harness) (telephony.Order, error) {
	offers, err := offered(ctx, h, 1)
	if err != nil {
		return telephony.Order{}, err
	}
	return telephony.Order{Key: newKey(), E164: offers[0].E164, Name: "Front office"}, nil
}

// withNumber buys a number, runs the check on it, and releases it.
func withNumber(ctx context.Context, h Harness, how func(*telephony.Order), check func(n telephony.Number) error) error {
	o, err := orderOf(ctx, h)
	if err != nil {
		return err
	}
	if how != nil {
		how(&o)
	}
	n, err := h.Open().Buy(ctx, o)
	if err != nil {
		return fmt.Errorf("Buy of %+v: %w", o, err)
	}
	return giveBack(ctx, h, check(n), n)
}

// giveBack releases what a check has bought. What is no longer there needs no release.
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

// everyNumber follows all pages, by reference.
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

// held answers whether the account lists a number.
func held(ctx context.Context, h Harness, e164 string) (telephony.Number, bool, error) {
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

// readsAs answers nil when the number reads as it was told.
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
