// Package hostname compares the host that a request names with the gateway's own. A page of a stranger, whose
// name leads to the gateway for a moment (DNS rebinding), could otherwise reach what a browser may.
package hostname

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// IsOwn reports whether a Host header names the host of base, the gateway's public URL, or is on loopback.
// Either may leave out the scheme's port.
func IsOwn(host string, base *url.URL) bool {
	port := map[string]string{"http": ":80", "https": ":443"}[base.Scheme]
	bare := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, port)) }
	return bare(host) == bare(base.Host) || IsLoopback(host)
}

// IsLoopback reports whether a host, with or without a port, is localhost or a loopback address.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
