package telephonytest

import (
	"context"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// listChecks returns the clauses on Numbers and Number.
func listChecks() []Check {
	return []Check{
		{Name: "Numbers lists each number once, whatever the pages", Do: pagesAreWhole},
		{Name: "a number that arrives by other means is listed", Bound: provides[Mover], Do: arrivalsAreListed},
		{Name: "a number that vanishes by other means is gone", Bound: provides[Mover], Do: vanishedIsGone},
		{Name: "a reference that the account has not is PHONE_NUMBER_NOT_FOUND", Harmless: true,
			Do: foreignReferences},
	}
}

func pagesAreWhole(ctx context.Context, h Harness) error {
	offers, err := search(ctx, h, 3)
	if err != nil {
		return err
	}
	var bought []telephony.Number
	for _, o := range offers {
		n, err := buy(ctx, h, h.order(o.E164, "One of three"))
		if err != nil {
			return giveBack(ctx, h, err, bought...)
		}
		bought = append(bought, n)
	}
	return giveBack(ctx, h, pagesHold(ctx, h, bought), bought...)
}

func pagesHold(ctx context.Context, h Harness, want []telephony.Number) error {
	for _, limit := range []int{0, 1, 2, 3, 100} {
		all, err := everyNumber(ctx, h, limit)
		if err != nil {
			return err
		}
		for _, n := range want {
			if got, there := all[n.Ref]; !there || got.E164 != n.E164 {
				return fmt.Errorf("in pages of %d the number %s is %+v, want %s", limit, n.Ref, got, n.E164)
			}
		}
	}
	return nil
}

func arrivalsAreListed(ctx context.Context, h Harness) error {
	return withArrival(ctx, h, func(n telephony.Number) error { return readsAs(ctx, h, n) })
}

func vanishedIsGone(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(n telephony.Number) error {
		if err := h.Provider.(Mover).Vanish(ctx, n.E164); err != nil {
			return err
		}
		return wantGone(ctx, h, n)
	})
}

// wantGone returns nil if the account neither lists the number nor can read it.
func wantGone(ctx context.Context, h Harness, n telephony.Number) error {
	_, there, err := findHeld(ctx, h, n.E164)
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("%s is the account's no longer, and is listed", n.E164)
	}
	_, err = h.Open().Number(ctx, n.Ref)
	return conformance.WantFault("Number of one that is the account's no longer", err, fault.NotFound,
		fault.ReasonNumberNotFound)
}

func foreignReferences(ctx context.Context, h Harness) error {
	name := "Nobody's"
	for _, ref := range []string{
		"", "0", "PN00000000000000000000000000000000", "1999999999999999999", "../Calls", "a/b", "a?b=c", "a#b",
		"a%2Fb", "'", "\x00", "\r\n",
	} {
		d := h.Open()
		for _, call := range []struct {
			what string
			run  func() error
		}{
			{"Number", func() error { _, err := d.Number(ctx, ref); return err }},
			{"Change", func() error { _, err := d.Change(ctx, ref, telephony.Change{Name: &name}); return err }},
			{"Release", func() error { return d.Release(ctx, ref) }},
		} {
			if err := conformance.WantFault(fmt.Sprintf("%s(%q)", call.what, ref), call.run(), fault.NotFound,
				fault.ReasonNumberNotFound); err != nil {
				return err
			}
		}
	}
	return nil
}
