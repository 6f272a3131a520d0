package crmtest

import (
	"context"
	"html"
	"strings"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// creates returns a mutant with its own Create.
func creates(
	check, how string, create func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error),
) conformance.Mutant[Harness] {
	return mutate(check, how, func(d full) mutant {
		return mutant{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
			return create(ctx, d, t)
		}}
	})
}

// alters returns a mutant that alters every ticket that it returns.
func alters(check, how string, alter func(t *crm.Ticket)) conformance.Mutant[Harness] {
	return mutate(check, how, func(full) mutant {
		return mutant{alter: func(t crm.Ticket) crm.Ticket {
			alter(&t)
			return t
		}}
	})
}

func createMutants() []conformance.Mutant[Harness] {
	const (
		answers  = "Create answers the ticket as the CRM has it, number included"
		labels   = "every label of the vocabulary can be given, and comes back as spelled there"
		plain    = "a description is plain text, whatever it looks like"
		invented = "what has no source is left empty"
		times    = "creation has the provider's time, where it has any"
		dropped  = "a value that the CRM drops is refused, or is not answered as if it were there"
	)
	unknown := func(check string, drop func(*crm.NewTicket)) []conformance.Mutant[Harness] {
		return []conformance.Mutant[Harness]{
			creates(check, "leaves it out", func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
				drop(&t)
				return d.Create(ctx, t)
			}),
			creates(check, "does not say which", func(
				ctx context.Context, d full, t crm.NewTicket,
			) (crm.Ticket, error) {
				made, err := d.Create(ctx, t)
				if err != nil {
					return made, fault.New(fault.Invalid, fault.ReasonProviderRefused, "Something is wrong.")
				}
				return made, nil
			}),
		}
	}
	mutants := []conformance.Mutant[Harness]{
		creates(answers, "leaves out the number", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			made, err := d.Create(ctx, t)
			made.Number = ""
			return made, err
		}),
		creates(answers, "answers what was asked for", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			made, err := d.Create(ctx, t)
			made.Status = t.Status
			return made, err
		}),
		creates(dropped, "answers the owner that was asked for", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			made, err := d.Create(ctx, t)
			made.OwnerID = t.OwnerID
			return made, err
		}),
		creates(dropped, "answers a status of its own", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			made, err := d.Create(ctx, t)
			made.Status = "Resolved"
			return made, err
		}),
		creates("Create makes one ticket", "makes two", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			if made, err := d.Create(ctx, t); err != nil {
				return made, err
			}
			t.Key = newKey()
			return d.Create(ctx, t)
		}),
		creates("Create makes one ticket", "makes none", func(
			context.Context, full, crm.NewTicket,
		) (crm.Ticket, error) {
			return crm.Ticket{ID: "1", Number: "000001"}, nil
		}),
		alters("numbers are padded to NumberWidth", "tells them bare",
			func(t *crm.Ticket) { t.Number = strings.TrimLeft(t.Number, "0") }),
		alters("numbers are padded to NumberWidth", "tells them with a word",
			func(t *crm.Ticket) { t.Number = "Case " + t.Number }),
		alters(labels, "tells the status in small letters",
			func(t *crm.Ticket) { t.Status = strings.ToLower(t.Status) }),
		creates(labels, "drops the priority", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			t.Priority = ""
			return d.Create(ctx, t)
		}),
		creates(labels, "refuses a label", func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
			if t.Status == "Closed" {
				return crm.Ticket{}, fault.InvalidField("status", "cannot be given.")
			}
			return d.Create(ctx, t)
		}),
		creates("no status is the CRM's default", "has its own idea", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			t.Status = "Resolved"
			return d.Create(ctx, t)
		}),
		creates("no priority is the CRM's default", "has its own idea", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			t.Priority = "High"
			return d.Create(ctx, t)
		}),
		creates(plain, "takes it for HTML", func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
			t.Description = tag.ReplaceAllString(t.Description, "")
			return d.Create(ctx, t)
		}),
		creates(plain, "resolves entities", func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
			t.Description = html.UnescapeString(t.Description)
			return d.Create(ctx, t)
		}),
		creates(plain, "joins the lines", func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
			t.Description = strings.ReplaceAll(t.Description, "\n", "")
			return d.Create(ctx, t)
		}),
		alters(plain, "calls it HTML unescaped", func(t *crm.Ticket) { t.Description.HTML = true }),
		alters("related records are kept", "loses the contact", func(t *crm.Ticket) { t.ContactID = "" }),
		alters("related records are kept", "tells an owner of its own",
			func(t *crm.Ticket) { t.OwnerID = "integration user" }),
		creates("a refused ticket is not made", "makes it first", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			bare := t
			bare.OwnerID, bare.AccountID, bare.ContactID = "", "", ""
			if made, err := d.Create(ctx, bare); err != nil {
				return made, err
			}
			t.Key = newKey()
			return d.Create(ctx, t)
		}),
		alters(invented, "comments on it", func(t *crm.Ticket) { t.LastComment = crm.Plain("Ticket created.") }),
		alters(invented, "describes it", func(t *crm.Ticket) { t.Description = crm.Plain("(no description)") }),
		alters(invented, "resolves it", func(t *crm.Ticket) { t.ResolvedAt = t.UpdatedAt }),
		alters(invented, "closes it at the epoch", func(t *crm.Ticket) { t.ClosedAt = time.Unix(0, 0) }),
		alters(times, "reads them in its own zone",
			func(t *crm.Ticket) { t.CreatedAt = t.CreatedAt.Add(-5 * time.Hour) }),
		alters(times, "updates before it creates",
			func(t *crm.Ticket) { t.UpdatedAt = t.CreatedAt.Add(-time.Second) }),
	}
	mutants = append(mutants, unknown("an unknown owner is refused by name",
		func(t *crm.NewTicket) { t.OwnerID = "" })...)
	mutants = append(mutants, unknown("an unknown account is refused by name",
		func(t *crm.NewTicket) { t.AccountID = "" })...)
	return append(mutants, unknown("an unknown contact is refused by name",
		func(t *crm.NewTicket) { t.ContactID = "" })...)
}

