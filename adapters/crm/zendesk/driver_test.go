package zendesk_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/crm/zendesk"
	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func pipe(key string) crm.NewTicket {
	return crm.NewTicket{Key: key, Subject: "Leaking pipe", Description: "In room 12.", Priority: "High"}
}

func TestTheKeyArrives(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				mu.Lock()
				keys = append(keys, r.Header.Values("Idempotency-Key")...)
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
	if _, err := s.open(t).Create(t.Context(), pipe("k1")); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 1 || keys[0] != "frontdesk-k1" {
		t.Errorf("the keys that arrived are %q", keys)
	}
}

func TestARepetitionMakesNoSecondTicket(t *testing.T) {
	for _, c := range []struct {
		rule  string
		lag   time.Duration
		after time.Duration
	}{
		{"at once, before the list has the ticket: by the Idempotency-Key", time.Hour, 0},
		{"within the life of the key", 0, 119 * time.Minute},
		{"after the life of the key: by the external id", time.Hour, 3 * time.Hour},
	} {
		t.Run(c.rule, func(t *testing.T) {
			watch := &clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
			s := serve(t, fake.Options{ListLag: c.lag, Now: watch.now})
			first, err := s.open(t).Create(t.Context(), pipe("again"))
			if err != nil {
				t.Fatal(err)
			}
			watch.pass(c.after)
			second, err := s.open(t).Create(t.Context(), pipe("again"))
			if err != nil {
				t.Fatal(err)
			}
			if n := s.Tickets(); n != 1 || second.ID != first.ID {
				t.Errorf("there are %d tickets, answered were %s and %s", n, first.ID, second.ID)
			}
		})
	}
}

func TestAKeyOfOtherValuesIsAConflict(t *testing.T) {
	s := serve(t, fake.Options{ListLag: time.Hour})
	if _, err := s.open(t).Create(t.Context(), pipe("k")); err != nil {
		t.Fatal(err)
	}
	changed := pipe("k")
	changed.Subject = "Another pipe"
	_, err := s.open(t).Create(t.Context(), changed)
	if f := fault.From(err); f == nil || f.Code != fault.Conflict || f.Reason != fault.ReasonProviderConflict {
		t.Errorf("answered %v, want a conflict", err)
	}
}

