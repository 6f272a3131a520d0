package calendar

import (
	"net/url"
	"strings"
	"unicode"
)

// WebAddress returns the web address that a location begins with, or "", for drivers to fill in [Event].URL.
// People write more behind a link, such as "https://zoom.us/j/123; Room 5", and a URL holds no white space
// (RFC 3986 section 2). A link that stands alone is kept whole, since a URL may end with punctuation.
func WebAddress(location string) string {
	address := strings.TrimSpace(location)
	if end := strings.IndexFunc(address, unicode.IsSpace); end >= 0 {
		address = strings.TrimRight(address[:end], ".,;:!?)]}>\"'")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return address
}
