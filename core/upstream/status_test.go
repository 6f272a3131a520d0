package upstream

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"frontdesk/core/fault"
)

func TestStatusFault(t *testing.T) {
	cases := map[int]struct {
		code   fault.Code
		reason string
	}{
		301: {fault.Unsupported, fault.ReasonProviderMisconfigured},
		302: {fault.Unsupported, fault.ReasonProviderMisconfigured},
		400: {fault.Invalid, fault.ReasonProviderRefused},
		401: {fault.Disconnected, fault.ReasonReconnectRequired},
		402: {fault.Forbidden, fault.ReasonPermissionDenied},
		403: {fault.Forbidden, fault.ReasonPermissionDenied},
		404: {fault.NotFound, fault.ReasonNotFound},
		405: {fault.Unsupported, fault.ReasonNotSupported},
		406: {fault.Invalid, fault.ReasonProviderRefused},
		407: {fault.Unsupported, fault.ReasonProviderMisconfigured},
		408: {fault.Timeout, fault.ReasonDeadlineExceeded},
		409: {fault.Conflict, fault.ReasonProviderConflict},
		410: {fault.NotFound, fault.ReasonNotFound},
		412: {fault.Conflict, fault.ReasonChangedMeanwhile},
		413: {fault.Invalid, fault.ReasonProviderRefused},
		415: {fault.Invalid, fault.ReasonProviderRefused},
		418: {fault.Unsupported, fault.ReasonProviderMisconfigured},
		422: {fault.Invalid, fault.ReasonProviderRefused},
		423: {fault.Conflict, fault.ReasonProviderConflict},
		429: {fault.RateLimited, fault.ReasonProviderRateLimited},
		500: {fault.Unavailable, fault.ReasonProviderUnavailable},
		501: {fault.Unsupported, fault.ReasonNotSupported},
		502: {fault.Unavailable, fault.ReasonProviderUnavailable},
		503: {fault.Unavailable, fault.ReasonProviderUnavailable},
		504: {fault.Timeout, fault.ReasonDeadlineExceeded},
		507: {fault.Exhausted, fault.ReasonStorageFull},
		511: {fault.Unavailable, fault.ReasonProviderUnavailable},
		520: {fault.Unavailable, fault.ReasonProviderUnavailable},
		521: {fault.Unavailable, fault.ReasonProviderUnavailable},
		522: {fault.Unavailable, fault.ReasonProviderUnavailable},
		523: {fault.Unavailable, fault.ReasonProviderUnavailable},
		524: {fault.Unavailable, fault.ReasonProviderUnavailable},
		525: {fault.Unavailable, fault.ReasonProviderUnavailable},
		526: {fault.Unavailable, fault.ReasonProviderUnavailable},
		599: {fault.Unavailable, fault.ReasonProviderUnavailable},
		999: {fault.Unsupported, fault.ReasonProviderMisconfigured},
	}
	unreached := []int{511, 521, 523, 525, 526}
	for status, want := range cases {
		f := StatusFault("zendesk", status, http.Header{"Retry-After": {"3"}}, []byte("why"))
		if f.Code != want.code || f.Reason != want.reason || f.Unsent != slices.Contains(unreached, status) {
			t.Errorf("%d: %s %s unsent=%t, want %s %s", status, f.Code, f.Reason, f.Unsent, want.code, want.reason)
		}
		if !strings.Contains(f.Detail, "zendesk") || !strings.HasSuffix(f.Detail, ".") ||
			strings.Contains(f.Detail, "why") {
			t.Errorf("%d: the detail is no sentence of ours about the provider: %q", status, f.Detail)
		}
		if strings.Contains(f.Detail, "connection's address") {
			t.Errorf("%d: not every connection has an address: %q", status, f.Detail)
		}
		if f.RetryAfter != 3*time.Second || f.Metadata["provider"] != "zendesk" {
			t.Errorf("%d: %v %v", status, f.RetryAfter, f.Metadata)
		}
	}
}

