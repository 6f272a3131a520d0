package freshdesk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

func finder(t *testing.T, s *testServer) crm.ContactFinder {
	t.Helper()
	return s.open(t).(crm.ContactFinder)
}

func caller(t *testing.T) crm.ContactQuery {
	t.Helper()
	n, err := phonenumber.Parse("+15135557611")
	if err != nil {
		t.Fatal(err)
	}
	return crm.ContactQuery{Phone: n, Limit: 10}
}

func TestACallerIsLookedUpInFewRequests(t *testing.T) {
	s := serve(t, fake.Options{})
	s.AddContact("Pat", "pat@example.com", "513-555-0100", "", "Acme")
	d := finder(t, s)
	for _, c := range []struct {
		rule string
		q    crm.ContactQuery
		want int
	}{
		{"a number that nobody has: one search for each field", caller(t), 2},
		{"an address that nobody has", crm.ContactQuery{Email: "nobody@example.com", Limit: 10}, 1},
		{"what is no address to Freshdesk", crm.ContactQuery{Email: "nobody", Limit: 10}, 1},
		{"the company's name as well", crm.ContactQuery{Email: "pat@example.com", Limit: 10}, 2},
	} {
		before := s.Calls()
		if _, err := d.FindContacts(t.Context(), c.q); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		if asked := s.Calls() - before; asked != c.want {
			t.Errorf("%s: %d calls, want %d", c.rule, asked, c.want)
		}
	}
}

func TestANumberThatIsInBothFieldsIsOneContact(t *testing.T) {
	s := serve(t, fake.Options{})
	id := s.AddContact("Pat", "pat@example.com", "513-555-7611", "+15135557611", "")
	found, err := finder(t, s).FindContacts(t.Context(), caller(t))
	if err != nil || len(found.Contacts) != 1 || found.Contacts[0].ID != id || found.More {
		t.Errorf("answered %+v, %v", found, err)
	}
}

// failing answers 503 where the address contains one of the texts.
func failing(texts ...string) func(http.Handler) http.Handler {
	return adaptertest.Unavailable(func(r *http.Request) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(r.URL.String(), text) })
	})
}

func TestWhatFailsIsMarked(t *testing.T) {
	for _, c := range []struct {
		rule       string
		failing    []string
		incomplete bool
		code       fault.Code
	}{
		{"a search of two", []string{"mobile"}, true, ""},
		{"both", []string{"search"}, false, fault.Unavailable},
		{"only the company's name", []string{"companies"}, false, ""},
	} {
		s := serve(t, fake.Options{}, failing(c.failing...))
		s.AddContact("Pat", "pat@example.com", "513-555-7611", "", "Acme")
		found, err := finder(t, s).FindContacts(t.Context(), caller(t))
		if f := fault.From(err); c.code != "" {
			if f == nil || f.Code != c.code {
				t.Errorf("%s fails: answered %+v, %v", c.rule, found, err)
			}
			continue
		}
		if err != nil || found.Incomplete != c.incomplete || len(found.Contacts) != 1 ||
			found.Contacts[0].AccountID == "" {
			t.Errorf("%s fails: answered %+v, %v", c.rule, found, err)
		}
	}
}

func TestAnAgentWhoMayNotViewContactsIsTold(t *testing.T) {
	s := serve(t, fake.Options{NoView: true})
	for _, q := range []crm.ContactQuery{caller(t), {Email: "pat@example.com", Limit: 10}} {
		_, err := finder(t, s).FindContacts(t.Context(), q)
		if f := fault.From(err); f == nil || f.Code != fault.Forbidden || !strings.Contains(f.Detail, "role") {
			t.Errorf("answered %v", err)
		}
	}
}

func TestOpenTicketsAreFoundBehindManyThatAreDone(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t)
	id := s.AddContact("Pat", "pat@example.com", "", "", "")
	var made []crm.Ticket
	for i := range 101 {
		m, err := d.Create(t.Context(), crm.NewTicket{
			Key: fmt.Sprint(i), Subject: fmt.Sprint("Number ", i), ContactID: id,
		})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, m)
	}
	for _, m := range made[1:] {
		if err := s.Move(m.ID, "Resolved"); err != nil {
			t.Fatal(err)
		}
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), id, 5)
	if err != nil || len(open) != 1 || open[0].ID != made[0].ID || open[0].Status != "Open" ||
		open[0].Description.Body == "" {
		t.Errorf("answered %+v, %v", open, err)
	}
}
