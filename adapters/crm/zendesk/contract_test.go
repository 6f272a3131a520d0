package zendesk_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/crm/zendesk"
	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
	"frontdesk/core/oauth/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = zendesk.Adapter()

const (
	email    = "agent@example.com"
	clientID = "front-desk"
	secret   = "correct horse battery staple"
	apiToken = "6wiIBWbGkBMo1mRDMuVwkw1EPsNkeUj95PIz2akv"
)

// testServer serves the fake, with credentials of one kind.
type testServer struct {
	*fake.Server
	url         string
	secrets     []string
	credentials map[string]string
	authorize   func(*http.Request) error
	later       time.Duration // how late it is for the drivers
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	how.Email, how.APIToken = email, apiToken
	how.OAuth = oauthtest.Options{Clients: map[string]string{clientID: secret}}
	server := fake.New(how)
	return &testServer{
		Server: server, url: adaptertest.Serve(t, server, around...), secrets: []string{apiToken},
		credentials: map[string]string{"email": email, "api_token": "withheld"},
		authorize:   func(r *http.Request) error { r.SetBasicAuth(email+"/token", apiToken); return nil },
	}
}

// byConsent gives the server the tokens of an agent who consented to the adapter's scopes.
func byConsent(t testing.TB, s *testServer) *testServer {
	t.Helper()
	values := adapter.Values{Settings: map[string]any{"base_url": s.url}}
	auth, err := declared.AuthOf(values)
	if err != nil {
		t.Fatal(err)
	}
	grant, err := auth.OAuth.Grant(values, adapter.Addresses{"base_url": s.url})
	if err != nil {
		t.Fatal(err)
	}
	refresh := s.OAuth.Grant(clientID, email, grant.ScopeNames()...)
	token := adaptertest.AccessToken(t, grant.TokenURL, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {clientID},
		"client_secret": {secret},
	})
	s.secrets, s.credentials = []string{token, refresh, secret}, map[string]string{"refresh_token": "withheld"}
	s.authorize = func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+token); return nil }
	return s
}

// open opens a driver as the gateway does: with an authorised client, and without any secret.
func (s *testServer) open(t testing.TB) crm.Driver {
	t.Helper()
	return s.with(t, nil)
}

// with opens a driver with the setting fields.
func (s *testServer) with(t testing.TB, fields map[string]any) crm.Driver {
	t.Helper()
	driver, err := declared.OpenCRM(context.Background(),
		adapter.Values{Settings: map[string]any{"base_url": s.url + "/", "fields": fields},
			Credentials: s.credentials},
		adapter.Environment{
			Zone: "America/New_York", Now: func() time.Time { return time.Now().Add(s.later) },
			HTTP: adaptertest.Client(t, "zendesk", s.url, s.authorize),
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

var (
	custom = []string{
		"New", "Open", "Pending", "On-hold", "Solved", "Waiting for the plumber", "Nothing to mend",
	}
	system = []string{"Open", "Pending", "On-hold", "Solved"}
)

// TestContract runs the suite in the settings that TestEveryRequestIsAsZendeskDescribesThem leaves: it runs the suite
// with one comment in a page.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		rule     string
		how      fake.Options
		consent  bool
		statuses []string
	}{
		{rule: "with an API token", statuses: custom},
		{rule: "by consent", consent: true, statuses: custom},
		{rule: "without custom statuses", how: fake.Options{SystemStatuses: true}, statuses: system},
		{rule: "without the list of custom statuses", how: fake.Options{NoStatuses: true}, statuses: system},
	} {
		t.Run(c.rule, func(t *testing.T) {
			crmtest.Run(t, func(t *testing.T) crmtest.Harness {
				s := serve(t, c.how)
				if c.consent {
					byConsent(t, s)
				}
				return harness(t, s, c.statuses)
			})
		})
	}
}

func TestEveryRequestIsAsZendeskDescribesThem(t *testing.T) {
	api := described.Open(t, "zendesk-tickets.openapi.json", "/")
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		return harness(t, serve(t, fake.Options{PageSize: 1}, except(api.Handler)), custom)
	})
	api.Report(t)
}

// except leaves out the requests that Zendesk's API description has only in its text.
func except(check func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		checked := check(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == fake.APIPath+"/users/show_many" || strings.HasSuffix(r.URL.Path, "/tickets/requested") {
				next.ServeHTTP(w, r)
				return
			}
			checked.ServeHTTP(w, r)
		})
	}
}

func harness(t *testing.T, s *testServer, statuses []string) crmtest.Harness {
	h := crmtest.Harness{
		Open:       func() crm.Driver { return s.open(t) },
		Account:    crm.Account{Email: email, Name: "Johnny Agent"},
		Vocabulary: crm.Vocabulary{Statuses: statuses, Priorities: []string{"Low", "Normal", "High", "Urgent"}},
		Known: crmtest.Related{
			OwnerID: id(fake.Colleague), AccountID: id(fake.Organization), ContactID: id(fake.Customer),
		},
		Unknown: crmtest.Related{
			OwnerID: "20978392000999", AccountID: "50997400000999", ContactID: "20978392000999",
		},
		Secrets: s.secrets, Now: time.Now, Provider: outside{s.Server},
	}
	h.DefaultStatus = "New"
	return h
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// outside adapts the fake's agent actions to the interfaces of the suite.
type outside struct{ *fake.Server }

func (o outside) Tickets(context.Context) (int, error) { return o.Server.Tickets(), nil }

func (o outside) Comment(_ context.Context, ticketID string, c crmtest.Comment) error {
	return o.Server.Comment(ticketID, c.Body, c.HTML, c.Public)
}

func (o outside) AddContact(_ context.Context, c crmtest.NewContact) (string, error) {
	phones := slices.DeleteFunc([]string{c.Phone, c.Mobile}, func(p string) bool { return p == "" })
	return o.AddUser(c.Name, c.Account, []string{c.Email}, phones), nil
}

func (o outside) Move(_ context.Context, ticketID, status string) error {
	return o.Server.Move(ticketID, status)
}

func (outside) Labels() (resolved, closed, reopened string) { return "Solved", "Closed", "Open" }

func (outside) TellsTimes() {}
