package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/adapter"
	"frontdesk/core/budget"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/upstream"
)

// withheld replaces the secret in the values that an adapter is opened with. The adapter needs to know that
// there is a secret, but not the secret itself.
const withheld = "withheld"

// authority puts a connection's credentials on requests, and renews credentials that are refused.
type authority struct {
	authorise func(*http.Request) error
	renew     func(refused *http.Request) (bool, error) // nil: cannot be renewed
}

// authorise returns the authority of a connection, and the credentials as the adapter may see them. Only the
// authority holds the secret that authorises requests.
func authorise(
	a adapter.Adapter, c Connection, plain map[string]string, tokens *oauth.TokenSource,
) (by authority, seen map[string]string, err error) {
	seen = maps.Clone(plain)
	second := plain[a.Auth.Second]
	if second != "" {
		seen[a.Auth.Second] = withheld
	}
	if a.Auth.Scheme == adapter.OAuth2 {
		by = tokenAuthority(tokens, c, tokenPrefix(a.Auth))
		by.authorise = withSecond(by.authorise, a.Auth.SecondHeader, second)
		return by, allWithheld(plain), nil
	}
	hidden := a.Auth.Password
	if a.Auth.FixedPassword != "" {
		hidden = a.Auth.Username
	}
	if a.Auth.Scheme != adapter.None && seen[hidden] != "" {
		seen[hidden] = withheld
	}
	username, secret := plain[a.Auth.Username]+a.Auth.UsernameSuffix,
		cmp.Or(plain[a.Auth.Password], a.Auth.FixedPassword)
	header, prefix := a.Auth.HeaderName, a.Auth.Prefix
	by.authorise = func(*http.Request) error { return nil }
	switch a.Auth.Scheme {
	case adapter.None:
	case adapter.Basic:
		by.authorise = func(r *http.Request) error { r.SetBasicAuth(username, secret); return nil }
	case adapter.Bearer:
		by.authorise = func(r *http.Request) error { r.Header.Set("Authorization", bearer+secret); return nil }
	case adapter.Header:
		by.authorise = func(r *http.Request) error { r.Header.Set(header, prefix+secret); return nil }
	default:
		err := fmt.Errorf("connection: the adapter %s declares an unknown scheme %q", a.Name, a.Auth.Scheme)
		return authority{}, nil, fault.From(err)
	}
	by.authorise = withSecond(by.authorise, a.Auth.SecondHeader, second)
	return by, seen, nil
}

// withSecond returns authorise, followed by another header with a secret; "" leaves it out.
func withSecond(authorise func(*http.Request) error, header, secret string) func(*http.Request) error {
	if header == "" || secret == "" {
		return authorise
	}
	return func(r *http.Request) error {
		r.Header.Set(header, secret)
		return authorise(r)
	}
}

// allWithheld returns the credentials with withheld for each value.
func allWithheld(credentials map[string]string) map[string]string {
	seen := maps.Clone(credentials)
	for name := range seen {
		seen[name] = withheld
	}
	return seen
}

// bearer is the scheme of RFC 6750.
const bearer = "Bearer "

// tokenPrefix returns the text before an access token.
func tokenPrefix(auth adapter.Auth) string { return cmp.Or(auth.Prefix, bearer) }

// clientOptions returns the options of a connection's client: where it and its credentials may go.
func (p Providers) clientOptions(a adapter.Adapter, c Connection, by authority) upstream.ClientOptions {
	home := baseURL(a, c)
	if home == nil && a.Auth.Scheme == adapter.OAuth2 {
		home = parseURL(p.Operators[a.Name].Addresses[a.Auth.OAuth.API])
	}
	return upstream.ClientOptions{
		Authorize:     by.authorise,
		Renew:         by.renew,
		AuthorizeFor:  home,
		TenantAddress: a.Auth.BaseURL != "",
		RequireTLS:    a.Auth.BaseURL != "", // whoever is at the network could read the credentials
		Connection:    c.ID,
		Provider:      c.Provider,
		Pace:          p.pace(a, c),
	}
}

// paceWait is how long a request waits for its quota. Then the caller hears what the provider would say.
const paceWait = 3 * time.Second

// pace returns the function by which a connection's requests keep the provider's quotas; nil if it has none.
// A request counts until a second after its response: the provider counts it at some time before that.
func (p Providers) pace(a adapter.Adapter, c Connection) func(*http.Request) (done func(), err error) {
	if p.Budgets == nil || len(a.Quotas) == 0 {
		return nil
	}
	return func(r *http.Request) (func(), error) {
		at := slices.IndexFunc(a.Quotas, func(q adapter.Quota) bool { return q.Counts(r) })
		if at < 0 {
			return func() {}, nil
		}
		bounded, cancel := context.WithTimeout(r.Context(), paceWait)
		defer cancel()
		q := a.Quotas[at]
		done, err := p.Budgets.Acquire(bounded, budget.Limit{
			Name: a.Name + "-" + q.Name + ":" + c.ID, Units: q.PerSecond, Rest: time.Second,
		})
		if err != nil && !errors.Is(r.Context().Err(), context.Canceled) {
			f := fault.Newf(fault.RateLimited, fault.ReasonProviderRateLimited,
				"The provider %s takes %d %s a second from one account, and more are waiting. Try again later.",
				a.Name, q.PerSecond, q.Name).With("provider", a.Name)
			f.RetryAfter = time.Second
			return nil, f
		}
		return done, err
	}
}

// baseURL returns the address that a connection's credentials belong to; nil if its settings have none.
func baseURL(a adapter.Adapter, c Connection) *url.URL {
	text, _ := c.Settings[a.Auth.BaseURL].(string)
	return parseURL(text)
}

func parseURL(address string) *url.URL {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil // rejected by Adapter.Check, at the latest on opening, or by the configuration
	}
	return u
}

// Target returns the target of a connection's calls, as far as its settings tell.
func (p Providers) Target(c Connection) (Target, error) {
	a, err := p.find(c)
	if err != nil {
		return Target{}, err
	}
	if with, err := a.With(adapter.Values{Settings: c.Settings}); err == nil {
		a = with // else its way to authorise depends on credentials, and its address does not
	}
	return targetOf(a, c), nil
}

// targetOf returns the target of a connection's calls. A sandbox has no host: it fails on demand for one
// connection, and must not affect the connections of other tenants.
func targetOf(a adapter.Adapter, c Connection) Target {
	t := Target{
		Kind: string(c.Kind), Provider: c.Provider, Host: c.Provider, Connection: c.ID, Sandbox: a.Sandbox,
	}
	if a.Sandbox {
		t.Host = ""
	} else if u := baseURL(a, c); u != nil {
		t.Host = hostOf(u)
	}
	return t
}

// hostOf returns host and port in one form, so that a server has one breaker however its address is written.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// unfit returns a fault for credentials that cannot be put on a request: a line break may come from copying,
// and a colon would end a user name early (RFC 7617 section 2).
func unfit(auth adapter.Auth, credentials map[string]string) []fault.Field {
	var faults []fault.Field
	for _, name := range []string{auth.Username, auth.Password, auth.Second} {
		if name != "" && strings.ContainsFunc(credentials[name], unicode.IsControl) {
			faults = append(faults, fault.Field{Path: "credentials." + name,
				Message: "must be one line without control characters; check how it was copied."})
		}
	}
	if auth.Scheme == adapter.Basic && strings.Contains(credentials[auth.Username], ":") {
		faults = append(faults, fault.Field{
			Path: "credentials." + auth.Username, Message: "must not contain a colon.",
		})
	}
	return faults
}
