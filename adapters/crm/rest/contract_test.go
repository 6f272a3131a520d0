package rest_test

import (
	"context"
	"errors"
	"html"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/rest/servertest"
	"frontdesk/config"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/adapter/described"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
	"frontdesk/core/fault"
)

// example returns the one connection of an example, as apply reads it.
func example(t testing.TB, file string) config.Connection {
	t.Helper()
	read, err := config.LoadTenants(filepath.Join("examples", file),
		[]string{"RT_USERNAME=" + rtUser, "RT_PASSWORD=" + rtPassword, "REDMINE_API_KEY=" + redmineKey})
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Tenants) != 1 || len(read.Tenants[0].Connections) != 1 {
		t.Fatalf("%s has not one connection", file)
	}
	return read.Tenants[0].Connections[0]
}

// exampleAt returns the settings of an example with a test server's address.
func exampleAt(t testing.TB, file, address string) map[string]any {
	t.Helper()
	settings := maps.Clone(example(t, file).Settings)
	settings["base_url"] = address
	return settings
}

func asRT(r *http.Request) { r.SetBasicAuth(rtUser, rtPassword) }

// rtServer is Request Tracker, fake or real, with the actions of its people.
type rtServer struct{ *testServer }

func (s rtServer) at(path string) string { return s.url + "/REST/2.0/" + path }

func (s rtServer) Tickets(ctx context.Context) (int, error) {
	var found struct{ Total int }
	err := s.ask(ctx, http.MethodGet, s.at("tickets?query=id+%3E+0"), nil, &found)
	return found.Total, err
}

func (s rtServer) Comment(ctx context.Context, id string, c crmtest.Comment) error {
	how, kind := "comment", "text/plain"
	if c.Public {
		how = "correspond"
	}
	if c.HTML {
		kind = "text/html"
	}
	return s.ask(ctx, http.MethodPost, s.at("ticket/"+id+"/"+how),
		map[string]any{"Content": c.Body, "ContentType": kind}, nil)
}

func (s rtServer) Move(ctx context.Context, id, status string) error {
	return s.ask(ctx, http.MethodPut, s.at("ticket/"+id), map[string]any{"Status": status}, nil)
}

// rtUsers is a server whose users can be managed.
type rtUsers struct{ rtServer }

// DropValues creates a user who may not own tickets. RT always drops a requestor that is not an address.
func (s rtUsers) DropValues(ctx context.Context) (crm.NewTicket, error) {
	err := s.ask(ctx, http.MethodPost, s.at("user"),
		map[string]any{"Name": "alice", "EmailAddress": "alice@example.com", "Privileged": 1}, nil)
	return crm.NewTicket{OwnerID: "alice", ContactID: "no such thing"}, err
}

// AddContact creates a user who may not own tickets, with one that is resolved: RT finds a number by tickets.
func (s rtUsers) AddContact(ctx context.Context, c crmtest.NewContact) (string, error) {
	name := strings.ReplaceAll(strings.ToLower(c.Name), " ", ".")
	err := s.ask(ctx, http.MethodPost, s.at("user"), map[string]any{
		"Name": name, "RealName": c.Name, "EmailAddress": c.Email, "WorkPhone": c.Phone, "MobilePhone": c.Mobile,
		"Organization": c.Account,
	}, nil)
	if err != nil {
		return "", err
	}
	return name, s.ask(ctx, http.MethodPost, s.at("ticket"), map[string]any{
		"Queue": "General", "Subject": "An earlier call", "Requestor": name, "Status": "resolved",
	}, nil)
}

func (s rtServer) Labels() (resolved, closed, reopened string) { return "resolved", "", "open" }
func (s rtServer) TellsTimes()                                 {}

func (s rtServer) harness(t *testing.T) crmtest.Harness {
	settings := exampleAt(t, "request-tracker.yaml", s.at(""))
	return crmtest.Harness{
		Open:    func() crm.Driver { return s.open(t, settings) },
		Account: crm.Account{Name: "Request Tracker, queue General"},
		Vocabulary: crm.Vocabulary{
			Statuses: []string{"new", "open", "resolved"}, Priorities: []string{"Low", "Medium", "High"},
		},
		DefaultStatus: "new", DefaultPriority: "Low",
		Known: crmtest.Related{OwnerID: "root", ContactID: "caller@example.com"}, Unknown: crmtest.Related{
			OwnerID: "no such user", AccountID: "1",
		},
		Secrets: []string{rtPassword}, Now: time.Now, Provider: rtUsers{s},
	}
}

