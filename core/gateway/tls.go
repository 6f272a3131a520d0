package gateway

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"frontdesk/core/certificate"
)

// acmeDirectory is where certificates of an ACME server, with their keys and that of the account, are kept in
// the data directory.
const acmeDirectory = "acme"

// certificates returns the source of the gateway's own certificates, or nil if it serves no TLS.
func (g *Gateway) certificates() (certificate.Source, error) {
	loaded := func(leaf *x509.Certificate) { g.metrics.Certificate(leaf.NotBefore, leaf.NotAfter) }
	switch at := g.config.Server.TLS; {
	case !at.On():
		return nil, nil
	case at.Certificate != "":
		return certificate.OpenFiles(certificate.FileOptions{
			Certificate: at.Certificate, Key: at.Key, Log: g.log, Now: g.now, Loaded: loaded,
		})
	default:
		return certificate.NewACME(certificate.ACMEOptions{
			Domains: at.ACME.Domains, Email: at.ACME.Email, Directory: at.ACME.Directory, CA: at.ACME.CA,
			Cache: filepath.Join(g.config.DataDir, acmeDirectory), UserAgent: "frontdesk/" + Version(),
			Log: g.log, Loaded: loaded,
		})
	}
}

// examineCertificates checks the gateway's own certificates, if it serves TLS: that they can be used, that none
// is due, and that one of them has the host name of server.public_url.
func (g *Gateway) examineCertificates(ctx context.Context) []Finding {
	const subject = "certificate"
	source, err := g.certificates()
	if source == nil && err == nil {
		return nil
	}
	var leaves []*x509.Certificate
	if err == nil {
		leaves, err = source.Leaves(ctx)
	}
	if err != nil {
		return []Finding{fails(subject, err.Error(),
			"Correct the files of server.tls. They are PEM, and the user that runs frontdesk must be able to read them.")}
	}
	var findings []Finding
	have := map[string]bool{}
	for _, leaf := range leaves {
		names := slices.Clone(leaf.DNSNames)
		for _, ip := range leaf.IPAddresses {
			names = append(names, ip.String())
		}
		for _, name := range names {
			have[name] = true
		}
		says := fmt.Sprintf("for %s, until %s", strings.Join(names, ", "), leaf.NotAfter.UTC().Format(time.RFC3339))
		switch {
		case !certificate.IsDue(leaf, g.now()):
			findings = append(findings, fine(subject, says))
		case g.config.Server.TLS.Certificate == "":
			findings = append(findings, fails(subject, says,
				"It was not renewed: see why in the log of frontdesk serve."))
		default:
			findings = append(findings, fails(subject, says,
				"Replace the files of server.tls; a running gateway reads them by itself."))
		}
	}
	domains := g.config.Server.TLS.ACME.Domains
	for _, domain := range domains {
		if !have[domain] {
			findings = append(findings, fails(subject, "there is none for "+domain+" yet",
				"frontdesk serve obtains it. The ACME server must reach it at port 443 of that host; see its log."))
		}
	}
	public, err := url.Parse(g.config.Server.PublicURL)
	if err != nil || len(leaves)+len(domains) == 0 {
		return findings
	}
	isPublic := func(domain string) bool { return strings.EqualFold(domain, public.Hostname()) }
	covers := func(leaf *x509.Certificate) bool { return leaf.VerifyHostname(public.Hostname()) == nil }
	if public.Scheme == "https" && (slices.ContainsFunc(domains, isPublic) || slices.ContainsFunc(leaves, covers)) {
		return findings
	}
	return append(findings, fails(subject, "no certificate is for server.public_url, "+g.config.Server.PublicURL,
		"Set server.public_url to an https address whose host is in the certificate, or among "+
			"server.tls.acme.domains. If it is the address of a proxy with TLS of its own, give the gateway a "+
			"certificate that has this host as well."))
}

// CallersBase returns the address to show to callers of a gateway that was just started: where it listens, or
// server.public_url if that is where its certificate counts.
func (g *Gateway) CallersBase(at Addresses) string {
	if g.config.Server.TLS.On() && strings.HasPrefix(g.config.Server.PublicURL, "https:") {
		return g.config.Server.PublicURL
	}
	return at.API
}
