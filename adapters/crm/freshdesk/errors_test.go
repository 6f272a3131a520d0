package freshdesk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/fault"
)

func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func TestRefusalsOfATicket(t *testing.T) {
	invalid := func(errors string) string {
		return `{"description":"Validation failed","errors":` + errors + `}`
	}
	for _, c := range []struct {
		rule, body string
		status     int
		code       fault.Code
		reason     string
		fields     []string
	}{
		{"errors name our fields", invalid(
			`[{"field":"responder_id","message":"There is no agent matching the given responder_id","code":"invalid_value"},
			{"field":"requester_id","code":"invalid_value"},{"field":"requester_id","code":"missing_field"},{"field":"company_id"}]`),
			400, fault.Invalid, fault.ReasonInvalidRequest, []string{"owner_id", "contact_id", "account_id"}},
		{"a field of the account's own",
			invalid(`[{"field":"custom_fields.cf_room","message":"It should be a/an String","code":"missing_field"}]`),
			400, fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"a value of the setting fields", invalid(`[{"field":"custom_fields.cf_room","code":"invalid_value"}]`),
			400, fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"a field that is no name", invalid(`[{"field":"the agent matching","code":"invalid_value"}]`), 400,
			fault.Invalid, fault.ReasonProviderRefused, nil},
		{"the requester of the settings",
			invalid(
				`[{"field":"email","message":"It should be in the 'valid email address' format","code":"invalid_value"}]`),
			400, fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"errors of another shape", `{"code":"invalid_json"}`, 400, fault.Invalid,
			fault.ReasonProviderRefused, nil},
		{"no JSON", `Bad Request`, 400, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"no account at the address", `<html>There is no helpdesk here</html>`, 404, fault.Unsupported,
			fault.ReasonProviderMisconfigured, nil},
		{"an account that is suspended",
			`{"code":"account_suspended","message":"Your account has been suspended."}`, 403, fault.Forbidden,
			fault.ReasonPermissionDenied, nil},
		{"a success that cannot be read", `<html>Signed in</html>`, 200, fault.UnknownOutcome,
			fault.ReasonOutcomeUnknown, nil},
		{"a success without a ticket", `{}`, 201, fault.UnknownOutcome, fault.ReasonOutcomeUnknown, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						says(c.status, c.body).ServeHTTP(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			_, err := s.open(t).Create(t.Context(), pipe())
			f := fault.From(err)
			if f == nil || f.Code != c.code || f.Reason != c.reason || f.Unsent {
				t.Fatalf("answered %v, want %s %s", err, string(c.code), c.reason)
			}
			if !slices.Equal(named(err), c.fields) {
				t.Errorf("named are %q, want %q", named(err), c.fields)
			}
			if c.status >= 400 && f.RetryAfter != 7*time.Second {
				t.Errorf("the wait is %s", f.RetryAfter)
			}
			if strings.Contains(f.Detail, "agent matching") ||
				strings.Contains(c.body, "cf_room") != strings.Contains(f.Detail, "cf_room") {
				t.Errorf("told is %q of %v", f.Detail, f.Metadata)
			}
		})
	}
}

// A model that is told to check whether a subject exists does not shorten it.
func TestATextThatIsTooLongIsToldSo(t *testing.T) {
	long := pipe()
	long.Subject = strings.Repeat("Pipe ", 60)
	_, err := serve(t, fake.Options{}).open(t).Create(t.Context(), long)
	f := fault.From(err)
	if f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "subject" ||
		!strings.Contains(f.Fields[0].Message, "too long") {
		t.Errorf("answered %+v", f)
	}
}

func TestRefusalsOfReading(t *testing.T) {
	for _, c := range []struct {
		rule, body string
		status     int
		code       fault.Code
		reason     string
	}{
		{"no such ticket", "", 404, fault.NotFound, fault.ReasonTicketNotFound},
		{"no such address", "<html>", 404, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"an API that is gone", "", 410, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"no JSON", "<html>", 200, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"another ticket", `{"id":9}`, 200, fault.Unsupported, fault.ReasonProviderMisconfigured},
	} {
		s := serve(t, fake.Options{})
		s.Instead(says(c.status, c.body))
		_, err := s.open(t).ByNumber(t.Context(), "7")
		if f := fault.From(err); f == nil || f.Code != c.code || f.Reason != c.reason {
			t.Errorf("%s: answered %v, want %s %s", c.rule, err, string(c.code), c.reason)
		}
	}
	s := serve(t, fake.Options{})
	s.Instead(says(200, `{"contact":null}`))
	if _, err := s.open(t).Account(t.Context()); fault.From(err) == nil ||
		fault.From(err).Code != fault.Unsupported {
		t.Errorf("nobody is answered with %v", err)
	}
}
