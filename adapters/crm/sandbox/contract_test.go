package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
)

func TestContract(t *testing.T) {
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		a := newAccount(t, adapter.Values{})
		return crmtest.Harness{
			Open:    a.open,
			Account: crm.Account{Email: "support@example.com", Name: "Sandbox Support"},
			Vocabulary: crm.Vocabulary{
				Statuses:   []string{"New", "Open", "Pending", "Solved", "Closed"},
				Priorities: []string{"Low", "Normal", "High", "Urgent"},
			},
			DefaultStatus: "New", DefaultPriority: "Normal",
			Known:    crmtest.Related{OwnerID: "usr_1", AccountID: "acc_2", ContactID: "con_3"},
			Unknown:  crmtest.Related{OwnerID: "usr_9", AccountID: "acc_9", ContactID: "con_9"},
			Now:      time.Now,
			Provider: a,
		}
	})
}

// account is a sandbox account and the provider of the contract's checks: it does what an agent does.
type account struct {
	*adaptertest.GatedStorage
	open     func() crm.Driver
	contacts *[]any // the setting
}

var (
	_ crmtest.Counter    = account{}
	_ crmtest.Commenter  = account{}
	_ crmtest.Mover      = account{}
	_ crmtest.TellsTimes = account{}

	_ crmtest.ContactKeeper = account{}
)

func newAccount(t *testing.T, v adapter.Values) account {
	t.Helper()
	storage := adaptertest.NewGatedStorage(adaptertest.Storage())
	contacts := []any{}
	return account{GatedStorage: storage, contacts: &contacts, open: func() crm.Driver {
		settings := map[string]any{"contacts": contacts}
		maps.Copy(settings, v.Settings)
		v := adapter.Values{Settings: settings, Credentials: v.Credentials}
		d, err := Adapter().OpenCRM(t.Context(), v, adapter.Environment{
			Storage: storage, Now: time.Now, Zone: "UTC",
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}}
}

// AddContact adds a contact to the setting, and to each driver that is opened later.
func (a account) AddContact(_ context.Context, c crmtest.NewContact) (string, error) {
	*a.contacts = append(*a.contacts, strings.Join([]string{c.Name, c.Email, c.Phone, c.Mobile, c.Account}, "|"))
	return fmt.Sprintf("con_%d", len(seededContacts())+len(*a.contacts)), nil
}

// Tickets counts the documents.
func (a account) Tickets(ctx context.Context) (n int, err error) {
	err = a.Storage.View(ctx, func(tx adapter.StorageTx) error {
		return tx.Scan(ticketKey, "", func(string, []byte) bool { n++; return true })
	})
	return n, err
}

// Comment appends a comment, as an agent does.
func (a account) Comment(ctx context.Context, ticketID string, c crmtest.Comment) error {
	return a.change(ctx, ticketID, func(doc *document) {
		doc.Comments = append(doc.Comments, comment{text{c.Body, c.HTML}, c.Public})
	})
}

// Move sets a status, as an agent does.
func (a account) Move(ctx context.Context, ticketID, status string) error {
	return a.change(ctx, ticketID, func(doc *document) { doc.Status = status })
}

// Labels implements crmtest.Mover.
func (account) Labels() (resolved, closed, reopened string) { return "Solved", "Closed", "Open" }

// TellsTimes implements crmtest.TellsTimes.
func (account) TellsTimes() {}

func (a account) change(ctx context.Context, ticketID string, how func(*document)) error {
	d := a.open().(*driver)
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		doc, found, err := d.byID(tx, ticketID)
		if err != nil || !found {
			return fmt.Errorf("ticket %s: found %t, %w", ticketID, found, err)
		}
		how(&doc)
		d.touch(&doc, time.Now())
		return adapter.PutDocument(tx, ticketKey+doc.Number, doc)
	})
}

// numbers returns the numbers of the created tickets, in order.
func (a account) numbers(t *testing.T) []string {
	t.Helper()
	var numbers []string
	err := a.Storage.View(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Scan(ticketKey, "", func(_ string, value []byte) bool {
			var doc document
			if err := json.Unmarshal(value, &doc); err != nil {
				t.Error(err)
			}
			numbers = append(numbers, doc.Number)
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(numbers)
	return numbers
}
