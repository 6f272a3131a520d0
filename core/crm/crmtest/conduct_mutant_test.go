package crmtest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func conductMutants() []conformance.Mutant[Harness] {
	const use = "a driver is safe for concurrent use, up to MaxConcurrent"
	type holder struct {
		full
		token string
	}
	mutants := []conformance.Mutant[Harness]{
		{Check: "the driver holds no secret", Mutate: func(h Harness) Harness {
			d := h.Open().(full)
			h.Open = func() crm.Driver { return holder{d, "Bearer hunter2"} }
			return h
		}},
		mutate("traits are constant", "learns as it goes", func(d full) mutant {
			width := 0
			return mutant{
				traits: func() crm.Traits { return crm.Traits{NumberWidth: width} },
				labels: func(ctx context.Context) (crm.Vocabulary, error) { width = 6; return d.Vocabulary(ctx) },
			}
		}),
		mutate("traits cost nothing to ask", "asks the provider", func(d full) mutant {
			return mutant{traits: func() crm.Traits {
				_, _ = d.Account(context.Background())
				return d.Traits()
			}}
		}),
		mutate("traits are no impossible numbers", "means without limit", func(full) mutant {
			return mutant{traits: func() crm.Traits { return crm.Traits{MaxConcurrent: -1} }}
		}),
		mutate(use, "mixes up its callers", func(d full) mutant {
			var mu sync.Mutex
			var latest crm.NewTicket
			return mutant{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				mu.Lock()
				latest = t
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				return d.Create(ctx, latest)
			}}
		}),
		mutate(use, "takes fewer calls than it says", func(d full) mutant {
			limit := make(chan struct{}, d.Traits().MaxConcurrent-1)
			return mutant{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				select {
				case limit <- struct{}{}:
				default:
					return crm.Ticket{}, fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "One call too many.")
				}
				defer func() { <-limit }()
				time.Sleep(time.Millisecond)
				return d.Create(ctx, t)
			}}
		}),
	}
	for _, m := range conformance.ConductMutants() {
		mutants = append(mutants, mutate(m.Check, m.How, func(full) mutant { return mutant{around: m.Around} }))
	}
	return mutants
}

func accountMutants() []conformance.Mutant[Harness] {
	return []conformance.Mutant[Harness]{
		mutate("the account is the credentials' own", "names another", func(full) mutant {
			return mutant{account: func(context.Context) (crm.Account, error) {
				return crm.Account{Name: "Somebody"}, nil
			}}
		}),
		mutate("the account is asked live", "remembers", func(d full) mutant {
			var known crm.Account
			return mutant{account: func(ctx context.Context) (crm.Account, error) {
				if known != (crm.Account{}) {
					return known, nil
				}
				var err error
				known, err = d.Account(ctx)
				return known, err
			}}
		}),
		mutate("the vocabulary has no empty and no doubled label", "doubles one", func(full) mutant {
			return mutant{labels: func(context.Context) (crm.Vocabulary, error) {
				return crm.Vocabulary{Statuses: []string{"Open", "open"}}, nil
			}}
		}),
		mutate("the vocabulary has no empty and no doubled label", "has an empty one", func(full) mutant {
			return mutant{labels: func(context.Context) (crm.Vocabulary, error) {
				return crm.Vocabulary{Priorities: []string{"", "High"}}, nil
			}}
		}),
		mutate("the vocabulary is the CRM's, in its order", "sorts it", func(full) mutant {
			return mutant{labels: func(context.Context) (crm.Vocabulary, error) {
				return crm.Vocabulary{
					Statuses: []string{"Closed", "Open", "Resolved"}, Priorities: vocabulary.Priorities,
				}, nil
			}}
		}),
	}
}
