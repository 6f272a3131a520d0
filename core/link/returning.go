package link

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"frontdesk/core/fault"
)

// Outcomes of a consent, as the page that the customer returns to learns them.
const (
	OutcomeConnected = "connected"
	OutcomeFailed    = "failed"
)

// checkReturn returns a fault of return_url unless the address is "" or lies below one that the operator
// named, or is a page of the settings page about a tenant. Any other would make the gateway's pages lead
// customers wherever the maker of a link wants (an open redirect, RFC 9700 section 4.11).
func (d *Directory) checkReturn(address string) error {
	if address == "" || d.mayReturn(address) {
		return nil
	}
	message := "must lie below one of pages.return_urls of the gateway's configuration"
	if len(d.opts.ReturnURLs) == 0 {
		return fault.InvalidField("return_url", message+", which has none.")
	}
	return fault.InvalidField("return_url", message+": "+strings.Join(d.opts.ReturnURLs, ", ")+".")
}

func (d *Directory) mayReturn(address string) bool {
	to, err := url.Parse(address)
	// Browsers take a backslash for a slash, and leave control characters out.
	if err != nil || to.User != nil || to.Opaque != "" || to.Fragment != "" || to.Host == "" ||
		len(address) > 2048 ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return false
	}
	inside := to.Path == "" || path.Clean(to.Path) == strings.TrimRight(to.Path, "/") || to.Path == "/"
	for _, text := range append(slices.Clone(d.opts.ReturnURLs), d.opts.TenantsURL) {
		below, err := url.Parse(text)
		if err != nil || text == "" || below.Scheme != to.Scheme || !strings.EqualFold(below.Host, to.Host) {
			continue
		}
		root := strings.TrimRight(below.Path, "/")
		if root == "" || inside && (to.Path == root || strings.HasPrefix(to.Path, root+"/")) {
			return true
		}
	}
	return false
}

// ReturnTo returns the URL of the page that the customer returns to: that of the link, with the name of the
// connection and the outcome, and with the reason of a failure. It returns "" if the link has none.
func (l Link) ReturnTo(outcome, reason string) string {
	to, err := url.Parse(l.ReturnURL)
	if err != nil || l.ReturnURL == "" {
		return ""
	}
	query := to.Query()
	query.Set("connection", l.Connection)
	query.Set("outcome", outcome)
	if reason != "" {
		query.Set("reason", reason)
	}
	to.RawQuery = query.Encode()
	return to.String()
}

// ReturnOrigin returns the scheme and host of the page that the customer returns to, or "".
func (l Link) ReturnOrigin() string { return originOf(l.ReturnURL) }
