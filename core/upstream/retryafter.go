package upstream

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a provider can ask for; beyond a day it says nothing but "not today".
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads a Retry-After header (RFC 9110 section 10.2.3): seconds, or a date. A date is read against the
// response's own Date where there is one, so that a clock that is wrong, here or there, does not make the wait
// wrong. What cannot be read, or lies in the past, is zero.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	given := strings.TrimSpace(h.Get("Retry-After"))
	if given == "" {
		return 0
	}
	if digitsOnly(given) {
		seconds, err := strconv.ParseInt(given, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // more digits than fit are still a number
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(given)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func digitsOnly(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