func TestUpstreamWordsAreFitForALog(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"one line":             {"{\r\n\t\"error\": \"no\"\n}", `500 { "error": "no" }`},
		"no control bytes":     {"a\x00\x1b[31mb", "500 a [31mb"},
		"no broken characters": {"a\xffb", "500 a\uFFFDb"},
		"no secrets":           {`{"access_token":"s3cret"}`, `500 {"access_token":REDACTED}`},
		"nothing":              {"", "500"},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			if got := StatusFault("p", 500, nil, []byte(c.body)).Upstream; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("short, on a character's boundary", func(t *testing.T) {
		got := StatusFault("p", 500, nil, []byte(strings.Repeat("ä€", 10_000))).Upstream
		if len(got) > maxUpstreamBytes || len(got) < maxUpstreamBytes-8 || !utf8.ValidString(got) ||
			!strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	})
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	cases := map[string]struct {
		given, date string
		want        time.Duration
	}{
		"seconds":                  {given: "120", want: 2 * time.Minute},
		"one second":               {given: " 1 ", want: time.Second},
		"zero":                     {given: "0"},
		"negative is ignored":      {given: "-5"},
		"a plus sign is ignored":   {given: "+5"},
		"a fraction is rounded up": {given: "1.5", want: 2 * time.Second},
		"a fraction of nothing":    {given: "2.000", want: 2 * time.Second},
		"two points are ignored":   {given: "1.2.3"},
		"an exponent is ignored":   {given: "1.5e3"},
		"nonsense is ignored":      {given: "soon"},
		"empty":                    {given: ""},
		"a date":                   {given: "Sat, 21 Nov 2026 12:00:30 GMT", want: 30 * time.Second},
		"an RFC 850 date":          {given: "Saturday, 21-Nov-26 12:00:30 GMT", want: 30 * time.Second},
		"a date that has passed":   {given: "Sat, 21 Nov 2026 11:00:00 GMT"},
		"a date by the provider's own clock": {given: "Sat, 21 Nov 2026 10:00:30 GMT",
			date: "Sat, 21 Nov 2026 10:00:00 GMT", want: 30 * time.Second},
		"a broken Date header does not count": {given: "Sat, 21 Nov 2026 12:00:30 GMT", date: "now",
			want: 30 * time.Second},
		"a date far away":                 {given: "Fri, 31 Dec 9999 23:59:59 GMT", want: maxRetryAfter},
		"more than a day":                 {given: "86401", want: maxRetryAfter},
		"more digits than fit":            {given: strings.Repeat("9", 40), want: maxRetryAfter},
		"a date with an offset":           {given: "Sat, 21 Nov 2026 14:00:30 +0200", want: 30 * time.Second},
		"a date with the name of a zone":  {given: "Sat, 21 Nov 2026 04:00:30 PST", want: 30 * time.Second},
		"an RFC 850 date in another zone": {given: "Saturday, 21-Nov-26 07:00:30 EST", want: 30 * time.Second},
		"a date in a zone nobody knows":   {given: "Sat, 21 Nov 2026 12:00:30 XYZ"},
		"an asctime date":                 {given: "Sat Nov 21 12:00:30 2026", want: 30 * time.Second},
		"an RFC 3339 date":                {given: "2026-11-21T13:00:30+01:00", want: 30 * time.Second},
		"a date by a clock in another zone": {given: "Sat, 21 Nov 2026 12:00:30 GMT",
			date: "Sat, 21 Nov 2026 07:00:00 EST", want: 30 * time.Second},
		"a date that does not exist": {given: "Sat, 31 Feb 2026 12:00:30 GMT"},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			h := http.Header{"Retry-After": {c.given}, "Date": {c.date}}
			if got := RetryAfter(h, noon); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{
		"1", "-1", "1e9", "Sat, 21 Nov 2026 12:00:30 GMT", "99999999999999999999", "\x00",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, given, date string) {
		got := RetryAfter(http.Header{"Retry-After": {given}, "Date": {date}}, noon)
		if got < 0 || got > maxRetryAfter {
			t.Errorf("%q: %v", given, got)
		}
	})
}

func FuzzStatusFault(f *testing.F) {
	f.Add(500, []byte("\xff\x00 token=s3cret"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		got := StatusFault("p", status, nil, body)
		if len(got.Upstream) > maxUpstreamBytes || !utf8.ValidString(got.Upstream) ||
			strings.ContainsAny(got.Upstream, "\r\n\x00") {
			t.Errorf("%q", got.Upstream)
		}
	})
}
