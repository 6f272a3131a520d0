package freshdesk_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/crm/freshdesk"
	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func pipe() crm.NewTicket {
	return crm.NewTicket{Key: "k", Subject: "Leaking pipe", Description: "In room 12.", Priority: "High"}
}

func made(t *testing.T, s *testServer) crm.Ticket {
	t.Helper()
	ticket, err := s.open(t).Create(t.Context(), pipe())
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func TestATicketIsFromTheContactOrElseFromTheOneInTheSettings(t *testing.T) {
	s := serve(t, fake.Options{})
	known := pipe()
	known.ContactID = id(fake.Contact)
	byContact, err := s.open(t).Create(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	byNobody, again := made(t, s), made(t, s)
	if byContact.ContactID != id(fake.Contact) || byNobody.ContactID == byContact.ContactID ||
		byNobody.ContactID == "" || again.ContactID != byNobody.ContactID {
		t.Errorf("the tickets are from %q, %q and %q", byContact.ContactID, byNobody.ContactID, again.ContactID)
	}
}

func TestItAsksNoMoreThanItNeeds(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t)
	first, err := d.Create(t.Context(), pipe())
	if err != nil {
		t.Fatal(err)
	}
	read := func() error { _, err := d.ByNumber(t.Context(), first.Number); return err }
	for _, c := range []struct {
		rule string
		do   func() error
		want int
	}{
		{"a ticket with labels", func() error { _, err := d.Create(t.Context(), pipe()); return err }, 1},
		{"a ticket of few conversations", read, 1},
		{"a ticket of many", func() error {
			for range 10 {
				if err := s.Comment(first.ID, "More.", false, true); err != nil {
					return err
				}
			}
			return read()
		}, 2},
		{"a number that can be none", func() error {
			if _, err := d.ByNumber(t.Context(), "1/conversations"); err == nil {
				t.Error("found a ticket")
			}
			return nil
		}, 0},
		{"an id that can be none", func() error {
			n := pipe()
			n.AccountID = "Acme"
			if _, err := d.Create(t.Context(), n); !slices.Equal(named(err), []string{"account_id"}) {
				t.Errorf("answered %v", err)
			}
			return nil
		}, 0},
		{"a label that is none: the labels, once more", func() error {
			n := pipe()
			n.Status, n.Priority = "On the way", "Blue"
			if _, err := d.Create(t.Context(), n); !slices.Equal(named(err), []string{"status", "priority"}) {
				t.Errorf("answered %v", err)
			}
			return nil
		}, 1},
	} {
		before := s.Calls()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		if asked := s.Calls() - before; asked != c.want {
			t.Errorf("%s: %d calls, want %d", c.rule, asked, c.want)
		}
	}
}

func TestARenamedStatusIsToldAfterAWhile(t *testing.T) {
	open := "Open"
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/ticket_fields") {
				next.ServeHTTP(w, r)
				return
			}
			if open == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte(`"Open"`), []byte(`"`+open+`"`)))
		})
	})
	number := made(t, s).Number
	d := s.open(t)
	for _, want := range []string{"Open", "In work"} {
		if read, err := d.ByNumber(t.Context(), number); err != nil || read.Status != want {
			t.Errorf("the status is %q, %v, want %q", read.Status, err, want)
		}
		open = "In work"
		s.later += crm.LabelsLast
	}
	open = ""
	if read, err := d.ByNumber(t.Context(), number); err != nil || read.Status != "In work" {
		t.Errorf("where the labels cannot be read anew, the status is %q, %v", read.Status, err)
	}
}

func named(err error) []string {
	var paths []string
	if f := fault.From(err); f != nil && f.Code == fault.Invalid {
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
	}
	return paths
}

func TestTheLastCommentIsFoundHoweverManyThereAre(t *testing.T) {
	for _, c := range []struct {
		rule          string
		before, after int
		want          string
		calls         int
	}{
		{"with the ticket", 3, 3, "We are on our way.", 2},
		{"beyond those that come with it", 12, 3, "We are on our way.", 3},
		{"on a later page", 150, 3, "We are on our way.", 4},
		{"where the last page is full", 190, 9, "We are on our way.", 5},
		{"too far away", 20, 480, "", 7},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			ticket := made(t, s)
			say := func(body string, public bool) {
				if err := s.Comment(ticket.ID, body, false, public); err != nil {
					t.Fatal(err)
				}
			}
			for range c.before {
				say("An earlier word.", true)
			}
			say("We are on our way.", true)
			for range c.after {
				say("The customer is angry.", false)
			}
			before := s.Calls()
			read, err := s.open(t).ByNumber(t.Context(), ticket.Number)
			if err != nil || read.LastComment != crm.Plain(c.want) {
				t.Errorf("the last comment is %+v, %v", read.LastComment, err)
			}
			if asked := s.Calls() - before; asked != c.calls {
				t.Errorf("%d calls, want %d", asked, c.calls)
			}
		})
	}
}

