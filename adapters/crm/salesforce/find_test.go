package salesforce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
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

// Another user may have authorised the connection when the case was opened.
func TestACaseIsFoundWhoeverOpenedIt(t *testing.T) {
	s := serve(t, fake.Options{})
	n := wanted()
	id := s.Add(map[string]any{"Subject": n.Subject, "Description": n.Description,
		"CreatedById": fake.RecordID("005", 7),
		"OwnerId":     n.OwnerID, "AccountId": n.AccountID, "ContactId": n.ContactID})
	if found, err := find(t, s.open(t, nil), n); err != nil || found.ID != id {
		t.Errorf("found %+v, %v", found, err)
	}
}

// A flow may delete a case, or merge it into the one that the customer has.
func TestACaseThatWasDeletedSinceIsFound(t *testing.T) {
	for name, set := range map[string]map[string]any{
		"by what it says": nil, "by its key": {"external_id_field": keyField},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, fake.Options{ExternalID: keyField})
			d := s.open(t, set)
			made, other := create(t, d, wanted()), create(t, d, crm.NewTicket{Key: "other", Subject: "Pipes"})
			if err := s.Merge(made.ID, other.ID); err != nil {
				t.Fatal(err)
			}
			if found, err := find(t, d, wanted()); err != nil || found.ID != made.ID {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}

func TestALaterCaseIsNotTaken(t *testing.T) {
	s := serve(t, fake.Options{})
	n := wanted()
	create(t, s.open(t, nil), n)
	n.Since, n.Until = n.Since.Add(-time.Hour), n.Until.Add(-time.Hour)
	if _, err := find(t, s.open(t, nil), n); !errors.Is(err, fault.NotFound) {
		t.Errorf("answered %v", err)
	}
}

func TestAnOlderCaseIsNotTaken(t *testing.T) {
	s := serve(t, fake.Options{})
	n := wanted()
	create(t, s.open(t, nil), n)
	n.Since, n.Until = n.Since.Add(time.Hour), n.Until.Add(time.Hour)
	if _, err := find(t, s.open(t, nil), n); !errors.Is(err, fault.NotFound) {
		t.Errorf("answered %v", err)
	}
}

func TestACaseThatARuleChangedProvesNothing(t *testing.T) {
	n := wanted()
	for _, description := range []string{n.Description, n.Description + "\n-- taken by phone"} {
		s := serve(t, fake.Options{})
		s.Add(map[string]any{"Subject": "[VIP] " + n.Subject, "Description": description})
		_, err := find(t, s.open(t, nil), n)
		wantUnknowable(t, err)
	}
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

func TestACaseInALaterBatchIsFound(t *testing.T) {
	s := serve(t, fake.Options{BatchSize: 1})
	d := s.open(t, nil)
	n := wanted()
	create(t, d, n)
	for range 2 { // the last changed come first
		create(t, d, crm.NewTicket{Subject: "Another pipe", Description: "In room 13."})
	}
	if found, err := find(t, d, n); err != nil || found.Subject != n.Subject {
		t.Errorf("found %+v, %v", found, err)
	}
	n.Subject, n.Description = "A third pipe", "In room 14."
	if found, err := find(t, d, n); !errors.Is(err, fault.NotFound) {
		t.Errorf("of no case: found %+v, %v", found, err)
	}
}

func TestACaseIsFoundAmongLongOnes(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	for i := range 100 {
		s.Add(map[string]any{"Subject": fmt.Sprint("Pipe ", i), "Description": strings.Repeat("Dear all, ", 3000)})
	}
	n := wanted()
	create(t, d, n)
	if found, err := find(t, d, n); err != nil || found.Subject != n.Subject {
		t.Errorf("found %q, %v", found.Subject, err)
	}
}

func TestMoreCasesThanCanBeLookedThroughAreNotGuessedAt(t *testing.T) {
	for _, c := range []struct{ cases, batch int }{{201, 0}, {11, 1}} {
		s := serve(t, fake.Options{BatchSize: c.batch})
		for i := range c.cases {
			s.Add(map[string]any{"Subject": fmt.Sprint("Pipe ", i)})
		}
		_, err := find(t, s.open(t, nil), wanted())
		wantUnknowable(t, err)
	}
}

func TestTheRestOfAListIsReadAtSalesforceOrNotAtAll(t *testing.T) {
	for _, next := range []any{
		nil, "", "https://example.com/services/data/v62.0/query/01gRO0000016PIAYA2-1",
		"//example.com/services/data/v62.0/query/01gRO0000016PIAYA2-1",
		"/services/data/v62.0/sobjects/Case/describe", "/services/data/v62.0/query?q=SELECT+Id+FROM+Case",
		"/services/data/v62.0/query/../query?q=SELECT+Id+FROM+Case",
	} {
		s := serve(t, fake.Options{})
		d := s.open(t, map[string]any{"external_id_field": keyField})
		calls := s.Calls()
		s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(
				map[string]any{"totalSize": 1, "done": false, "nextRecordsUrl": next, "records": []any{}})
		}))
		if _, err := find(t, d, wanted()); !errors.Is(err, fault.Unsupported) || s.Calls()-calls != 1 {
			t.Errorf("%v: answered %v in %d calls", next, err, s.Calls()-calls)
		}
	}
}
