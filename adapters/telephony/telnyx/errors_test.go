package telnyx

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
)

func TestRefusals(t *testing.T) {
	one := func(code, source string) string {
		return `{"errors":[{"code":"` + code + `","title":"A title","detail":"A detail of +14155550100","source":` +
			source + `}]}`
	}
	for _, c := range []struct {
		rule   string
		about  subject
		status int
		body   string
		code   fault.Code
		reason string
	}{
		{"a wrong key", anything, 401, one("10009", `{}`), fault.Disconnected, fault.ReasonReconnectRequired},
		{"a wrong key, as forbidden", anything, 403, one("10009", `{}`), fault.Disconnected,
			fault.ReasonReconnectRequired},
		{"no permission", anOrder, 403, one("10010", `{"pointer":"/requirement"}`), fault.Forbidden,
			fault.ReasonPermissionDenied},
		{"the limit of the account's level", anOrder, 403, one("10039", `{}`), fault.Exhausted,
			fault.ReasonTrialLimit},
		{"no funds", anOrder, 402, one("20100", `{}`), fault.Exhausted, fault.ReasonInsufficientFunds},
		{"no funds, by the status alone", anOrder, 402, `payment required`, fault.Exhausted,
			fault.ReasonInsufficientFunds},
		{"no funds, by the code alone", anOrder, 422, one("20100", `{}`), fault.Exhausted,
			fault.ReasonInsufficientFunds},
		{"a code that is a number", anOrder, 422, `{"errors":[{"code":20100}]}`, fault.Exhausted,
			fault.ReasonInsufficientFunds},
		{"too many calls", anOrder, 429, one("10011", `{}`), fault.RateLimited, fault.ReasonProviderRateLimited},
		{"no such number", oneNumber, 404, one("10005", `{}`), fault.NotFound, fault.ReasonNumberNotFound},
		{"no id of a number", oneNumber, 400, one("10006", `{}`), fault.NotFound, fault.ReasonNumberNotFound},
		{"no such thing", anything, 404, one("10005", `{}`), fault.NotFound, fault.ReasonNotFound},
		{"no such API", oneNumber, 404, `<html>`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"no such API any more", oneNumber, 410, `<html>`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"no such connection", anOrder, 422, one("10015", `{"pointer":"/connection_id"}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured},
		{"no such connection of a number", oneNumber, 422, one("10015", `{"pointer":"/connection_id"}`),
			fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"something that an order names is not there", anOrder, 422, one("10013", `{}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured},
		{"a group of requirements is missing", anOrder, 422,
			one("10004", `{"pointer":"/phone_numbers/0/requirement_group_id"}`), fault.Conflict,
			fault.ReasonBundleRequired},
		{"an address is missing", anOrder, 422, one("10004", `{"pointer":"/address_id"}`), fault.Conflict,
			fault.ReasonAddressRequired},
		{"a name that is too long", oneNumber, 422, one("10015", `{"pointer":"/customer_reference"}`),
			fault.Invalid, fault.ReasonInvalidRequest},
		{"an area that is none", aSearch, 400, one("10015", `{"parameter":"filter[national_destination_code]"}`),
			fault.NotFound, fault.ReasonNoNumbersAvailable},
		{"another parameter", aSearch, 400, one("10015", `{"parameter":"filter[limit]"}`), fault.Invalid,
			fault.ReasonProviderRefused},
		{"errors of another shape", anOrder, 422, `{"errors":"none"}`, fault.Invalid, fault.ReasonProviderRefused},
		{"down", anOrder, 503, one("10007", `{}`), fault.Unavailable, fault.ReasonProviderUnavailable},
	} {
		f := refusal(c.about, c.status, http.Header{}, []byte(c.body))
		if f.Code != c.code || f.Reason != c.reason || f.Unsent {
			t.Errorf("%s: %v, want %s %s", c.rule, f, string(c.code), c.reason)
		}
		if strings.Contains(f.Detail, "A title") || strings.Contains(f.Detail, "415") || f.Detail == "" ||
			f.Upstream == "" {
			t.Errorf("%s: told is %q, and to the log %q", c.rule, f.Detail, f.Upstream)
		}
	}
}

func TestTheWaitIsToldInEitherHeader(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{"X-Ratelimit-Reset": {"17"}}, 17 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"17"}, "Retry-After": {"5"}}, 5 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"1790000000"}}, 24 * time.Hour},
		{http.Header{"X-Ratelimit-Reset": {"soon"}}, 0},
		{http.Header{"X-Ratelimit-Reset": {"-1"}}, 0},
		{http.Header{}, 0},
	} {
		if f := refusal(anything, 429, c.header, nil); f.RetryAfter != c.want {
			t.Errorf("%v: %s, want %s", c.header, f.RetryAfter, c.want)
		}
	}
}
