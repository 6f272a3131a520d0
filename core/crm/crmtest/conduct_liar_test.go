package crmtest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// around is a liar that does the same to every call.
func around(check, how string, do func(ctx context.Context, call func(context.Context) error) error) conformance.Liar[Harness] {
	return lie(check, how, func(full) liar { return liar{around: do} })
}

// says instead of a fault's code another.
func instead(check string, of, another fault.Code) conformance.Liar[Harness] {
	return around(check, "says "+string(another), func(ctx context.Context, call func(context.Context) error) error {
		err := call(ctx)
		if f := fault.From(err); f != nil && f.Code == of {
			return fault.New(another, f.Reason, f.Detail)
		}
		return err
	})
}

func conductLiars() []conformance.Liar[Harness] {
	const (
		ended   = "an ended context ends every call"
		hang    = "a provider that does not answer is left at the deadline"
		limited = "too many calls are RateLimited, and the provider's wait is told, not slept"
		again   = "a call that fails is not made again"
		use     = "a driver is safe for concurrent use, up to MaxConcurrent"
	)
	type holder struct {
		full
		token string
	}
	return []conformance.Liar[Harness]{
		{Check: "the driver holds no secret", Lie: func(h Harness) Harness {
			d := h.Open().(full)
			h.Open = func() crm.Driver { return holder{d, "Bearer hunter2"} }
			return h
		}},
		around(ended, "goes on", func(ctx context.Context, call func(context.Context) error) error {
			return call(context.WithoutCancel(ctx))
		}),
		around(ended, "blames the provider", func(ctx context.Context, call func(context.Context) error) error {
			if err := call(ctx); err != nil {
				return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "It is down.")
			}
			return nil
		}),
		around(hang, "waits", func(ctx context.Context, call func(context.Context) error) error {
			return call(context.WithoutCancel(ctx))
		}),
		around(hang, "blames the provider", func(ctx context.Context, call func(context.Context) error) error {
			if err := call(ctx); err != nil {
				return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "It is down.")
			}
			return nil
		}),
		instead("a provider that is down is Unavailable", fault.Unavailable, fault.Internal),
		lie("a provider that is down is Unavailable", "finds nothing by id", func(d full) liar {
			return liar{byID: func(ctx context.Context, id string) (crm.Ticket, error) {
				t, err := d.ByID(ctx, id)
				if err != nil {
					return t, noTicket()
				}
				return t, nil
			}}
		}),
		instead("credentials that are refused are Disconnected", fault.Disconnected, fault.Forbidden),
		instead("what the account may not do is Forbidden", fault.Forbidden, fault.Disconnected),
		instead(limited, fault.RateLimited, fault.Unavailable),
		around(limited, "keeps the wait to itself", func(ctx context.Context, call func(context.Context) error) error {
			err := call(ctx)
			if f := fault.From(err); f != nil && f.Code == fault.RateLimited {
				return fault.New(f.Code, f.Reason, f.Detail)
			}
			return err
		}),
		around(limited, "sleeps it out", func(ctx context.Context, call func(context.Context) error) error {
			err := call(ctx)
			if f := fault.From(err); f != nil {
				time.Sleep(f.RetryAfter)
			}
			return err
		}),
		around(again, "tries again", func(ctx context.Context, call func(context.Context) error) error {
			if err := call(ctx); err == nil {
				return nil
			}
			return call(ctx)
		}),
		around(again, "pauses", func(ctx context.Context, call func(context.Context) error) error {
			err := call(ctx)
			if err != nil {
				time.Sleep(3 * time.Second)
			}
			return err
		}),
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
