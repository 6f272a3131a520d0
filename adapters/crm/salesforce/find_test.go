package salesforce_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// wanted returns a case as it is passed to Find, for a call that began just now.
func wanted() crm.NewTicket {
	return crm.NewTicket{
		Key: "k", Since: time.Now(), Until: time.Now(), Subject: "A pipe",
		Description: "In room 12.\nIt's leaking.", OwnerID: fake.Owner, AccountID: fake.Account,
		ContactID: fake.Contact,
	}
}

func find(t *testing.T, d crm.Driver, n crm.NewTicket) (crm.Ticket, error) {
	t.Helper()
	return d.(crm.Finder).Find(t.Context(), n)
}

func wantUnknowable(t *testing.T, err error) {
	t.Helper()
	if f := fault.From(err); f == nil || !f.IsUnknowable() {
		t.Errorf("answered %v, want that it will not be known", err)
	}
}

func TestACaseThatWasCutOffIsFoundByWhatItSays(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	n := wanted()
	n.OwnerID = n.OwnerID[:15] // the short form, as in the URLs of pages
	s.DropNextReply()
	if _, err := d.Create(t.Context(), n); err == nil {
		t.Fatal("the reply was not lost")
	}
	create(t, d, crm.NewTicket{Subject: "Another pipe", Description: "In room 13."})
	found, err := find(t, s.open(t, nil), n)
	if err != nil || found.Subject != n.Subject || found.Number == "" || found.OwnerID != fake.Owner {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestACaseOfAnotherUserIsNotTaken(t *testing.T) {
	s := serve(t, fake.Options{})
	n := wanted()
	s.Add(map[string]any{"Subject": n.Subject, "Description": n.Description,
		"CreatedById": fake.RecordID("005", 7),
		"OwnerId":     n.OwnerID, "AccountId": n.AccountID, "ContactId": n.ContactID})
	if _, err := find(t, s.open(t, nil), n); !errors.Is(err, fault.NotFound) {
		t.Errorf("answered %v", err)
	}
}

func TestAnOlderCaseIsNotTaken(t *testing.T) {
	s := serve(t, fake.Options{})
	n := wanted()
	create(t, s.open(t, nil), n)
	n.Since = n.Since.Add(time.Hour)
	if _, err := find(t, s.open(t, nil), n); !errors.Is(err, fault.NotFound) {
		t.Errorf("answered %v", err)
	}
}

func TestACaseThatARuleChangedProvesNothing(t *testing.T) {
	s := serve(t, fake.Options{})
	n := wanted()
	s.Add(map[string]any{"Subject": "[VIP] " + n.Subject, "Description": n.Description})
	_, err := find(t, s.open(t, nil), n)
	wantUnknowable(t, err)
}

func TestWhereCasesArePrivateNoneIsNeverSure(t *testing.T) {
	s := serve(t, fake.Options{Private: true})
	d := s.open(t, nil)
	n := wanted()
	n.OwnerID = "" // the organisation's rules give it to somebody else
	if _, err := d.Create(t.Context(), n); err == nil {
		t.Fatal("the user sees the case")
	}
	_, err := find(t, d, n)
	wantUnknowable(t, err)
	n.OwnerID = fake.Owner
	create(t, d, n)
	if found, err := find(t, d, n); err != nil || found.Subject != n.Subject {
		t.Errorf("of a case of the user's own: %+v, %v", found, err)
	}
}

func TestMoreCasesThanCanBeLookedThroughAreNotGuessedAt(t *testing.T) {
	s := serve(t, fake.Options{})
	for i := range 201 {
		s.Add(map[string]any{"Subject": fmt.Sprint("Pipe ", i)})
	}
	_, err := find(t, s.open(t, nil), wanted())
	wantUnknowable(t, err)
}
