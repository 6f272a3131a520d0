package upstream

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that a provider can ask for.
const maxRetryAfter = 24 * time.Hour

// RetryAfter parses a Retry-After header (RFC 9110 section 10.2.3): seconds, or a date. A date is compared
// with the response's own Date if it has one, so that a wrong clock on either side does not change the wait.
// A value that cannot be parsed or lies in the past is zero. Some invalid values are accepted, since zero
// would make the caller call too early: a fraction of a second is rounded up, and a date may have another
// zone than GMT.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	given := strings.TrimSpace(h.Get("Retry-After"))
	if whole, fraction, _ := strings.Cut(given, "."); digitsOnly(whole) {
		return wholeSeconds(whole, fraction)
	}
	at, ok := dateOf(given)
	if !ok {
		return 0
	}
	if sent, ok := dateOf(h.Get("Date")); ok {
		now = sent
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func wholeSeconds(whole, fraction string) time.Duration {
	if fraction != "" && !digitsOnly(fraction) {
		return 0
	}
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || seconds >= int64(maxRetryAfter/time.Second) {
		return maxRetryAfter // more digits than fit are still a number
	}
	if strings.Trim(fraction, "0") != "" {
		seconds++
	}
	return time.Duration(seconds) * time.Second
}

// dateOf parses an HTTP date (RFC 9110 section 5.6.7) in any zone: an offset, or one of the names of RFC 5322
// section 4.3. Package time gives an unknown name the offset zero.
func dateOf(text string) (at time.Time, ok bool) {
	for _, layout := range [...]string{time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.RFC3339} {
		at, err := time.ParseInLocation(layout, strings.TrimSpace(text), time.UTC)
		if err != nil {
			continue
		}
		name, offset := at.Zone()
		if offset != 0 || !strings.Contains(layout, "MST") {
			return at, true
		}
		hours, known := zoneHours[name]
		return at.Add(-time.Duration(hours) * time.Hour), known
	}
	return time.Time{}, false
}

var zoneHours = map[string]int{
	"GMT": 0, "UTC": 0, "UT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8,
	"PDT": -7,
}

func digitsOnly(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
