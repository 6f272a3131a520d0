// Package consenttest provides a calendar provider for tests of customers' consent: an authorization server
// (oauthtest), an API with two endpoints, and the adapter for it.
//
//	p := consenttest.Start(t, "meet")
//	registry, err := adapter.NewRegistry([]adapter.Adapter{p.Adapter()})
//	providers := connection.Providers{
//		Registry: registry, Operators: map[string]adapter.Operator{"meet": p.Operator()}, ...
//	}
//	answer := p.Decide(t, begun.URL, "approve")
package consenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
)

// The operator's OAuth client, and the scopes.
const (
	ClientID     = "client-of-the-operator"
	ClientSecret = "canary-client-secret"
	ScopeEvents  = "https://meet.example/auth/events"
	ScopeList    = "https://meet.example/auth/list"
)

// Provider is a calendar provider for tests. Start one with [Start].
type Provider struct {
	*oauthtest.Server
	URL string

	name    string
	issuer  string
	mu      sync.Mutex
	secrets []string
	refusal int    // status with which the API refuses requests; 0: none are refused
	called  string // the calendar's name
}

// Start starts a provider, which is closed when the test ends. Its accounts are desk@acme.example and
// other@acme.example.
func Start(t testing.TB, name string, change ...func(*oauthtest.Options)) *Provider {
	t.Helper()
	p := &Provider{name: name, called: "Front desk"}
	mux := http.NewServeMux()
	s := httptest.NewServer(p.overheard(mux))
	t.Cleanup(s.Close)
	p.URL, p.issuer = s.URL, s.URL
	o := oauthtest.Options{
		Issuer: s.URL, AuthorizePath: "/auth", TokenPath: "/token",
		Accounts: []string{"desk@acme.example", "other@acme.example"},
		Clients:  map[string]string{ClientID: ClientSecret, "client-of-acme": "secret-of-acme"},
	}
	for _, c := range change {
		c(&o)
	}
	p.Server = oauthtest.New(o)
	mux.Handle("/auth", p.Server)
	mux.Handle("/token", p.Server)
	mux.HandleFunc("GET /api/me", p.answer(ScopeEvents,
		func(who string) any { return map[string]string{"email": who} }))
	mux.HandleFunc("GET /api/calendars", p.answer(ScopeList, func(string) any { return []string{p.calendar()} }))
	return p
}

// Refuse makes the API respond to all requests with the given status; 0 ends it.
func (p *Provider) Refuse(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusal = status
}

// Call sets the calendar's name.
func (p *Provider) Call(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called = name
}

func (p *Provider) calendar() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.called
}

func (p *Provider) answer(scope string, what func(who string) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		refusal := p.refusal
		p.mu.Unlock()
		token, ok := p.Bearer(r)
		switch {
		case refusal != 0:
			w.WriteHeader(refusal)
		case !ok:
			w.WriteHeader(http.StatusUnauthorized)
		case !strings.Contains(strings.Join(token.Scopes, " "), scope):
			w.WriteHeader(http.StatusForbidden)
		default:
			_ = json.NewEncoder(w).Encode(what(token.Account))
		}
	}
}

// Secrets returns all codes, verifiers, tokens and client secrets that were exchanged.
func (p *Provider) Secrets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{ClientSecret}, p.secrets...)
}

