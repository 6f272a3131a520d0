package settingspage

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"frontdesk/core/fault"
)

// Reasons of this package's faults.
const (
	reasonHost     = "HOST_REFUSED"
	reasonForeign  = "FOREIGN_REQUEST"
	reasonViewer   = "ROLE_MISSING"
	reasonThrottle = "SIGN_IN_THROTTLED"
	reasonHTTPS    = "HTTPS_REQUIRED"
)

// checkHost refuses requests for other host names than the gateway's own and those of loopback. A page of a
// stranger, whose name leads here for a moment (DNS rebinding), could otherwise read ours.
func (p *Pages) checkHost(host string) error {
	if isLoopback(hostname(host)) || sameHost(host, p.base) {
		return nil
	}
	return fault.Newf(fault.Forbidden, reasonHost, "The settings page is served at %s and on loopback only, "+
		"but the request is for %q. Open that address, set server.public_url to the one that you use, or have the "+
		"proxy pass on the Host header.", p.base.Scheme+"://"+p.base.Host, shorten(host))
}

// sameHost compares a Host header with the host of a URL. Either may leave out the scheme's port.
func sameHost(host string, base *url.URL) bool {
	port := map[string]string{"http": ":80", "https": ":443"}[base.Scheme]
	bare := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, port)) }
	return bare(host) == bare(base.Host)
}

// hostname returns a host without its port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// isSecure reports whether a browser would keep a cookie with the prefix __Host- for the host: over https, or
// on loopback.
func (p *Pages) isSecure(host string) bool {
	return isLoopback(hostname(host)) || p.base.Scheme == "https"
}

// shorten cuts what a stranger sent.
func shorten(text string) string {
	if len(text) > 100 {
		return strings.ToValidUTF8(text[:100], "") + "…"
	}
	return text
}
