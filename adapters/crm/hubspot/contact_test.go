package hubspot_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

// query returns the query for a number, or for an address if text holds an @.
func query(t *testing.T, text string, limit int) crm.ContactQuery {
	t.Helper()
	if strings.Contains(text, "@") {
		return crm.ContactQuery{Email: text, Limit: limit}
	}
	n, err := phonenumber.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return crm.ContactQuery{Phone: n, Limit: limit}
}

// lookUp looks a number or an address up, and returns the contacts' names too.
func lookUp(t *testing.T, d crm.Driver, text string, limit int) ([]string, crm.Contacts) {
	t.Helper()
	found, err := d.(crm.ContactFinder).FindContacts(t.Context(), query(t, text, limit))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range found.Contacts {
		names = append(names, c.Name)
	}
	return names, found
}

func TestANumberIsFoundHoweverHubSpotReadsIt(t *testing.T) {
	s := serve(t, fake.Options{})
	for _, p := range []fake.Person{
		{First: "Plus", Phone: "+49 171 1234567"},
		{First: "Zeros", Mobile: "0049 171 1234567"},
		{First: "Trunk", Mobile: "0171/1234567"},
		{First: "Bracketed", Phone: "+49 (0) 171 1234567"},
		{First: "Other", Phone: "+44 171 1234567"},
		{First: "Rome", Phone: "+39 06 1234 5678"},
		{First: "Trastevere", Phone: "06 12345678"},
		{First: "Local", Phone: "555-7611"},
		{First: "Typed", Phone: "+1 (513) 555-7611", Uncalculated: true},
		{First: "Mobile", Mobile: "513.555.7611", Uncalculated: true},
		{First: "Extended", Phone: "+1 513 555 7611 ext. 12"},
	} {
		s.AddContact(p)
	}
	d := s.driver(t)
	for number, want := range map[string][]string{
		"+491711234567": {"Plus", "Zeros", "Bracketed", "Trunk", "Other"}, "+390612345678": {"Rome", "Trastevere"},
		"+15135557611": {"Typed", "Extended", "Mobile", "Local"},
	} {
		if got, found := lookUp(t, d, number, 10); !slices.Equal(got, want) || found.More || found.Incomplete {
			t.Errorf("%s: found %q, want %q", number, got, want)
		}
	}
	if got, found := lookUp(t, d, "+15135557611", 1); !slices.Equal(got, []string{"Typed"}) || !found.More {
		t.Errorf("the limit left out the likeliest: %q, more: %t", got, found.More)
	}
}

func TestFurtherAddressesAreSearched(t *testing.T) {
	s := serve(t, fake.Options{})
	s.AddContact(fake.Person{
		First: "Pat", Last: "Doe", Email: "pat@example.com",
		Emails: []string{"Doe@Example.com", "p.o'doe@example.com"},
	})
	d := s.driver(t)
	for _, email := range []string{"pat@example.com", "doe@example.com", "p.o'doe@example.com"} {
		names, found := lookUp(t, d, email, 5)
		if !slices.Equal(names, []string{"Pat Doe"}) || !slices.Equal(found.Contacts[0].Emails,
			[]string{"pat@example.com", "doe@example.com", "p.o'doe@example.com"}) {
			t.Errorf("%s: found %+v", email, found)
		}
	}
	for _, email := range []string{
		"d*@example.com", "*@*", "x@y.example doe@example.com", "x@y.example;doe@example.com",
		"doe@example.com,x@y.example", "oe@example.com",
	} {
		if names, _ := lookUp(t, d, email, 5); names != nil {
			t.Errorf("%s: found %q", email, names)
		}
	}
}

func TestALookUpCostsFewCalls(t *testing.T) {
	s := serve(t, fake.Options{})
	known := s.AddContact(fake.Person{
		First: "Pat", Phone: "+15135557611", Email: "pat@example.com", Company: "Acme",
	})
	s.AddContact(fake.Person{First: "Sam", Phone: "+15135557612"})
	d := s.driver(t)
	create(t, d, crm.NewTicket{ContactID: known, Priority: "High"}) // also reads stages and priorities
	finder := d.(crm.ContactFinder)
	find := func(text string) func() error {
		return func() error {
			_, err := finder.FindContacts(t.Context(), query(t, text, 5))
			return err
		}
	}
	open := func(id string) func() error {
		return func() error {
			_, err := finder.OpenTickets(t.Context(), id, 5)
			return err
		}
	}
	const (
		contacts  = "POST /crm/objects/2026-09/contacts/search"
		companies = "POST /crm/objects/2026-09/companies/batch/read"
		related   = "POST /crm/associations/2026-09/contacts/tickets/batch/read"
		tickets   = "POST /crm/objects/2026-09/tickets/batch/read"
	)
	for _, c := range []struct {
		rule string
		run  func() error
		want []string
	}{
		{"a number", find("+15135557611"), []string{contacts, companies}},
		{"a number of somebody without a company", find("+15135557612"), []string{contacts}},
		{"a number of nobody", find("+15135557613"), []string{contacts}},
		{"an address", find("pat@example.com"), []string{contacts, companies}},
		{"no address", find("a\x00@example.com"), nil},
		{"tickets", open(known), []string{related, tickets}},
		{"tickets of somebody without any", open("101"), []string{related}},
		{"tickets of no contact", open("contact/101"), nil},
	} {
		before := s.Calls()
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", c.rule, err)
		}
		if calls := since(s, before); !slices.Equal(calls, c.want) {
			t.Errorf("%s: asked %q, want %q", c.rule, calls, c.want)
		}
	}
}

