package freshdesk_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func cutOff() crm.NewTicket {
	return crm.NewTicket{
		Key: "k", Since: time.Now(), Until: time.Now(), Subject: "Leaking pipe",
		Description: "In room 12,\nand <b>badly</b> & \"fast\".", ContactID: id(fake.Contact),
		AccountID: id(fake.Company),
	}
}

func find(t *testing.T, s *testServer, n crm.NewTicket) (crm.Ticket, error) {
	t.Helper()
	return s.open(t).(crm.Finder).Find(t.Context(), n)
}

func createOthers(t *testing.T, s *testServer, n int) {
	t.Helper()
	driver := s.open(t)
	for i := range n {
		if _, err := driver.Create(t.Context(), crm.NewTicket{
			Subject: fmt.Sprint("Pipe ", i), Description: "Another.",
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATicketThatWasCutOffIsFoundByWhatItSays(t *testing.T) {
	silent := cutOff()
	silent.Description = "" // the subject is sent instead
	for _, n := range []crm.NewTicket{cutOff(), silent} {
		s := serve(t, fake.Options{})
		s.DropNextReply()
		if _, err := s.open(t).Create(t.Context(), n); err == nil {
			t.Fatal("the reply was not lost")
		}
		createOthers(t, s, 150) // so that it is on the second page
		found, err := find(t, s, n)
		if err != nil || found.Subject != n.Subject || found.Number == "" || found.Status != "Open" {
			t.Errorf("found %+v, %v", found, err)
		}
	}
}

// A ticket that seems to be missing is opened again.
func TestAListThatCannotBeReadProvesNothing(t *testing.T) {
	for _, list := range []string{`null`, `[{"id":7,"subject":"Leaking pipe"}]`, `[null]`} {
		s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := next
				if strings.HasSuffix(r.URL.Path, "/tickets") {
					answer = says(200, list)
				}
				answer.ServeHTTP(w, r)
			})
		})
		if _, err := find(t, s, cutOff()); err == nil || errors.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// A rule can delete a new ticket or mark it as spam, and so can a person.
func TestATicketThatIsSpamOrDeletedIsFound(t *testing.T) {
	for rule, hide := range map[string]func(*testServer, string) error{
		"spam":    func(s *testServer, id string) error { return s.MarkSpam(id) },
		"deleted": func(s *testServer, id string) error { return s.Delete(id) },
	} {
		s := serve(t, fake.Options{})
		made, err := s.open(t).Create(t.Context(), cutOff())
		if err == nil {
			err = hide(s, made.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		if found, err := find(t, s, cutOff()); err != nil || found.ID != made.ID || found.Status != "Open" {
			t.Errorf("%s: found %+v, %v", rule, found, err)
		}
	}
}

func TestAnAgentWhoSeesNoTrashCannotBeCertain(t *testing.T) {
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("filter") == "deleted" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	if _, err := find(t, s, cutOff()); err == nil || !fault.From(err).IsUnknowable() {
		t.Errorf("answered %v", err)
	}
}

func TestATicketIsFoundAmongLongOnes(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.open(t)
	for i := range 60 {
		long := crm.NewTicket{Subject: fmt.Sprint("Pipe ", i), Description: strings.Repeat("Dear all, ", 3000)}
		if _, err := driver.Create(t.Context(), long); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := driver.Create(t.Context(), cutOff()); err != nil {
		t.Fatal(err)
	}
	if found, err := find(t, s, cutOff()); err != nil || found.Subject != cutOff().Subject {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestAnOlderTicketThatWasChangedIsNotTaken(t *testing.T) {
	at := time.Now().Add(-time.Hour)
	s := serve(t, fake.Options{Now: func() time.Time { return at }})
	made, err := s.open(t).Create(t.Context(), cutOff())
	if err != nil {
		t.Fatal(err)
	}
	at = time.Now()
	if err := s.Comment(made.ID, "More.", false, true); err != nil {
		t.Fatal(err)
	}
	if _, err := find(t, s, cutOff()); !errors.Is(err, fault.NotFound) {
		t.Errorf("answered %v", err)
	}
}

func TestWhatCannotBeKnownIsNotGuessedAt(t *testing.T) {
	many := func(t *testing.T, s *testServer) { createOthers(t, s, 500) }
	changed := func(t *testing.T, s *testServer) {
		n := cutOff()
		n.Description = "Something else."
		if _, err := s.open(t).Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for rule, c := range map[string]struct {
		how    fake.Options
		before func(*testing.T, *testServer)
	}{
		"an agent who does not see every ticket": {fake.Options{Scope: 3}, func(*testing.T, *testServer) {}},
		"a ticket that says only a part":         {fake.Options{}, changed},
		"more tickets than are looked through":   {fake.Options{}, many},
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, c.how)
			c.before(t, s)
			if _, err := find(t, s, cutOff()); err == nil || !fault.From(err).IsUnknowable() {
				t.Errorf("answered %v", err)
			}
		})
	}
}
