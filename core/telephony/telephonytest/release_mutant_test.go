package telephonytest

import (
	"context"
	"errors"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func releaseMutants() []conformance.Mutant[Harness] {
	const (
		gone          = "a number released is the account's no longer"
		blockReported = "Number and Numbers tell why a number cannot be released"
		stays         = "a number that is blocked is not released, for the reason told"
	)
	noFault := func(n telephony.Number) telephony.Number { n.Block = telephony.BlockNone; return n }
	return []conformance.Mutant[Harness]{
		releases(gone, "only detaches it", func(ctx context.Context, d telephony.Driver, ref string) error {
			_, err := d.Change(ctx, ref, telephony.Change{Routing: &telephony.Routing{}})
			return err
		}),
		releases(gone, "forgives a second release", func(
			ctx context.Context, d telephony.Driver, ref string,
		) error {
			if err := d.Release(ctx, ref); !errors.Is(err, fault.NotFound) {
				return err
			}
			return nil
		}),
		releases("Release releases no other number", "empties the account", func(
			ctx context.Context, d telephony.Driver, ref string,
		) error {
			page, err := d.Numbers(ctx, telephony.Query{Limit: 100})
			if err != nil {
				return err
			}
			for _, n := range page.Numbers {
				if err := d.Release(ctx, n.Ref); err != nil {
					return err
				}
			}
			return nil
		}),
		alters(blockReported, "does not say", func(n *telephony.Number) { *n = noFault(*n) }),
		alters(blockReported, "says so of every number",
			func(n *telephony.Number) { n.Block = telephony.BlockEmergency }),
		mutate(blockReported, "does not say so in its list", func(d telephony.Driver) mutant {
			return mutant{numbers: func(ctx context.Context, q telephony.Query) (telephony.Page, error) {
				page, err := d.Numbers(ctx, q)
				for i, n := range page.Numbers {
					page.Numbers[i] = noFault(n)
				}
				return page, err
			}}
		}),
		mutate(blockReported, "takes one reason for another", func(d telephony.Driver) mutant {
			return mutant{alter: func(n telephony.Number) telephony.Number {
				if n.Block == telephony.BlockEmergency {
					n.Block = telephony.BlockLock
				}
				return n
			}}
		}),
		releases(stays, "says that it is released", func(
			ctx context.Context, d telephony.Driver, ref string,
		) error {
			if err := d.Release(ctx, ref); !errors.Is(err, fault.Conflict) {
				return err
			}
			return nil
		}),
		releases(stays, "does not say what stands against it", func(
			ctx context.Context, d telephony.Driver, ref string,
		) error {
			if err := d.Release(ctx, ref); !errors.Is(err, fault.Conflict) {
				return err
			}
			return fault.New(fault.Conflict, fault.ReasonProviderConflict, "It conflicts.")
		}),
		mutate(stays, "loses it all the same", func(d telephony.Driver) mutant {
			lost := map[string]bool{}
			return mutant{
				release: func(ctx context.Context, ref string) error {
					err := d.Release(ctx, ref)
					lost[ref] = errors.Is(err, fault.Conflict)
					return err
				},
				number: func(ctx context.Context, ref string) (telephony.Number, error) {
					if lost[ref] {
						return telephony.Number{}, noNumber()
					}
					return d.Number(ctx, ref)
				},
			}
		}),
	}
}
