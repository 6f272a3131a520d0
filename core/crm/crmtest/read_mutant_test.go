package crmtest

import (
	"context"
	"strings"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func readMutants() []conformance.Mutant[Harness] {
	const (
		exact   = "ByNumber answers the ticket of exactly this number"
		almost  = "ByNumber finds no ticket by a number that is only like its own"
		hostile = "ByNumber takes a number for data, never for a part of a query"
		atOnce  = "ByID answers a new ticket at once"
		none    = "ByID says that there is none"
		told    = "ByNumber says that tickets cannot be read, where the traits do"
	)
	numbers := func(
		check, how string, find func(ctx context.Context, d full, number string) (crm.Ticket, error),
	) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{byNumber: func(ctx context.Context, number string) (crm.Ticket, error) {
				return find(ctx, d, number)
			}}
		})
	}
	reads := func(how string, read func(number string) string) conformance.Mutant[Harness] {
		return numbers(almost, how, func(ctx context.Context, d full, number string) (crm.Ticket, error) {
			return d.ByNumber(ctx, read(number))
		})
	}
	ids := func(
		check, how string, find func(ctx context.Context, d full, id string) (crm.Ticket, error),
	) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{byID: func(ctx context.Context, id string) (crm.Ticket, error) { return find(ctx, d, id) }}
		})
	}
	return []conformance.Mutant[Harness]{
		numbers(told, "reads none all the same", func(context.Context, full, string) (crm.Ticket, error) {
			return crm.Ticket{}, fault.New(fault.Unsupported, fault.ReasonNotSupported, "No.")
		}),
		mutate(told, "finds none, and its traits say that it cannot look", func(d full) mutant {
			return mutant{traits: func() crm.Traits {
				t := d.Traits()
				t.CreateOnly = true
				return t
			}}
		}),
		numbers(exact, "answers the newest",
			func(ctx context.Context, d full, _ string) (crm.Ticket, error) { return d.ByNumber(ctx, "000002") }),
		numbers(exact, "finds nothing yet",
			func(context.Context, full, string) (crm.Ticket, error) { return crm.Ticket{}, noTicket() }),
		reads("forgives white space", strings.TrimSpace),
		reads("forgives a sign", func(number string) string { return strings.TrimLeft(number, "#+-") }),
		reads("forgives missing zeros",
			func(number string) string { return strings.Repeat("0", max(0, 6-len(number))) + number }),
		numbers(almost, "searches by prefix", func(ctx context.Context, d full, number string) (crm.Ticket, error) {
			t, err := d.ByNumber(ctx, "000001")
			if err == nil && !strings.HasPrefix(t.Number, number) {
				return crm.Ticket{}, noTicket()
			}
			return t, err
		}),
		mutate(hostile, "knows wildcards", func(d full) mutant {
			return mutant{byNumber: func(ctx context.Context, number string) (crm.Ticket, error) {
				if strings.Contains(number, "%") {
					return crm.Ticket{Number: "000001"}, nil
				}
				return d.ByNumber(ctx, number)
			}}
		}),
		numbers(hostile, "passes on the provider's complaint", func(
			ctx context.Context, d full, number string,
		) (crm.Ticket, error) {
			if strings.Contains(number, "'") {
				return crm.Ticket{}, fault.New(fault.Invalid, fault.ReasonProviderRefused,
					"unexpected token: ' at column 52")
			}
			return d.ByNumber(ctx, number)
		}),
		mutate(atOnce, "waits for the search", func(d full) mutant {
			asked := map[string]bool{}
			return mutant{byID: func(ctx context.Context, id string) (crm.Ticket, error) {
				if !asked[id] {
					asked[id] = true
					return crm.Ticket{}, noTicket()
				}
				return d.ByID(ctx, id)
			}}
		}),
		ids(atOnce, "answers another ticket",
			func(context.Context, full, string) (crm.Ticket, error) { return crm.Ticket{ID: "id-9"}, nil }),
		ids(none, "answers an empty ticket",
			func(context.Context, full, string) (crm.Ticket, error) { return crm.Ticket{}, nil }),
		ids(none, "finds the id wrong", func(context.Context, full, string) (crm.Ticket, error) {
			return crm.Ticket{}, fault.New(fault.Invalid, fault.ReasonProviderRefused, "malformed id")
		}),
	}
}

