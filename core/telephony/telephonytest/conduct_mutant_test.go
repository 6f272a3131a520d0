package telephonytest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func conductMutants() []conformance.Mutant[Harness] {
	const use = "a driver is safe for concurrent use, up to MaxConcurrent"
	type holder struct {
		telephony.Driver
		token []byte
	}
	mutants := []conformance.Mutant[Harness]{
		{Check: "the driver holds no secret", Mutate: func(h Harness) Harness {
			d := h.Open()
			h.Open = func() telephony.Driver { return holder{d, []byte("AC1:hunter2")} }
			return h
		}},
		mutate("traits are constant", "learns as it goes", func(d telephony.Driver) mutant {
			async := false
			return mutant{
				traits: func() telephony.Traits { return telephony.Traits{AsyncBuy: async} },
				numbers: func(ctx context.Context, q telephony.Query) (telephony.Page, error) {
					async = true
					return d.Numbers(ctx, q)
				},
			}
		}),
		mutate("traits cost nothing to ask", "asks the provider", func(d telephony.Driver) mutant {
			return mutant{traits: func() telephony.Traits {
				_, _ = d.Account(context.Background())
				return d.Traits()
			}}
		}),
		mutate("traits are no impossible numbers", "means without limit", func(telephony.Driver) mutant {
			return mutant{traits: func() telephony.Traits { return telephony.Traits{MaxConcurrent: -1} }}
		}),
		mutate(use, "takes fewer calls than it says", func(d telephony.Driver) mutant {
			limit := make(chan struct{}, d.Traits().MaxConcurrent-1)
			return mutant{account: func(ctx context.Context) (telephony.Account, error) {
				select {
				case limit <- struct{}{}:
				default:
					return telephony.Account{}, fault.New(fault.RateLimited, fault.ReasonProviderRateLimited,
						"One call too many.")
				}
				defer func() { <-limit }()
				time.Sleep(time.Millisecond)
				return d.Account(ctx)
			}}
		}),
		mutate("a driver buys for several callers at once, "+
			"and mixes none of them up", "mixes up its callers", func(d telephony.Driver) mutant {
			var mu sync.Mutex
			var latest telephony.Order
			return mutant{buy: func(ctx context.Context, o telephony.Order) (telephony.Number, error) {
				mu.Lock()
				latest = o
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				return d.Buy(ctx, latest)
			}}
		}),
	}
	for _, m := range conformance.ConductMutants() {
		mutants = append(mutants, mutate(m.Check, m.How,
			func(telephony.Driver) mutant { return mutant{around: m.Around} }))
	}
	return mutants
}

func accountMutants() []conformance.Mutant[Harness] {
	const ours = "the account is the credentials' own"
	names := func(how string, a telephony.Account) conformance.Mutant[Harness] {
		return mutate(ours, how, func(telephony.Driver) mutant {
			return mutant{account: func(context.Context) (telephony.Account, error) { return a, nil }}
		})
	}
	return []conformance.Mutant[Harness]{
		names("names another", telephony.Account{Name: "Desk", Ref: "AC2"}),
		names("names none", telephony.Account{}),
		mutate("the account is asked live", "remembers", func(d telephony.Driver) mutant {
			var known telephony.Account
			return mutant{account: func(ctx context.Context) (telephony.Account, error) {
				if known != (telephony.Account{}) {
					return known, nil
				}
				var err error
				known, err = d.Account(ctx)
				return known, err
			}}
		}),
	}
}

func searchMutants() []conformance.Mutant[Harness] {
	const (
		offers = "Search offers numbers of the area code"
		empty  = "no stock is an empty answer"
		held   = "what is offered can be bought, and is offered no longer then"
	)
	searches := func(
		check, how string,
		search func(ctx context.Context, d telephony.Driver, s telephony.Search) ([]telephony.Offer, error),
	) conformance.Mutant[Harness] {
		return mutate(check, how, func(d telephony.Driver) mutant {
			return mutant{search: func(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
				return search(ctx, d, s)
			}}
		})
	}
	alter := func(how string, alter func(*telephony.Offer)) conformance.Mutant[Harness] {
		return searches(offers, how, func(
			ctx context.Context, d telephony.Driver, s telephony.Search,
		) ([]telephony.Offer, error) {
			found, err := d.Search(ctx, s)
			for i := range found {
				alter(&found[i])
			}
			return found, err
		})
	}
	return []conformance.Mutant[Harness]{
		alter("tells them as people write them", func(o *telephony.Offer) { o.E164 = "(415) 555-0100" }),
		alter("offers one number only, many times", func(o *telephony.Offer) { o.E164 = "+14155550100" }),
		alter("offers what is near", func(o *telephony.Offer) { o.E164 = "+16285550100" }),
		searches("Search offers at most Limit", "offers a page", func(
			ctx context.Context, d telephony.Driver, s telephony.Search,
		) ([]telephony.Offer, error) {
			s.Limit = 10
			return d.Search(ctx, s)
		}),
		searches(empty, "finds the area code wrong", func(
			ctx context.Context, d telephony.Driver, s telephony.Search,
		) ([]telephony.Offer, error) {
			found, err := d.Search(ctx, s)
			if err == nil && len(found) == 0 {
				return nil, fault.New(fault.Exhausted, fault.ReasonNoNumbersAvailable, "None.")
			}
			return found, err
		}),
		searches(empty, "offers what is near", func(
			ctx context.Context, d telephony.Driver, s telephony.Search,
		) ([]telephony.Offer, error) {
			s.AreaCode = "415"
			return d.Search(ctx, s)
		}),
		mutate(held, "remembers its offers", func(d telephony.Driver) mutant {
			var first []telephony.Offer
			return mutant{search: func(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
				if first != nil {
					return first, nil
				}
				var err error
				first, err = d.Search(ctx, s)
				return first, err
			}}
		}),
		searches(held, "offers what it does not have", func(
			context.Context, telephony.Driver, telephony.Search,
		) ([]telephony.Offer, error) {
			return []telephony.Offer{{E164: "+14155550177"}}, nil
		}),
	}
}
