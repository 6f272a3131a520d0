package api

import (
	"net/http"
	"strconv"
	"time"
)

// firstRelease is 2026-11-01: the gateway never knew the legacy words as anything but deprecated.
const firstRelease = 1793491200

// deprecationHeaders returns what an answer carries whose request used something deprecated: since when (RFC
// 9745 section 2.1), where to read on (section 3), and, when it is known, until when (RFC 8594 section 3).
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
