package telephonytest

import (
	"context"
	"fmt"
	"slices"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

// conductChecks returns the clauses on a driver as a whole and on its traits.
func conductChecks() []Check {
	return slices.Concat(conformance.Conduct(subject), []Check{
		{Name: "traits are constant", Harmless: true, Do: traitsAreConstant},
		{Name: "traits cost nothing to ask", Harmless: true, Bound: provides[conformance.CallCounter],
			Do: traitsCostNothing},
		{Name: "traits are no impossible numbers", Harmless: true, Do: traitsAreUsable},
		{Name: "a driver is safe for concurrent use, up to MaxConcurrent", Harmless: true, Do: concurrentReads},
		{Name: "a driver buys for several callers at once, and mixes none of them up", Do: concurrentPurchases},
	})
}

// subject calls every method. If a call could cost money, its number is not for sale, or does not exist.
func subject(h Harness) conformance.Subject {
	d := h.Open()
	name := "nowhere"
	return conformance.Subject{Driver: d, Secrets: h.Secrets, Provider: h.Provider, Calls: []conformance.Call{
		{Name: "Account", Run: func(ctx context.Context) error { _, err := d.Account(ctx); return err }},
		{Name: "Search", Run: func(ctx context.Context) error {
			_, err := d.Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: 1})
			return err
		}},
		{Name: "Buy", Run: func(ctx context.Context) error {
			_, err := d.Buy(ctx, h.order(nobodys, name))
			return err
		}},
		{Name: "FindOrder", Run: func(ctx context.Context) error {
			_, err := d.FindOrder(ctx, h.order(nobodys, name))
			return err
		}},
		{Name: "Numbers", Run: func(ctx context.Context) error {
			_, err := d.Numbers(ctx, telephony.Query{})
			return err
		}},
		{Name: "Number", Run: func(ctx context.Context) error { _, err := d.Number(ctx, "0"); return err }},
		{Name: "Change", Run: func(ctx context.Context) error {
			_, err := d.Change(ctx, "0", telephony.Change{Name: &name})
			return err
		}},
		{Name: "Release", Run: func(ctx context.Context) error { return d.Release(ctx, "0") }},
	}}
}

// nobodys is a number that nobody sells: exchange 555 is for directories and, from line 0100 to 0199, for
// fiction.
const nobodys = "+12025550199"

func traitsAreConstant(ctx context.Context, h Harness) error {
	d := h.Open()
	before := d.Traits()
	for _, ask := range []func() error{
		func() error { _, err := d.Account(ctx); return err },
		func() error { _, err := d.Numbers(ctx, telephony.Query{}); return err },
	} {
		if err := ask(); err != nil {
			return err
		}
		if after := d.Traits(); after != before {
			return fmt.Errorf("the traits were %+v and became %+v", before, after)
		}
	}
	return nil
}

func traitsCostNothing(_ context.Context, h Harness) error {
	d := h.Open()
	return conformance.CostsNothing(h.Provider, "Traits", func() { d.Traits() })
}

func traitsAreUsable(_ context.Context, h Harness) error {
	if t := h.Open().Traits(); t.MaxConcurrent < 0 {
		return fmt.Errorf("the traits are %+v, want no negative number", t)
	}
	return nil
}

// concurrentReads reads concurrently with one driver. It finds most under the race detector.
func concurrentReads(ctx context.Context, h Harness) error {
	d := h.Open()
	atOnce := 8
	if allowed := d.Traits().MaxConcurrent; allowed > 0 {
		atOnce = min(allowed, 16)
	}
	want, err := d.Account(ctx)
	if err != nil {
		return err
	}
	return conformance.AtOnce(atOnce, func(int) error {
		got, err := d.Account(ctx)
		if err != nil {
			return fmt.Errorf("Account beside others: %w", err)
		}
		if got != want {
			return fmt.Errorf("the account is %+v, and beside others %+v", want, got)
		}
		if _, err := d.Search(ctx, telephony.Search{AreaCode: h.AreaCode, Limit: 2}); err != nil {
			return fmt.Errorf("Search beside others: %w", err)
		}
		if _, err := d.Numbers(ctx, telephony.Query{}); err != nil {
			return fmt.Errorf("Numbers beside others: %w", err)
		}
		return nil
	})
}

func concurrentPurchases(ctx context.Context, h Harness) error {
	d := h.Open()
	offers, err := search(ctx, h, 3)
	if err != nil {
		return err
	}
	bought := make([]telephony.Number, len(offers))
	err = conformance.AtOnce(len(offers), func(i int) error {
		o := h.order(offers[i].E164, fmt.Sprintf("Number %d of %d", i+1, len(offers)))
		n, err := d.Buy(ctx, o)
		if err != nil {
			return fmt.Errorf("Buy beside others: %w", err)
		}
		if bought[i], err = awaitFill(ctx, h, o, n); err != nil {
			return err
		}
		if n, err = complete(ctx, h, o, bought[i]); err != nil {
			return err
		}
		if n.E164 != o.E164 || n.Name != o.Name {
			return fmt.Errorf("Buy of %s as %q led to %s as %q", o.E164, o.Name, n.E164, n.Name)
		}
		return nil
	})
	return giveBack(ctx, h, err, bought...)
}
