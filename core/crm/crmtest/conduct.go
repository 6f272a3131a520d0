package crmtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
)

// conductChecks returns the checks of a driver as a whole and of its traits.
func conductChecks() []Check {
	return slices.Concat(conformance.Conduct(subject), []Check{
		{Name: "traits are constant", Harmless: true, Do: traitsAreConstant},
		{Name: "traits cost nothing to ask", Harmless: true, Bound: provides[conformance.CallCounter],
			Do: traitsCostNothing},
		{Name: "traits are no impossible numbers", Harmless: true, Do: traitsAreUsable},
		{Name: "a driver is safe for concurrent use, up to MaxConcurrent", Bound: reads, Do: concurrentUse},
	})
}

func subject(h Harness) conformance.Subject {
	d := h.Open()
	calls := []conformance.Call{
		{Name: "Account", Run: func(ctx context.Context) error { _, err := d.Account(ctx); return err }},
		{Name: "Vocabulary", Run: func(ctx context.Context) error { _, err := d.Vocabulary(ctx); return err }},
		{Name: "Create", Run: func(ctx context.Context) error {
			_, err := d.Create(ctx, newTicket("A call that may fail"))
			return err
		}},
	}
	if reads(h) {
		calls = append(calls, conformance.Call{Name: "ByNumber", Run: func(ctx context.Context) error {
			_, err := d.ByNumber(ctx, cmp.Or(h.Number, "1"))
			return err
		}})
	}
	if f, can := d.(crm.Finder); can {
		calls = append(calls, conformance.Call{Name: "Find", Run: func(ctx context.Context) error {
			_, err := f.Find(ctx, newTicket("A call that may fail"))
			return err
		}})
	}
	if f, can := d.(crm.IDFinder); can {
		calls = append(calls, conformance.Call{
			Name: "ByID", Run: func(ctx context.Context) error { _, err := f.ByID(ctx, "1"); return err },
		})
	}
	if f, can := d.(crm.ContactFinder); can {
		calls = append(calls, conformance.Call{Name: "FindContacts", Run: func(ctx context.Context) error {
			_, err := f.FindContacts(ctx, crm.ContactQuery{Email: "pat@example.com", Limit: 5})
			return err
		}}, conformance.Call{Name: "OpenTickets", Run: func(ctx context.Context) error {
			_, err := f.OpenTickets(ctx, cmp.Or(h.Known.ContactID, "1"), 5)
			return err
		}})
	}
	calls = append(calls, conformance.SetupCalls(d)...)
	return conformance.Subject{Driver: d, Calls: calls, Secrets: h.Secrets, Provider: h.Provider}
}

func traitsAreConstant(ctx context.Context, h Harness) error {
	d := h.Open()
	before := d.Traits()
	for _, ask := range []func() error{
		func() error { _, err := d.Account(ctx); return err },
		func() error { _, err := d.Vocabulary(ctx); return err },
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
	if t := traits(h); t.NumberWidth < 0 || t.MaxConcurrent < 0 {
		return fmt.Errorf("the traits are %+v, want no negative number", t)
	}
	return nil
}

// concurrentUse creates and reads tickets concurrently with one driver. It finds most with the race detector.
func concurrentUse(ctx context.Context, h Harness) error {
	d := h.Open()
	atOnce := 8
	if allowed := d.Traits().MaxConcurrent; allowed > 0 {
		atOnce = allowed
	}
	atOnce = min(atOnce, cmp.Or(h.AtOnce, 16))
	made := make([]crm.Ticket, atOnce)
	err := conformance.AtOnce(atOnce, func(i int) error {
		subject := fmt.Sprintf("Concurrent use, %d of %d", i+1, atOnce)
		t, err := d.Create(ctx, newTicket(subject))
		if err != nil {
			return fmt.Errorf("Create beside others: %w", err)
		}
		if made[i], err = d.ByNumber(ctx, t.Number); err != nil {
			return fmt.Errorf("ByNumber beside others: %w", err)
		}
		if t.Subject != subject || made[i].ID != t.ID || made[i].Subject != subject {
			return fmt.Errorf("%q was answered as %q and read back as %q", subject, t.Subject, made[i].Subject)
		}
		return nil
	})
	if err != nil {
		return err
	}
	ids, numbers := map[string]bool{}, map[string]bool{}
	for _, t := range made {
		if ids[t.ID] || numbers[t.Number] {
			return fmt.Errorf("two tickets made at once share id %s or number %s", t.ID, t.Number)
		}
		ids[t.ID], numbers[t.Number] = true, true
	}
	return nil
}
