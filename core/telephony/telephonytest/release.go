package telephonytest

import (
	"context"
	"errors"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// releaseChecks returns the clauses on Release.
func releaseChecks() []Check {
	return []Check{
		{Name: "a number released is the account's no longer", Do: releasedIsGone},
		{Name: "Release releases no other number", Do: releaseTouchesOne},
		{Name: "Number and Numbers tell why a number cannot be released", Bound: provides[Blocker],
			Do: blockIsReported},
		{Name: "a number that is blocked is not released, for the reason told", Bound: provides[Blocker],
			Do: blockedStays},
	}
}

func releasedIsGone(ctx context.Context, h Harness) error {
	return withNumber(ctx, h, nil, func(n telephony.Number) error {
		if err := h.Open().Release(ctx, n.Ref); err != nil {
			return err
		}
		if err := wantGone(ctx, h, n); err != nil {
			return err
		}
		return conformance.WantFault("a second Release", h.Open().Release(ctx, n.Ref), fault.NotFound,
			fault.ReasonNumberNotFound)
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

// forEachBlock runs the check on a number that the provider would not take back, for every block that it
// knows.
func forEachBlock(ctx context.Context, h Harness, check func(n telephony.Number) error) error {
	blocker, known := h.Provider.(Blocker), 0
	for _, why := range []telephony.Block{telephony.BlockEmergency, telephony.BlockLock} {
		err := withNumber(ctx, h, nil, func(n telephony.Number) error {
			if n.Block != telephony.BlockNone {
				return fmt.Errorf("a number that was just bought is %+v", n)
			}
			err := blocker.Block(ctx, n.E164, why)
			if errors.Is(err, errors.ErrUnsupported) {
				return nil
			}
			if err != nil {
				return err
			}
			known++
			n.Block = why
			return errors.Join(check(n), blocker.Unblock(ctx, n.E164))
		})
		if err != nil {
			return err
		}
	}
	if known == 0 {
		return errors.New("the provider knows no reason to block a number, and cannot be a Blocker")
	}
	return nil
}

func blockIsReported(ctx context.Context, h Harness) error {
	return forEachBlock(ctx, h, func(n telephony.Number) error {
		listed, _, err := findHeld(ctx, h, n.E164)
		if err != nil {
			return err
		}
		if listed.Block != n.Block {
			return fmt.Errorf("a number with block %q is listed as %+v", n.Block, listed)
		}
		return readsAs(ctx, h, n)
	})
}

func blockedStays(ctx context.Context, h Harness) error {
	return forEachBlock(ctx, h, func(n telephony.Number) error {
		want := n.Block.Fault()
		if err := conformance.WantFault("Release of a blocked number", h.Open().Release(ctx, n.Ref), want.Code,
			want.Reason); err != nil {
			return err
		}
		return readsAs(ctx, h, n)
	})
}
