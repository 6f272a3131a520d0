package rest_test

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/adapters/crm/rest"
	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/phonenumber"
)

// wrong returns the faults of an error with their places.
func wrong(err error) []string {
	var list []string
	if f := fault.From(err); f != nil {
		list = append(list, f.Detail)
		for _, field := range f.Fields {
			list = append(list, field.Path+" "+field.Message)
		}
	}
	return list
}

func TestEachDescriptionKeepsTheContractAsFarAsItsSystemCan(t *testing.T) {
	t.Parallel()
	list := rest.Catalogue()
	for _, s := range systems() {
		t.Run(s.name, func(t *testing.T) {
			used := &sync.Map{}
			crmtest.Run(t, func(t *testing.T) crmtest.Harness {
				server, a, values := s.run(t, list, used)
				h := s.harness
				h.Open = func() crm.Driver {
					d, err := server.openBy(t, a, withheld(values))
					if err != nil {
						t.Fatal(wrong(err))
					}
					return d
				}
				h.Secrets, h.Now, h.Provider = slices.Collect(maps.Values(s.credentials)), time.Now, server.provider()
				return h
			})
			if s.otherContacts {
				s.findsContacts(t, list, used)
			}
			for _, r := range s.routes {
				if _, there := used.Load(r.method + " " + r.path); !there && !r.rare {
					t.Errorf("no request was %s %s", r.method, r.path)
				}
			}
		})
	}
}

// findsContacts tests the look-up of callers of a system that shows less of them than the suite asks for.
func (s *system) findsContacts(t *testing.T, list []adapter.Adapter, used *sync.Map) {
	server, a, values := s.run(t, list, used)
	d, err := server.openBy(t, a, withheld(values))
	if err != nil {
		t.Fatal(wrong(err))
	}
	finder, v := d.(crm.ContactFinder), server.v
	id, err := keeper{v}.AddContact(t.Context(), crmtest.NewContact{
		Name: "Ann Case", Email: "Ann.Case@Example.com", Phone: "(513) 555-7611",
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := finder.FindContacts(t.Context(), crm.ContactQuery{Email: "ann.case@example.com", Limit: 5})
	if err != nil || len(found.Contacts) != 1 || found.Contacts[0].ID != id || strings.TrimSpace(found.Contacts[0].Name) != "Ann Case" {
		t.Errorf("found %+v, %v", found, wrong(err))
	}
	for _, email := range []string{"case@example.com", "*@example.com", `x"or"@example.com`, "a'b@example.com"} {
		if found, err := finder.FindContacts(t.Context(), crm.ContactQuery{Email: email, Limit: 5}); err != nil ||
			len(found.Contacts) > 0 {
			t.Errorf("%s found %+v, %v", email, found, wrong(err))
		}
	}
	phone, err := phonenumber.Parse("+15135557611")
	if err != nil {
		t.Fatal(err)
	}
	found, err = finder.FindContacts(t.Context(), crm.ContactQuery{Phone: phone, Limit: 5})
	if err != nil || s.findsPhones != (len(found.Contacts) == 1) {
		t.Errorf("by number: %+v, %v", found, wrong(err))
	}
	var made []crm.Ticket
	for _, subject := range []string{"Stays open", "Is over"} {
		ticket, err := d.Create(t.Context(), crm.NewTicket{Key: strings.ToLower(rand.Text()), Subject: subject, ContactID: id})
		if err != nil {
			t.Fatal(wrong(err))
		}
		made = append(made, ticket)
	}
	if err := (mover{v}).Move(t.Context(), made[1].ID, cmp.Or(s.labels[0], s.labels[1])); err != nil {
		t.Fatal(err)
	}
	open, err := finder.OpenTickets(t.Context(), id, 5)
	if err != nil || len(open) != 1 || open[0].Number != made[0].Number || open[0].Subject != "Stays open" {
		t.Errorf("open: %+v, %v", open, wrong(err))
	}
}

func TestADescriptionNamesItsSourcesAndNeedsNoMoreThanItDeclares(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]*system{}
	for _, s := range systems() {
		tested["rest/"+s.name] = s
	}
	for _, a := range rest.Catalogue() {
		s := tested[a.Name]
		if s == nil {
			t.Errorf("%s is not tested", a.Name)
			continue
		}
		delete(tested, a.Name)
		for _, want := range []string{"sources:", "https://", "limits:", "works:"} {
			if !strings.Contains(a.Description, want) {
				t.Errorf("the description of %s has no %s", a.Name, want)
			}
		}
		if !strings.Contains(string(guide), "`"+a.Name+"`") {
			t.Errorf("the guide does not list %s", a.Name)
		}
		for _, f := range a.Fields { // the guide says what to give
			if f.Name != "override" && !strings.Contains(string(guide), "`"+f.Name+"`") {
				t.Errorf("the guide does not name %s of %s", f.Name, a.Name)
			}
			if f.Required && f.Help == "" {
				t.Errorf("%s of %s has no help", f.Name, a.Name)
			}
			values := adapter.Values{Settings: maps.Clone(s.settings), Credentials: maps.Clone(s.credentials)}
			if values.Settings == nil {
				values.Settings = object{}
			}
			values.Settings["base_url"] = "https://desk.example/"
			delete(values.Settings, f.Name)
			delete(values.Credentials, f.Name)
			if err := a.Check(values); f.Required && (err == nil || !strings.Contains(strings.Join(wrong(err), " "), f.Path()+" is required")) {
				t.Errorf("%s without %s: %v", a.Name, f.Path(), wrong(err))
			}
		}
	}
	for name := range tested {
		t.Errorf("%s is tested and not there", name)
	}
}

func TestOverridesAreMergedIntoADescription(t *testing.T) {
	t.Parallel()
	s := zammad()
	server, a, values := s.run(t, rest.Catalogue(), &sync.Map{})
	check := func(given object) []string {
		with := maps.Clone(values.Settings)
		maps.Copy(with, given)
		v := adapter.Values{Settings: with, Credentials: values.Credentials}
		err := a.Check(v)
		if err == nil {
			_, err = a.With(v)
		}
		return wrong(err)
	}
	for _, c := range []struct {
		rule  string
		given object
		want  string // in the faults; "": none
	}{
		{"nothing", nil, ""},
		{"a step changes by its name", object{"override": object{"create": object{"steps": []any{
			object{"name": "create", "path": "api/v1/other"}}}}}, ""},
		{"as JSON", object{"override": `{"statuses": ["new"], "vocabulary": {"statuses": ""}}`}, ""},
		{"parts as JSON", object{"override": object{"check": `{"steps": []}`}}, ""},
		{"no object", object{"override": "x"}, "settings.override must be a mapping of keys to values, or that as JSON."},
		{"an unknown setting", object{"override": object{"nope": "x"}}, "settings.override.nope is unknown"},
		{"an expression that fails to compile", object{"override": object{"ticket": object{"subject": ".a)"}}},
			"settings.override.ticket.subject is not a jq expression"},
		{"a setting of rest beside it", object{"create": object{}}, "settings.create is unknown"},
		{"an address that is none", object{"base_url": "zammad"}, "settings.base_url must be an absolute"},
	} {
		if got := strings.Join(check(c.given), "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.rule, got)
		}
	}
	values.Settings = maps.Clone(values.Settings)
	values.Settings["override"] = object{"account": object{"name": `"Ours, " + .values.group`}, "get": object{"steps": []any{
		object{"name": "found", "query": object{"limit": "7"}}}}}
	d, err := server.openBy(t, a, withheld(values))
	if err != nil {
		t.Fatal(wrong(err))
	}
	if account, err := d.Account(t.Context()); err != nil || account.Name != "Ours, Sales" {
		t.Errorf("%+v, %v", account, wrong(err))
	}
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Overridden"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	if _, err := d.ByNumber(t.Context(), made.Number); err != nil {
		t.Error(wrong(err))
	}
	if last := strings.Join(server.requests(), "\n"); !strings.Contains(last, "limit=7") ||
		!strings.Contains(last, "expand=true&limit=7") {
		t.Errorf("the step was not merged: %s", last)
	}
}

