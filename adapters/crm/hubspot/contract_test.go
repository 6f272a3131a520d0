package hubspot_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/crm/hubspot"
	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
	"frontdesk/core/oauth/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = hubspot.Adapter()

const (
	private  = "pat-na1-correct-horse"
	clientID = "front-desk"
	secret   = "correct horse battery staple"
	key      = "frontdesk_key"
)

// testServer serves the fake.
type testServer struct {
	*fake.Server
	url string
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	if how.Tokens == nil {
		how.Tokens = map[string][]string{private: nil}
	}
	if how.SearchesPerSecond == 0 {
		how.SearchesPerSecond = 1000 // the suite searches more often than people call
	}
	how.OAuth = oauthtest.Options{Clients: map[string]string{clientID: secret}}
	server := fake.New(how)
	return &testServer{Server: server, url: adaptertest.Serve(t, server, around...)}
}

// consented returns the access token of a customer who consented to the adapter's scopes.
func (s *testServer) consented(t testing.TB) string {
	t.Helper()
	auth, err := declared.AuthOf(adapter.Values{})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := auth.OAuth.Grant(adapter.Values{}, adapter.Addresses{})
	if err != nil {
		t.Fatal(err)
	}
	return adaptertest.AccessToken(t, s.url+fake.TokenPath, url.Values{
		"grant_type": {"refresh_token"}, "client_id": {clientID}, "client_secret": {secret},
		"refresh_token": {s.OAuth.Grant(clientID, "admin@example.com",
			append(grant.ScopeNames(), grant.OptionalNames()...)...)},
	})
}

// open opens a driver as the gateway does: with an authorised client, and without any token.
func (s *testServer) open(t testing.TB, token string, more map[string]any, now func() time.Time) crm.Driver {
	t.Helper()
	client := adaptertest.Client(t, "hubspot", s.url, func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
	driver, err := declared.OpenCRM(context.Background(),
		adapter.Values{Settings: more, Credentials: map[string]string{"access_token": "withheld"}},
		adapter.Environment{
			Zone: "America/New_York", HTTP: client, Now: now, Addresses: adapter.Addresses{"api_url": s.url},
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// driver opens a driver with the private app's token, at the real time.
func (s *testServer) driver(t testing.TB, settings ...string) crm.Driver {
	t.Helper()
	more := map[string]any{}
	for _, set := range settings {
		name, value, _ := strings.Cut(set, "=")
		more[name] = value
	}
	return s.open(t, private, more, time.Now)
}

var (
	support = crm.Vocabulary{
		Statuses: []string{"New", "Waiting on contact", "Waiting on us", "Closed"}, Priorities: []string{
			"Low", "Medium", "High", "Urgent",
		},
	}
	returned = crm.Vocabulary{
		Statuses: []string{"Announced", "Arrived", "Refunded"}, Priorities: support.Priorities,
	}
)

func TestEveryRequestIsAsHubSpotDescribesThem(t *testing.T) {
	api := described.Open(t, "hubspot-tickets-2026-09.openapi.json", "/")
	// HubSpot's API description does not have the account's details and what finds contacts.
	missing := []string{
		"/account-info/2026-09/details", "/crm/objects/2026-09/contacts/search",
		"/crm/objects/2026-09/companies/batch/read", "/crm/objects/2026-09/tickets/batch/read",
	}
	checked := func(next http.Handler) http.Handler {
		held := api.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(missing, r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			held.ServeHTTP(w, r)
		})
	}
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		return harness(t, serve(t, fake.Options{}, checked), private, nil, support)
	})
	api.Report(t)
}

// HubSpot's API description does not have tickets that are read by another property than their id.
func TestContractWithAPropertyForTheKey(t *testing.T) {
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		s := serve(t, fake.Options{Unique: []string{key}})
		return harness(t, s, private, map[string]any{"key_property": key}, support)
	})
}

func harness(
	t *testing.T, s *testServer, token string, more map[string]any, words crm.Vocabulary,
) crmtest.Harness {
	return crmtest.Harness{
		Open:          func() crm.Driver { return s.open(t, token, more, time.Now) },
		Account:       crm.Account{Name: "HubSpot account 2519445", Ref: "2519445"},
		Vocabulary:    words,
		DefaultStatus: words.Statuses[0],
		Known:         crmtest.Related{OwnerID: "6166860", AccountID: "202", ContactID: "101"},
		Unknown:       crmtest.Related{OwnerID: "6166999", AccountID: "909", ContactID: "808"},
		Secrets:       []string{token, secret},
		Now:           time.Now,
		Provider: &outside{
			Server: s.Server, closed: words.Statuses[len(words.Statuses)-1], open: words.Statuses[0],
		},
	}
}

// outside adapts the fake's actions of people to the interfaces of the suite.
type outside struct {
	*fake.Server
	closed, open string
}

var (
	_ crmtest.Counter       = (*outside)(nil)
	_ crmtest.Commenter     = (*outside)(nil)
	_ crmtest.Mover         = (*outside)(nil)
	_ crmtest.TellsTimes    = (*outside)(nil)
	_ crmtest.ContactKeeper = (*outside)(nil)
)

func (o *outside) Tickets(context.Context) (int, error) { return o.Count(), nil }

func (o *outside) Comment(_ context.Context, ticketID string, c crmtest.Comment) error {
	entry := fake.Entry{Kind: "COMMENT", Text: c.Body}
	if c.Public {
		entry.Kind = "MESSAGE"
	}
	if c.HTML {
		entry.Text, entry.HTML = "", c.Body
	}
	return o.Write(ticketID, entry)
}

func (o *outside) Move(_ context.Context, ticketID, status string) error {
	return o.Server.Move(ticketID, status)
}

// Labels implements crmtest.Mover. HubSpot has no resolved status.
func (o *outside) Labels() (resolved, closed, reopened string) { return "", o.closed, o.open }

func (o *outside) TellsTimes() {}

// AddContact implements crmtest.ContactKeeper.
func (o *outside) AddContact(_ context.Context, c crmtest.NewContact) (id string, err error) {
	first, last, _ := strings.Cut(c.Name, " ")
	return o.Server.AddContact(fake.Person{
		First: first, Last: last, Email: c.Email, Phone: c.Phone, Mobile: c.Mobile, Company: c.Account,
	}), nil
}
