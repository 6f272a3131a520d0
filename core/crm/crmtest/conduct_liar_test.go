package crmtest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func conductLiars() []conformance.Liar[Harness] {
	const use = "a driver is safe for concurrent use, up to MaxConcurrent"
	type holder struct {
		full
		token string
	}
	liars := []conformance.Liar[Harness]{
		{Check: "the driver holds no secret", Lie: func(h Harness) Harness {
			d := h.Open().(full)
			h.Open = func() crm.Driver { return holder{d, "Bearer hunter2"} }
			return h
		}},
		lie("traits are constant", "learns as it goes", func(d full) liar {
			width := 0
			return liar{
				traits: func() crm.Traits { return crm.Traits{NumberWidth: width} },
				labels: func(ctx context.Context) (crm.Vocabulary, error) { width = 6; return d.Vocabulary(ctx) },
			}
		}),
		lie("traits cost nothing to ask", "asks the provider", func(d full) liar {
			return liar{traits: func() crm.Traits {
				_, _ = d.Account(context.Background())
				return d.Traits()
			}}
		}),
		lie("traits are no impossible numbers", "means without limit", func(full) liar {
			return liar{traits: func() crm.Traits { return crm.Traits{MaxConcurrent: -1} }}
		}),
		lie(use, "mixes up its callers", func(d full) liar {
			var mu sync.Mutex
			var latest crm.NewTicket
			return liar{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				mu.Lock()
				latest = t
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				return d.Create(ctx, latest)
			}}
		}),
		lie(use, "takes fewer calls than it says", func(d full) liar {
			limit := make(chan struct{}, d.Traits().MaxConcurrent-1)
			return liar{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
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
	for _, m := range conformance.Misconduct() {
		liars = append(liars, lie(m.Check, m.How, func(full) liar { return liar{around: m.Around} }))
	}
	return liars
}

func accountLiars() []conformance.Liar[Harness] {
	return []conformance.Liar[Harness]{
		lie("the account is the credentials' own", "names another", func(full) liar {
			return liar{account: func(context.Context) (crm.Account, error) { return crm.Account{Name: "Somebody"}, nil }}
		}),
		lie("the account is asked live", "remembers", func(d full) liar {
			var known crm.Account
			return liar{account: func(ctx context.Context) (crm.Account, error) {
				if known != (crm.Account{}) {
					return known, nil
				}
				var err error
				known, err = d.Account(ctx)
				return known, err
			}}
		}),
		lie("the vocabulary has no empty and no doubled label", "doubles one", func(full) liar {
			return liar{labels: func(context.Context) (crm.Vocabulary, error) {
				return crm.Vocabulary{Statuses: []string{"Open", "open"}}, nil
			}}
		}),
		lie("the vocabulary has no empty and no doubled label", "has an empty one", func(full) liar {
			return liar{labels: func(context.Context) (crm.Vocabulary, error) {
				return crm.Vocabulary{Priorities: []string{"", "High"}}, nil
			}}
		}),
		lie("the vocabulary is the CRM's, in its order", "sorts it", func(full) liar {
			return liar{labels: func(context.Context) (crm.Vocabulary, error) {
				return crm.Vocabulary{Statuses: []string{"Closed", "Open", "Resolved"}, Priorities: vocabulary.Priorities}, nil
			}}
		}),
	}
}
