package zendesk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

func TestRefusalsOfATicket(t *testing.T) {
	const json = "application/json"
	invalid := func(details string) string {
		return `{"error":"RecordInvalid","description":"Record validation errors","details":` + details + `}`
	}
	for _, c := range []struct {
		rule       string
		status     int
		kind, body string
		code       fault.Code
		reason     string
		fields     []string
	}{
		{"details name our fields", 422, json,
			invalid(
				`{"assignee":[{"error":"InvalidValue","description":"Assignee: is invalid"}],"requester_id":[{"description":"x"}],"subject":[]}`),
			fault.Invalid, fault.ReasonInvalidRequest, []string{"owner_id", "contact_id"}},
		{"base names a field in words", 422, json,
			invalid(
				`{"base":[{"description":"Requester: is required","error":"BlankValue"},{"description":"Requester: x"}]}`),
			fault.Invalid, fault.ReasonInvalidRequest, []string{"contact_id"}},
		{"a field of the account's own", 422, json,
			invalid(`{"base":[{"description":"Room: is required","error":"BlankValue","field_key":27642}]}`),
			fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"a field of the account's own, by id", 422, json,
			invalid(
				`{"base":[{"description":"Room: is required when solving a ticket","error":null,"ticket_field_id":27642,"ticket_field_type":"FieldText"}]}`),
			fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"a rule without a field", 422, json, invalid(`{"base":[{"description":"Room: no","error":"Other"}]}`),
			fault.Invalid, fault.ReasonProviderRefused, nil},
		{"details of another shape", 422, json, `{"error":"RecordInvalid","details":"none"}`, fault.Invalid,
			fault.ReasonProviderRefused, nil},
		{"an object for an error", 403, json,
			`{"error":{"title":"Forbidden","message":"You do not have access to this page."}}`, fault.Forbidden,
			fault.ReasonPermissionDenied, nil},
		{"a status for an error", 415, json, `{"status":"415","error":"Unsupported Media Type"}`, fault.Invalid,
			fault.ReasonProviderRefused, nil},
		{"plain text", 400, "text/plain", `Bad Request`, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"two writes met", 409, json, `{"error":"DatabaseConflict","description":"Database collision"}`,
			fault.Unavailable, fault.ReasonProviderUnavailable, nil},
		{"another try is running", 409, json, `{"error":"IdempotentRequestInProgress"}`, fault.Conflict,
			fault.ReasonProviderConflict, nil},
		{"no account at the address", 404, json,
			`{"error":{"title":"No help desk at acme.zendesk.com","message":"There is no help desk configured at this address."}}`,
			fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"a page", 404, "text/html", `<html>Not found</html>`, fault.Unsupported,
			fault.ReasonProviderMisconfigured, nil},
		{"a success that cannot be read", 200, "text/html", `<html>Signed in</html>`, fault.UnknownOutcome,
			fault.ReasonOutcomeUnknown, nil},
		{"a success without a ticket", 201, json, `{}`, fault.UnknownOutcome, fault.ReasonOutcomeUnknown, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						w.Header().Set("Retry-After", "7")
						says(c.status, c.kind, c.body).ServeHTTP(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			_, err := s.open(t).Create(t.Context(), crm.NewTicket{Key: "k", Subject: "Leaking pipe"})
			f := fault.From(err)
			if f == nil || f.Code != c.code || f.Reason != c.reason || f.Unsent != (c.rule == "two writes met") {
				t.Fatalf("answered %v, want %s %s", err, string(c.code), c.reason)
			}
			named := faulttest.Paths(f)
			if !slices.Equal(named, c.fields) {
				t.Errorf("named are %q, want %q", named, c.fields)
			}
			if c.status >= 400 && f.RetryAfter != 7*time.Second {
				t.Errorf("the wait is %s", f.RetryAfter)
			}
			if strings.Contains(f.Detail, "help desk") || strings.Contains(f.Detail, "Room") ||
				strings.Contains(c.body, "27642") != strings.Contains(f.Detail, "27642") {
				t.Errorf("told is %q of %v", f.Detail, f.Metadata)
			}
		})
	}
}

func TestRulesOfTheAccountAreTold(t *testing.T) {
	s := serve(t, fake.Options{NeedsAssignee: true})
	_, err := s.open(t).Create(t.Context(), crm.NewTicket{Key: "k", Subject: "Leaking pipe", Status: "Solved"})
	f := fault.From(err)
	if f == nil || f.Code != fault.Invalid || f.Reason != fault.ReasonInvalidRequest ||
		f.Fields[0].Path != "owner_id" || s.Tickets() != 0 {
		t.Errorf("answered %v", err)
	}
}

func TestAnAnswerWithoutItsListDoesNotSayThatThereIsNone(t *testing.T) {
	d := func() crm.Driver {
		s := serve(t, fake.Options{})
		s.Instead(says(200, "application/json", `{"error":"Unavailable","description":"words of theirs"}`))
		return s.open(t)
	}
	for rule, read := range map[string]func() error{
		"by key": func() error {
			_, err := d().(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k"})
			return err
		},
		"who calls": func() error {
			_, err := d().(crm.ContactFinder).FindContacts(t.Context(), caller(t, "+15135557611"))
			return err
		},
		"of a contact": func() error {
			_, err := d().(crm.ContactFinder).OpenTickets(t.Context(), "21001", 5)
			return err
		},
	} {
		if f := fault.From(read()); f == nil || f.Code != fault.Unsupported {
			t.Errorf("%s: answered %v", rule, f)
		}
	}
}

func TestRefusalsOfReading(t *testing.T) {
	for _, c := range []struct {
		rule   string
		status int
		body   string
		code   fault.Code
		reason string
	}{
		{"no such ticket", 404, `{"error":"RecordNotFound","description":"Not found"}`, fault.NotFound,
			fault.ReasonTicketNotFound},
		{"no such API", 404, `{"error":"InvalidEndpoint"}`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"an API that is gone", 410, `{"error":"Gone"}`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"no JSON", 200, `<html>`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"another ticket", 200, `{"ticket":{"id":9}}`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"a conflict", 409, `{"error":"DatabaseConflict"}`, fault.Conflict, fault.ReasonProviderConflict},
	} {
		s := serve(t, fake.Options{})
		s.Instead(says(c.status, "application/json", c.body))
		_, err := s.open(t).ByNumber(t.Context(), "35001")
		if f := fault.From(err); f == nil || f.Code != c.code || f.Reason != c.reason {
			t.Errorf("%s: answered %v, want %s %s", c.rule, err, string(c.code), c.reason)
		}
	}
}

// A model that is told to check whether a subject exists does not shorten it.
func TestATextThatIsTooLongIsToldSo(t *testing.T) {
	long := pipe("k")
	long.Subject = strings.Repeat("Pipe ", 60)
	_, err := serve(t, fake.Options{}).open(t).Create(t.Context(), long)
	f := fault.From(err)
	if f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "subject" ||
		!strings.Contains(f.Fields[0].Message, "too long") {
		t.Errorf("answered %+v", f)
	}
}
