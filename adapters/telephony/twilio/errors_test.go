package twilio_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/telephony"
)

func TestRefusalsOfAChange(t *testing.T) {
	name := "Night desk"
	for _, c := range []struct {
		rule            string
		status, apiCode int
		code            fault.Code
		reason          string
	}{
		{"credentials that do not count", 401, 20003, fault.Disconnected, fault.ReasonReconnectRequired},
		{"a restricted key", 401, 70051, fault.Forbidden, fault.ReasonPermissionDenied},
		{"a privilege that is missing", 403, 20006, fault.Forbidden, fault.ReasonPermissionDenied},
		{"test credentials", 403, 20008, fault.Forbidden, fault.ReasonPermissionDenied},
		{"an account that is not active", 403, 20005, fault.Forbidden, fault.ReasonAccountSuspended},
		{"one that is suspended", 403, 10001, fault.Forbidden, fault.ReasonAccountSuspended},
		{"one without access", 403, 20403, fault.Forbidden, fault.ReasonAccountSuspended},
		{"no such number", 404, 20404, fault.NotFound, fault.ReasonNumberNotFound},
		{"no such API", 404, 0, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"no such API any more", 410, 0, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"too many calls", 429, 20429, fault.RateLimited, fault.ReasonProviderRateLimited},
		{"too many calls, without a code", 429, 0, fault.RateLimited, fault.ReasonProviderRateLimited},
		{"an account that may not buy", 400, 22300, fault.Forbidden, fault.ReasonPermissionDenied},
		{"a trial", 400, 10002, fault.Exhausted, fault.ReasonTrialLimit},
		{"a trial's one number", 400, 21404, fault.Exhausted, fault.ReasonTrialLimit},
		{"an address is missing", 400, 21631, fault.Conflict, fault.ReasonAddressRequired},
		{"a certified one", 400, 21613, fault.Conflict, fault.ReasonAddressRequired},
		{"a local one", 400, 21615, fault.Conflict, fault.ReasonAddressRequired},
		{"documents are missing", 400, 21649, fault.Conflict, fault.ReasonBundleRequired},
		{"documents do not do", 400, 21651, fault.Conflict, fault.ReasonBundleRequired},
		{"a number that is taken", 400, 21422, fault.Conflict, fault.ReasonNumberTaken},
		{"what is no number", 400, 21421, fault.Invalid, fault.ReasonProviderRefused},
		{"an application that is none", 400, 21420, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"an address that calls cannot go to", 400, 21402, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"a name", 400, 20002, fault.Invalid, fault.ReasonInvalidRequest},
		{"a code that is not known", 400, 29999, fault.Invalid, fault.ReasonProviderRefused},
		{"a conflict", 409, 20409, fault.Conflict, fault.ReasonProviderConflict},
		{"a defect of theirs", 500, 20500, fault.Unavailable, fault.ReasonProviderUnavailable},
	} {
		s := serve(t, fake.Options{})
		const words = "Call Joe at the office of Acme"
		s.Instead(says(c.status, fmt.Sprintf(`{"code":%d,"message":"%s","auth_token":"hunter2","status":%d}`,
			c.apiCode, words, c.status)))
		_, err := s.driver(t).Change(t.Context(), "PN00000000000000000000000000000001",
			telephony.Change{Name: &name})
		wantFault(t, c.rule, err, c.code, c.reason)
		f := fault.From(err)
		if strings.Contains(f.Detail, "Joe") || !strings.Contains(f.Upstream, words) ||
			strings.Contains(f.Upstream, "hunter2") || f.Detail == "" {
			t.Errorf("%s: told is %q, logged is %q", c.rule, f.Detail, f.Upstream)
		}
		if code := f.Metadata["twilio_code"]; c.apiCode != 0 && code != fmt.Sprint(c.apiCode) ||
			c.apiCode == 0 && code != "" {
			t.Errorf("%s: the code is reported as %q", c.rule, code)
		}
		if f.Unsent != (c.code == fault.RateLimited) {
			t.Errorf("%s: unsent is %t", c.rule, f.Unsent)
		}
		if got := faulttest.Paths(err); c.apiCode == 20002 && !slices.Equal(got, []string{"name"}) {
			t.Errorf("%s: named are %q", c.rule, got)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	name := "Night desk"
	const ref = "PN00000000000000000000000000000001"
	for rule, body := range map[string]string{
		"a page":              `<html>`,
		"another number":      `{"sid":"PN00000000000000000000000000000002","phone_number":"+14155550100"}`,
		"nothing of a number": `{}`,
	} {
		s := serve(t, fake.Options{})
		s.Instead(says(http.StatusOK, body))
		_, err := s.driver(t).Number(t.Context(), ref)
		wantFault(t, rule+", read", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		if f := fault.From(err); rule == "a page" && f.Upstream != "200 and 6 bytes" {
			t.Errorf("logged is %q", f.Upstream)
		}
		_, err = s.driver(t).Change(t.Context(), ref, telephony.Change{Name: &name})
		wantFault(t, rule+", changed", err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		_, err = s.driver(t).Numbers(t.Context(), telephony.Query{})
		wantFault(t, rule+", listed", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	}
}
