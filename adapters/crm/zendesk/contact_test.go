package zendesk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

func finder(t *testing.T, s *testServer) crm.ContactFinder {
	t.Helper()
	return s.open(t).(crm.ContactFinder)
}

func caller(t *testing.T, e164 string) crm.ContactQuery {
	t.Helper()
	n, err := phonenumber.Parse(e164)
	if err != nil {
		t.Fatal(err)
	}
	return crm.ContactQuery{Phone: n, Limit: 10}
}

func TestACallerIsLookedUpInTwoRequests(t *testing.T) {
	s := serve(t, fake.Options{})
	id := s.AddUser("Pat", "Acme", []string{"pat@example.com", "second@example.com"},
		[]string{"+1 513 555 0100", "(513) 555-7611"})
	d := finder(t, s)
	for _, c := range []struct {
		rule string
		q    crm.ContactQuery
		want int
	}{
		{"somebody known", caller(t, "+15135557611"), 2},
		{"an address beside the primary one", crm.ContactQuery{Email: "second@example.com", Limit: 10}, 2},
		{"nobody known", caller(t, "+15135550199"), 1},
		{"an address that no query can hold", crm.ContactQuery{Email: `a"b@example.com`, Limit: 10}, 0},
	} {
		before := s.Calls()
		found, err := d.FindContacts(t.Context(), c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		if asked := s.Calls() - before; asked != c.want {
			t.Errorf("%s: %d calls, want %d", c.rule, asked, c.want)
		}
		if known := len(found.Contacts) == 1 && found.Contacts[0].ID == id; known != (c.want == 2) {
			t.Errorf("%s: found %+v", c.rule, found)
		}
	}
}

func TestWithoutTheirDetailsContactsAreIncomplete(t *testing.T) {
	s := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/show_many")
	}))
	id := s.AddUser("Pat", "Acme", []string{"pat@example.com"}, []string{"+1 513 555 7611", "513-555-0100"})
	found, err := finder(t, s).FindContacts(t.Context(), caller(t, "+15135557611"))
	if err != nil || !found.Incomplete || len(found.Contacts) != 1 || found.Contacts[0].ID != id ||
		!slices.Equal(found.Contacts[0].Phones, []string{"+1 513 555 7611"}) {
		t.Errorf("answered %+v, %v", found, err)
	}
}

func TestATokenThatMayNotSearchSaysSo(t *testing.T) {
	s := serve(t, fake.Options{AccessToken: "of tickets alone", Scopes: []string{"tickets:read",
		"tickets:write"}})
	s.authorize = func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer of tickets alone")
		return nil
	}
	_, err := finder(t, s).FindContacts(t.Context(), caller(t, "+15135557611"))
	if f := fault.From(err); f == nil || f.Code != fault.Forbidden || !strings.Contains(f.Detail, "scope read") {
		t.Errorf("answered %v", err)
	}
}

func TestOpenTicketsAreFoundBehindManyThatAreDone(t *testing.T) {
	s := serve(t, fake.Options{PageSize: 1})
	d := s.open(t)
	id := s.AddUser("Pat", "", []string{"pat@example.com"}, nil)
	var made []crm.Ticket
	for i := range 3 {
		m, err := d.Create(t.Context(), crm.NewTicket{
			Key: fmt.Sprint(i), Subject: fmt.Sprint("Number ", i), ContactID: id,
		})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, m)
	}
	for _, m := range made[1:] {
		if err := s.Move(m.ID, "Solved"); err != nil {
			t.Fatal(err)
		}
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), id, 5)
	if err != nil || len(open) != 1 || open[0].ID != made[0].ID || open[0].Status != "New" {
		t.Errorf("answered %+v, %v", open, err)
	}
}

func TestStrangersWhoseNumberEndsAlikeLeaveRoom(t *testing.T) {
	s := serve(t, fake.Options{})
	s.AddUser("Stranger", "", []string{"stranger@example.com"}, []string{"+44 1513 555 7611"})
	id := s.AddUser("Pat", "", []string{"pat@example.com"}, []string{"(513) 555-7611"})
	q := caller(t, "+15135557611")
	q.Limit = 1
	found, err := finder(t, s).FindContacts(t.Context(), q)
	if err != nil || len(found.Contacts) != 1 || found.Contacts[0].ID != id || found.More {
		t.Errorf("answered %+v, %v", found, err)
	}
}

func TestARefusedSearchIsNotARefusedTicket(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Instead(says(422, "application/json", `{"error":"invalid","description":"Invalid search: x"}`))
	_, err := finder(t, s).FindContacts(t.Context(), caller(t, "+15135557611"))
	if f := fault.From(err); f == nil || f.Code != fault.Invalid || strings.Contains(f.Detail, "ticket") {
		t.Errorf("answered %v", err)
	}
}
