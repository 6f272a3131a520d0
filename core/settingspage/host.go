package settingspage

import (
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/hostname"
)

// Reasons of this package's faults.
const (
	reasonViewer   = "ROLE_MISSING"
	reasonThrottle = "SIGN_IN_THROTTLED"
	reasonHTTPS    = "HTTPS_REQUIRED"
)

// checkHost refuses requests for other host names than the gateway's own and those of loopback.
func (p *Pages) checkHost(host string) error {
	if hostname.IsOwn(host, p.base) {
		return nil
	}
	return fault.Newf(fault.Forbidden, fault.ReasonHostRefused,
		"The settings page is served at %s and on loopback only, "+
			"but the request is for %q. Open that address, set server.public_url to the one that you use, or have the "+
			"proxy pass on the Host header.", p.base.Scheme+"://"+p.base.Host, shorten(host))
}

// isSecure reports whether a browser would keep a cookie with the prefix __Host- for the host: over https, or
// on loopback.
func (p *Pages) isSecure(host string) bool {
	return hostname.IsLoopback(host) || p.base.Scheme == "https"
}

// shorten cuts what a stranger sent.
func shorten(text string) string {
	if len(text) > 100 {
		return strings.ToValidUTF8(text[:100], "") + "…"
	}
	return text
}
