package upstream

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// maxUpstreamBytes is how many bytes of a provider's error a log line contains.
const maxUpstreamBytes = 512

// StatusFault converts a plain HTTP status into a fault. An adapter interprets only those responses itself
// whose status is misleading. Upstream holds the beginning of the body, redacted.
func StatusFault(provider string, status int, header http.Header, body []byte) *fault.Error {
	f := plainFault(provider, status).With("provider", provider).With("upstream_status", strconv.Itoa(status))
	f.RetryAfter = RetryAfter(header, time.Now())
	f.Unsent = unreached(status)
	f.Upstream = shorten(status, body)
	return f
}

// HasStatus reports whether an error is the fault of a response with one of the statuses; see [StatusFault].
func HasStatus(err error, statuses ...int) bool {
	f := fault.From(err)
	if f == nil {
		return false
	}
	status, _ := strconv.Atoi(f.Metadata["upstream_status"])
	return slices.Contains(statuses, status)
}

func plainFault(provider string, status int) *fault.Error {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType:
		return fault.Newf(fault.Invalid, fault.ReasonProviderRefused,
			"The provider %s reports that the request is not valid.", provider)
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return fault.Newf(fault.Invalid, fault.ReasonProviderRefused,
			"The request is larger than the provider %s accepts. Shorten its texts or lists.", provider)
	case http.StatusUnauthorized:
		return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
			"The provider %s refuses the connection's credentials. Connect the account again.", provider)
	case http.StatusPaymentRequired, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return fault.Newf(fault.Forbidden, fault.ReasonPermissionDenied,
			"The provider %s does not allow the connected account to do this. Grant the account the "+
				"permission, or connect another one.", provider)
	case http.StatusNotFound, http.StatusGone:
		return fault.Newf(fault.NotFound, fault.ReasonNotFound, "The provider %s has no such record.", provider)
	case http.StatusConflict, http.StatusLocked, http.StatusFailedDependency:
		return fault.Newf(fault.Conflict, fault.ReasonProviderConflict,
			"The request conflicts with something else at the provider %s.", provider)
	case http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return fault.Newf(fault.Conflict, fault.ReasonChangedMeanwhile,
			"Somebody changed the record at the provider %s in the meantime. Read it and try again.", provider)
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return fault.Newf(fault.Timeout, fault.ReasonDeadlineExceeded,
			"The provider %s did not finish in time.", provider)
	case http.StatusTooManyRequests:
		return fault.Newf(fault.RateLimited, fault.ReasonProviderRateLimited,
			"The provider %s limits how often it is called. Try again later.", provider)
	case http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return fault.Newf(fault.Unsupported, fault.ReasonNotSupported,
			"The provider %s does not offer this.", provider)
	case http.StatusInsufficientStorage:
		return fault.Newf(fault.Exhausted, fault.ReasonStorageFull,
			"The account at the provider %s has no room left.", provider)
	}
	if status >= 500 && status <= 599 {
		return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The provider %s is not available at the moment.", provider)
	}
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The provider %s gave an unexpected answer (status %d). Check the address at which it is called.",
		provider, status)
}

// unreached reports whether a status comes from a proxy that could not reach the provider's server:
// Cloudflare's (developers.cloudflare.com, "5xx errors") for a failed connection or TLS handshake, and 511,
// which only a network in between returns (RFC 6585 section 6). 520, 522 and 524 may come after the request
// was delivered.
func unreached(status int) bool {
	switch status {
	case http.StatusNetworkAuthenticationRequired, 521, 523, 525, 526:
		return true
	}
	return false
}

// shorten converts a body into one line for the logs, without control characters. It redacts before it cuts,
// since the rest of a secret that is cut off from its name would not be recognised. For a 2xx status, whose
// body is data, it returns only the size.
func shorten(status int, body []byte) string {
	if status >= 200 && status <= 299 {
		return fmt.Sprintf("%d and %d bytes", status, len(body))
	}
	const enough = 2 << 10
	if len(body) > enough {
		body = body[:enough]
	}
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	text = strings.Join(strings.FieldsFunc(telemetry.Redact(text), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	return cut(strings.TrimSpace(strconv.Itoa(status)+" "+text), maxUpstreamBytes)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "…"
	end := limit - len(more)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}
