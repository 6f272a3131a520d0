package telephonytest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func listMutants() []conformance.Mutant[Harness] {
	const (
		whole   = "Numbers lists each number once, whatever the pages"
		arrived = "a number that arrives by other means is listed"
		gone    = "a number that vanishes by other means is gone"
		foreign = "a reference that the account has not is PHONE_NUMBER_NOT_FOUND"
	)
	lists := func(
		how string, list func(ctx context.Context, d telephony.Driver, q telephony.Query) (telephony.Page, error),
	) conformance.Mutant[Harness] {
		return mutate(whole, how, func(d telephony.Driver) mutant {
			return mutant{numbers: func(ctx context.Context, q telephony.Query) (telephony.Page, error) {
				return list(ctx, d, q)
			}}
		})
	}
	refuses := func(how string, refusal *fault.Error) conformance.Mutant[Harness] {
		return mutate(foreign, how, func(d telephony.Driver) mutant {
			return mutant{number: func(ctx context.Context, ref string) (telephony.Number, error) {
				n, err := d.Number(ctx, ref)
				if errors.Is(err, fault.NotFound) {
					return n, refusal
				}
				return n, err
			}}
		})
	}
	// bought returns a mutant that knows only the numbers that were bought through it.
	bought := func(check, how string) conformance.Mutant[Harness] {
		return mutate(check, how, func(d telephony.Driver) mutant {
			known := map[string]telephony.Number{}
			return mutant{
				buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
					n, err := d.Buy(ctx, o)
					known[n.Ref] = n
					return n, err
				},
				number: func(_ context.Context, ref string) (telephony.Number, error) {
					if n, there := known[ref]; there {
						return n, nil
					}
					return telephony.Number{}, noNumber()
				},
				numbers: func(context.Context, telephony.Query) (telephony.Page, error) {
					return telephony.Page{Numbers: slices.Collect(maps.Values(known))}, nil
				},
			}
		})
	}
	return []conformance.Mutant[Harness]{
		lists("knows one page", func(
			ctx context.Context, d telephony.Driver, q telephony.Query,
		) (telephony.Page, error) {
			page, err := d.Numbers(ctx, q)
			page.Next = ""
			return page, err
		}),
		lists("takes no limit", func(
			ctx context.Context, d telephony.Driver, q telephony.Query,
		) (telephony.Page, error) {
			q.Limit = 100
			return d.Numbers(ctx, q)
		}),
		lists("comes round", func(
			ctx context.Context, d telephony.Driver, q telephony.Query,
		) (telephony.Page, error) {
			q.Cursor = ""
			return d.Numbers(ctx, q)
		}),
		lists("overlaps its pages", func(
			ctx context.Context, d telephony.Driver, q telephony.Query,
		) (telephony.Page, error) {
			page, err := d.Numbers(ctx, q)
			if q.Cursor != "" && err == nil {
				n, err := d.Number(ctx, q.Cursor)
				page.Numbers = append([]telephony.Number{n}, page.Numbers...)
				page.Numbers = page.Numbers[:min(len(page.Numbers), max(q.Limit, 2))]
				return page, err
			}
			return page, err
		}),
		bought(arrived, "knows only what it bought"),
		bought(gone, "remembers what it bought"),
		refuses("finds the reference wrong", fault.New(fault.Invalid, fault.ReasonProviderRefused, "20404")),
		refuses("does not say what is missing", fault.New(fault.NotFound, fault.ReasonNotFound, "404")),
		changes(foreign, "changes nothing, and says nothing", func(
			context.Context, telephony.Driver, string, telephony.Change,
		) (telephony.Number, error) {
			return telephony.Number{}, nil
		}),
		mutate(foreign, "releases nothing, and says nothing", func(telephony.Driver) mutant {
			return mutant{release: func(context.Context, string) error { return nil }}
		}),
	}
}

func changeMutants() []conformance.Mutant[Harness] {
	const (
		name    = "Change changes the name, and the routing stays"
		routing = "Change changes the routing, and the name stays"
		nothing = "Change of nothing changes nothing"
		away    = "routing to nowhere detaches the number"
		one     = "Change from one kind of routing to another leaves the new one alone"
		others  = "Change touches no other number"
	)
	empty := ""
	before := func(
		ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
	) (telephony.Number, error) {
		n, err := d.Number(ctx, ref)
		if err != nil {
			return n, err
		}
		_, err = d.Change(ctx, ref, c)
		return n, err
	}
	whole := func(
		ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
	) (telephony.Number, error) {
		if c.Routing == nil {
			c.Routing = &telephony.Routing{}
		}
		if c.Name == nil {
			c.Name = &empty
		}
		return d.Change(ctx, ref, c)
	}
	return []conformance.Mutant[Harness]{
		changes(name, "drops the routing", whole),
		changes(name, "answers what was", before),
		changes(name, "only says so", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			n, err := d.Number(ctx, ref)
			if c.Name != nil {
				n.Name = *c.Name
			}
			return n, err
		}),
		changes(routing, "drops the name", whole),
		changes(routing, "answers what was", before),
		changes(nothing, "empties the number", whole),
		changes(nothing, "refuses it", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			if c == (telephony.Change{}) {
				return telephony.Number{}, fault.InvalidField("name", "is required.")
			}
			return d.Change(ctx, ref, c)
		}),
		changes(away, "takes it for not given", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			if c.Routing != nil && *c.Routing == (telephony.Routing{}) {
				c.Routing = nil
			}
			return d.Change(ctx, ref, c)
		}),
		changes(away, "forgets the trunk", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			n, err := d.Number(ctx, ref)
			if err == nil && c.Routing != nil && *c.Routing == (telephony.Routing{}) {
				c.Routing.SIPTrunk = n.Routing.SIPTrunk
			}
			if err != nil {
				return n, err
			}
			return d.Change(ctx, ref, c)
		}),
		changes(name, "drops an application", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			n, err := d.Number(ctx, ref)
			if err == nil && c.Routing == nil && n.Routing.Application != "" {
				c.Routing = &telephony.Routing{}
			}
			if err != nil {
				return n, err
			}
			return d.Change(ctx, ref, c)
		}),
		changes(one, "keeps the URL beside the trunk", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			if c.Routing != nil && c.Routing.VoiceURL == "" {
				n, err := d.Number(ctx, ref)
				if err != nil {
					return n, err
				}
				c.Routing.VoiceURL = n.Routing.VoiceURL
			}
			return d.Change(ctx, ref, c)
		}),
		changes(one, "takes an application for a trunk", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			if c.Routing != nil && c.Routing.Application != "" {
				c.Routing = &telephony.Routing{SIPTrunk: c.Routing.Application}
			}
			return d.Change(ctx, ref, c)
		}),
		changes(one, "keeps what wins", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			n, err := d.Number(ctx, ref)
			if err == nil && n.Routing.SIPTrunk != "" && c.Routing != nil && c.Routing.SIPTrunk == "" {
				c.Routing = nil
			}
			if err != nil {
				return n, err
			}
			return d.Change(ctx, ref, c)
		}),
		changes(others, "changes the account", func(
			ctx context.Context, d telephony.Driver, ref string, c telephony.Change,
		) (telephony.Number, error) {
			page, err := d.Numbers(ctx, telephony.Query{})
			if err != nil {
				return telephony.Number{}, err
			}
			for _, n := range page.Numbers {
				if _, err := d.Change(ctx, n.Ref, c); err != nil {
					return n, err
				}
			}
			return d.Number(ctx, ref)
		}),
	}
}
