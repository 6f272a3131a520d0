package api

import (
	"net/http"
	"strconv"
	"time"
)

// firstRelease is 2026-11-01. The legacy words have been deprecated since the first release.
const firstRelease = 1793491200

// deprecationHeaders returns the headers of the response to a request that used something deprecated: the
// date of deprecation (RFC 9745 section 2.1), a link to the documentation (section 3), and the date of
// removal if it is known (RFC 8594 section 3).
func deprecationHeaders(publicURL string, since, sunset time.Time) http.Header {
	if since.IsZero() {
		since = time.Unix(firstRelease, 0)
	}
	h := http.Header{
		"Deprecation": {"@" + strconv.FormatInt(since.Unix(), 10)},
		"Link":        {"<" + publicURL + `/docs#deprecations>; rel="deprecation"; type="text/html"`},
	}
	if !sunset.IsZero() {
		h.Set("Sunset", sunset.UTC().Format(http.TimeFormat))
	}
	return h
}
