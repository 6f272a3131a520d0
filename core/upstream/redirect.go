package upstream

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

const (
	maxRedirects = 5 // that one call follows

	// maxHostBytes is more than a name of the DNS has in any letters: at most 255 bytes in ASCII (RFC 1035 section
	// 2.3.4). The time to convert one to ASCII grows with its square (RFC 3492), here and in net/http: a name that fills
	// the headers of a response takes a minute.
	maxHostBytes = 1024
)

// credentialHeaders are never sent to a host that the credentials do not belong to, even if the driver set
// them.
var credentialHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie"}

// portableHeaders are the only headers kept on a redirect to another origin: any other may hold a secret
// under a provider-specific name.
var portableHeaders = []string{"Accept", "Accept-Language", "Content-Type", "Depth", "Prefer", "User-Agent",
	"If-Match", "If-None-Match", "If-Modified-Since"}

// redirect returns the request that a response redirects to, or nil if the response is the final one.
func (t *transport) redirect(
	hop *http.Request, resp *http.Response, anchor *url.URL,
) (*http.Request, error) {
	given := resp.Header.Get("Location")
	if given == "" || !redirects(resp.StatusCode) {
		return nil, nil
	}
	if to, err := hop.URL.Parse(given); err != nil || len(to.Host) > maxHostBytes {
		// Checked even if the redirect is not followed: http.Client fails on it with the whole address in its
		// text, or converts it.
		return nil, t.misconfigured("redirects to an address that cannot be read")
	}
	if !follows(resp.StatusCode, hop.Method) {
		return nil, nil
	}
	target, err := Reference(hop.URL, given)
	if err != nil {
		return nil, t.misconfigured("redirects to %s", err)
	}
	if err := t.leaves(anchor, target, hop.Method); err != nil {
		return nil, err
	}
	return redirectedRequest(hop, target), nil
}

// Reference resolves an address that the response from another address names, by the rules of redirects: it
// must be http or https, and https must not lead to plain http. A user name or password in it is removed,
// since it would be a credential of someone else's choice. Errors do not contain the address.
func Reference(from *url.URL, given string) (*url.URL, error) {
	target, err := from.Parse(given)
	switch {
	case err != nil, len(target.Host) > maxHostBytes:
		return nil, errors.New("an address that cannot be read")
	case target.Host == "" || (target.Scheme != "http" && target.Scheme != "https"):
		return nil, errors.New("an address that is not http or https")
	case from.Scheme == "https" && target.Scheme == "http":
		return nil, errors.New("plain http, from https")
	}
	target.User = nil
	return target, nil
}

// leaves returns an error for a request that changes something and leaves the site of home: its body may hold
// a customer's data or a client secret, which another site must not get.
func (t *transport) leaves(home, target *url.URL, method string) error {
	if safe(method) || mayCarryCredentials(home, target) {
		return nil
	}
	return t.misconfigured("redirects a request that changes something to another site")
}

// redirectedRequest returns a request to another address, or nil if the body cannot be sent again.
func redirectedRequest(hop *http.Request, target *url.URL) *http.Request {
	body, ok := bodyAgain(hop)
	if !ok {
		return nil // as in net/http: the body is consumed, so the redirect is the final response
	}
	next := hop.Clone(hop.Context())
	next.URL, next.Body = target, body
	if sameOrigin(hop.URL, target) {
		return next
	}
	next.Host = ""
	next.Header = http.Header{}
	for _, name := range portableHeaders {
		if values := hop.Header.Values(name); len(values) > 0 {
			next.Header[name] = values
		}
	}
	return next
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follows reports whether to follow a redirect, which must keep the meaning of the request. 307 and 308 do
// (RFC 9110 section 15.4). On 301 and 302 a method may become GET, and on 303 it has to: the 200 of that GET
// would make a POST look successful. So these are followed, with the method unchanged, only for methods that
// change nothing, and 303 only for GET and HEAD. Otherwise the driver gets the redirect.
func follows(status int, method string) bool {
	switch status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	case http.StatusSeeOther:
		return method == "" || method == http.MethodGet || method == http.MethodHead
	}
	return safe(method)
}

// mayCarryCredentials reports whether credentials that belong to the address at home may be sent to target:
// to the same scheme, host and port, or over https to a host of the same registrable domain. IP addresses,
// single labels and hosts under a suffix that is not listed have no registrable domain.
func mayCarryCredentials(home, target *url.URL) bool {
	if sameOrigin(home, target) {
		return true
	}
	if target.Scheme != "https" {
		return false
	}
	domain := registrableDomain(home.Hostname())
	return domain != "" && domain == registrableDomain(target.Hostname())
}

func sameOrigin(a, b *url.URL) bool {
	host := canonicalHost(a.Hostname())
	return host != "" && a.Scheme == b.Scheme && host == canonicalHost(b.Hostname()) && port(a) == port(b)
}

func registrableDomain(host string) string {
	host = canonicalHost(host)
	if host == "" || net.ParseIP(host) != nil || strings.Contains(host, ":") {
		return ""
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	if !icann && !strings.Contains(suffix, ".") {
		return "" // not on the list: "corp", "local", "localhost"
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return "" // the host is itself a public suffix
	}
	return domain
}

// canonicalHost returns the host in the form that is dialled, or "" if there is no host.
func canonicalHost(host string) string {
	host = strings.TrimSuffix(host, ".")
	if strings.Contains(host, ":") || len(host) > maxHostBytes {
		return strings.ToLower(host) // an IPv6 address, or no name at all
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Not a name of the public DNS, for example because of an underscore, but a resolver may know it.
		return strings.ToLower(host)
	}
	return ascii
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