func TestItAsksNoMoreThanItNeeds(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "first", Subject: "To learn the labels"})
	if err != nil {
		t.Fatal(err)
	}
	read := func() error { _, err := d.ByNumber(t.Context(), made.Number); return err }
	for _, c := range []struct {
		rule string
		do   func() error
		want int
	}{
		{"a ticket with labels: look for the key, create",
			func() error { _, err := d.Create(t.Context(), pipe("second")); return err }, 2},
		{"an open ticket: itself, its comments", read, 2},
		{"a solved one: its times as well", func() error {
			if err := s.Move(made.ID, "Solved"); err != nil {
				return err
			}
			return read()
		}, 3},
		{"a number that can be none", func() error {
			if _, err := d.ByNumber(t.Context(), "35001/comments"); err == nil {
				t.Error("found a ticket")
			}
			return nil
		}, 0},
		{"an id that can be none", func() error {
			n := pipe("third")
			n.OwnerID = "me"
			if f := fault.From(fieldsOf(d.Create(t.Context(), n))); f == nil || f.Fields[0].Path != "owner_id" {
				t.Errorf("answered %v", f)
			}
			return nil
		}, 0},
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

func fieldsOf(_ crm.Ticket, err error) error { return err }

func TestLabelsAreAskedForAgainWhereOneIsMissed(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t)
	n := pipe("k")
	n.Status, n.Priority = "Somebody is on the way", "Blue"
	_, err := d.Create(t.Context(), n)
	f := fault.From(err)
	if f == nil || f.Code != fault.Invalid || len(f.Fields) != 2 || f.Fields[0].Path != "status" ||
		f.Fields[1].Path != "priority" || s.Tickets() != 0 {
		t.Errorf("labels of nobody were answered with %v", err)
	}
	made, err := d.Create(t.Context(), pipe("k2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Move(made.ID, "Escalated to the owner"); err != nil {
		t.Fatal(err)
	}
	if read, err := d.ByNumber(t.Context(), made.Number); err != nil || read.Status != "Escalated to the owner" {
		t.Errorf("a status that is not given any more is reported as %q, %v", read.Status, err)
	}
	s.AddStatus("Waiting for a spare part", "hold")
	if err := s.Move(made.ID, "Waiting for a spare part"); err != nil {
		t.Fatal(err)
	}
	if read, err := d.ByNumber(t.Context(), made.Number); err != nil ||
		read.Status != "Waiting for a spare part" {
		t.Errorf("a status that is new is reported as %q, %v", read.Status, err)
	}
}

func TestARenamedStatusIsToldAfterAWhile(t *testing.T) {
	var down atomic.Bool
	s := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return down.Load() && strings.Contains(r.URL.Path, "/custom_statuses")
	}))
	d := s.open(t)
	made, err := d.Create(t.Context(), pipe("k"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Move(made.ID, "Waiting for the plumber"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Waiting for the plumber", "Waiting for a part"} {
		if read, err := d.ByNumber(t.Context(), made.Number); err != nil || read.Status != want {
			t.Errorf("the status is %q, %v, want %q", read.Status, err, want)
		}
		s.Rename("Waiting for the plumber", "Waiting for a part")
		s.later += crm.LabelsLast
	}
	down.Store(true)
	if read, err := d.ByNumber(t.Context(), made.Number); err != nil || read.Status != "Waiting for a part" {
		t.Errorf("where the labels cannot be read anew, the status is %q, %v", read.Status, err)
	}
}

func TestATicketOfAnotherKeyIsNotTaken(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Instead(says(200, "application/json",
		`{"tickets":[{"id":1,"external_id":"frontdesk-kk"},{"id":2,"external_id":null}]}`))
	_, err := s.open(t).(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k"})
	if f := fault.From(err); f == nil || f.Reason != fault.ReasonTicketNotFound {
		t.Errorf("answered %v", err)
	}
}

func TestATicketThatWasMadeIsToldWhateverElseFails(t *testing.T) {
	s := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/ticket_fields")
	}))
	made, err := s.open(t).Create(t.Context(), crm.NewTicket{Key: "k", Subject: "Leaking pipe"})
	if err != nil || made.Number == "" || made.Status != "New" {
		t.Errorf("answered %+v, %v", made, err)
	}
}

func TestWhatFailsBeforeATicketIsSentMadeNone(t *testing.T) {
	for _, part := range []string{"/tickets", "/ticket_fields"} {
		s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, part) {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		_, err := s.open(t).Create(t.Context(), pipe("k"))
		if f := fault.From(err); f == nil || f.Code != fault.Unavailable || !f.Unsent || s.Tickets() != 0 {
			t.Errorf("without %s: answered %v", part, err)
		}
	}
}