func TestOAuthOfDescribedSystems(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]adapter.Grant{
		"dynamics365": {Flow: adapter.ClientCredentials, ClientID: "app", TenantAddress: true,
			TokenURL: "https://login.microsoftonline.com/acme.example/oauth2/v2.0/token"},
		"zoho-desk": {Flow: adapter.Consent, ClientID: "1000.X", TenantAddress: true,
			TokenURL: "https://accounts.zoho.eu/oauth/v2/token"},
	} {
		for _, s := range systems() {
			if s.name != name {
				continue
			}
			server, a, values := s.run(t, rest.Catalogue(), &sync.Map{})
			fit, err := a.With(values)
			if err != nil {
				t.Fatal(wrong(err))
			}
			if name == "dynamics365" {
				want.Scopes = []adapter.Scope{{Name: server.url + "/.default"}}
			}
			if got, err := fit.Auth.OAuth.Grant(values, nil); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v", name, got, wrong(err))
			}
		}
	}
}

func TestNoAddressOfOAuthLeadsElsewhere(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"a/../../evil.example", "..", "evil.example/x?y=#", "@evil.example"} {
		s := dynamics365()
		s.settings = maps.Clone(s.settings)
		s.settings["directory"], s.settings["base_url"] = directory, "https://acme.crm.dynamics.com/"
		a := describedSystem(t, rest.Catalogue(), s.name)
		values := adapter.Values{Settings: s.settings, Credentials: s.credentials}
		fit, err := a.With(values)
		if err != nil {
			continue
		}
		g, err := fit.Auth.OAuth.Grant(values, nil)
		if err != nil {
			continue
		}
		if u, err := url.Parse(g.TokenURL); err != nil || u.Host != "login.microsoftonline.com" ||
			!strings.HasSuffix(u.EscapedPath(), "/oauth2/v2.0/token") || strings.Count(u.EscapedPath(), "/") != 4 {
			t.Errorf("%q leads to %s", directory, g.TokenURL)
		}
	}
	moved := wrongIn(plain("https://desk.example", object{"token_url": "https://{.values.host}/token", "client_id": "x",
		"values": object{"host": "evil.example"}}), map[string]string{"client_secret": "s"})
	if !slices.ContainsFunc(moved, func(w string) bool { return strings.Contains(w, "settings.token_url") }) {
		t.Errorf("a host from a value: %q", moved)
	}
}

// hostile are texts that mean something to query languages.
var hostile = []string{
	"victim'or'1'eq'1@example.com", `a\'b@example.com`, `x"or"1@example.com`, "a^ORactive=true@example.com",
	"a^NQactive=true@example.com", "javascript:gs.getUserID()@example.com", "JavaScript:x@example.com",
	"a,b@example.com", "a) or (1 eq 1@example.com", "a\nb@example.com", `\" OR 1=1 ORDER BY x@example.com`, "'", "''", `\`, "^", "^^",
}

func TestTextsStayOneValueOfAQuery(t *testing.T) {
	t.Parallel()
	for _, language := range []struct {
		function string
		one      *regexp.Regexp // what one value is in the language
	}{
		{"quoted", regexp.MustCompile(`\A'(?:[^'\\]|\\.)*'\z`)},
		{"odata_quoted", regexp.MustCompile(`\A'(?:[^']|'')*'\z`)},
		{"@json", regexp.MustCompile(`\A"(?:[^"\\\n]|\\.)*"\z`)},
		{"encoded_query", regexp.MustCompile(`\A(?:[^^,\r\n]|\^\^)*\z`)},
	} {
		for _, text := range hostile {
			s := serve(t, says(map[string]reply{"GET /api/find": {status: 200, body: `[]`}}), anonymous)
			d := s.open(t, plain(s.url, object{
				"find_contacts": object{"contacts": ".steps.find.body", "steps": []any{object{"name": "find", "path": "find",
					"query": object{"q": "{.email | " + language.function + "}"}}}},
				"open_tickets": object{"tickets": "[]", "steps": []any{}},
			}))
			if _, err := d.(crm.ContactFinder).FindContacts(t.Context(), crm.ContactQuery{Email: text, Limit: 5}); err != nil {
				t.Fatal(wrong(err))
			}
			seen := s.requests()
			u, err := url.ParseRequestURI(strings.TrimPrefix(seen[len(seen)-1], "GET "))
			if err != nil {
				t.Fatal(err)
			}
			if sent := u.Query().Get("q"); !language.one.MatchString(sent) ||
				language.function == "encoded_query" && strings.Contains(strings.ToLower(sent), "javascript:") {
				t.Errorf("%s of %q is %q", language.function, text, sent)
			}
		}
	}
}