func TestLongMailsOfATicketAreRead(t *testing.T) {
	s := serve(t, fake.Options{})
	ticket := made(t, s)
	for range 60 {
		if err := s.Comment(ticket.ID, strings.Repeat("Dear all, ", 3000), false, true); err != nil {
			t.Fatal(err)
		}
	}
	if read, err := s.open(t).ByNumber(t.Context(), ticket.Number); err != nil || read.LastComment.Body == "" {
		t.Errorf("read %v", err)
	}
}

func TestATicketInTheTrashIsNone(t *testing.T) {
	s := serve(t, fake.Options{})
	ticket := made(t, s)
	for range 12 {
		if err := s.Comment(ticket.ID, "An earlier word.", false, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(ticket.ID); err != nil {
		t.Fatal(err)
	}
	before := s.Calls()
	_, err := s.open(t).ByNumber(t.Context(), ticket.Number)
	if f := fault.From(err); f == nil || f.Reason != fault.ReasonTicketNotFound {
		t.Errorf("answered %v", err)
	}
	if asked := s.Calls() - before; asked != 1 {
		t.Errorf("it took %d calls", asked)
	}
}

func TestATicketInTheArchiveIsFound(t *testing.T) {
	s := serve(t, fake.Options{})
	ticket := made(t, s)
	for _, change := range []error{
		s.Move(ticket.ID, "Closed"), s.Comment(ticket.ID, "The pipe is new.", false, true), s.Archive(ticket.ID),
	} {
		if change != nil {
			t.Fatal(change)
		}
	}
	read, err := s.open(t).ByNumber(t.Context(), ticket.Number)
	if err != nil || read.Subject != ticket.Subject || read.Status != "Closed" ||
		read.LastComment != crm.Plain("The pipe is new.") {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestAnAccountWithoutAnArchiveHasNoSuchTicket(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusForbidden: fault.ReasonTicketNotFound, http.StatusBadGateway: fault.ReasonProviderUnavailable,
	} {
		s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/archived/") {
					w.WriteHeader(status)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		_, err := s.open(t).ByNumber(t.Context(), "4711")
		if f := fault.From(err); f == nil || f.Reason != want {
			t.Errorf("status %d of the archive: answered %v", status, err)
		}
	}
}

func TestWhatFailsBeforeATicketIsSentMadeNone(t *testing.T) {
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ticket_fields") {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, err := s.open(t).Create(t.Context(), pipe())
	if f := fault.From(err); f == nil || f.Code != fault.Unavailable || !f.Unsent || s.Tickets() != 0 {
		t.Errorf("answered %v", err)
	}
}

func TestSettingsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct {
		rule, base, requester string
		want                  []string
	}{
		{"all is well", "https://acme.freshdesk.com/", "calls@example.com", nil},
		{"an address with a path", "https://acme.freshdesk.com/a/tickets", "calls@example.com",
			[]string{"settings.base_url"}},
		{"an address with a query", "https://acme.freshdesk.com?x=y", "calls@example.com",
			[]string{"settings.base_url"}},
		{"no email, and a path", "https://acme.freshdesk.com/a", "Front Desk",
			[]string{"settings.base_url", "settings.requester_email"}},
		{"an email with a name", "https://acme.freshdesk.com", "Front Desk <calls@example.com>",
			[]string{"settings.requester_email"}},
		{"none", "", "", []string{"settings.base_url", "settings.requester_email"}},
	} {
		_, err := freshdesk.Adapter().OpenCRM(context.Background(), adapter.Values{
			Settings:    map[string]any{"base_url": c.base, "requester_email": c.requester},
			Credentials: map[string]string{"api_key": "withheld"},
		}, adapter.Environment{})
		if !slices.Equal(named(err), c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: answered %v, want %q refused", c.rule, err, c.want)
		}
	}
}