func TestATicketIsClosedWhenZendeskSaysSo(t *testing.T) {
	watch := &clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	s := serve(t, fake.Options{Now: watch.now})
	made, err := s.open(t).Create(t.Context(), pipe("k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ label, resolved, closed string }{
		{"Nothing to mend", "10:00", ""}, {"Closed", "10:00", "11:00"},
	} {
		watch.pass(time.Hour)
		if err := s.Move(made.ID, step.label); err != nil {
			t.Fatal(err)
		}
		read, err := s.open(t).ByNumber(t.Context(), made.Number)
		if err != nil {
			t.Fatal(err)
		}
		if read.Status != step.label || hour(read.ResolvedAt) != step.resolved ||
			hour(read.ClosedAt) != step.closed {
			t.Errorf("%s is reported as %q, resolved %s, closed %s", step.label, read.Status,
				read.ResolvedAt, read.ClosedAt)
		}
	}
}

func hour(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("15:04")
}

func TestTheSearchForAPublicCommentHasAnEnd(t *testing.T) {
	s := serve(t, fake.Options{PageSize: 1})
	made, err := s.open(t).Create(t.Context(), pipe("k"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Comment(made.ID, "For all.", false, true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ notes, calls int }{{3, 7}, {1, 7}} {
		for range c.notes {
			if err := s.Comment(made.ID, "For us.", false, false); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Calls()
		read, err := s.open(t).ByNumber(t.Context(), made.Number)
		if asked := s.Calls() - before; err != nil || asked != c.calls {
			t.Errorf("%d calls, want %d: %v", asked, c.calls, err)
		}
		if found := read.LastComment.Body == "For all."; found != (c.notes == 3) {
			t.Errorf("the last comment is %+v", read.LastComment)
		}
	}
}

// Agents open tickets by an internal note, and answer them in public later. To customers, such a note is not shown.
func TestAnInternalNoteIsNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		pageSize int
		reply    string
	}{
		"alone": {}, "before an answer": {reply: "It is mended."}, "on a page of its own": {pageSize: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, fake.Options{PageSize: c.pageSize})
			made, err := s.open(t).Create(t.Context(), pipe("k"))
			if err == nil && c.reply != "" {
				err = s.Comment(made.ID, c.reply, false, true)
			}
			if err == nil {
				err = s.MakePrivate(made.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			read, err := s.open(t).ByNumber(t.Context(), made.Number)
			if err != nil || read.Subject != made.Subject || read.Description.Body != "" ||
				read.LastComment.Body != c.reply {
				t.Errorf("the ticket is %+v: %v", read, err)
			}
		})
	}
}

// An account may have tens of thousands of choices, and a ticket many long mails.
func TestALargeAccountAndALongTicketAreRead(t *testing.T) {
	fields := make([]fake.Field, 45)
	for i := range fields {
		fields[i] = fake.Field{ID: int64(1000 + i), Type: "tagger", Title: "Model"}
		for j := range 480 {
			fields[i].Options = append(fields[i].Options, "model_"+strconv.Itoa(j))
		}
	}
	s := serve(t, fake.Options{Fields: fields})
	made, err := s.open(t).Create(t.Context(), pipe("k"))
	if err != nil || made.Priority != "High" {
		t.Fatalf("made %+v, %v", made, err)
	}
	for range 60 {
		if err := s.Comment(made.ID, strings.Repeat("Dear all, ", 3000), false, true); err != nil {
			t.Fatal(err)
		}
	}
	if read, err := s.open(t).ByNumber(t.Context(), made.Number); err != nil || read.LastComment.Body == "" {
		t.Errorf("read %v", err)
	}
}

// A trigger may move a new ticket to a group whose tickets the agent does not see.
func TestALateRepetitionMakesNoSecondTicketWhereTheFirstMayBeUnseen(t *testing.T) {
	for _, c := range []struct {
		restriction string
		after       time.Duration
		tickets     int
		unknowable  bool
	}{
		{`"groups"`, 90 * time.Minute, 1, false}, // the Idempotency-Key still counts
		{`"groups"`, 3 * time.Hour, 1, true},
		{"null", 3 * time.Hour, 2, false}, // the first was deleted
	} {
		watch := &clock{at: time.Now()}
		s := serve(t, fake.Options{Now: watch.now}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/tickets"):
					_, _ = io.WriteString(w, `{"tickets":[],"count":0,"next_page":null}`)
				case strings.HasSuffix(r.URL.Path, "/users/me"):
					_, _ = io.WriteString(w, `{"user":{"id":7,"role":"agent","ticket_restriction":`+c.restriction+`}}`)
				default:
					next.ServeHTTP(w, r)
				}
			})
		})
		wanted := pipe("k")
		wanted.Since = watch.now()
		if _, err := s.open(t).Create(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
		watch.pass(c.after)
		s.later = c.after
		_, err := s.open(t).Create(t.Context(), wanted)
		if f := fault.From(err); s.Tickets() != c.tickets || (f != nil) != c.unknowable || f != nil && !f.IsUnknowable() {
			t.Errorf("%s after %s: %d tickets, %v", c.restriction, c.after, s.Tickets(), err)
		}
	}
}