func agentMutants() []conformance.Mutant[Harness] {
	const (
		last     = "the last comment is the most recent public one"
		markup   = "a comment's markup is named"
		changed  = "a change moves the time of update and leaves that of creation"
		status   = "status is the label an agent set"
		resolved = "a resolved ticket tells when, until it is opened again"
		closed   = "a closed ticket tells when"
	)
	return []conformance.Mutant[Harness]{
		commentMutant(last, "tells what is for colleagues",
			func(earlier crm.Text, c Comment) crm.Text { return crm.Text{Body: c.Body, HTML: c.HTML} }),
		commentMutant(last, "tells the first", func(earlier crm.Text, c Comment) crm.Text {
			if !c.Public || earlier.Body != "" {
				return earlier
			}
			return crm.Text{Body: c.Body, HTML: c.HTML}
		}),
		alters(last, "tells none", func(t *crm.Ticket) { t.LastComment = crm.Text{} }),
		alters(markup, "calls all of it plain", func(t *crm.Ticket) { t.LastComment.HTML = false }),
		alters(markup, "calls all of it HTML", func(t *crm.Ticket) { t.LastComment.HTML = true }),
		alters(changed, "takes the change for the creation", func(t *crm.Ticket) { t.CreatedAt = t.UpdatedAt }),
		alters(changed, "goes back in time", func(t *crm.Ticket) {
			if t.LastComment.Body != "" {
				t.UpdatedAt = t.CreatedAt.Add(-time.Minute)
			}
		}),
		mutate(status, "remembers the first", func(full) mutant {
			first := map[string]string{}
			return mutant{alter: func(t crm.Ticket) crm.Ticket {
				if _, known := first[t.ID]; !known {
					first[t.ID] = t.Status
				}
				t.Status = first[t.ID]
				return t
			}}
		}),
		alters(status, "tells an internal name", func(t *crm.Ticket) { t.Status = strings.ToUpper(t.Status) }),
		alters(resolved, "does not tell", func(t *crm.Ticket) { t.ResolvedAt = time.Time{} }),
		alters(resolved, "tells the epoch", func(t *crm.Ticket) {
			if t.Status == "Resolved" {
				t.ResolvedAt = time.Unix(0, 0)
			}
		}),
		alters(resolved, "takes every change for it", func(t *crm.Ticket) {
			if t.UpdatedAt.After(t.CreatedAt) {
				t.ResolvedAt = t.UpdatedAt
			}
		}),
		alters(closed, "does not tell", func(t *crm.Ticket) { t.ClosedAt = time.Time{} }),
		alters(closed, "tells a time to come", func(t *crm.Ticket) {
			if t.Status == "Closed" {
				t.ClosedAt = t.ClosedAt.Add(24 * time.Hour)
			}
		}),
	}
}

// commentMutant returns a mutant that returns the last comment by its own rule.
func commentMutant(
	check, how string, rule func(earlier crm.Text, c Comment) crm.Text,
) conformance.Mutant[Harness] {
	return conformance.Mutant[Harness]{Check: check, How: how, Mutate: func(h Harness) Harness {
		provider := &recorder{reference: h.Provider.(*reference), rule: rule}
		d := h.Open().(full)
		h.Provider = provider
		h.Open = func() crm.Driver {
			return mutant{full: d, alter: func(t crm.Ticket) crm.Ticket {
				t.LastComment = provider.last
				return t
			}}
		}
		return h
	}}
}

// recorder records the last comment that an agent made, according to the rule.
type recorder struct {
	*reference
	rule func(earlier crm.Text, c Comment) crm.Text
	last crm.Text
}

func (r *recorder) Comment(ctx context.Context, id string, c Comment) error {
	r.last = r.rule(r.last, c)
	return r.reference.Comment(ctx, id, c)
}