// Some queries take ids without quotes.
func TestIDsOfContactsStayIDs(t *testing.T) {
	t.Parallel()
	for _, s := range systems() {
		if s.name == "osticket" {
			continue
		}
		d, _ := s.open(t) // the end of the test reports requests that the documentation forbids
		for _, id := range append([]string{"1 or 1 eq 1", "1^ORactive=true", "1 OR *:*", "00000000-0000-0000-0000-000000000001) or (1 eq 1"},
			hostile...) {
			open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), id, 5)
			if len(open) > 0 || err != nil && !errors.Is(err, fault.NotFound) {
				t.Errorf("%s: %q has %d tickets, %v", s.name, id, len(open), wrong(err))
			}
		}
	}
}

func TestASearchThatLagsTellsNothingYet(t *testing.T) {
	t.Parallel()
	s := intercom()
	d, _ := s.open(t)
	now := time.Now()
	for _, c := range []struct {
		rule  string
		until time.Time
		known bool
	}{
		{"just now", now, false}, {"a minute ago", now.Add(-time.Minute), false},
		{"ten minutes ago", now.Add(-10 * time.Minute), true}, {"not over yet", time.Time{}, false},
	} {
		_, err := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "nosuchkey", Since: now.Add(-time.Hour), Until: c.until})
		f := fault.From(err)
		if c.known && !errors.Is(err, fault.NotFound) ||
			!c.known && (f == nil || f.Code != fault.Unavailable || f.RetryAfter <= 0 || f.RetryAfter > 5*time.Minute) {
			t.Errorf("%s: %v", c.rule, wrong(err))
		}
	}
}

// Zammad keeps the time of a ticket's first closing when the ticket is opened again.
func TestZammadTellsTheLastClosingOfWhatIsClosed(t *testing.T) {
	t.Parallel()
	d, server := zammad().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Twice", Status: "closed"})
	if err != nil || !made.ClosedAt.Equal(made.UpdatedAt) {
		t.Fatalf("opened as closed: %+v, %v", made, wrong(err))
	}
	for _, status := range []string{"open", "closed", "merged", "new"} {
		if err := (mover{server.v}).Move(t.Context(), made.ID, status); err != nil {
			t.Fatal(err)
		}
		got, err := d.ByNumber(t.Context(), made.Number)
		if err != nil {
			t.Fatal(wrong(err))
		}
		if is := status == "closed" || status == "merged"; is != got.ClosedAt.After(made.ClosedAt) ||
			is == got.ClosedAt.IsZero() {
			t.Errorf("%s: closed at %s, first at %s", status, got.ClosedAt, made.ClosedAt)
		}
	}
}

// A ticket can have states that a new one cannot: those that wait for a date, and those of merged tickets.
func TestZammadTellsEveryState(t *testing.T) {
	t.Parallel()
	d, server := zammad().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Waits", ContactID: "7"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	for status, isOpen := range map[string]bool{
		"pending reminder": true, "merged": false, "solved": false, "not solved": true, // the last two are the instance's own
	} {
		if err := (mover{server.v}).Move(t.Context(), made.ID, status); err != nil {
			t.Fatal(err)
		}
		if got, err := d.ByNumber(t.Context(), made.Number); err != nil || got.Status != status {
			t.Errorf("%s: status %q, %v", status, got.Status, wrong(err))
		}
		open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "7", 5)
		if err != nil || isOpen != (len(open) == 1) || isOpen && open[0].Status != status {
			t.Errorf("%s: open are %+v, %v", status, open, wrong(err))
		}
	}
}

// A merge moves the articles to the other ticket and leaves the one that was merged with a link to it
// (app/models/ticket.rb, merge_to).
func TestZammadFollowsAMergedTicket(t *testing.T) {
	t.Parallel()
	d, server := zammad().open(t)
	var made []crm.Ticket
	for _, key := range []string{"k1", "k2"} {
		opened, err := d.Create(t.Context(), crm.NewTicket{Key: key, Subject: "Leaks", Description: "Water of " + key})
		if err != nil {
			t.Fatal(wrong(err))
		}
		made = append(made, opened)
	}
	if err := (mover{server.v}).Move(t.Context(), made[1].ID, "merged"); err != nil {
		t.Fatal(err)
	}
	server.v.mu.Lock()
	server.v.one("ticket", "id", made[1].ID)["into"] = json.Number(made[0].ID)
	server.v.one("article", "ticket", made[1].ID)["ticket"] = made[0].ID
	server.v.mu.Unlock()
	got, err := d.ByNumber(t.Context(), made[1].Number)
	if err != nil || got.Number != made[0].Number || got.Status != "new" || got.Description.Body != "Water of k1" ||
		got.LastComment.Body != "Water of k2" {
		t.Errorf("got %+v, %v", got, wrong(err))
	}
}

// To the key of an issue that was moved, Jira answers with the issue under its new key ("Get issue").
func TestJiraFollowsAMovedIssue(t *testing.T) {
	t.Parallel()
	d, server := jiraServiceManagement().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Moves"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	server.v.mu.Lock()
	issue := server.v.one("issue", "key", made.Number)
	issue["key"], issue["moved"] = "IT-7", made.Number
	server.v.mu.Unlock()
	if got, err := d.ByNumber(t.Context(), made.Number); err != nil || got.ID != made.ID || got.Number != "IT-7" {
		t.Errorf("got %+v, %v", got, wrong(err))
	}
}

// A person's description has Jira's own markup, which Jira renders ("Get issue", expand).
func TestJiraTellsADescriptionWithoutMarkup(t *testing.T) {
	t.Parallel()
	d, server := jiraServiceManagement().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Leak"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	server.v.mu.Lock()
	issue := server.v.one("issue", "key", made.Number)
	want := crm.Text{
		Body: `<p><a href="https://acme.atlassian.net/jira/people/5b10a2">@Ann</a> saw <font>water</font></p>`,
		HTML: true,
	}
	issue["description"], issue["rendered"] = "[~accountid:5b10a2] saw {color:#ff0000}water{color}", want.Body
	server.v.mu.Unlock()
	if got, err := d.ByNumber(t.Context(), made.Number); err != nil || got.Description != want {
		t.Errorf("got %+v, %v", got.Description, wrong(err))
	}
}