// overheard records the secrets in token requests and responses.
func (p *Provider) overheard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		form, _ := url.ParseQuery(string(body))
		var given map[string]any
		_ = json.Unmarshal(recorder.Body.Bytes(), &given)
		p.mu.Lock()
		for _, name := range []string{"code", "code_verifier", "refresh_token", "access_token"} {
			text, _ := given[name].(string)
			for _, secret := range []string{form.Get(name), text} {
				if secret != "" {
					p.secrets = append(p.secrets, secret)
				}
			}
		}
		p.mu.Unlock()
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// Decide acts as a customer who presses a button, "approve" or "deny", on the page at the address. It returns
// the URL that the customer is redirected to.
func (p *Provider) Decide(t testing.TB, address, button string) *url.URL {
	t.Helper()
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address,
		strings.NewReader(url.Values{button: {"yes"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	to, err := response.Location()
	if err != nil {
		body, _ := io.ReadAll(response.Body)
		t.Fatalf("the provider sends nobody back: %d %s", response.StatusCode, body)
	}
	return to
}

// Operator returns the operator's configuration of the provider.
func (p *Provider) Operator() adapter.Operator {
	return adapter.Operator{ClientID: ClientID, ClientSecret: ClientSecret, Addresses: adapter.Addresses{
		"auth_url": p.URL + "/auth", "token_url": p.URL + "/token", "api_url": p.URL + "/api/", "issuer": p.issuer,
	}}
}

type settings struct {
	CalendarID   string `setting:"calendar_id" help:"Calendar."`
	ClientID     string `setting:"client_id" help:"OAuth client."`
	Server       string `setting:"server" kind:"url" help:"Address of an authorization server of the tenant's own."`
	Robot        bool   `setting:"robot" help:"Get tokens without a customer."`
	ClientSecret string `credential:"client_secret" help:"Its secret."`
	RefreshToken string `credential:"refresh_token" help:"Brought in."`
}

func grant(s settings, at adapter.Addresses) (adapter.Grant, error) {
	g := adapter.Grant{
		Flow: adapter.Consent, TokenURL: at["token_url"], AuthURL: at["auth_url"], Issuer: at["issuer"],
		ClientID: s.ClientID,
		Scopes: []adapter.Scope{
			{Name: ScopeEvents, Words: "See and change events in your calendars"},
			{Name: ScopeList, Words: "See the list of your calendars"},
		},
	}
	if s.Server != "" {
		g.AuthURL, g.TokenURL, g.Issuer, g.TenantAddress = s.Server+"/auth", s.Server+"/token", "", true
	}
	if s.Robot {
		g.Flow = adapter.ClientCredentials
	}
	return g, nil
}

// Adapter returns the adapter for the provider.
func (p *Provider) Adapter() adapter.Adapter {
	return adapter.Calendar(adapter.Declaration{
		Name: p.name, Title: strings.ToUpper(p.name[:1]) + p.name[1:] + " Calendar", Help: "For tests.",
		Auth: adapter.Auth{
			Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{API: "api_url", Grant: adapter.GrantOf(grant)},
		},
	}, func(_ context.Context, s settings, env adapter.Environment) (calendar.Driver, error) {
		return driver{api: env.Addresses["api_url"], client: env.HTTP, id: s.CalendarID}, nil
	})
}

// CRM returns the adapter of that name for a CRM at the same provider, whose account has an id and no address.
func (p *Provider) CRM(name string) adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name: name, Title: "Meet Desk", Help: "For tests.",
		Auth: adapter.Auth{
			Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{API: "api_url", Grant: adapter.GrantOf(grant)},
		},
	}, func(_ context.Context, _ settings, env adapter.Environment) (crm.Driver, error) {
		return desk{driver: driver{api: env.Addresses["api_url"], client: env.HTTP}}, nil
	})
}

// desk implements only Account.
type desk struct {
	crm.Driver
	driver driver
}

func (d desk) Account(ctx context.Context) (crm.Account, error) {
	a, err := d.driver.Account(ctx)
	return crm.Account{Name: "Company of " + a.Email, Ref: a.Email}, err
}

// driver implements only Account and Calendars; the other methods must not be called.
type driver struct {
	calendar.Driver
	api    string
	client *http.Client
	id     string
}

func (d driver) Account(ctx context.Context) (a calendar.Account, err error) {
	var me struct{ Email string }
	err = d.get(ctx, "me", &me)
	return calendar.Account{Email: me.Email}, err
}

func (d driver) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	var names []string
	if err := d.get(ctx, "calendars", &names); err != nil {
		return nil, err
	}
	all := []calendar.Calendar{{ID: "holidays", Name: "Holidays", ReadOnly: true}}
	for _, name := range names {
		all = append(all, calendar.Calendar{ID: name, Name: name, IsDefault: d.id == "" || d.id == name})
	}
	return all, nil
}

func (d driver) get(ctx context.Context, what string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.api+what, nil)
	if err != nil {
		return err
	}
	response, err := d.client.Do(req)
	if err != nil {
		return fault.From(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(response.Body).Decode(into)
	case http.StatusUnauthorized:
		return fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "The token is refused.")
	case http.StatusForbidden:
		return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The account may not.")
	}
	return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider is not there.")
}