func TestMoreSearchesThanHubSpotAllowsAreLimited(t *testing.T) {
	c := newClock(noon)
	s := serve(t, fake.Options{SearchesPerSecond: 5, Now: c.now})
	pat := s.AddContact(fake.Person{First: "Pat", Phone: "+15135557611"})
	d := s.driver(t)
	create(t, d, crm.NewTicket{ContactID: pat})
	for range 5 {
		lookUp(t, d, "+15135557611", 5)
	}
	finder := d.(crm.ContactFinder)
	_, err := finder.FindContacts(t.Context(), query(t, "+15135557611", 5))
	if !errors.Is(err, fault.RateLimited) || fault.From(err).RetryAfter != time.Second {
		t.Errorf("the sixth search: %v", err)
	}
	if open, err := finder.OpenTickets(t.Context(), pat, 5); err != nil || len(open) != 1 {
		t.Errorf("tickets are limited too: %+v, %v", open, err)
	}
	c.pass(2 * time.Second)
	lookUp(t, d, "+15135557611", 5)
}

func TestATicketIsListedBeforeTheSearchKnowsIt(t *testing.T) {
	s := serve(t, fake.Options{SearchLag: time.Hour})
	d := s.driver(t)
	made := create(t, d, crm.NewTicket{ContactID: "102", Priority: "Urgent", Status: "Waiting on us"})
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "102", 5)
	if err != nil || len(open) != 1 || open[0].ID != made.ID || open[0].Status != "Waiting on us" ||
		open[0].Priority != "Urgent" || open[0].ContactID != "102" {
		t.Errorf("open are %+v, %v", open, err)
	}
}

func TestTheNewestTicketsOfAContactAreLookedThrough(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	var last crm.Ticket
	for i := range 101 {
		last = create(t, d, crm.NewTicket{ContactID: "103", Key: fmt.Sprint("k", i), Subject: "A call"})
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "103", 200)
	isLast := func(t crm.Ticket) bool { return t.ID == last.ID }
	if err != nil || len(open) != 100 || !slices.ContainsFunc(open, isLast) {
		t.Errorf("%d tickets, %v", len(open), err)
	}
}

func TestClosedTicketsAreNotOpen(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	undated := create(t, d, crm.NewTicket{ContactID: "101", Key: "a", Subject: "a", Status: "Closed"})
	dated := create(t, d, crm.NewTicket{ContactID: "101", Key: "b", Subject: "b", Status: "Waiting on us"})
	err := errors.Join(s.Set(undated.ID, "closed_date", ""), s.Set(dated.ID, "closed_date",
		"2026-11-20T10:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	s.RemoveStage("3") // now only the date says that the ticket is closed
	if open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "101", 5); err != nil || len(open) != 1 {
		t.Errorf("while the stage is remembered, open are %+v, %v", open, err)
	}
	if open, err := s.driver(t).(crm.ContactFinder).OpenTickets(t.Context(), "101", 5); err != nil ||
		open != nil {
		t.Errorf("open are %+v, %v", open, err)
	}
}

// Each look for a stage or a priority that is gone would otherwise ask again, one after another.
func TestStagesAndPrioritiesThatAreGoneAreAskedForOnce(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	for _, key := range []string{"a", "b", "c"} {
		made := create(t, d, crm.NewTicket{ContactID: "101", Key: key, Subject: key, Status: "Waiting on us"})
		if err := s.Set(made.ID, "hs_ticket_priority", "GONE"); err != nil {
			t.Fatal(err)
		}
	}
	s.RemoveStage("3")
	d = s.driver(t)
	before := s.Calls()
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "101", 5)
	if err != nil || len(open) != 3 || open[0].Status != "" || open[0].Priority != "" {
		t.Errorf("open are %+v, %v", open, err)
	}
	if calls := since(s, before); len(calls) != 4 {
		t.Errorf("asked %q", calls)
	}
}

func TestWithoutACompanysNameTheCallerIsKnown(t *testing.T) {
	s := serve(t, fake.Options{Tokens: map[string][]string{private: {"tickets", "crm.objects.contacts.read"}}})
	s.AddContact(fake.Person{First: "Pat", Phone: "+15135557611", Company: "Acme"})
	_, found := lookUp(t, s.driver(t), "+15135557611", 5)
	if len(found.Contacts) != 1 || found.Contacts[0].AccountID == "" || found.Contacts[0].AccountName != "" {
		t.Errorf("found %+v", found)
	}
	s = serve(t, fake.Options{Tokens: map[string][]string{private: {"tickets"}}})
	_, err := s.driver(t).(crm.ContactFinder).FindContacts(t.Context(), query(t, "+15135557611", 5))
	if !errors.Is(err, fault.Forbidden) ||
		!strings.Contains(fault.From(err).Detail, "crm.objects.contacts.read") {
		t.Errorf("without the scope: %v", err)
	}
}

// A search is sent by POST, and yet has no outcome that could be unknown.
func TestAnAnswerThatCannotBeReadChangedNothing(t *testing.T) {
	s := serve(t, fake.Options{}, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := "<html>Sign in</html>"
			if strings.Contains(r.URL.Path, "associations") {
				body = `{"status":"COMPLETE"}`
			}
			_, _ = w.Write([]byte(body))
		})
	})
	finder := s.driver(t).(crm.ContactFinder)
	_, err := finder.FindContacts(t.Context(), query(t, "+15135557611", 5))
	_, errOpen := finder.OpenTickets(t.Context(), "101", 5)
	if !errors.Is(err, fault.Unsupported) || !errors.Is(errOpen, fault.Unsupported) {
		t.Errorf("%v; %v", err, errOpen)
	}
	if f := fault.From(err); !strings.HasPrefix(f.Upstream, "200 ") || !strings.Contains(f.Detail, "api_version") {
		t.Errorf("told is %q, and to the log %q", f.Detail, f.Upstream)
	}
}