// What is written where there are no customers counts as public (Comment, jsdPublic), as does what only a role may see.
func TestJiraTellsNoCommentThatACustomerDoesNotSee(t *testing.T) {
	t.Parallel()
	d, server := jiraServiceManagement().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Leak"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	say := func(html string, visibility any) {
		server.v.add("comment", object{"issue": made.ID, "html": html, "public": true, "visibility": visibility})
	}
	for _, c := range []struct{ project, comment string }{{"service_desk", "We come."}, {"software", ""}} {
		server.v.mu.Lock()
		say("We come.", nil)
		say("It costs us 500.", object{"type": "role", "value": "Developers"})
		server.v.one("issue", "id", made.ID)["project type"] = c.project
		server.v.mu.Unlock()
		if got, err := d.ByNumber(t.Context(), made.Number); err != nil || got.LastComment.Body != c.comment {
			t.Errorf("in a %s project: %q, %v", c.project, got.LastComment.Body, wrong(err))
		}
	}
}

// To an API token that has expired, Jira answers as to nobody, with what nobody may see, and says so in a header alone
// (github.com/MrRefactoring/jira.js/issues/418). That is neither a ticket that is missing nor a caller without tickets.
func TestJiraTellsOfAnExpiredTokenInAHeader(t *testing.T) {
	t.Parallel()
	d, server := jiraServiceManagement().open(t)
	server.with(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Seraph-LoginReason", "AUTHENTICATED_FAILED")
		switch jql := r.URL.Query().Get("jql"); {
		case strings.HasPrefix(jql, "reporter"):
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"errorMessages":["The value 'qm:1' does not exist for the field 'reporter'."]}`)
		case jql != "":
			io.WriteString(w, `{"issues":[],"isLast":true}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"errorMessages":["Issue does not exist or you do not have permission to see it."]}`)
		}
	})
	_, got := d.ByNumber(t.Context(), "SD-1")
	_, open := d.(crm.ContactFinder).OpenTickets(t.Context(), "qm:1", 5)
	_, found := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k1", Until: time.Now().Add(-time.Hour)})
	for what, err := range map[string]error{"get": got, "open tickets": open, "find": found} {
		if !errors.Is(err, fault.Disconnected) {
			t.Errorf("%s: %v", what, wrong(err))
		}
	}
}

// The labels of new tickets can be the connection's own. They are told then, and those of others by Zammad's names.
func TestZammadTellsTheLabelsOfTheConnection(t *testing.T) {
	t.Parallel()
	s := zammad()
	server, a, values := s.run(t, rest.Catalogue(), &sync.Map{})
	values.Settings["override"] = object{"vocabulary": object{
		"statuses": `[{label: "Fresh", value: 1}, {label: "In work", value: 2}]`, "priorities": `[{label: "Usual", value: 2}]`,
	}}
	d, err := server.openBy(t, a, withheld(values))
	if err != nil {
		t.Fatal(wrong(err))
	}
	made, err := d.Create(t.Context(), crm.NewTicket{
		Key: "k1", Subject: "Waits", ContactID: "7", Status: "In work", Priority: "Usual",
	})
	if err != nil || made.Status != "In work" || made.Priority != "Usual" {
		t.Fatalf("opened %+v, %v", made, wrong(err))
	}
	for moved, want := range map[string]string{"new": "Fresh", "pending reminder": "pending reminder"} {
		if err := (mover{server.v}).Move(t.Context(), made.ID, moved); err != nil {
			t.Fatal(err)
		}
		open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "7", 5)
		if err != nil || len(open) != 1 || open[0].Status != want || open[0].Priority != "Usual" {
			t.Errorf("%s: open are %+v, %v", moved, open, wrong(err))
		}
	}
}

// A merge leaves the case that was merged, canceled, with the other one's id. That one is what the caller asks about.
// It may be one that the connection's user does not see.
func TestDynamicsFollowsAMergedCase(t *testing.T) {
	t.Parallel()
	d, server := dynamics365().open(t)
	var made []crm.Ticket
	for _, key := range []string{"k1", "k2"} {
		opened, err := d.Create(t.Context(), crm.NewTicket{Key: key, Subject: "Leaks"})
		if err != nil {
			t.Fatal(wrong(err))
		}
		made = append(made, opened)
	}
	merged := server.v.one("incident", "id", made[0].ID)
	for master, want := range map[string]crm.Ticket{
		made[1].ID:                             {ID: made[1].ID, Number: made[1].Number, Status: "In Progress"},
		"a0b1c2d3-0000-0000-0000-000000000098": {ID: made[0].ID, Number: made[0].Number, Status: "Merged"},
	} {
		server.v.mu.Lock()
		merged["reason"], merged["master"] = 2000, master
		server.v.mu.Unlock()
		got, err := d.ByNumber(t.Context(), made[0].Number)
		if err != nil || got.ID != want.ID || got.Number != want.Number || got.Status != want.Status {
			t.Errorf("got %+v, %v", got, wrong(err))
		}
	}
}

// An environment may have other priorities than new tickets get. They are told by the names that Dynamics has for them.
func TestDynamicsTellsPrioritiesThatTheVocabularyLacks(t *testing.T) {
	t.Parallel()
	s := dynamics365()
	server, a, values := s.run(t, rest.Catalogue(), &sync.Map{})
	values.Settings["override"] = object{"vocabulary": object{"priorities": `[{label: "Urgent", value: 1}]`}}
	d, err := server.openBy(t, a, withheld(values))
	if err != nil {
		t.Fatal(wrong(err))
	}
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Waits", ContactID: s.harness.Known.ContactID})
	if err != nil || made.Priority != "Normal" {
		t.Errorf("opened %+v, %v", made, wrong(err))
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), s.harness.Known.ContactID, 5)
	if err != nil || len(open) != 1 || open[0].Priority != "Normal" {
		t.Errorf("open are %+v, %v", open, wrong(err))
	}
}

// Dynamics wants a contact of the account, where a case has both.
func TestDynamicsRefusesAContactOfAnotherAccount(t *testing.T) {
	t.Parallel()
	s := dynamics365()
	d, _ := s.open(t)
	other := strings.Replace(s.harness.Known.ContactID, "07", "01", 1)
	_, err := d.Create(t.Context(), crm.NewTicket{
		Key: "k1", Subject: "Theirs", AccountID: s.harness.Known.AccountID, ContactID: other,
	})
	f := fault.From(err)
	if f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "contact_id" {
		t.Errorf("%v", wrong(err))
	}
}

// Dataverse reads ids in capitals and answers them in lower case. They are the same records.
func TestDynamicsTakesIDsInCapitals(t *testing.T) {
	t.Parallel()
	s := dynamics365()
	d, _ := s.open(t)
	known := s.harness.Known
	for key, wanted := range map[string]crm.NewTicket{
		"k1": {OwnerID: known.OwnerID, ContactID: known.ContactID},
		"k2": {OwnerID: known.OwnerID, AccountID: known.AccountID, ContactID: known.ContactID},
	} {
		wanted.Key, wanted.Subject, wanted.Since = key, "In capitals", time.Now()
		for _, id := range []*string{&wanted.OwnerID, &wanted.AccountID, &wanted.ContactID} {
			*id = strings.ToUpper(*id)
		}
		made, err := d.Create(t.Context(), wanted)
		if err != nil {
			t.Fatal(wrong(err))
		}
		found, err := d.(crm.Finder).Find(t.Context(), wanted)
		if err != nil {
			t.Fatal(wrong(err))
		}
		for _, got := range []crm.Ticket{made, found} {
			if got.OwnerID != wanted.OwnerID || got.AccountID != wanted.AccountID ||
				got.ContactID != wanted.ContactID {
				t.Errorf("%+v of %+v", got, wanted)
			}
		}
	}
}

// A case has the id that its key gives. So a create that arrives twice opens one case, and both tell its
// number.
func TestDynamicsOpensOneCaseForAKey(t *testing.T) {
	t.Parallel()
	d, server := dynamics365().open(t)
	var numbers []string
	for range 2 {
		made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Once"})
		if err != nil {
			t.Fatal(wrong(err))
		}
		numbers = append(numbers, made.Number)
	}
	if n, err := server.Tickets(t.Context()); err != nil || n != 1 || numbers[0] != numbers[1] {
		t.Errorf("%d cases, %q, %v", n, numbers, err)
	}
}

// ServiceNow keeps a reference that it does not know as an empty field, so nobody would get the incident.
func TestServiceNowKnowsTheGroupOfNewIncidents(t *testing.T) {
	t.Parallel()
	for group, known := range map[string]bool{
		"Service Desk": true, "00000000000000000000000000000006": true, "Gone": false,
		"ABABABABABABABABABABABABABABABAB": true,
	} {
		s := servicenow()
		seed := s.seed
		s.seed = func(v *vendor) {
			seed(v)
			v.add("group", object{"id": strings.Repeat("ab", 16), "name": "Night Shift"})
		}
		s.settings = object{"assignment_group": group}
		d, server := s.open(t)
		_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "For a group"})
		if f := fault.From(err); known != (err == nil) || err != nil && f.Reason != fault.ReasonProviderMisconfigured {
			t.Errorf("%s: %v", group, wrong(err))
		}
		if n, _ := server.Tickets(t.Context()); known != (n == 1) {
			t.Errorf("%s: %d incidents", group, n)
		}
	}
}

// Many instances have states of their own, which the description cannot know.
func TestServiceNowTellsStatesOfItsOwn(t *testing.T) {
	t.Parallel()
	s := servicenow()
	d, server := s.open(t)
	known := s.harness.Known.ContactID
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Waits", ContactID: known})
	if err != nil {
		t.Fatal(wrong(err))
	}
	server.v.one("incident", "id", made.ID)["state"] = "9"
	if got, err := d.ByNumber(t.Context(), made.Number); err != nil || got.Status != "Awaiting Vendor" {
		t.Errorf("status %q, %v", got.Status, wrong(err))
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), known, 5)
	if err != nil || len(open) != 1 || open[0].Status != "Awaiting Vendor" {
		t.Errorf("open are %+v, %v", open, wrong(err))
	}
}

// A sys_id is 32 hexadecimal digits, which ServiceNow writes in lower case.
func TestServiceNowTakesIDsInCapitals(t *testing.T) {
	t.Parallel()
	s := servicenow()
	s.settings = object{} // no group
	d, server := s.open(t)
	id := strings.Repeat("ab", 16)
	server.v.add("user", object{"id": id, "name": "Both"})
	server.v.add("company", object{"id": id, "name": "Firm"})
	capitals := strings.ToUpper(id)
	wanted := crm.NewTicket{Key: "k1", Subject: "In capitals", Since: time.Now(),
		OwnerID: capitals, AccountID: capitals, ContactID: capitals}
	made, err := d.Create(t.Context(), wanted)
	if err != nil {
		t.Fatal(wrong(err))
	}
	found, err := d.(crm.Finder).Find(t.Context(), wanted)
	if err != nil {
		t.Fatal(wrong(err))
	}
	for _, got := range []crm.Ticket{made, found} {
		if got.OwnerID != capitals || got.AccountID != capitals || got.ContactID != capitals {
			t.Errorf("%+v", got)
		}
	}
	if open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), capitals, 5); err != nil || len(open) != 1 {
		t.Errorf("%+v, %v", open, wrong(err))
	}
}

// Zoho Desk keeps whom a comment mentions as marks, and tells their names beside it ("List all ticket comments").
func TestZohoDeskTellsWhomACommentMentions(t *testing.T) {
	t.Parallel()
	d, server := zohoDesk().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Leak"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	server.v.mu.Lock()
	server.v.add("comment", object{
		"ticket": made.ID, "public": true, "type": "html",
		"content": "<div>zsu[@user:1234]zsu of zsu[@team:3113_new team]zsu and zsu[@user:9]zsu come.</div>",
		"mention": []any{
			object{"type": "TEAM", "id": "3113", "name": "new team"},
			object{"type": "AGENT", "id": "3105", "zuid": "1234", "firstName": "", "lastName": "Parker"},
		},
	})
	server.v.mu.Unlock()
	got, err := d.ByNumber(t.Context(), made.Number)
	if err != nil || got.LastComment.Body != "<div>Parker of new team and  come.</div>" {
		t.Errorf("got %+v, %v", got.LastComment, wrong(err))
	}
}

// Zoho lists the oldest tickets of a contact first, unless it is asked for another order.
func TestZohoIsAskedForTheLatestTickets(t *testing.T) {
	t.Parallel()
	s := zohoDesk()
	d, server := s.open(t)
	for range 60 {
		old := server.v.add("ticket", object{"id": "1", "subject": "Over", "status": "Closed", "contact": "7"})
		old["updated"] = time.Now().Add(-time.Hour).UTC()
	}
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Open", ContactID: "7"})
	if err != nil {
		t.Fatal(wrong(err))
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "7", 5)
	if err != nil || len(open) != 1 || open[0].Number != made.Number {
		t.Errorf("%+v, %v", open, wrong(err))
	}
}

// These show by its number what somebody has deleted, and say so.
func TestADeletedTicketIsNone(t *testing.T) {
	t.Parallel()
	for _, s := range []*system{glpi(), pipedrive(), gorgias()} {
		d, server := s.open(t)
		made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "By mistake"})
		if err != nil {
			t.Fatal(wrong(err))
		}
		server.v.mu.Lock()
		server.v.one(s.ticketKind, "id", made.ID)["deleted"] = true
		server.v.mu.Unlock()
		if got, err := d.ByNumber(t.Context(), made.Number); !errors.Is(err, fault.NotFound) {
			t.Errorf("%s: got %+v, %v", s.name, got, wrong(err))
		}
	}
}

// A rule may add to a new ticket's text, and so may a person. A ticket that seems to be missing is opened again.
func TestATicketWithMoreTextIsNotMissing(t *testing.T) {
	t.Parallel()
	for _, s := range []*system{
		zammad(), servicenow(), glpi(), intercom(), pipedrive(), dynamics365(), gorgias(), zohoDesk(),
		jiraServiceManagement(),
	} {
		d, server := s.open(t)
		wanted := crm.NewTicket{Key: "k1", Subject: "Leak", Since: time.Now(), Until: time.Now().Add(-time.Hour)}
		made, err := d.Create(t.Context(), wanted)
		if err != nil {
			t.Fatal(wrong(err))
		}
		server.v.mu.Lock()
		for _, records := range server.v.records {
			for _, r := range records {
				for member, value := range r {
					if text, ok := value.(string); ok && strings.Contains(text, "Frontdesk: k1") {
						r[member] = text + "\n\nWe answer within a day."
						r["rendered"] = "<p>Frontdesk: k1</p>\n\n<p>We answer within a day.</p>" // as by Jira
					}
				}
			}
		}
		server.v.mu.Unlock()
		if found, err := d.(crm.Finder).Find(t.Context(), wanted); errors.Is(err, fault.NotFound) ||
			err == nil && found.ID != made.ID {
			t.Errorf("%s: found %+v, %v", s.name, found, wrong(err))
		}
		read, err := d.ByNumber(t.Context(), made.Number)
		if err != nil || strings.Contains(read.Description.Body+read.LastComment.Body, "Frontdesk:") {
			t.Errorf("%s: the answer shows the mark: %+v, %+v, %v", s.name, read.Description, read.LastComment, wrong(err))
		}
	}
}

// A call opened this ticket, also if a rule of Gorgias deletes it at once. If it is repeated, it opens no other.
func TestATicketOfAKeyIsFoundInGorgiassTrash(t *testing.T) {
	t.Parallel()
	d, _ := gorgias().open(t)
	wanted := crm.NewTicket{Key: "k1", Subject: "Deleted by a rule"}
	made, err := d.Create(t.Context(), wanted)
	if err != nil {
		t.Fatal(wrong(err))
	}
	if found, err := d.(crm.Finder).Find(t.Context(), wanted); err != nil || found.ID != made.ID {
		t.Errorf("got %+v, %v", found, wrong(err))
	}
	if got, err := d.ByNumber(t.Context(), made.Number); !errors.Is(err, fault.NotFound) {
		t.Errorf("got %+v, %v", got, wrong(err))
	}
}

// What a customer has answered is public, and no internal note.
func TestGorgiasTellsTheLastWordOfTheCustomer(t *testing.T) {
	t.Parallel()
	d, server := gorgias().open(t)
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A pipe", Description: "It drips."})
	if err != nil {
		t.Fatal(wrong(err))
	}
	for _, m := range []object{
		{"text": "We come at nine.", "public": true, "agent": true},
		{"text": "Ten would be better.", "public": true, "agent": false},
		{"text": "Only for us: ten it is.", "public": false, "agent": true},
	} {
		m["ticket"] = made.ID
		server.v.mu.Lock()
		server.v.add("message", m)
		server.v.mu.Unlock()
	}
	read, err := d.ByNumber(t.Context(), made.Number)
	if want := crm.Plain("Ten would be better."); err != nil || read.LastComment != want {
		t.Errorf("the last comment is %+v, want %+v: %v", read.LastComment, want, wrong(err))
	}
}

// The description is the first article or message, which an agent may have written for colleagues alone.
func TestAnInternalNoteIsNoDescription(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system   *system
		kind     string
		internal object
	}{{zammad(), "article", object{"internal": true}}, {gorgias(), "message", object{"public": false}}} {
		d, server := c.system.open(t)
		made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A pipe", Description: "He never pays."})
		if err != nil || made.Description.Body != "He never pays." {
			t.Fatalf("%s: opened %+v, %v", c.system.name, made, wrong(err))
		}
		server.v.mu.Lock()
		maps.Copy(server.v.one(c.kind, "ticket", made.ID), c.internal)
		server.v.mu.Unlock()
		comment := crmtest.Comment{Body: "At nine.", Public: true}
		if err := (commenter{server.v}).Comment(t.Context(), made.ID, comment); err != nil {
			t.Fatal(err)
		}
		read, err := d.ByNumber(t.Context(), made.Number)
		if err != nil || read.Subject != "A pipe" || read.Description.Body != "" ||
			read.LastComment.Body != "At nine." {
			t.Errorf("%s: read %+v, %v", c.system.name, read, wrong(err))
		}
	}
}

// If it is repeated, the call opens no other.
func TestAGLPITicketThatIsDeletedAtOnceWasOpened(t *testing.T) {
	t.Parallel()
	s := glpi()
	d, server := s.open(t)
	server.with(func(w http.ResponseWriter, r *http.Request) {
		server.v.ServeHTTP(w, r)
		server.v.mu.Lock()
		defer server.v.mu.Unlock()
		for _, o := range server.v.records["ticket"] {
			o["deleted"] = true
		}
	})
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Deleted by a rule"})
	if err != nil || made.Subject != "Deleted by a rule" {
		t.Errorf("got %+v, %v", made, wrong(err))
	}
}

// A merge moves the ticket to the trash bin, and adds its text to the other one as a followup (src/Ticket.php, merge).
func TestGLPIFollowsAMergedTicket(t *testing.T) {
	t.Parallel()
	s := glpi()
	d, server := s.open(t)
	var made []crm.Ticket
	for _, key := range []string{"k1", "k2", "k0"} {
		opened, err := d.Create(t.Context(), crm.NewTicket{Key: key, Subject: "Leaks", Description: "Water of " + key})
		if err != nil {
			t.Fatal(wrong(err))
		}
		made = append(made, opened)
	}
	server.v.mu.Lock()
	server.v.one("ticket", "id", made[0].ID)["deleted"] = true
	// A ticket that had been merged into this one has copies of what was added since (ITILFollowup, addToMergedTickets).
	server.v.one("ticket", "id", made[2].ID)["deleted"] = true
	server.v.add("followup", object{"ticket": made[2].ID, "private": 0, "source": made[0].ID, "content": "We come."})
	server.v.add("followup", object{"ticket": made[1].ID, "private": 0, "source": made[0].ID,
		"content": "Leaks<br /><br /><p>Water of k1</p><p>Frontdesk: k1</p>"})
	server.v.mu.Unlock()
	got, err := d.ByNumber(t.Context(), made[0].Number)
	if err != nil || got.ID != made[1].ID || got.Number != made[1].Number ||
		got.LastComment.Body != "Leaks<br /><br /><p>Water of k1</p>" {
		t.Errorf("got %+v, %v", got, wrong(err))
	}
	server.v.mu.Lock()
	server.v.one("ticket", "id", made[1].ID)["deleted"] = true
	server.v.mu.Unlock()
	if got, err := d.ByNumber(t.Context(), made[0].Number); !errors.Is(err, fault.NotFound) {
		t.Errorf("of a deleted one: got %+v, %v", got, wrong(err))
	}
}

// Who was merged into another contact stays in Dynamics as an inactive one, with number and address.
func TestDynamicsTellsNobodyWhoWasMerged(t *testing.T) {
	t.Parallel()
	s := dynamics365()
	d, server := s.open(t)
	caller, err := phonenumber.Parse("+15135557611")
	if err != nil {
		t.Fatal(err)
	}
	pat := crmtest.NewContact{Name: "Pat", Phone: "(513) 555-7611", Email: "pat@example.com"}
	merged, id := s.addContact(server.v, pat), s.addContact(server.v, pat)
	server.v.one("contact", "id", merged)["merged"] = true
	for _, q := range []crm.ContactQuery{{Phone: caller, Limit: 5}, {Email: pat.Email, Limit: 5}} {
		found, err := d.(crm.ContactFinder).FindContacts(t.Context(), q)
		if err != nil || len(found.Contacts) != 1 || found.Contacts[0].ID != id {
			t.Errorf("%+v, %v", found, wrong(err))
		}
	}
}

// In many countries people write the digits of a number in pairs, so that four of them do not stand together.
func TestACallerIsFoundWhoseNumberIsWrittenInPairs(t *testing.T) {
	t.Parallel()
	caller, err := phonenumber.Parse("+33612345678")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*system{glpi(), pipedrive()} {
		for _, stored := range []string{"+33612345678", "06 12 34 56 78", "+33 (0)6 12 34 56 78", "0612345678"} {
			t.Run(s.name+" "+stored, func(t *testing.T) {
				d, server := s.open(t)
				id := s.addContact(server.v, crmtest.NewContact{Name: "Pat", Phone: stored})
				s.addContact(server.v, crmtest.NewContact{Name: "Sam", Phone: "06 12 34 57 78"})
				found, err := d.(crm.ContactFinder).FindContacts(t.Context(), crm.ContactQuery{Phone: caller, Limit: 5})
				if err != nil || len(found.Contacts) != 1 || found.Contacts[0].ID != id {
					t.Errorf("%+v, %v", found, wrong(err))
				}
			})
		}
	}
}

// A text that the system does not take is the caller's to correct, and no fault of the connection.
func TestATextThatIsTooLongIsTheCallersToCorrect(t *testing.T) {
	t.Parallel()
	tooLong := func(column, most string) string { // github.com/verbb/formie/issues/1305
		return `{"error":{"code":"0x80044331","message":"A validation error occurred.  The length of the '` + column +
			`' attribute of the 'incident' entity exceeded the maximum allowed length of '` + most + `'."}}`
	}
	unfit := func(field string) string { // of the common error responses in zoho/zohodesk-oas
		return `{"errorCode":"INVALID_DATA","errors":[{"fieldName":"` + field + `","errorType":"invalid","errorMessage":""}]}`
	}
	for name, c := range map[string]struct {
		system *system
		answer reply
		field  string
	}{
		"title in Dynamics":       {dynamics365(), reply{status: 400, body: tooLong("title", "200")}, "subject"},
		"description in Dynamics": {dynamics365(), reply{status: 400, body: tooLong("description", "2000")}, "description"},
		"summary in Jira": {jiraServiceManagement(), reply{
			status: 400, body: `{"errorMessage":"Summary can't exceed 255 characters."}`,
		}, "subject"},
		"both in Zoho": {zohoDesk(), reply{
			status: 422, body: strings.Replace(unfit("/subject"), "[", `[{"fieldName":"/description","errorType":"invalid"},`, 1),
		}, "subject description"},
		"subject in Zoho":     {zohoDesk(), reply{status: 422, body: unfit("/subject")}, "subject"},
		"description in Zoho": {zohoDesk(), reply{status: 422, body: unfit("/description")}, "description"},
	} {
		t.Run(name, func(t *testing.T) {
			d, server := c.system.open(t)
			server.with(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					server.v.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.answer.status)
				io.WriteString(w, c.answer.body)
			})
			_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Long", Description: "Long"})
			f := fault.From(err)
			if f == nil || f.Code != fault.Invalid {
				t.Fatalf("%v", wrong(err))
			}
			named := faulttest.Paths(f)
			if got := strings.Join(named, " "); got != c.field {
				t.Errorf("it names %q: %v", got, wrong(err))
			}
		})
	}
}

