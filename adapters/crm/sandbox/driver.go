package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

var (
	_ crm.Driver   = (*driver)(nil)
	_ crm.Finder   = (*driver)(nil)
	_ crm.IDFinder = (*driver)(nil)

	_ crm.ContactFinder = (*driver)(nil)
)

type driver struct {
	settings  settings
	scenarios scenario.Provider
	creations scenario.Provider // for creating tickets, which has one more scenario
	storage   adapter.Storage
	now       func() time.Time
	most      int // tickets that are kept
}

// Traits implements crm.Driver.
func (d *driver) Traits() crm.Traits {
	return crm.Traits{IdempotentCreate: true, FindsByKey: true, NumberWidth: numberWidth}
}

// Account implements crm.Driver.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, func(ctx context.Context) (crm.Account, error) {
		return crm.Account{Email: d.settings.Email, Name: d.settings.Account}, d.reach(ctx)
	})
}

// Vocabulary implements crm.Driver.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, func(ctx context.Context) (crm.Vocabulary, error) {
		return crm.Vocabulary{
			Statuses: slices.Clone(d.settings.Statuses), Priorities: slices.Clone(d.settings.Priorities),
		}, d.reach(ctx)
	})
}

// reach returns an error if the storage cannot be reached. It is the sandbox's provider: no call succeeds
// without it.
func (d *driver) reach(ctx context.Context) error {
	return d.storage.View(ctx, func(adapter.StorageTx) error { return nil })
}

// Create implements crm.Driver. The ticket's id is derived from its key, so that a repeat finds the first
// one.
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	id := idOf(t.Key)
	call := scenario.Call{About: id, Request: "create/" + t.Key, Texts: []string{t.Subject}}
	return scenario.Write(ctx, d.creations, call, func(ctx context.Context) (made crm.Ticket, err error) {
		err = d.storage.Update(ctx, func(tx adapter.StorageTx) error {
			doc, found, err := d.byID(tx, id)
			if err != nil || found {
				made = doc.ticket()
				return err
			}
			if err := d.check(t); err != nil {
				return err
			}
			if doc, err = d.add(tx, id, t); err != nil {
				return err
			}
			made = doc.ticket()
			return nil
		})
		return made, err
	})
}

// check returns an error that names every field whose value the account does not know.
func (d *driver) check(t crm.NewTicket) error {
	var faults []fault.Field
	if strings.TrimSpace(t.Subject) == "" {
		faults = append(faults, fault.Field{Path: "subject", Message: "must not be empty."})
	}
	for _, field := range []struct {
		path, given, what string
		known             []string
	}{
		{"status", t.Status, "status", d.settings.Statuses},
		{"priority", t.Priority, "priority", d.settings.Priorities},
		{"owner_id", t.OwnerID, "user", d.knownIDs(owners)},
		{"account_id", t.AccountID, "account", d.knownIDs(accounts)},
		{"contact_id", t.ContactID, "contact", d.knownIDs(d.contactIDs())},
	} {
		if field.given != "" && field.known != nil && !slices.Contains(field.known, field.given) {
			message := "is not a known " + field.what + "; send one of " + strings.Join(field.known, ", ") + "."
			faults = append(faults, fault.Field{Path: field.path, Message: message})
		}
	}
	if len(faults) > 0 {
		return fault.InvalidFields(faults...)
	}
	return nil
}

// knownIDs returns the ids that exist, or nil if every id does.
func (d *driver) knownIDs(seeded []string) []string {
	if d.settings.Related == "any" {
		return nil
	}
	return seeded
}

// ByNumber implements crm.Driver.
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	given := number
	if bare := scenario.Strip(given); bare != strings.TrimSpace(given) {
		number = pad(strings.TrimLeft(bare, "# ")) // the gateway cannot pad a number beside a scenario
	}
	return d.find(ctx, given, func(tx adapter.StorageTx) (document, bool, error) {
		return d.byNumber(tx, number)
	})
}

// Find implements crm.Finder.
func (d *driver) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return d.find(ctx, "", func(tx adapter.StorageTx) (document, bool, error) { return d.byID(tx, idOf(t.Key)) })
}

// ByID implements crm.IDFinder.
func (d *driver) ByID(ctx context.Context, id string) (crm.Ticket, error) {
	return d.find(ctx, id, func(tx adapter.StorageTx) (document, bool, error) {
		return d.byID(tx, scenario.Strip(id))
	})
}

// find reads one ticket. It first looks up which ticket the call is about, since that can be out of reach.
func (d *driver) find(
	ctx context.Context, text string, look func(adapter.StorageTx) (document, bool, error),
) (crm.Ticket, error) {
	var about document
	view := func(ctx context.Context) (t crm.Ticket, err error) {
		err = d.storage.View(ctx, func(tx adapter.StorageTx) error {
			doc, found, err := look(tx)
			if err == nil && !found {
				err = fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is no ticket with this number.")
			}
			about, t = doc, doc.ticket()
			return err
		})
		return t, err
	}
	if _, err := view(ctx); err != nil && fault.From(err).Code != fault.NotFound {
		return crm.Ticket{}, err
	}
	return scenario.Read(ctx, d.scenarios, scenario.Call{About: about.ID, Texts: []string{text}}, view)
}
