package salesforce_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/crm/salesforce"
	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
	"frontdesk/core/oauth/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = salesforce.Adapter()

const (
	user     = "alice@acme.example"
	clientID = "3MVG9.frontdesk"
	secret   = "correct horse battery staple"
	keyField = "Frontdesk_Key__c"
)

// testServer serves the fake, with a person who has consented.
type testServer struct {
	*fake.Server
	url            string
	refresh, token string
	later          time.Duration // by so much, drivers are ahead of the clock
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	how.Accounts = []string{user}
	how.OAuth = oauthtest.Options{Clients: map[string]string{clientID: secret}}
	server := fake.New(how)
	s := &testServer{
		Server: server, url: adaptertest.Serve(t, server, around...),
		refresh: server.OAuth.Grant(clientID, user, "api", "refresh_token"),
	}
	s.token, _ = s.redeem(t, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.refresh}})
	return s
}

// redeem requests an access token.
func (s *testServer) redeem(t testing.TB, form url.Values) (token, instance string) {
	t.Helper()
	form.Set("client_id", clientID)
	form.Set("client_secret", secret)
	answer, err := http.PostForm(s.url+fake.TokenPath, form)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var granted struct {
		Token    string `json:"access_token"`
		Instance string `json:"instance_url"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&granted); err != nil || granted.Token == "" {
		t.Fatalf("no access token: %v", err)
	}
	return granted.Token, granted.Instance
}

// open opens a driver as the gateway does: with an authorised client, and without any token.
func (s *testServer) open(t testing.TB, more map[string]any) crm.Driver {
	t.Helper()
	return s.openAt(t, more, func(context.Context) (string, error) { return s.url, nil })
}

// openAt is open with the function that tells the address of the account.
func (s *testServer) openAt(
	t testing.TB, more map[string]any, instance func(context.Context) (string, error),
) crm.Driver {
	t.Helper()
	client := adaptertest.Client(t, "salesforce", "", func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+s.token)
		return nil
	})
	driver, err := declared.OpenCRM(context.Background(),
		adapter.Values{Settings: more, Credentials: map[string]string{"refresh_token": "withheld"}},
		adapter.Environment{
			Zone: "Europe/London", HTTP: client, Instance: instance,
			Now: func() time.Time { return time.Now().Add(s.later) },
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

func TestAnAddressThatIsSetIsUsed(t *testing.T) {
	s := serve(t, fake.Options{})
	other := adaptertest.Serve(t, s.Server)
	s.url = "http://127.0.0.1:1"
	if _, err := s.open(t, map[string]any{"base_url": other + "/"}).Account(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEveryRequestIsAsSalesforceDescribesThem(t *testing.T) {
	api := described.Open(t, "salesforce-case.openapi.json", "")
	for _, how := range []struct {
		org  fake.Options
		more map[string]any
	}{{}, {fake.Options{ExternalID: keyField}, map[string]any{"external_id_field": keyField}}} {
		crmtest.Run(t, func(t *testing.T) crmtest.Harness {
			return harness(t, serve(t, how.org, checking(api)), how.org, how.more)
		})
	}
	api.Report(t)
}

// checking compares requests for data with Salesforce's API description, which lacks two resources.
func checking(api *described.Description) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		checked := api.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			missing := r.URL.Path == fake.DataPath+"v62.0/queryAll" || r.URL.Path == fake.DataPath+"v62.0/search/"
			if strings.HasPrefix(r.URL.Path, fake.DataPath) && !missing {
				checked.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func harness(t *testing.T, s *testServer, how fake.Options, more map[string]any) crmtest.Harness {
	vocabulary := crm.Vocabulary{
		Statuses: []string{"New", "Working", "Escalated", "Closed"}, Priorities: []string{"High", "Medium", "Low"},
	}
	status, priority := "New", "Medium"
	if how.Statuses != nil {
		vocabulary = crm.Vocabulary{
			Statuses: []string{"Neu", "Geschlossen"}, Priorities: []string{"Hoch", "Niedrig"},
		}
		status, priority = "Neu", "Niedrig"
	}
	comments, _ := more["comments"].(string)
	return crmtest.Harness{
		Open:    func() crm.Driver { return s.open(t, more) },
		Account: crm.Account{Name: "Acme", Ref: fake.RecordID("00D", 1)}, Vocabulary: vocabulary, DefaultStatus: status,
		DefaultPriority: priority,
		Known:           crmtest.Related{OwnerID: fake.Owner, AccountID: fake.Account, ContactID: fake.Contact},
		Unknown: crmtest.Related{
			OwnerID: fake.RecordID("005", 9), AccountID: fake.RecordID("001", 9), ContactID: fake.RecordID("003", 9),
		},
		Secrets: []string{s.token, s.refresh, secret}, Now: time.Now,
		Provider: &outside{
			Server: s.Server, comments: comments, closed: vocabulary.Statuses[len(vocabulary.Statuses)-1],
		},
	}
}

// outside adapts the fake's actions of people to the interfaces of the suite.
type outside struct {
	*fake.Server
	comments string
	closed   string
}

var (
	_ crmtest.ContactKeeper = (*outside)(nil)
	_ crmtest.Mover         = (*outside)(nil)
)

var tags = regexp.MustCompile(`<[^>]*>`)

func (o *outside) Comment(_ context.Context, id string, c crmtest.Comment) error {
	switch o.comments {
	case "emails":
		if c.HTML {
			return o.Email(id, "", c.Body, !c.Public)
		}
		return o.Email(id, c.Body, "", !c.Public)
	case "feed":
		return o.Post(id, c.Body, c.HTML, c.Public)
	}
	if c.HTML { // case comments have no markup: a person types the text that is shown
		c.Body = strings.ReplaceAll(tags.ReplaceAllString(c.Body, ""), "&amp;", "&")
	}
	return o.Server.Comment(id, c.Body, c.Public)
}

func (o *outside) Move(_ context.Context, id, status string) error {
	if status == o.closed {
		status = "Closed"
	}
	return o.Server.Move(id, status)
}

// Labels implements crmtest.Mover. Closing a case is the only way to resolve it.
func (o *outside) Labels() (resolved, closed, reopened string) { return "", o.closed, "" }

func (o *outside) TellsTimes() {}

// AddContact implements crmtest.ContactKeeper.
func (o *outside) AddContact(_ context.Context, c crmtest.NewContact) (id string, err error) {
	return o.Server.AddContact(fake.Person{
		Name: c.Name, Email: c.Email, Phone: c.Phone, Mobile: c.Mobile, Account: c.Account,
	}), nil
}
