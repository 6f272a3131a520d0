package api

import (
	"net/http"
	"strconv"
	"time"
)

// deprecatedSince is 2026-11-01: the legacy words have been deprecated since the first release.
const deprecatedSince = 1793491200

// deprecationHeaders returns the headers of the response to a request that used something deprecated: the
// date of deprecation (RFC 9745 section 2.1), a link to the documentation (section 3), and the date of
// removal if it is known (RFC 8594 section 3).
func deprecationHeaders(publicURL string, sunset time.Time) http.Header {
	h := http.Header{
		"Deprecation": {"@" + strconv.Itoa(deprecatedSince)},
		"Link":        {"<" + publicURL + `/docs#deprecations>; rel="deprecation"; type="text/html"`},
	}
	if !sunset.IsZero() {
		h.Set("Sunset", sunset.UTC().Format(http.TimeFormat))
	}
	return h
}
