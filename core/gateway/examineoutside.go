package gateway

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/certificate"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
)

// outsideClient returns the client with which the doctor asks addresses that the operator has configured.
func outsideClient() *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: doctorWait,
	}
	return &http.Client{Timeout: doctorWait, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// examinePublicURL asks whether server.public_url leads to a gateway with this key set.
func (g *Gateway) examinePublicURL(ctx context.Context) []Finding {
	address := g.config.Server.PublicURL
	f := Finding{Subject: "public_url", OK: true, Says: "public_url is " + address}
	public, err := url.Parse(address)
	if err != nil {
		return []Finding{{Subject: f.Subject, Says: "public_url is no address",
			Advice: "Correct server.public_url."}}
	}
	isLoopback := isLoopbackHost(public.Hostname())
	if public.Scheme != "https" && !isLoopback {
		f.OK, f.Advice = false, "Put a proxy with TLS in front, or set server.tls. Set server.public_url to the "+
			"https address. API keys must not travel unencrypted."
		return []Finding{f}
	}
	if isLoopback && strings.HasSuffix(g.config.Server.Listen, ":0") {
		f.Says += "; server.listen names no port, so it was not asked"
		return []Finding{f}
	}
	return []Finding{g.askPublicURL(ctx, f, isLoopback)}
}

func (g *Gateway) askPublicURL(ctx context.Context, f Finding, isLoopback bool) Finding {
	nonce := rand.Text()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.config.Server.PublicURL+"/healthz", nil)
	if err != nil {
		f.OK, f.Says, f.Advice = false, err.Error(), "Correct server.public_url."
		return f
	}
	r.Header.Set(nonceHeader, nonce)
	r.Header.Set("Cache-Control", "no-store")
	answer, err := g.outside.Do(r)
	if err != nil {
		return unreachablePublicURL(f, err, isLoopback)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	switch {
	case g.proves(nonce, answer.Header.Get(proofHeader)):
		f.Says += ", and leads to this gateway"
	case answer.Header.Get(proofHeader) != "":
		f.OK, f.Says = false, f.Says+" and leads to a gateway with another key set"
		f.Advice = "Give every replica the same key set (secrets.keyset), and let the proxy lead to this " +
			"gateway."
		return f
	default:
		f.OK, f.Says = false, fmt.Sprintf("%s, but what answers there (with status %d) is not this gateway",
			f.Says, answer.StatusCode)
		f.Advice = "Let the name and the proxy of server.public_url lead to server.listen. The proxy must " +
			"pass on every path and all headers, and must not cache /healthz."
		return f
	}
	if answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0 {
		if leaf := answer.TLS.PeerCertificates[0]; certificate.IsDue(leaf, g.now()) {
			f.Says += "; its certificate ends " + leaf.NotAfter.UTC().Format(time.DateOnly)
			f.Advice = "Renew the certificate, and find out why that did not happen by itself."
		}
	}
	return f
}

// unreachablePublicURL returns the finding about an address that nobody answers at.
func unreachablePublicURL(f Finding, err error, isLoopback bool) Finding {
	var untrusted *tls.CertificateVerificationError
	var unknown *net.DNSError
	switch {
	case errors.As(err, &untrusted):
		f.OK, f.Says = false, f.Says+", and its certificate is not accepted: "+untrusted.Err.Error()
		f.Advice = "Install a certificate for this name with its whole chain, by an authority that callers " +
			"trust."
	case errors.As(err, &unknown):
		f.OK, f.Says = false, f.Says+", a name that DNS does not know"
		f.Advice = "Add the name to DNS, or correct server.public_url."
	case isLoopback && errors.Is(err, syscall.ECONNREFUSED):
		f.Says += ", where nobody listens now"
		f.Advice = "Start frontdesk serve."
	default:
		f.OK, f.Says = false, f.Says+", which does not answer"
		f.Advice = "Check that frontdesk serve runs, that the proxy leads to it, and that no firewall is " +
			"in between."
	}
	return f
}

func isLoopbackHost(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// examineListeners reports addresses that let more in than the proxy.
func (g *Gateway) examineListeners() Finding {
	f := Finding{Subject: "listeners", OK: true, Says: "API at " + g.config.Server.Listen}
	if g.config.Server.OpsListen == "" {
		return f
	}
	f.Says += ", metrics at " + g.config.Server.OpsListen
	host, _, err := net.SplitHostPort(g.config.Server.OpsListen)
	if addr, parsed := netip.ParseAddr(host); err == nil && (host == "" || parsed == nil &&
		addr.IsUnspecified()) {
		f.Says += ", which is every interface of this machine"
		f.Advice = "Metrics need no key. Set server.ops_listen to a loopback or private address, or make sure " +
			"that only your monitoring reaches its port."
	}
	return f
}

// widest is the shortest prefix of a network that is no warning.
const (
	widestIPv4 = 12
	widestIPv6 = 48
)

// examineEgress reports networks in egress.allow that open more to tenants than their own servers.
func (g *Gateway) examineEgress() []Finding {
	const key = "egress.allow"
	allowed, err := networks(g.config.Egress.Allow)
	if err != nil {
		return []Finding{{Subject: key, Says: err.Error(), Advice: "Correct it in the configuration."}}
	}
	var findings []Finding
	for _, p := range allowed {
		f := Finding{Subject: key, OK: true, Says: p.String()}
		wide := p.Bits() < widestIPv4
		if p.Addr().Is6() {
			wide = p.Bits() < widestIPv6
		}
		switch {
		case p.Bits() == 0:
			f.OK, f.Says = false, p.String()+" opens every address to tenants, this machine's among them"
			f.Advice = "Remove it. Public addresses are allowed already. Name only the networks of " +
				"tenants' servers."
		case p.Overlaps(linkLocal4) || p.Overlaps(linkLocal6):
			f.OK, f.Says = false, p.String()+" opens link-local addresses, where clouds keep the machine's "+
				"own credentials"
			f.Advice = "Remove it. Tenants' servers are not there."
		case p.Overlaps(loopback4) || p.Overlaps(loopback6):
			f.Says += " opens this machine's own services to tenants"
			f.Advice = "Keep it on a machine for development only."
		case wide:
			f.Says += " is large"
			f.Advice = "Name the smaller networks that tenants' servers are in. A tenant's administrator can " +
				"make the gateway call any address there."
		default:
			f.Says += " is open to tenants"
		}
		findings = append(findings, f)
	}
	if len(findings) == 0 {
		return []Finding{{Subject: key, OK: true, Says: "tenants' servers are at public addresses only"}}
	}
	return findings
}

var (
	loopback4  = netip.MustParsePrefix("127.0.0.0/8")
	loopback6  = netip.MustParsePrefix("::1/128")
	linkLocal4 = netip.MustParsePrefix("169.254.0.0/16")
	linkLocal6 = netip.MustParsePrefix("fe80::/10")
)

// examineSignIn asks the OpenID provider for its description, if there is one.
func (g *Gateway) examineSignIn(ctx context.Context) []Finding {
	if g.openID == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, doctorWait)
	defer cancel()
	f := Finding{Subject: "settings_page.oidc", OK: true, Says: "the provider answers as its issuer"}
	if _, _, err := g.openID.Begin(ctx, func() error { return nil }); err != nil {
		f.OK, f.Says = false, fault.From(err).Detail
		f.Advice = "Correct settings_page.oidc.issuer, or let this machine reach it. Until then, sign in " +
			"with: frontdesk admin link"
	}
	return []Finding{f}
}

// examineOAuthClients checks each OAuth client of the operator: whether the provider accepts its secret, and
// whether the redirect URI is registered.
func (g *Gateway) examineOAuthClients(ctx context.Context) []Finding {
	var findings []Finding
	all := operators(g.config)
	var done []string
	for _, a := range g.registry.All() {
		o := all[a.Name]
		if slices.Contains(done, a.Name) || o.ClientID == "" && o.ClientSecret == "" {
			continue
		}
		done = append(done, a.Name)
		findings = append(findings, g.examineOAuthClient(ctx, a, o))
	}
	return findings
}

func (g *Gateway) examineOAuthClient(ctx context.Context, a adapter.Adapter, o adapter.Operator) Finding {
	redirect := RedirectURI(g.config.Server.PublicURL, a.Name)
	section := "providers." + a.Name
	f := Finding{Subject: section, OK: true, Says: "its redirect URI is " + redirect}
	for key, value := range map[string]string{"client_id": o.ClientID, "client_secret": o.ClientSecret} {
		if value == "" {
			f.OK, f.Says = false, section+"."+key+" is empty, and customers cannot give consent"
			f.Advice = "Set both client_id and client_secret."
			return f
		}
	}
	grant, can := g.providers.ConsentGrant(connection.Spec{Kind: a.Kind, Provider: a.Name})
	if !can || grant.TokenURL == "" {
		f.Says += "; each connection names its own server, so the client was not tried"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, doctorWait)
	defer cancel()
	client := oauth.Client{
		Provider: a.Name, Grant: grant, ID: o.ClientID, Secret: o.ClientSecret, HTTP: g.outside,
	}
	// The server authenticates the client before it looks at the refresh token (RFC 6749 section 5.2).
	_, err := client.Token(ctx, "frontdesk-doctor")
	switch refused := fault.From(err); {
	case err == nil || oauth.IsRefused(err):
	case refused.Metadata["oauth_error"] == "invalid_client",
		refused.Metadata["oauth_error"] == "unauthorized_client":
		f.OK, f.Says = false, "the provider does not accept the OAuth client "+
			"("+refused.Metadata["oauth_error"]+")"
		f.Advice = "Compare " + section + ".client_id and client_secret with the client's page at the " +
			"provider. Secrets end there, too."
		return f
	case errors.Is(err, fault.Unavailable), errors.Is(err, fault.Timeout), errors.Is(err, fault.Internal):
		f.OK, f.Says = false, "the provider's sign-in service cannot be reached at "+grant.TokenURL
		f.Advice = "Let this machine reach it, or correct the addresses in " + section + "."
		return f
	default:
		f.Says += "; whether the secret is right, the provider does not say"
	}
	if g.refusesRedirect(ctx, client, redirect) {
		f.OK, f.Says = false, "the provider refuses the redirect URI "+redirect
		f.Advice = "Register exactly this URI with the client at the provider. If it is not the gateway's " +
			"address, correct server.public_url."
	}
	return f
}

// refusesRedirect reports whether the authorization endpoint certainly refuses a redirect URI. It must show
// that to the person and must not redirect (RFC 6749 section 4.1.2.1). Google redirects to a page of errors,
// and Microsoft answers 200 with the number of the error.
func (g *Gateway) refusesRedirect(ctx context.Context, client oauth.Client, redirect string) bool {
	at := client.AuthCodeURL(redirect, rand.Text(), oauth.NewVerifier())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return false
	}
	answer, err := g.outside.Do(r)
	if err != nil {
		return false // the token endpoint answers, so the address may be for browsers elsewhere
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 256<<10))
	to, _ := url.Parse(answer.Header.Get("Location"))
	text := string(body)
	return answer.StatusCode == http.StatusBadRequest ||
		to != nil && strings.HasSuffix(to.Path, "/oauth/error") ||
		strings.Contains(text, "redirect_uri_mismatch") || strings.Contains(text, "AADSTS50011")
}
