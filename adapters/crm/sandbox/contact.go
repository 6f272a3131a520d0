package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/crm"
	"frontdesk/core/phonenumber"
)

// contacts returns the contacts of the account: the seeded ones, and those of the contacts setting.
func (d *driver) contacts() []crm.Contact {
	all := seededContacts()
	for _, setting := range d.settings.Contacts {
		parts := append(strings.Split(setting, "|"), "", "", "", "")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		number := len(all) + 1
		c := crm.Contact{ID: fmt.Sprintf("con_%d", number), Name: parts[0], AccountName: parts[4]}
		if parts[1] != "" {
			c.Emails = []string{parts[1]}
		}
		for _, phone := range parts[2:4] {
			if phone != "" {
				c.Phones = append(c.Phones, phone)
			}
		}
		if c.AccountName != "" {
			c.AccountID = "acc_of_" + c.ID
		}
		all = append(all, c)
	}
	return all
}

func (d *driver) contactIDs() []string {
	var ids []string
	for _, c := range d.contacts() {
		ids = append(ids, c.ID)
	}
	return ids
}

// FindContacts implements crm.ContactFinder.
func (d *driver) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	find := func(ctx context.Context) (found crm.Contacts, err error) {
		for _, c := range d.contacts() {
			switch {
			case q.Match(c) == phonenumber.None:
			case len(found.Contacts) == q.Limit:
				found.More = true
			default:
				found.Contacts = append(found.Contacts, c)
			}
		}
		return found, d.reach(ctx)
	}
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, find)
}

// OpenTickets implements crm.ContactFinder.
func (d *driver) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	return scenario.Read(ctx, d.scenarios, scenario.Call{}, func(ctx context.Context) ([]crm.Ticket, error) {
		open := []crm.Ticket{}
		add := func(doc document) {
			if doc.ContactID == contactID && !d.settings.resolves(doc.Status) && !d.settings.closes(doc.Status) {
				open = append(open, doc.ticket())
			}
		}
		for _, seed := range d.seeds() {
			add(seed)
		}
		err := d.storage.View(ctx, func(tx adapter.StorageTx) error {
			return adapter.ScanDocuments(tx, ticketKey, "", func(_ string, doc document) bool {
				add(doc)
				return true
			})
		})
		slices.SortStableFunc(open, func(a, b crm.Ticket) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
		return open[:min(limit, len(open))], err
	})
}