func TestNobodyIsNotAnAccount(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Instead(says(200, "application/json", `{"user":{"id":null,"name":"Anonymous user","email":null}}`))
	if _, err := s.open(t).Account(t.Context()); fault.From(err) == nil ||
		fault.From(err).Code != fault.Disconnected {
		t.Errorf("answered %v, want disconnected", err)
	}
}

func says(status int, kind, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func TestTheWayToAuthoriseFollowsTheCredentials(t *testing.T) {
	const base = "https://acme.zendesk.com"
	type given = map[string]string
	for _, c := range []struct {
		rule     string
		settings map[string]any
		given    given
		scheme   adapter.Scheme
		refused  string
	}{
		{rule: "none is consent", scheme: adapter.OAuth2},
		{rule: "a refresh token is consent", given: given{"refresh_token": "r"}, scheme: adapter.OAuth2},
		{rule: "an own client is consent", settings: map[string]any{"client_id": "c"},
			given: given{"client_secret": "s"}, scheme: adapter.OAuth2},
		{rule: "an API token", given: given{"email": email, "api_token": "t"}, scheme: adapter.Basic},
		{rule: "an access token", given: given{"access_token": "t"}, scheme: adapter.Bearer},
		{rule: "an API token needs an email", given: given{"api_token": "t"}, refused: "credentials.email"},
		{rule: "an email needs an API token", given: given{"email": email, "access_token": "t"},
			refused: "credentials.email"},
		{rule: "two tokens", given: given{"email": email, "api_token": "t", "access_token": "t"},
			refused: "credentials.api_token"},
		{rule: "token and client", settings: map[string]any{"client_id": "c"}, given: given{"access_token": "t"},
			refused: "credentials.access_token"},
		{rule: "an address with a path", settings: map[string]any{"base_url": base + "/agent/dashboard"},
			refused: "settings.base_url"},
		{rule: "an address with a query", settings: map[string]any{"base_url": base + "?a=b"},
			refused: "settings.base_url"},
		{rule: "no address", settings: map[string]any{"base_url": ""}, refused: "settings.base_url"},
	} {
		settings := map[string]any{"base_url": base + "/"}
		for name, value := range c.settings {
			settings[name] = value
		}
		values := adapter.Values{Settings: settings, Credentials: c.given}
		auth, err := zendesk.Adapter().AuthOf(values)
		if c.refused != "" {
			if f := fault.From(err); f == nil || f.Code != fault.Invalid || f.Fields[0].Path != c.refused {
				t.Errorf("%s: answered %v, want %s refused", c.rule, err, c.refused)
			}
			continue
		}
		if err != nil || auth.Scheme != c.scheme || auth.BaseURL != "base_url" {
			t.Errorf("%s: %+v, %v", c.rule, auth, err)
			continue
		}
		if c.scheme != adapter.OAuth2 {
			continue
		}
		grant, err := auth.OAuth.Grant(values, nil)
		if err != nil || grant.Flow != adapter.Consent || grant.AuthURL != base+"/oauth/authorizations/new" ||
			grant.TokenURL != base+"/oauth/tokens" || !grant.TenantAddress {
			t.Errorf("%s: the grant is %+v, %v", c.rule, grant, err)
		}
		if grant.Redeem["expires_in"] != "172800" || grant.Redeem["refresh_token_expires_in"] != "7776000" {
			t.Errorf("%s: of tokens it asks %v", c.rule, grant.Redeem)
		}
		if want, _ := settings["client_id"].(string); grant.ClientID != want {
			t.Errorf("%s: the client is %q", c.rule, grant.ClientID)
		}
	}
}

func TestAnAccessTokenServes(t *testing.T) {
	s := serve(t, fake.Options{AccessToken: "a-token-without-an-end"})
	s.authorize = func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer a-token-without-an-end")
		return nil
	}
	s.credentials = map[string]string{"access_token": "withheld"}
	if who, err := s.open(t).Account(context.Background()); err != nil || who.Email != email {
		t.Errorf("answered %+v, %v", who, err)
	}
}
