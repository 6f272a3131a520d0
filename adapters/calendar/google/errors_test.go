package google

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"google.golang.org/api/googleapi"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

func TestWhatGooglesErrorsMean(t *testing.T) {
	reason := func(code int, domain, reason, location string) (int, string) {
		return code, fmt.Sprintf(`{"error":{"code":%d,"message":"As it says","errors":[{"domain":%q,"reason":%q,"message":"As it says","location":%q}]}}`,
			code, domain, reason, location)
	}
	type answer struct {
		code int
		body string
	}
	of := func(code int, body string) answer { return answer{code, body} }
	for _, c := range []struct {
		rule   string
		answer answer
		code   fault.Code
		reason string
		field  string
	}{
		{"no token", of(reason(401, "global", "authError", "Authorization")), fault.Disconnected,
			fault.ReasonReconnectRequired, ""},

		{"403 too many calls", of(reason(403, "usageLimits", "rateLimitExceeded", "")), fault.RateLimited,
			fault.ReasonProviderRateLimited, ""},
		{"403 too many calls of the user", of(reason(403, "usageLimits", "userRateLimitExceeded", "")),
			fault.RateLimited, fault.ReasonProviderRateLimited, ""},
		{"403 limits of use, which last for hours", of(reason(403, "usageLimits", "quotaExceeded", "")),
			fault.RateLimited, fault.ReasonProviderRateLimited, ""},
		{"403 calls of the day", of(reason(403, "usageLimits", "dailyLimitExceeded", "")), fault.RateLimited,
			fault.ReasonProviderRateLimited, ""},
		{"429", of(reason(429, "usageLimits", "rateLimitExceeded", "")), fault.RateLimited,
			fault.ReasonProviderRateLimited, ""},

		{"403 plain", of(reason(403, "global", "forbidden", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 scopes", of(reason(403, "global", "insufficientPermissions", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 read only", of(reason(403, "calendar", "requiredAccessLevel", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 another's event", of(reason(403, "calendar", "forbiddenForNonOrganizer", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 service account", of(reason(403, "calendar", "forbiddenForServiceAccounts", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 no calendars", of(reason(403, "calendar", "notACalendarUser", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 administrators", of(reason(403, "global", "domainPolicy", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"403 API not enabled", of(reason(403, "usageLimits", "accessNotConfigured", "")), fault.Unsupported,
			fault.ReasonProviderMisconfigured, ""},
		{"403 a word that is not known", of(reason(403, "calendar", "somethingNew", "")), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},

		{"404", of(reason(404, "global", "notFound", "")), fault.NotFound, fault.ReasonNotFound, ""},
		{"409", of(reason(409, "global", "duplicate", "")), fault.Conflict, fault.ReasonProviderConflict, ""},
		{"410", of(reason(410, "global", "deleted", "")), fault.NotFound, fault.ReasonNotFound, ""},
		{"412", of(reason(412, "global", "conditionNotMet", "If-Match")), fault.Conflict,
			fault.ReasonChangedMeanwhile, ""},
		{"503", of(reason(503, "global", "backendError", "")), fault.Unavailable,
			fault.ReasonProviderUnavailable, ""},

		{"400 without a place", of(reason(400, "global", "invalid", "")), fault.Invalid,
			fault.ReasonProviderRefused, ""},
		{"400 zone", of(reason(400, "global", "invalid", "start.timeZone")), fault.Invalid,
			fault.ReasonInvalidRequest, "timezone"},
		{"400 guests", of(reason(400, "global", "invalid", "attendees[1].email")), fault.Invalid,
			fault.ReasonInvalidRequest, "attendee_emails"},
		{"400 start", of(reason(400, "global", "invalid", "start")), fault.Invalid,
			fault.ReasonInvalidRequest, "start_time"},
		{"400 end", of(reason(400, "global", "required", "end.dateTime")), fault.Invalid,
			fault.ReasonInvalidRequest, "end_time"},
		{"400 no time between", of(reason(400, "calendar", "timeRangeEmpty", "timeMax")), fault.Invalid,
			fault.ReasonInvalidRequest, "end_time"},
		{"400 conference", of(reason(400, "global", "invalid", "conferenceData.createRequest")), fault.Unsupported,
			fault.ReasonConferencing, ""},

		{"no JSON", of(403, "<html>usageLimits rateLimitExceeded</html>"), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"JSON of another", of(403, `{"error":"rateLimitExceeded"}`), fault.Forbidden,
			fault.ReasonPermissionDenied, ""},
		{"no errors in it", of(400, `{"error":{"errors":[]}}`), fault.Invalid, fault.ReasonProviderRefused, ""},
		{"a redirection that leads nowhere", of(302, ""), fault.Unsupported, fault.ReasonProviderMisconfigured, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			f := refusal(&googleapi.Error{
				Code: c.answer.code, Body: c.answer.body, Header: http.Header{"Retry-After": {"7"}},
			}, writing)
			if f.Code != c.code || f.Reason != c.reason {
				t.Errorf("it is %s %s, want %s %s", string(f.Code), f.Reason, string(c.code), c.reason)
			}
			if got := slices.ContainsFunc(f.Fields,
				func(field fault.Field) bool { return field.Path == c.field }); got != (c.field != "") {
				t.Errorf("it names %+v, want %q", f.Fields, c.field)
			}
			if f.RetryAfter != 7*time.Second || f.Upstream == "" || !upstream.HasStatus(f, c.answer.code) || f.Detail == "" {
				t.Errorf("it lacks what the status told: %+v", f)
			}
			if gone := f.Metadata["gone"] == "true"; gone != (c.answer.code == http.StatusGone) {
				t.Errorf("it was there once: %t", gone)
			}
			if lasts := c.rule == "403 limits of use, which last for hours"; f.NoRetry != lasts {
				t.Errorf("no repeat is suggested: %t", f.NoRetry)
			}
		})
	}
}

// A limit of hours is none of a moment.
func TestLimitsThatLastSuggestNoRepeatInAMoment(t *testing.T) {
	for reason, want := range map[string]struct {
		wait    time.Duration
		noRetry bool
	}{
		"rateLimitExceeded": {}, "userRateLimitExceeded": {},
		"quotaExceeded": {noRetry: true}, "dailyLimitExceeded": {wait: usedUpWait},
	} {
		for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
			f := refusal(&googleapi.Error{Code: status, Body: fmt.Sprintf(
				`{"error":{"code":%d,"errors":[{"domain":"usageLimits","reason":%q}]}}`, status, reason)}, writing)
			if f.Code != fault.RateLimited || f.RetryAfter != want.wait || f.NoRetry != want.noRetry {
				t.Errorf("%d %s: %s, again in %v, no repeat %t", status, reason, f.Code, f.RetryAfter, f.NoRetry)
			}
		}
	}
}

func TestFailuresThatAreNoAnswer(t *testing.T) {
	lastErr := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "No way.")
	lastErr.Unsent = true
	for _, c := range []struct {
		rule string
		err  error
		want fault.Code
	}{
		{"a fault of the transport stays what it is", &url.Error{Op: "Post", Err: lastErr}, fault.Unavailable},
		{"a deadline", context.DeadlineExceeded, fault.Timeout},
		{"a caller who left", &url.Error{Op: "Post", Err: context.Canceled}, fault.Canceled},
		{"a body that cannot be read", errors.New("invalid character '<'"), fault.UnknownOutcome},
	} {
		f := refusal(c.err, writing)
		if f.Code != c.want || f.Unsent != (c.want == fault.Unavailable) {
			t.Errorf("%s: %v", c.rule, f)
		}
	}
	if refusal(nil, writing) != nil {
		t.Error("nothing is a fault")
	}
}
