package connection

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/upstream"
)

// withheld stands in for the secret in what an adapter is opened with: it needs to know that there is one,
// not which.
const withheld = "withheld"

// authority is what puts a connection's credentials on a request, and others in the place of those that are
// refused.
type authority struct {
	authorise func(*http.Request) error
	renew     func(refused *http.Request) (bool, error) // nil: there are no others
}

// authorise returns the authority that puts a connection's credentials on a request, and the credentials as
// the adapter may see them. Only the authority keeps the secret that authorises.
func authorise(
	a adapter.Adapter, c Connection, plain map[string]string, tokens *oauth.TokenSource,
) (by authority, seen map[string]string, err error) {
	seen = maps.Clone(plain)
	if a.Auth.Scheme == adapter.OAuth2 {
		return tokenAuthority(tokens, c), allWithheld(plain), nil
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
	return by, seen, nil
}

// allWithheld tells which credentials there are.
func allWithheld(credentials map[string]string) map[string]string {
	seen := maps.Clone(credentials)
	for name := range seen {
		seen[name] = withheld
	}
	return seen
}

// bearer is the scheme of RFC 6750.
const bearer = "Bearer "

// clientOptions say where the client of a connection may go, and where its credentials may.
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
		Connection:    c.ID,
		Provider:      c.Provider,
	}
}

// baseURL returns the address that a connection's credentials belong to; nil where its adapter has its own.
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
		return nil // refused by Adapter.Check, at the latest when it is opened, or by the configuration
	}
	return u
}

// targetOf names what a connection's calls go to. A sandbox has no host: what fails there, on demand, is that
// one connection, and no other tenant may be kept from theirs by it.
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

// hostOf writes host and port one way, so that one server has one breaker however its address is written.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// unfit reports credentials that cannot be put on a request: a stray line break comes with copying, and a
// colon would end a user name early (RFC 7617 section 2).
func unfit(auth adapter.Auth, credentials map[string]string) []fault.Field {
	var faults []fault.Field
	for _, name := range []string{auth.Username, auth.Password} {
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
