package telephonytest

import (
	"context"
	"fmt"

	"frontdesk/core/telephony"
)

// changeChecks returns the clauses on Change.
func changeChecks() []Check {
	return []Check{
		{Name: "Change changes the name, and the routing stays", Do: changeName},
		{Name: "Change changes the routing, and the name stays", Do: changeRouting},
		{Name: "Change of nothing changes nothing", Do: changeNothing},
		{Name: "routing to nowhere detaches the number", Do: detach},
		{Name: "Change from one kind of routing to another leaves the new one alone", Bound: hasTwoKinds,
			Do: oneRouting},
		{Name: "Change touches no other number", Do: changeTouchesOne},
	}
}

func hasTwoKinds(h Harness) bool { return len(h.routes()) > 1 }

// checkChange changes numbers of every kind of routing in turn, and checks that Change and Number return the
// number as want alters it.
func checkChange(ctx context.Context, h Harness, c telephony.Change, want func(*telephony.Number)) error {
	for _, from := range h.routes() {
		if err := changedFrom(ctx, h, from, c, want); err != nil {
			return err
		}
	}
	return nil
}

func changedFrom(
	ctx context.Context, h Harness, from telephony.Routing, c telephony.Change, want func(*telephony.Number),
) error {
	return withNumber(ctx, h, func(o *telephony.Order) { o.Routing = from }, func(n telephony.Number) error {
		want(&n)
		return changesTo(ctx, h, n, c)
	})
}

// changesTo makes a change and checks that the number is then as wanted.
func changesTo(ctx context.Context, h Harness, want telephony.Number, c telephony.Change) error {
	got, err := h.Open().Change(ctx, want.Ref, clone(c))
	if err != nil {
		return err
	}
	got.Pending, want.Pending = false, false
	if got != want {
		return fmt.Errorf("the change %s answered %+v, want %+v", describe(c), got, want)
	}
	return readsAs(ctx, h, want)
}

// clone copies a change, since a driver may alter the one it is given.
func clone(c telephony.Change) telephony.Change {
	if c.Name != nil {
		name := *c.Name
		c.Name = &name
	}
	if c.Routing != nil {
		to := *c.Routing
		c.Routing = &to
	}
	return c
}

func describe(c telephony.Change) string {
	switch {
	case c.Name != nil && c.Routing != nil:
		return fmt.Sprintf("to name %q and routing %+v", *c.Name, *c.Routing)
	case c.Name != nil:
		return fmt.Sprintf("to name %q", *c.Name)
	case c.Routing != nil:
		return fmt.Sprintf("to routing %+v", *c.Routing)
	}
	return "of nothing"
}

func changeName(ctx context.Context, h Harness) error {
	name := "Night desk"
	return checkChange(ctx, h, telephony.Change{Name: &name}, func(n *telephony.Number) { n.Name = name })
}

// changeRouting changes from one webhook to another, or from the provider's default if numbers have no
// webhooks.
func changeRouting(ctx context.Context, h Harness) error {
	from, to := h.routes()[0], telephony.Routing{VoiceURL: "https://agents.example.com/voice?employee=8"}
	if h.NoVoiceURL {
		from, to = telephony.Routing{}, from
	}
	return changedFrom(ctx, h, from, telephony.Change{Routing: &to},
		func(n *telephony.Number) { n.Routing = to })
}

func changeNothing(ctx context.Context, h Harness) error {
	return checkChange(ctx, h, telephony.Change{}, func(*telephony.Number) {})
}

// detach allows the number to lead nowhere, or to the provider's default.
func detach(ctx context.Context, h Harness) error {
	for _, from := range h.routes() {
		err := withNumber(ctx, h, func(o *telephony.Order) { o.Routing = from }, func(n telephony.Number) error {
			got, err := h.Open().Change(ctx, n.Ref, telephony.Change{Routing: &telephony.Routing{}})
			if err != nil {
				return err
			}
			if got.Routing != (telephony.Routing{}) && got.Routing != h.Default {
				return fmt.Errorf("a number that led to %+v was detached and leads to %+v, want nowhere or %+v", from,
					got.Routing, h.Default)
			}
			n.Routing = got.Routing
			return readsAs(ctx, h, n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oneRouting changes from every kind to every other: providers may keep several, and one takes precedence.
func oneRouting(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(n telephony.Number) error {
		for _, from := range h.routes() {
			for _, to := range h.routes() {
				for _, step := range []telephony.Routing{from, to} {
					n.Routing = step
					if err := changesTo(ctx, h, n, telephony.Change{Routing: &step}); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func changeTouchesOne(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(other telephony.Number) error {
		name := "Only this one"
		to := h.routes()[0]
		err := withNumber(ctx, h, nil, func(n telephony.Number) error {
			_, err := h.Open().Change(ctx, n.Ref, telephony.Change{Name: &name, Routing: &to})
			return err
		})
		if err != nil {
			return err
		}
		return readsAs(ctx, h, other)
	})
}
