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
func (g *Gateway) examinePublicURL(ctx context.Context) Finding {
	address := g.config.Server.PublicURL
	const subject = "public_url"
	says := "public_url is " + address
	public, err := url.Parse(address)
	if err != nil {
		return fails(subject, "public_url is no address", "Correct server.public_url.")
	}
	isLoopback := isLoopbackHost(public.Hostname())
	if public.Scheme != "https" && !isLoopback {
		return fails(subject, says, "Put a proxy with TLS in front, or set server.tls. Set server.public_url to the "+
			"https address. API keys must not travel unencrypted.")
	}
	if isLoopback && strings.HasSuffix(g.config.Server.Listen, ":0") {
		return fine(subject, says+"; server.listen names no port, so it was not asked")
	}
	nonce := rand.Text()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/healthz", nil)
	if err != nil {
		return fails(subject, err.Error(), "Correct server.public_url.")
	}
	r.Header.Set(nonceHeader, nonce)
	r.Header.Set("Cache-Control", "no-store")
	answer, err := g.outside.Do(r)
	if err != nil {
		return unreachable(subject, says, err, isLoopback)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	switch {
	case g.proves(nonce, answer.Header.Get(proofHeader)):
	case answer.Header.Get(proofHeader) != "":
		return fails(subject, says+" and leads to a gateway with another key set",
			"Give every replica the same key set (secrets.keyset), and let the proxy lead to this gateway.")
	default:
		return fails(subject,
			fmt.Sprintf("%s, but what answers there (with status %d) is not this gateway", says, answer.StatusCode),
			"Let the name and the proxy of server.public_url lead to server.listen. The proxy must pass on every path "+
				"and all headers, and must not cache /healthz.")
	}
	says += ", and leads to this gateway"
	if answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0 {
		if leaf := answer.TLS.PeerCertificates[0]; certificate.IsDue(leaf, g.now()) {
			return warns(subject, says+"; its certificate ends "+leaf.NotAfter.UTC().Format(time.DateOnly),
				"Renew the certificate, and find out why that did not happen by itself.")
		}
	}
	return fine(subject, says)
}

// unreachable returns the finding about an address that nobody answers at.
func unreachable(subject, says string, err error, isLoopback bool) Finding {
	if untrusted, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return fails(subject, says+", and its certificate is not accepted: "+untrusted.Err.Error(),
			"Install a certificate for this name with its whole chain, by an authority that callers trust.")
	}
	if _, is := errors.AsType[*net.DNSError](err); is {
		return fails(subject, says+", a name that DNS does not know",
			"Add the name to DNS, or correct server.public_url.")
	}
	if isLoopback && errors.Is(err, syscall.ECONNREFUSED) {
		return warns(subject, says+", where nobody listens now", "Start frontdesk serve.")
	}
	return fails(subject, says+", which does not answer",
		"Check that frontdesk serve runs, that the proxy leads to it, and that no firewall is in between.")
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
	const subject = "listeners"
	says := "API at " + g.config.Server.Listen
	if g.config.Server.OpsListen == "" {
		return fine(subject, says)
	}
	says += ", metrics at " + g.config.Server.OpsListen
	host, _, err := net.SplitHostPort(g.config.Server.OpsListen)
	if addr, parsed := netip.ParseAddr(host); err == nil && (host == "" || parsed == nil && addr.IsUnspecified()) {
		return warns(subject, says+", which is every interface of this machine",
			"Metrics need no key. Set server.ops_listen to a loopback or private address, or make sure that only your "+
				"monitoring reaches its port.")
	}
	return fine(subject, says)
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
		return []Finding{fails(key, err.Error(), "Correct it in the configuration.")}
	}
	var findings []Finding
	for _, p := range allowed {
		findings = append(findings, examineNetwork(key, p))
	}
	if len(findings) == 0 {
		return []Finding{fine(key, "tenants' servers are at public addresses only")}
	}
	return findings
}

func examineNetwork(key string, p netip.Prefix) Finding {
	widest := widestIPv4
	if p.Addr().Is6() {
		widest = widestIPv6
	}
	switch {
	case p.Bits() == 0:
		return fails(key, p.String()+" opens every address to tenants, this machine's among them",
			"Remove it. Public addresses are allowed already. Name only the networks of tenants' servers.")
	case p.Overlaps(linkLocal4) || p.Overlaps(linkLocal6):
		return fails(key, p.String()+" opens link-local addresses, where clouds keep the machine's own credentials",
			"Remove it. Tenants' servers are not there.")
	case p.Overlaps(loopback4) || p.Overlaps(loopback6):
		return warns(key, p.String()+" opens this machine's own services to tenants",
			"Keep it on a machine for development only.")
	case p.Bits() < widest:
		return warns(key, p.String()+" is large",
			"Name the smaller networks that tenants' servers are in. A tenant's administrator can make the gateway "+
				"call any address there.")
	}
	return fine(key, p.String()+" is open to tenants")
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
	const subject = "settings_page.oidc"
	if _, _, err := g.openID.Begin(ctx, func() error { return nil }); err != nil {
		return []Finding{fails(subject, detailOf(err),
			"Correct settings_page.oidc.issuer, or let this machine reach it. Until then, sign in with: frontdesk admin "+
				"link")}
	}
	return []Finding{fine(subject, "the provider answers as its issuer")}
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
	says := "its redirect URI is " + redirect
	for key, value := range map[string]string{"client_id": o.ClientID, "client_secret": o.ClientSecret} {
		if value == "" {
			return fails(section, section+"."+key+" is empty, and customers cannot give consent",
				"Set both client_id and client_secret.")
		}
	}
	grant, can := g.providers.ConsentGrant(connection.Spec{Kind: a.Kind, Provider: a.Name})
	if !can || grant.TokenURL == "" {
		return fine(section, says+"; each connection names its own server, so the client was not tried")
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
		return fails(section, "the provider does not accept the OAuth client ("+refused.Metadata["oauth_error"]+")",
			"Compare "+section+".client_id and client_secret with the client's page at the provider. Secrets end there, "+
				"too.")
	case errors.Is(err, fault.Unavailable), errors.Is(err, fault.Timeout), errors.Is(err, fault.Internal):
		return fails(section, "the provider's sign-in service cannot be reached at "+grant.TokenURL,
			"Let this machine reach it, or correct the addresses in "+section+".")
	default:
		says += "; whether the secret is right, the provider does not say"
	}
	if g.refusesRedirect(ctx, client, redirect) {
		return fails(section, "the provider refuses the redirect URI "+redirect,
			"Register exactly this URI with the client at the provider. If it is not the gateway's address, correct "+
				"server.public_url.")
	}
	return fine(section, says)
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