// If a search reports that no ticket has a key, another ticket is opened. So only the search itself may
// report it.
func TestOnlyASearchThatFoundNothingSaysThatThereIsNoTicketWithTheKey(t *testing.T) {
	t.Parallel()
	const noTickets = `{"count":0,"items":[],"page":1,"per_page":20,"total":0,"issues":[],"total_count":0}`
	for rule, test := range map[string]struct {
		reply reply
		none  bool
	}{
		"nothing found":          {reply{status: 200, body: noTickets}, true},
		"no word":                {reply{status: 200}, false},
		"null":                   {reply{status: 200, body: `null`}, false},
		"an error that is a 200": {reply{status: 200, body: `{"message":"Internal error"}`}, false},
		"a list":                 {reply{status: 200, body: `[1,2]`}, false},
		"other types":            {reply{status: 200, body: `{"items":"no","issues":"no"}`}, false},
		"no such path":           {reply{status: 404, body: `{"message":"Not Found"}`}, false},
	} {
		for file, path := range map[string]string{
			"request-tracker.yaml": "/tickets", "redmine.yaml": "/projects/support/issues.json",
		} {
			t.Run(rule+" of "+file, func(t *testing.T) {
				s := serve(t, says(map[string]reply{"GET " + path: test.reply}), anonymous)
				_, err := s.open(t, exampleAt(t, file, s.url)).(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k1"})
				if err == nil || errors.Is(err, fault.NotFound) != test.none {
					t.Errorf("%v; that there is none: want %v", err, test.none)
				}
			})
		}
	}
}

func TestEveryRequestIsAsRequestTrackerDescribesThem(t *testing.T) {
	t.Parallel()
	api := described.Open(t, "rt-rest2.openapi.json", "/REST/2.0")
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		fake := &rtFake{}
		checked := api.Handler(fake)
		return rtServer{serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// It describes no users.
			if strings.HasPrefix(r.URL.Path, "/REST/2.0/user") || r.URL.Query().Has("fields[Requestor]") {
				fake.ServeHTTP(w, r)
				return
			}
			checked.ServeHTTP(w, r)
		}), asRT)}.harness(t)
	})
	api.Report(t)
}

func TestRequestTrackerReal(t *testing.T) {
	t.Parallel()
	account := servertest.RequestTracker(t)
	verifiedByWhatItsUserMay(t, account) // first, while it has no ticket
	proxy := proxyTo(t, account.URL)
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		h := rtServer{serve(t, proxy,
			func(r *http.Request) { r.SetBasicAuth(account.User, account.Password) })}.harness(t)
		h.AtOnce = conformance.AtRealServers(t)
		return h
	})
}

// proxyTo forwards requests to a real server.
func proxyTo(t *testing.T, server string) http.Handler {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) },
		// The client has left.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// redmineServer is the fake Redmine, with the actions of its people.
type redmineServer struct {
	*testServer
	fake *redmineFake
}

func (s redmineServer) Tickets(context.Context) (int, error) { return s.fake.count(), nil }

func (s redmineServer) DropValues(context.Context) (crm.NewTicket, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.fake.workflow, s.fake.readOnly = []int{1}, []string{"assigned_to_id", "priority_id", "description"}
	return crm.NewTicket{
		Status: "Closed", Priority: "High", OwnerID: "5", Description: "Water on the floor.",
	}, nil
}

func (s redmineServer) Comment(ctx context.Context, id string, c crmtest.Comment) error {
	if c.HTML { // Redmine has no HTML: an agent writes the words
		c.Body = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(c.Body, ""))
	}
	return s.change(ctx, id, map[string]any{"notes": c.Body, "private_notes": !c.Public})
}

func (s redmineServer) Move(ctx context.Context, id, status string) error {
	return s.change(ctx, id, map[string]any{"status_id": s.fake.status(status)})
}

func (s redmineServer) change(ctx context.Context, id string, change map[string]any) error {
	return s.ask(ctx, http.MethodPut, s.url+"/issues/"+id+".json", map[string]any{"issue": change}, nil)
}

func (s redmineServer) Labels() (resolved, closed, reopened string) { return "", "Closed", "New" }
func (s redmineServer) TellsTimes()                                 {}

func asRedmine(r *http.Request) { r.Header.Set("X-Redmine-API-Key", redmineKey) }

func TestRedminePretended(t *testing.T) {
	t.Parallel()
	crmtest.Run(t, func(t *testing.T) crmtest.Harness {
		fake := &redmineFake{}
		s := redmineServer{serve(t, fake, asRedmine), fake}
		settings := exampleAt(t, "redmine.yaml", s.url)
		return crmtest.Harness{
			Open:    func() crm.Driver { return s.open(t, settings) },
			Account: crm.Account{Name: "Alice Desk", Email: "alice@example.com"},
			Vocabulary: crm.Vocabulary{
				Statuses: []string{"New", "In Progress", "Closed"}, Priorities: []string{"Low", "Normal", "High"},
			},
			DefaultStatus: "New", DefaultPriority: "Normal",
			Known: crmtest.Related{OwnerID: "5"}, Unknown: crmtest.Related{
				OwnerID: "99", AccountID: "1", ContactID: "1",
			},
			Secrets: []string{redmineKey}, Now: time.Now, Provider: s,
		}
	})
}
