package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// crmAccount is a provider's account with tickets.
type crmAccount struct {
	account
	traits     crm.Traits
	findsKeys  bool
	findsText  bool // its driver finds tickets by their content
	findsIDs   bool
	lags       bool                // its search finds no new tickets
	drops      func(t *crm.Ticket) // removes from a new ticket what the CRM does not keep
	vocabulary crm.Vocabulary
	contacts   []crm.Contact // nil: its driver cannot look up callers
	incomplete bool          // a part of its searches fails
	made       []crm.Ticket
	keys       []string // the keys of made
}

func newCRMAccount() *crmAccount {
	return &crmAccount{
		account: account{calls: map[string]int{}}, traits: crm.Traits{NumberWidth: 8},
		vocabulary: crm.Vocabulary{Statuses: []string{"New", "Closed"}, Priorities: []string{"Low", "High"}},
	}
}

func (a *crmAccount) driver(p *process) crm.Driver {
	d := &crmDriver{a, p}
	switch {
	case a.contacts != nil:
		return contactFindingCRM{d}
	case a.findsKeys:
		return keyFindingCRM{d}
	case a.findsText:
		return textFindingCRM{d}
	case a.findsIDs:
		return idFindingCRM{d}
	}
	return d
}

func (a *crmAccount) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.made)
}

type crmDriver struct {
	*crmAccount
	process *process
}

func (d *crmDriver) Traits() crm.Traits {
	traits := d.traits
	traits.FindsByKey = d.findsKeys
	return traits
}

func (d *crmDriver) Account(ctx context.Context) (crm.Account, error) {
	return step(ctx, &d.account, d.process, "account", func() (crm.Account, error) { return crm.Account{}, nil })
}

func (d *crmDriver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	return step(ctx, &d.account, d.process, "vocabulary",
		func() (crm.Vocabulary, error) { return d.vocabulary, nil })
}

func (d *crmDriver) Create(ctx context.Context, n crm.NewTicket) (crm.Ticket, error) {
	return step(ctx, &d.account, d.process, "create", func() (crm.Ticket, error) {
		if i := slices.Index(d.keys, n.Key); i >= 0 && d.traits.IdempotentCreate {
			return d.made[i], nil
		}
		number := len(d.made) + 1
		t := crm.Ticket{
			ID: fmt.Sprintf("id%d", number), Number: fmt.Sprintf("%08d", number), Subject: n.Subject, Status: n.Status,
			Priority: n.Priority, Description: crm.Plain(n.Description), OwnerID: n.OwnerID, AccountID: n.AccountID,
			ContactID: n.ContactID, CreatedAt: d.process.world.clock.now(),
		}
		if d.drops != nil {
			d.drops(&t)
		}
		d.made, d.keys = append(d.made, t), append(d.keys, n.Key)
		return t, nil
	})
}

func (d *crmDriver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	return step(ctx, &d.account, d.process, "by-number", func() (crm.Ticket, error) {
		i := slices.IndexFunc(d.made, func(t crm.Ticket) bool { return t.Number == number })
		if i < 0 || d.lags {
			return crm.Ticket{}, fault.New(fault.NotFound, fault.ReasonTicketNotFound, "No such ticket.")
		}
		return d.made[i], nil
	})
}

// keyFindingCRM is a driver that finds the outcome of a create by its key.
type keyFindingCRM struct{ *crmDriver }

func (d keyFindingCRM) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return step(ctx, &d.account, d.process, "find", func() (crm.Ticket, error) {
		if i := slices.Index(d.keys, t.Key); i >= 0 {
			return d.made[i], nil
		}
		return crm.Ticket{}, fault.New(fault.NotFound, fault.ReasonTicketNotFound, "No such ticket.")
	})
}

// textFindingCRM is a driver that finds tickets by their content.
type textFindingCRM struct{ *crmDriver }

func (d textFindingCRM) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return step(ctx, &d.account, d.process, "find", func() (crm.Ticket, error) {
		if d.lags {
			return crm.Ticket{}, fault.NotKnownYet("The search lags.", time.Minute)
		}
		return crm.Choose(t, d.made)
	})
}

// idFindingCRM is a driver that also reads tickets by id, which does not depend on the search.
type idFindingCRM struct{ *crmDriver }

func (d idFindingCRM) ByID(ctx context.Context, id string) (crm.Ticket, error) {
	return step(ctx, &d.account, d.process, "by-id", func() (crm.Ticket, error) {
		i := slices.IndexFunc(d.made, func(t crm.Ticket) bool { return t.ID == id })
		if i < 0 {
			return crm.Ticket{}, fault.New(fault.NotFound, fault.ReasonTicketNotFound, "No such ticket.")
		}
		return d.made[i], nil
	})
}

// contactFindingCRM is a driver that looks up callers. It returns all its contacts, as a loose search does.
type contactFindingCRM struct{ *crmDriver }

func (d contactFindingCRM) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	return step(ctx, &d.account, d.process, "find-contacts", func() (crm.Contacts, error) {
		few := d.contacts[:min(q.Limit, len(d.contacts))]
		return crm.Contacts{Contacts: few, More: len(few) < len(d.contacts), Incomplete: d.incomplete}, nil
	})
}

func (d contactFindingCRM) OpenTickets(
	ctx context.Context, contactID string, limit int,
) ([]crm.Ticket, error) {
	return step(ctx, &d.account, d.process, "open-tickets/"+contactID, func() ([]crm.Ticket, error) {
		if contactID == "gone" {
			return nil, fault.New(fault.NotFound, fault.ReasonTicketNotFound, "No such contact.")
		}
		var open []crm.Ticket
		for _, t := range d.made {
			if t.ContactID == contactID && len(open) < limit {
				open = append(open, t)
			}
		}
		return open, nil
	})
}