// The tokens of a day are not there again in seconds, and Pipedrive blocks who goes on asking.
func TestTheTokensOfADayAreToldAsThatInPipedrive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says map[string]string
		day  bool
		wait time.Duration
	}{
		{map[string]string{"X-Ratelimit-Remaining": "17"}, true, 5 * time.Minute},
		{map[string]string{"X-Ratelimit-Remaining": "17", "X-Daily-Ratelimit-Token-Remaining": "3"}, true, 5 * time.Minute},
		{map[string]string{"X-Ratelimit-Remaining": "0"}, false, 0},
		{nil, false, 0},
		// A search has a smaller window than the one whose requests are left.
		{map[string]string{"X-Ratelimit-Remaining": "17", "Retry-After": "2"}, false, 2 * time.Second},
		{map[string]string{"X-Ratelimit-Remaining": "17", "X-Daily-Ratelimit-Token-Remaining": "29000"}, false, 0},
	} {
		d, server := pipedrive().open(t)
		server.with(func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range c.says {
				w.Header().Set(name, value)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := d.ByNumber(t.Context(), "7")
		if f := fault.From(err); f == nil || f.Code != fault.RateLimited || f.RetryAfter != c.wait ||
			strings.Contains(f.Detail, "of this day") != c.day {
			t.Errorf("%v: %v, after %v", c.says, wrong(err), f.RetryAfter)
		}
	}
}

// A field that the request type requires may be called as one of a call.
func TestAFieldThatJiraRequiresIsNoneOfTheCallers(t *testing.T) {
	t.Parallel()
	const invalid = "Your request could not be created. Please check the fields have been correctly filled in. " +
		"Please provide a valid value for field '"
	for message, field := range map[string]string{
		invalid + "Customer type'":                 "",
		invalid + "Executive summary'":             "",
		"Priority class is required.":              "",
		invalid + "Summary'":                       "subject",
		"Summary can't exceed 255 characters.":     "subject",
		invalid + "Priority'":                      "priority",
		"The customer has no access to this desk.": "contact_id",
	} {
		s := jiraServiceManagement()
		d, server := s.open(t)
		server.with(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				server.v.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(object{"errorMessage": message})
		})
		_, err := d.Create(t.Context(), crm.NewTicket{
			Key: "k1", Subject: "A", Priority: "Low", ContactID: s.harness.Known.ContactID,
		})
		f := fault.From(err)
		switch {
		case field == "" && (f.Reason != fault.ReasonProviderMisconfigured || len(f.Fields) > 0),
			field != "" && (len(f.Fields) != 1 || f.Fields[0].Path != field):
			t.Errorf("%s: %v", message, wrong(err))
		}
	}
}

