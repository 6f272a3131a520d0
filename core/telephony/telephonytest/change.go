package telephonytest

import (
	"context"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// changeChecks are the clauses on Change.
func changeChecks() []Check {
	return []Check{
		{Name: "Change changes the name, and the routing stays", Do: changeName},
		{Name: "Change changes the routing, and the name stays", Do: changeRouting},
		{Name: "Change of nothing changes nothing", Do: changeNothing},
		{Name: "routing to nowhere detaches the number", Do: detach},
		{Name: "at most one routing is set after a change", Bound: hasTrunk, Do: oneRouting},
		{Name: "Change touches no other number", Do: changeTouchesOne},
	}
}

// releaseChecks are the clauses on Release.
func releaseChecks() []Check {
	return []Check{
		{Name: "a number released is the account's no longer", Do: releasedIsGone},
		{Name: "Release releases no other number", Do: releaseTouchesOne},
	}
}

// changed changes a number that was bought with a name and a voice URL, and wants it told and read as is.
func changed(ctx context.Context, h Harness, c telephony.Change, want func(*telephony.Number)) error {
	routed := func(o *telephony.Order) { o.Routing.VoiceURL = voiceURL }
	return withNumber(ctx, h, routed, func(n telephony.Number) error {
		got, err := h.Open().Change(ctx, n.Ref, copied(c))
		if err != nil {
			return err
		}
		want(&n)
		got.Pending, n.Pending = false, false
		if got != n {
			return fmt.Errorf("the change %s answered %+v, want %+v", describe(c), got, n)
		}
		return readsAs(ctx, h, n)
	})
}

// copied keeps what a check wants apart from what a driver is given, and may alter.
func copied(c telephony.Change) telephony.Change {
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
	return changed(ctx, h, telephony.Change{Name: &name}, func(n *telephony.Number) { n.Name = name })
}

func changeRouting(ctx context.Context, h Harness) error {
	to := telephony.Routing{VoiceURL: "https://agents.example.com/voice?employee=8"}
	return changed(ctx, h, telephony.Change{Routing: &to}, func(n *telephony.Number) { n.Routing = to })
}

func changeNothing(ctx context.Context, h Harness) error {
	return changed(ctx, h, telephony.Change{}, func(*telephony.Number) {})
}

func detach(ctx context.Context, h Harness) error {
	nowhere := telephony.Routing{}
	return changed(ctx, h, telephony.Change{Routing: &nowhere}, func(n *telephony.Number) { n.Routing = nowhere })
}

// oneRouting goes from a URL to a trunk: providers keep both, and one of them wins.
func oneRouting(ctx context.Context, h Harness) error {
	to := telephony.Routing{SIPTrunk: h.Trunk}
	return changed(ctx, h, telephony.Change{Routing: &to}, func(n *telephony.Number) { n.Routing = to })
}

func changeTouchesOne(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(other telephony.Number) error {
		name := "Only this one"
		to := telephony.Routing{VoiceURL: voiceURL}
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

func releasedIsGone(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(n telephony.Number) error {
		if err := h.Open().Release(ctx, n.Ref); err != nil {
			return err
		}
		if err := wantGone(ctx, h, n); err != nil {
			return err
		}
		return conformance.WantFault("a second Release", h.Open().Release(ctx, n.Ref), fault.NotFound, fault.ReasonNumberNotFound)
	})
}

func releaseTouchesOne(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(other telephony.Number) error {
		if err := withNumber(ctx, h, nil, func(telephony.Number) error { return nil }); err != nil {
			return err
		}
		return readsAs(ctx, h, other)
	})
}
