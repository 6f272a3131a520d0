package salesforce_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

func phone(t *testing.T, text string) phonenumber.Number {
	t.Helper()
	n, err := phonenumber.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lookUp looks a number up.
func lookUp(t *testing.T, d crm.Driver, number string, limit int) crm.Contacts {
	t.Helper()
	found, err := d.(crm.ContactFinder).FindContacts(t.Context(),
		crm.ContactQuery{Phone: phone(t, number), Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(found crm.Contacts) []string {
	var names []string
	for _, c := range found.Contacts {
		names = append(names, c.Name)
	}
	return names
}

func TestEveryNumberOfAContactIsSearched(t *testing.T) {
	s := serve(t, fake.Options{})
	s.AddContact(fake.Person{Name: "Home", Home: "+49 (0)171 1234567"})
	s.AddContact(fake.Person{Name: "Other", Other: "0171/123 45 67", Mobile: "none"})
	s.AddContact(fake.Person{Name: "Local", Phone: "555-7611"})
	s.AddContact(fake.Person{Name: "Elsewhere", Phone: "(212) 555-7611"})
	d := s.open(t, nil)
	for number, want := range map[string][]string{
		"+491711234567": {"Home", "Other"}, "+15135557611": {"Local"}, "+12125557611": {"Elsewhere", "Local"},
	} {
		if got := lookUp(t, d, number, 10); !slices.Equal(names(got), want) || got.More || got.Incomplete {
			t.Errorf("%s: found %q (%+v), want %q", number, names(got), got, want)
		}
	}
}

func TestTheLimitLeavesOutTheLeastLikely(t *testing.T) {
	s := serve(t, fake.Options{})
	s.AddContact(fake.Person{Name: "Local", Phone: "555-7611"})
	s.AddContact(fake.Person{Name: "National", Phone: "(513) 555-7611"})
	s.AddContact(fake.Person{Name: "Exact", Phone: "+1 513 555 7611"})
	found := lookUp(t, s.open(t, nil), "+15135557611", 2)
	if want := []string{"Exact", "National"}; !slices.Equal(names(found), want) || !found.More {
		t.Errorf("found %q, more: %t, want %q and more", names(found), found.More, want)
	}
}

func TestStrangersThatFillASearchAreNotTheEnd(t *testing.T) {
	s := serve(t, fake.Options{})
	for range 200 {
		s.AddContact(fake.Person{Name: "Elsewhere", Phone: "(212) 555-7611"})
	}
	found := lookUp(t, s.open(t, nil), "+15135557611", 5)
	if len(found.Contacts) != 0 || !found.More {
		t.Errorf("found %q, more: %t", names(found), found.More)
	}
}

func TestANumberIsFoundBeforeTheSearchKnowsIt(t *testing.T) {
	s := serve(t, fake.Options{SearchLag: time.Hour})
	s.AddContact(fake.Person{Name: "New", Phone: "513 / 5557-611", Account: "Acme"})
	found := lookUp(t, s.open(t, nil), "+15135557611", 5)
	if len(found.Contacts) != 1 || found.Contacts[0].AccountName != "Acme" || found.Incomplete {
		t.Errorf("found %+v", found)
	}
}

func TestContactsInLaterBatchesAreFound(t *testing.T) {
	for _, c := range []struct {
		there, limit, want int
		more               bool
	}{{3, 5, 3, false}, {3, 2, 2, true}, {11, 20, 10, true}} { // ten batches are read
		s := serve(t, fake.Options{BatchSize: 1, SearchLag: time.Hour})
		for range c.there {
			s.AddContact(fake.Person{Name: "Pat", Email: "pat@example.com", Phone: "+1 513 555 7611"})
		}
		for _, q := range []crm.ContactQuery{
			{Phone: phone(t, "+15135557611"), Limit: c.limit}, {Email: "pat@example.com", Limit: c.limit},
		} {
			found, err := s.open(t, nil).(crm.ContactFinder).FindContacts(t.Context(), q)
			if err != nil || len(found.Contacts) != c.want || found.More != c.more || found.Incomplete {
				t.Errorf("%d of %d: found %+v, %v", c.limit, c.there, found, err)
			}
		}
	}
}

// refusing responds with status 503 to requests whose path and query contain part.
func refusing(parts ...string) func(http.Handler) http.Handler {
	return adaptertest.Unavailable(func(r *http.Request) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(r.URL.Path, p) })
	})
}

func TestAPartThatFailsIsSaid(t *testing.T) {
	for _, part := range []string{"/search", "/query"} {
		s := serve(t, fake.Options{}, refusing(part))
		s.AddContact(fake.Person{Name: "Pat", Phone: "+15135557611"})
		found := lookUp(t, s.open(t, nil), "+15135557611", 5)
		if !slices.Equal(names(found), []string{"Pat"}) || !found.Incomplete {
			t.Errorf("without %s: %+v", part, found)
		}
	}
	s := serve(t, fake.Options{}, refusing("/search", "/query"))
	_, err := s.open(t, nil).(crm.ContactFinder).FindContacts(t.Context(),
		crm.ContactQuery{Phone: phone(t, "+15135557611"), Limit: 5})
	if !errors.Is(err, fault.Unavailable) {
		t.Errorf("without both: %v", err)
	}
}

func TestWhatTheUserMayNotSeeIsSaid(t *testing.T) {
	s := serve(t, fake.Options{Hidden: []string{"HomePhone"}})
	for _, q := range []crm.ContactQuery{
		{Phone: phone(t, "+15135557611"), Limit: 5}, {Email: "pat@example.com", Limit: 5},
	} {
		_, err := s.open(t, nil).(crm.ContactFinder).FindContacts(t.Context(), q)
		if !errors.Is(err, fault.Forbidden) || !strings.Contains(fault.From(err).Detail, "HomePhone") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestALookUpCostsFewRequests(t *testing.T) {
	s := serve(t, fake.Options{})
	pat := s.AddContact(fake.Person{Name: "Pat", Email: "pat@example.com", Phone: "+15135557611"})
	d := s.open(t, nil)
	create(t, d, crm.NewTicket{Subject: "A pipe", ContactID: pat})
	f := d.(crm.ContactFinder)
	for _, c := range []struct {
		rule  string
		calls int
		run   func() (int, error)
	}{
		{"a number: the search, and beside it a query", 2, func() (int, error) {
			return len(lookUp(t, d, "+15135557611", 5).Contacts), nil
		}},
		{"an address", 1, func() (int, error) {
			found, err := f.FindContacts(t.Context(), crm.ContactQuery{Email: "pat@example.com", Limit: 5})
			return len(found.Contacts), err
		}},
		{"open tickets", 1, func() (int, error) {
			open, err := f.OpenTickets(t.Context(), pat, 5)
			return len(open), err
		}},
		{"open tickets by an id of 15 characters", 1, func() (int, error) {
			open, err := f.OpenTickets(t.Context(), pat[:15], 5)
			return len(open), err
		}},
		{"open tickets by an id whose end is wrong", 1, func() (int, error) {
			open, err := f.OpenTickets(t.Context(), pat[:15]+"XYZ", 5)
			return len(open), err
		}},
	} {
		before := s.Calls()
		if found, err := c.run(); err != nil || found != 1 || s.Calls()-before != c.calls {
			t.Errorf("%s: found %d, %v in %d calls", c.rule, found, err, s.Calls()-before)
		}
	}
	before := s.Calls()
	for _, id := range []string{"", fake.Account, fake.RecordID("500", 1), "003' OR Id != '", pat + "0"} {
		if open, err := f.OpenTickets(t.Context(), id, 5); err != nil || open != nil {
			t.Errorf("%q: %+v, %v", id, open, err)
		}
	}
	_, err := f.FindContacts(t.Context(), crm.ContactQuery{Email: "a\x00@example.com", Limit: 5})
	if err != nil {
		t.Error(err)
	}
	if calls := s.Calls() - before; calls != 0 {
		t.Errorf("what cannot be at Salesforce cost %d calls", calls)
	}
}

// A search is text of two languages, so that nothing of a number but its digits may reach it.
func TestASearchHoldsDigitsAlone(t *testing.T) {
	var searched []string
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/search/") {
				q, err := url.ParseQuery(r.URL.RawQuery)
				if err != nil {
					t.Error(err)
				}
				searched = append(searched, q.Get("q"))
			}
			next.ServeHTTP(w, r)
		})
	})
	d := s.open(t, nil)
	for _, number := range []string{
		"+493012345678", "+390612345678", "+33123456789", "+442079460000", "+41446681800", "+81312345678",
		"+5491123456789", "+80012345678", "+2348012345678", "+15135557611",
	} {
		lookUp(t, d, number, 5)
	}
	term := regexp.MustCompile(`^FIND \{([0-9]+|"[0-9]+( [0-9]+)+")( OR ([0-9]+|"[0-9]+( [0-9]+)+"))+\} IN `)
	for _, sosl := range searched {
		if !term.MatchString(sosl) {
			t.Errorf("searched %q", sosl)
		}
	}
	want := `FIND {5557611 OR 15135557611 OR 5135557611 OR "513 555 7611" OR "1 513 555 7611" OR 0015135557611 OR ` +
		`"001 513 555 7611"} IN PHONE FIELDS RETURNING Contact(Id, Name, Email, Phone, MobilePhone, HomePhone, OtherPhone, ` +
		`AccountId, Account.Name LIMIT 200)`
	if got := searched[len(searched)-1]; got != want {
		t.Errorf("searched %q, want %q", got, want)
	}
}