// What the settings name is looked for when the connection is verified, and not by the first caller.
func TestVerifyingFindsWhatTheSettingsOfACatalogueNameWrongly(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		system  *system
		setting object
		answers map[string]string // by path, in place of the system's
		reason  string            // "": nothing is wrong
		detail  string
	}{
		"an access by parts in Zammad": {system: zammad(), answers: map[string]string{
			"/api/v1/users/me": `{"id":3,"firstname":"Chris","groups":{"Sales":["read","create","change"]}}`}},
		"an access to read in Zammad": {system: zammad(), answers: map[string]string{
			"/api/v1/users/me": `{"id":3,"firstname":"Chris","groups":{"Sales":["read","change"]}}`},
			reason: fault.ReasonProviderMisconfigured, detail: "setting group"},
		"another group in Zammad": {system: zammad(), setting: object{"group": "Sails"},
			reason: fault.ReasonProviderMisconfigured, detail: "setting group"},
		"a type of Pipedrive's own": {system: pipedrive(), setting: object{"activity_type": "call_back"}},
		"no such type in Pipedrive": {system: pipedrive(), setting: object{"activity_type": "ring"},
			reason: fault.ReasonProviderMisconfigured, detail: "setting activity_type"},
		"a type that Pipedrive no longer offers": {system: pipedrive(), setting: object{"activity_type": "fax"},
			reason: fault.ReasonProviderMisconfigured, detail: "setting activity_type"},
		"an entity of GLPI": {system: glpi()},
		"no such entity in GLPI": {system: glpi(), setting: object{"entity_id": "9"},
			reason: fault.ReasonProviderMisconfigured, detail: "setting entity_id"},
		"a profile that may not create tickets in GLPI": {system: glpi(), answers: map[string]string{
			"/apirest.php/getActiveProfile": `{"active_profile":{"id":6,"name":"Observer","ticket":131089}}`},
			reason: fault.ReasonPermissionDenied, detail: "create tickets"},
	} {
		t.Run(rule, func(t *testing.T) {
			maps.Copy(c.system.settings, c.setting)
			d, server := c.system.open(t)
			server.with(func(w http.ResponseWriter, r *http.Request) {
				if body := c.answers[r.URL.Path]; body != "" {
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, body)
					return
				}
				server.v.ServeHTTP(w, r)
			})
			_, err := d.(crm.Explainer).Explain(t.Context())
			if c.reason == "" && err != nil {
				t.Errorf("it says %v", wrong(err))
			}
			f := fault.From(err)
			if c.reason != "" && (f == nil || f.Reason != c.reason || !strings.Contains(f.Detail, c.detail)) {
				t.Errorf("it says %v", wrong(err))
			}
		})
	}
}

// GLPI answers 400 where an API client needs an app token and got none or another one, as where a parameter is wrong.
func TestAnAppTokenThatGLPIRefusesIsAFaultOfTheCredentials(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"ERROR_APP_TOKEN_PARAMETERS_MISSING", "ERROR_WRONG_APP_TOKEN_PARAMETER"} {
		s := glpi()
		s.refusal = reply{status: 400, body: `["` + code + `","about the parameter app_token"]`}
		d, server := s.open(t)
		server.v.authorized = func(*http.Request) bool { return false }
		_, err := d.ByNumber(t.Context(), "1")
		if f := fault.From(err); f == nil || f.Code != fault.Disconnected {
			t.Errorf("%s: %v", code, wrong(err))
		}
	}
}