func keyMutants() []conformance.Mutant[Harness] {
	const (
		keys      = "a key may have 1 to 64 characters"
		first     = "a second Create of one key answers the first ticket"
		lostReply = "a Create whose reply is lost is not called unsent, and can be settled"
		found     = "Find answers the ticket that Create made"
		unused    = "Find says that there is surely none"
		differ    = "Find answers no ticket that says something else"
		others    = "Find answers no ticket that is another call's"
		guess     = "Find does not guess between two tickets that say the same"
	)
	limits := func(how string, fits func(key string) bool) conformance.Mutant[Harness] {
		return creates(keys, how, func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
			if !fits(t.Key) {
				return crm.Ticket{}, fault.InvalidField("key", "does not fit.")
			}
			return d.Create(ctx, t)
		})
	}
	finds := func(
		check, how string, find func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error),
	) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{find: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				return find(ctx, d, t)
			}}
		})
	}
	return []conformance.Mutant[Harness]{
		creates("two keys make two tickets", "goes by the words", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			t.Key = strings.ReplaceAll(strings.ToLower(t.Subject), " ", "")
			return d.Create(ctx, t)
		}),
		limits("refuses long ones", func(key string) bool { return len(key) <= 36 }),
		limits("refuses short ones", func(key string) bool { return len(key) >= 5 }),
		mutate(first, "calls it a conflict", func(d full) mutant {
			seen := map[string]bool{}
			return mutant{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				if seen[t.Key] {
					return crm.Ticket{}, fault.New(fault.Conflict, fault.ReasonProviderConflict, "It is there already.")
				}
				seen[t.Key] = true
				return d.Create(ctx, t)
			}}
		}),
		creates(first, "makes another", func(ctx context.Context, d full, t crm.NewTicket) (crm.Ticket, error) {
			t.Key = newKey()
			return d.Create(ctx, t)
		}),
		mutate("a second Create of one key makes no "+
			"second ticket", "makes it behind the first's answer", func(d full) mutant {
			made := map[string]crm.Ticket{}
			return mutant{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				key := t.Key
				t.Key = newKey()
				again, err := d.Create(ctx, t)
				if earlier, known := made[key]; known {
					return earlier, err
				}
				made[key] = again
				return again, err
			}}
		}),
		mutate("Creates of one key at one time make one ticket", "looks before it makes", func(d full) mutant {
			var mu sync.Mutex
			made := map[string]crm.Ticket{}
			return mutant{create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
				mu.Lock()
				earlier, known := made[t.Key]
				mu.Unlock()
				if known {
					return earlier, nil
				}
				time.Sleep(time.Millisecond)
				key := t.Key
				t.Key = newKey()
				fresh, err := d.Create(ctx, t)
				mu.Lock()
				defer mu.Unlock()
				made[key] = fresh
				return fresh, err
			}}
		}),
		creates(lostReply, "says that nothing was sent", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			made, err := d.Create(ctx, t)
			if f := fault.From(err); f != nil {
				unsent := *f
				unsent.Unsent = true
				return made, &unsent
			}
			return made, nil
		}),
		creates(lostReply, "says that the input is wrong", func(
			ctx context.Context, d full, t crm.NewTicket,
		) (crm.Ticket, error) {
			made, err := d.Create(ctx, t)
			if err != nil {
				return made, fault.InvalidField("subject", "was refused.")
			}
			return made, nil
		}),
		finds(lostReply, "does not find it",
			func(context.Context, full, crm.NewTicket) (crm.Ticket, error) { return crm.Ticket{}, noTicket() }),
		finds(found, "answers the newest", func(ctx context.Context, d full, _ crm.NewTicket) (crm.Ticket, error) {
			return d.ByNumber(ctx, "000002")
		}),
		finds(found, "finds nothing yet",
			func(context.Context, full, crm.NewTicket) (crm.Ticket, error) { return crm.Ticket{}, noTicket() }),
		finds(differ, "answers the newest", func(ctx context.Context, d full, _ crm.NewTicket) (crm.Ticket, error) {
			return d.ByNumber(ctx, "000003")
		}),
		finds(others, "goes by the words", func(ctx context.Context, d full, _ crm.NewTicket) (crm.Ticket, error) {
			return d.ByNumber(ctx, "000001")
		}),
		finds(guess, "takes the newest", func(ctx context.Context, d full, _ crm.NewTicket) (crm.Ticket, error) {
			return d.ByNumber(ctx, "000002")
		}),
		finds(unused, "answers an empty ticket",
			func(context.Context, full, crm.NewTicket) (crm.Ticket, error) { return crm.Ticket{}, nil }),
		finds(unused, "cannot tell", func(context.Context, full, crm.NewTicket) (crm.Ticket, error) {
			return crm.Ticket{}, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The search failed.")
		}),
	}
}
