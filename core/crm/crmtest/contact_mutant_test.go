package crmtest

import (
	"context"
	"slices"
	"strings"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func contactMutants() []conformance.Mutant[Harness] {
	const (
		formats = "FindContacts finds a number in whatever format it was typed"
		cases   = "FindContacts finds an e-mail address in any case"
		fields  = "FindContacts returns what the CRM knows of a contact"
		shared  = "FindContacts returns all who share a number, up to the limit"
		unknown = "FindContacts says that nobody is known"
		hostile = "FindContacts takes a query for data"
		open    = "OpenTickets returns the open tickets of the contact, the last changed first"
		ended   = "OpenTickets leaves out what is resolved or closed"
		ids     = "OpenTickets takes an id for data"
	)
	keeps := func(check, how string, keep func(crm.ContactQuery, crm.Contact) bool) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{contacts: func(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
				found, err := d.FindContacts(ctx, q)
				found.Contacts = slices.DeleteFunc(found.Contacts, func(c crm.Contact) bool { return !keep(q, c) })
				return found, err
			}}
		})
	}
	alters := func(check, how string, alter func(*crm.Contacts)) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{contacts: func(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
				found, err := d.FindContacts(ctx, q)
				found.Contacts = slices.Clone(found.Contacts)
				alter(&found)
				return found, err
			}}
		})
	}
	each := func(check, how string, alter func(*crm.Contact)) conformance.Mutant[Harness] {
		return alters(check, how, func(found *crm.Contacts) {
			for i := range found.Contacts {
				alter(&found.Contacts[i])
			}
		})
	}
	tickets := func(
		check, how string, list func(ctx context.Context, d full, id string, limit int) ([]crm.Ticket, error),
	) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{open: func(ctx context.Context, id string, limit int) ([]crm.Ticket, error) {
				return list(ctx, d, id, limit)
			}}
		})
	}
	fails := func(check, how string, when func(crm.ContactQuery) bool) conformance.Mutant[Harness] {
		return mutate(check, how, func(d full) mutant {
			return mutant{contacts: func(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
				if when(q) {
					return crm.Contacts{}, fault.New(fault.Invalid, fault.ReasonProviderRefused, "malformed query")
				}
				return d.FindContacts(ctx, q)
			}}
		})
	}
	return []conformance.Mutant[Harness]{
		keeps(formats, "knows E.164 alone", func(q crm.ContactQuery, c crm.Contact) bool {
			return q.Email != "" || slices.Contains(c.Phones, q.Phone.E164)
		}),
		keeps(formats, "needs the digits in one piece", func(q crm.ContactQuery, c crm.Contact) bool {
			return q.Email != "" || slices.ContainsFunc(c.Phones, func(p string) bool {
				return strings.Contains(p, q.Phone.National)
			})
		}),
		keeps(cases, "compares the case", func(q crm.ContactQuery, c crm.Contact) bool {
			return q.Email == "" || slices.Contains(c.Emails, q.Email)
		}),
		mutate(cases, "changes the address it returns", func(d full) mutant {
			return mutant{contacts: func(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
				q.Email = strings.TrimPrefix(q.Email, "ann.")
				all, err := d.FindContacts(ctx, crm.ContactQuery{Email: "ann." + q.Email, Limit: q.Limit})
				for i := range all.Contacts {
					all.Contacts[i].Emails = []string{q.Email}
				}
				return all, err
			}}
		}),
		keeps(fields, "searches one field alone", func(q crm.ContactQuery, c crm.Contact) bool {
			return q.Email != "" || q.Phone.Compare(c.Phones[0]) > 0
		}),
		each(fields, "leaves the name out", func(c *crm.Contact) { c.Name = "" }),
		each(fields, "leaves the account's name out", func(c *crm.Contact) { c.AccountName = "" }),
		alters(shared, "chooses one", func(found *crm.Contacts) { found.Contacts = found.Contacts[:1] }),
		alters(shared, "does not say that there are more", func(found *crm.Contacts) { found.More = false }),
		alters(shared, "calls every answer incomplete", func(found *crm.Contacts) { found.Incomplete = true }),
		fails(unknown, "fails for somebody unknown", func(q crm.ContactQuery) bool {
			return strings.HasPrefix(q.Email, "nobody")
		}),
		alters(unknown, "calls every answer incomplete", func(found *crm.Contacts) { found.Incomplete = true }),
		mutate(hostile, "knows wildcards", func(d full) mutant {
			return mutant{contacts: func(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
				if strings.HasPrefix(q.Email, "*") {
					q.Email = "victim@example.com"
				}
				return d.FindContacts(ctx, q)
			}}
		}),
		fails(hostile, "passes on the provider's complaint", func(q crm.ContactQuery) bool {
			return strings.Contains(q.Email, "'")
		}),
		tickets(open, "mixes up the contacts", func(ctx context.Context, d full, _ string, limit int) ([]crm.Ticket,
			error) {
			return d.OpenTickets(ctx, "person-1", limit)
		}),
		tickets(open, "returns the first changed first", func(
			ctx context.Context, d full, id string, limit int,
		) ([]crm.Ticket, error) {
			all, err := d.OpenTickets(ctx, id, limit)
			slices.Reverse(all)
			return all, err
		}),
		tickets(open, "knows no limit", func(ctx context.Context, d full, id string, _ int) ([]crm.Ticket, error) {
			return d.OpenTickets(ctx, id, 100)
		}),
		mutate(ended, "returns closed tickets", func(d full) mutant {
			var made []crm.Ticket
			return mutant{
				create: func(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
					ticket, err := d.Create(ctx, t)
					made = append(made, ticket)
					return ticket, err
				},
				open: func(context.Context, string, int) ([]crm.Ticket, error) { return made, nil },
			}
		}),
		tickets(ids, "passes on the provider's complaint", func(
			ctx context.Context, d full, id string, limit int,
		) ([]crm.Ticket, error) {
			if strings.Contains(id, "'") {
				return nil, fault.New(fault.Invalid, fault.ReasonProviderRefused, "malformed query")
			}
			return d.OpenTickets(ctx, id, limit)
		}),
	}
}
