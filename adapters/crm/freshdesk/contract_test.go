package freshdesk_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/crm/freshdesk"
	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = freshdesk.Adapter()

const (
	email  = "agent@example.com"
	apiKey = "fd-6wiIBWbGkBMo1mRDMuVw"
)

// testServer serves the fake.
type testServer struct {
	*fake.Server
	url   string
	later time.Duration // how late it is for the drivers
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	how.Email, how.APIKey = email, apiKey
	server := fake.New(how)
	return &testServer{Server: server, url: adaptertest.Serve(t, server, around...)}
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
		adapter.Values{
			Settings: map[string]any{
				"base_url": s.url + "/", "requester_email": "calls@example.com", "fields": fields,
			},
			Credentials: map[string]string{"api_key": "withheld"},
		},
		adapter.Environment{
			Zone: "America/New_York", Now: func() time.Time { return time.Now().Add(s.later) },
			HTTP: adaptertest.Client(t, "freshdesk", s.url, func(r *http.Request) error {
				r.SetBasicAuth(apiKey, "X")
				return nil
			}),
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// TestContractAndThatEveryRequestIsAsFreshdeskDescribesThem runs the suite once for both.
func TestContractAndThatEveryRequestIsAsFreshdeskDescribesThem(t *testing.T) {
	api := described.Open(t, "freshdesk-tickets.openapi.json", "/")
	// The description does not have the list of tickets and the archive, nor contacts and companies.
	checked := func(next http.Handler) http.Handler {
		held := api.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			undescribed := []string{"/tickets", "/contacts", "/search/contacts"}
			path := strings.TrimPrefix(r.URL.Path, fake.APIPath)
			if r.Method == http.MethodGet && (slices.Contains(undescribed, path) ||
				strings.HasPrefix(path, "/companies/") || strings.HasPrefix(path, "/tickets/archived/")) {
				next.ServeHTTP(w, r)
				return
			}
			held.ServeHTTP(w, r)
		})
	}
	crmtest.Run(t, func(t *testing.T) crmtest.Harness { return harness(t, serve(t, fake.Options{}, checked)) })
	api.Report(t)
}

func harness(t *testing.T, s *testServer) crmtest.Harness {
	return crmtest.Harness{
		Open:    func() crm.Driver { return s.open(t) },
		Account: crm.Account{Email: email, Name: "Rachel Agent"},
		Vocabulary: crm.Vocabulary{
			Statuses: []string{
				"Open", "Pending", "Waiting on the plumber", "Resolved", "Closed", "Waiting on customer",
			},
			Priorities: []string{"Low", "Medium", "High", "Urgent"},
		},
		DefaultStatus: "Open", DefaultPriority: "Low",
		Known: crmtest.Related{
			OwnerID: id(fake.Colleague), AccountID: id(fake.Company), ContactID: id(fake.Contact),
		},
		Unknown: crmtest.Related{OwnerID: "501001999999", AccountID: "501000999999", ContactID: "501001999998"},
		Secrets: []string{apiKey}, Now: time.Now, Provider: outside{s.Server},
	}
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// outside adapts the fake's agent actions to the interfaces of the suite.
type outside struct{ *fake.Server }

func (o outside) Tickets(context.Context) (int, error) { return o.Server.Tickets(), nil }

func (o outside) Comment(_ context.Context, ticketID string, c crmtest.Comment) error {
	return o.Server.Comment(ticketID, c.Body, c.HTML, c.Public)
}

func (o outside) AddContact(_ context.Context, c crmtest.NewContact) (string, error) {
	return o.Server.AddContact(c.Name, c.Email, c.Phone, c.Mobile, c.Account), nil
}

func (o outside) Move(_ context.Context, ticketID, status string) error {
	return o.Server.Move(ticketID, status)
}

func (outside) Labels() (resolved, closed, reopened string) { return "Resolved", "Closed", "Open" }

func (outside) TellsTimes() {}
