package salesforce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/salesforce"
	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

// create opens a case and fails the test on an error.
func create(t *testing.T, d crm.Driver, wanted crm.NewTicket) crm.Ticket {
	t.Helper()
	made, err := d.Create(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestACaseIsOpenedAndReadInOneCall(t *testing.T) {
	for _, how := range []struct {
		org   fake.Options
		more  map[string]any
		calls int
	}{
		{calls: 1},
		// With keys there is one more call, to look for the key.
		{fake.Options{ExternalID: keyField}, map[string]any{"external_id_field": keyField}, 1 + 1},
	} {
		s := serve(t, how.org)
		d := s.open(t, how.more)
		create(t, d, crm.NewTicket{Key: "k0", Subject: "A pipe"}) // also reads the description of cases
		before := s.Calls()
		made := create(t, d, crm.NewTicket{Key: "k1", Subject: "A pipe", OwnerID: fake.Owner})
		if calls := s.Calls() - before; calls != how.calls || made.Number != "00001002" || made.Status != "New" {
			t.Errorf("%v: %+v in %d calls", how.more, made, calls)
		}
	}
}

// The address of the account comes with its access token. Without one, nothing was sent.
func TestNoCaseIsOpenedWithoutAToken(t *testing.T) {
	s := serve(t, fake.Options{})
	var noToken error
	d := s.openAt(t, nil, func(context.Context) (string, error) { return s.url, noToken })
	create(t, d, crm.NewTicket{Key: "k0", Subject: "A pipe"})
	noToken = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The sign-in service has not answered.")
	before := s.Calls()
	_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A pipe"})
	if f := fault.From(err); err == nil || !f.Unsent || !f.Prerequisite || s.Calls() != before {
		t.Errorf("%v, after %d calls", err, s.Calls()-before)
	}
}

// Before a case is opened, its key is looked for.
func TestNoCaseIsOpenedWhereItsKeyCannotBeLookedFor(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: keyField})
	d := s.open(t, map[string]any{"external_id_field": keyField})
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		http.Error(w, "away", http.StatusServiceUnavailable)
	}))
	_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A pipe"})
	if f := fault.From(err); f == nil || f.Code != fault.Unavailable || !f.Unsent {
		t.Errorf("%+v", f)
	}
}

func TestAnOwnerThatIsGivenIsKept(t *testing.T) {
	for _, c := range []struct {
		rule, given, want string
	}{
		{"a user", fake.Owner, fake.Owner},
		{"a queue", fake.Queue, fake.Queue},
		{"an id of 15 characters", fake.Owner[:15], fake.Owner[:15]},
		{"none: the organisation assigns the case", "", fake.DefaultOwner},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			if made := create(t, s.open(t, nil), crm.NewTicket{
				Subject: "A pipe", OwnerID: c.given,
			}); made.OwnerID != c.want {
				t.Errorf("the owner is %s, want %s", made.OwnerID, c.want)
			}
		})
	}
}

func TestKeysAreFoundWhereTheyAreKept(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: keyField})
	if traits := s.open(t, nil).Traits(); traits.FindsByKey || traits.IdempotentCreate {
		t.Errorf("without a field for keys the traits are %+v", traits)
	}
	if traits := s.open(t, map[string]any{"external_id_field": keyField}).Traits(); !traits.FindsByKey ||
		!traits.IdempotentCreate {
		t.Errorf("with a field for keys the traits are %+v", traits)
	}
}

func TestARepeatedCreateLeavesTheCaseAsItIsNow(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: keyField})
	d := s.open(t, map[string]any{"external_id_field": keyField})
	wanted := crm.NewTicket{Key: "k1", Subject: "A pipe", Status: "New"}
	first := create(t, d, wanted)
	if err := s.Comment(first.ID, "We are on our way.", true); err != nil {
		t.Fatal(err)
	}
	if err := s.Move(first.ID, "Working"); err != nil {
		t.Fatal(err)
	}
	if again := create(t, d, wanted); again.ID != first.ID || again.Status != "Working" ||
		again.LastComment != crm.Plain("We are on our way.") {
		t.Errorf("the second answer is %+v", again)
	}
}

func TestACaseOfAnotherCallWithTheKeyIsFound(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: keyField})
	d := s.open(t, map[string]any{"external_id_field": keyField})
	var other string
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // looks for the key, which does not exist yet
			io.WriteString(w, `{"totalSize":0,"done":true,"records":[]}`)
			return
		}
		s.Instead(nil)
		other = s.Add(map[string]any{"CaseNumber": "00001001", "Subject": "A pipe", keyField: "k1"})
		io.WriteString(w, failedPart(http.StatusBadRequest, "DUPLICATE_VALUE"))
	}))
	if found := create(t, d, crm.NewTicket{Key: "k1", Subject: "A pipe"}); found.ID != other {
		t.Errorf("found %+v, want %s", found, other)
	}
}

// A field of the organisation's own can be unique, too.
func TestADuplicateOfAnotherFieldIsNoMissingTicket(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: keyField})
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			io.WriteString(w, `{"totalSize":0,"done":true,"records":[]}`)
			return
		}
		io.WriteString(w, failedPart(http.StatusBadRequest, "DUPLICATE_VALUE"))
	}))
	_, err := s.open(t, map[string]any{"external_id_field": keyField}).
		Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A pipe"})
	if f := fault.From(err); f == nil || f.Code != fault.Conflict || !f.NoRetry {
		t.Errorf("got %v", err)
	}
}

func TestAnUpsertMakesNoSecondCaseOfAKey(t *testing.T) {
	s := serve(t, fake.Options{ExternalID: keyField})
	made := s.Add(map[string]any{"CaseNumber": "00001001", "Subject": "A pipe", "Status": "New", keyField: "k1"})
	api := s.Server
	blind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // the first look is a moment too early
			io.WriteString(w, `{"totalSize":0,"done":true,"records":[]}`)
			return
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(blind.Close)
	s.url = blind.URL
	found := create(t, s.open(t, map[string]any{"external_id_field": keyField}), crm.NewTicket{
		Key: "k1", Subject: "A pipe",
	})
	if count, _ := s.Tickets(t.Context()); found.ID != made || count != 1 {
		t.Errorf("answered %+v of %d cases, want %s alone", found, count, made)
	}
}

func TestASessionThatHasEndedIsToldSo(t *testing.T) {
	s := serve(t, fake.Options{})
	s.OAuth.ExpireAccess()
	_, err := s.open(t, nil).ByNumber(t.Context(), "00001001")
	if err := conformance.WantFault("ByNumber", err, fault.Disconnected,
		fault.ReasonReconnectRequired); err != nil {
		t.Error(err)
	}
}

func TestATokenWithoutTheScopeIsRefused(t *testing.T) {
	s := serve(t, fake.Options{})
	s.token, _ = s.redeem(t, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {s.OAuth.Grant(clientID, user, "web")},
	})
	_, err := s.open(t, nil).Account(t.Context())
	if err := conformance.WantFault("Account", err, fault.Disconnected, ""); err != nil {
		t.Error(err)
	}
}

func TestANumberThatCannotBeOneCostsNoCall(t *testing.T) {
	s := serve(t, fake.Options{})
	if _, err := s.open(t, nil).ByNumber(t.Context(), "1' OR Id != '"); fault.From(err).Code != fault.NotFound ||
		s.Calls() != 0 {
		t.Errorf("answered %v in %d calls", err, s.Calls())
	}
}

func TestANumberOfAnyFormatIsNeverAPartOfTheQuery(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, map[string]any{"number_format": "(?s).*"})
	s.Add(map[string]any{"CaseNumber": "00001001"})
	for _, number := range []string{
		`' OR CaseNumber != '`, `\' OR CaseNumber != \'`, `\`, `00001001' LIMIT 1 --`, `\\'`,
	} {
		if _, err := d.ByNumber(t.Context(), number); fault.From(err).Reason != fault.ReasonTicketNotFound {
			t.Errorf("%s is answered with %v", number, err)
		}
	}
	odd := `it's \ one`
	s.Add(map[string]any{"CaseNumber": odd})
	if found, err := d.ByNumber(t.Context(), odd); err != nil || found.Number != odd {
		t.Errorf("%s is answered with %+v, %v", odd, found, err)
	}
}

func TestANumberIsExact(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, map[string]any{"number_format": "[A-Za-z]+-[0-9]+"})
	s.Add(map[string]any{"CaseNumber": "Cs-1"})
	if _, err := d.ByNumber(t.Context(), "CS-1"); fault.From(err).Reason != fault.ReasonTicketNotFound {
		t.Errorf("another case of letters is answered with %v", err)
	}
	s.Add(map[string]any{"CaseNumber": "CS-1"})
	if found, err := d.ByNumber(t.Context(), "CS-1"); err != nil || found.Number != "CS-1" {
		t.Errorf("answered %+v, %v", found, err)
	}
	for range 2 {
		s.Add(map[string]any{"CaseNumber": "CS-2"})
	}
	if _, err := d.ByNumber(t.Context(), "CS-2"); fault.From(err) == nil ||
		fault.From(err).Code != fault.Conflict {
		t.Errorf("two cases are answered with %v", err)
	}
}

func TestANewLabelIsFoundByAskingAnew(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	if _, err := d.Vocabulary(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Statuses(fake.Value{Value: "New", Default: true}, fake.Value{Value: "Waiting", Label: "Waits"})
	before := s.Calls()
	if made := create(t, d, crm.NewTicket{Subject: "A pipe", Status: "Waits"}); made.Status != "Waits" ||
		s.Case(made.ID)["Status"] != "Waiting" {
		t.Errorf("made %+v, stored as %v", made, s.Case(made.ID)["Status"])
	}
	create(t, d, crm.NewTicket{Subject: "A pipe", Status: "Waits"})
	if asked := s.Calls() - before; asked != 3 {
		t.Errorf("asked %d times, want once for the labels and once for each case", asked)
	}
	_, err := d.Create(t.Context(), crm.NewTicket{Subject: "A pipe", Status: "Gone", Priority: "Never"})
	f := fault.From(err)
	if f.Code != fault.Invalid || len(f.Fields) != 2 || f.Fields[0].Path != "status" ||
		f.Fields[1].Path != "priority" {
		t.Errorf("labels that are none: %v %+v", err, f.Fields)
	}
}

func TestALabelThatMeansAnotherValueDoesSoAfterAWhile(t *testing.T) {
	renamed := strings.NewReplacer()
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/describe") {
				next.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			_, _ = renamed.WriteString(w, answer.Body.String())
		})
	})
	d := s.open(t, nil)
	for _, want := range []string{"High", "Medium"} { // the values, as the organisation shows them
		made, err := d.Create(t.Context(), crm.NewTicket{Key: want, Subject: "Leak", Priority: "High"})
		if err != nil || made.Priority != want {
			t.Errorf("the priority is %q, %v, want %q", made.Priority, err, want)
		}
		renamed = strings.NewReplacer(`"label":"High"`, `"label":"Urgent"`, `"label":"Medium"`, `"label":"High"`)
		s.later += crm.LabelsLast
	}
}

func TestALabelThatIsNotActiveIsShownButNotOffered(t *testing.T) {
	s := serve(t, fake.Options{Statuses: []fake.Value{
		{Value: "New", Default: true}, {Value: "Old", Label: "Retired", Inactive: true}, {Value: "new"},
		{Value: "Closed", Closed: true},
	}})
	d := s.open(t, nil)
	v, err := d.Vocabulary(t.Context())
	if err != nil || !slices.Equal(v.Statuses, []string{"New", "Closed"}) {
		t.Errorf("offered %q, %v", v.Statuses, err)
	}
	s.Add(map[string]any{"CaseNumber": "7", "Status": "Old"})
	if found, err := d.ByNumber(t.Context(), "7"); err != nil || found.Status != "Retired" {
		t.Errorf("shown as %q, %v", found.Status, err)
	}
}

func TestTheLastEmailIsTextBeforeMarkup(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, map[string]any{"comments": "emails"})
	made := create(t, d, crm.NewTicket{Subject: "A pipe"})
	for _, step := range []struct {
		text, html string
		draft      bool
		want       crm.Text
	}{
		{"Hello", "<p>Hello</p>", false, crm.Plain("Hello")},
		{"", "<p>Hello again</p>", false, crm.Text{Body: "<p>Hello again</p>", HTML: true}},
		{"Not yet sent", "", true, crm.Text{Body: "<p>Hello again</p>", HTML: true}},
		{" \n", "<p>Bye</p>", false, crm.Text{Body: "<p>Bye</p>", HTML: true}},
	} {
		if err := s.Email(made.ID, step.text, step.html, step.draft); err != nil {
			t.Fatal(err)
		}
		if read, err := d.ByNumber(t.Context(), made.Number); err != nil || read.LastComment != step.want {
			t.Errorf("after %+v the last comment is %+v, %v", step, read.LastComment, err)
		}
	}
}

func TestACaseThatIsOpenedAgainIsNotClosed(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Add(map[string]any{"CaseNumber": "7", "IsClosed": false, "ClosedDate": "2026-05-01T07:25:37.000+0000"})
	if found, err := s.open(t, nil).ByNumber(t.Context(), "7"); err != nil || !found.ClosedAt.IsZero() {
		t.Errorf("closed at %s, %v", found.ClosedAt, err)
	}
}

func TestWhatTheOrganisationRefuses(t *testing.T) {
	unknown := func(kind string) string { return fake.RecordID(kind, 9) }
	for _, c := range []struct {
		rule   string
		how    fake.Options
		more   map[string]any
		ticket crm.NewTicket
		code   fault.Code
		reason string
		fields []string
		says   string
	}{
		{rule: "an id that can be none", ticket: crm.NewTicket{OwnerID: "Alice", ContactID: "'"},
			code: fault.Invalid, reason: fault.ReasonInvalidRequest, fields: []string{"owner_id", "contact_id"}},
		{rule: "an id of another kind", ticket: crm.NewTicket{AccountID: fake.Contact}, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"account_id"}},
		{rule: "one of two ids", ticket: crm.NewTicket{AccountID: fake.Account, ContactID: unknown("003")},
			code: fault.Invalid, reason: fault.ReasonInvalidRequest, fields: []string{"account_id", "contact_id"}},
		{rule: "a long subject", ticket: crm.NewTicket{Subject: strings.Repeat("ä", 256)}, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"subject"}},
		{rule: "a description that it requires", how: fake.Options{Required: []string{"Description"}},
			code: fault.Invalid, reason: fault.ReasonInvalidRequest, fields: []string{"description"}},
		{rule: "a field of its own that it requires",
			how:  fake.Options{Fields: []fake.Field{{Name: "Region__c", Type: "string", Required: true}}},
			code: fault.Unsupported, reason: fault.ReasonProviderMisconfigured, says: "Region__c"},
		{
			rule: "a validation rule, whose words are kept to the log",
			how:  fake.Options{Validate: func(map[string]any) string { return "Ask Bob, extension 7" }},
			code: fault.Invalid, reason: fault.ReasonProviderRefused, says: "validation rule",
		},
		{rule: "a field that the user does not see", how: fake.Options{Hidden: []string{"AccountId"}},
			code: fault.Forbidden, reason: fault.ReasonPermissionDenied, says: "field-level"},
		{rule: "a field for keys that there is not", more: map[string]any{"external_id_field": "Nothing__c"},
			code: fault.Forbidden, reason: fault.ReasonPermissionDenied, says: "external_id_field"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, c.how)
			c.ticket.Key = "k1"
			if c.ticket.Subject == "" {
				c.ticket.Subject = "A pipe"
			}
			_, err := s.open(t, c.more).Create(t.Context(), c.ticket)
			f := fault.From(err)
			if f == nil || f.Code != c.code || c.reason != "" && f.Reason != c.reason {
				t.Fatalf("got %v, want %s %s", err, c.code, c.reason)
			}
			fields := faulttest.Paths(f)
			if !slices.Equal(fields, c.fields) {
				t.Errorf("named %q, want %q", fields, c.fields)
			}
			if !strings.Contains(f.Detail, c.says) || strings.Contains(f.Detail, "Bob") {
				t.Errorf("said %q, want %q", f.Detail, c.says)
			}
			if made, _ := s.Tickets(t.Context()); made != 0 {
				t.Errorf("%d cases were made", made)
			}
		})
	}
}

// failedPart returns a composite response whose first part failed, and the second because of the first.
func failedPart(status int, code string, fields ...string) string {
	named, _ := json.Marshal(append([]string{}, fields...))
	return fmt.Sprintf(`{"compositeResponse":[{"body":[{"errorCode":%q,"message":"secret words","fields":%s}],"httpStatusCode":%d,"referenceId":"made"},
		{"body":[{"errorCode":"PROCESSING_HALTED","message":"rolled back"}],"httpStatusCode":400,"referenceId":"read"}]}`, code, named, status)
}

func TestAnswersToAWrite(t *testing.T) {
	const newCase = `{"httpStatusCode":201,"body":{"id":"500dM0000000001QAA","success":true}}`
	read := func(body string) string {
		return `{"compositeResponse":[` + newCase + `,{"httpStatusCode":200,"body":` + body + `}]}`
	}
	for _, c := range []struct {
		rule, body string
		code       fault.Code
	}{
		{"no JSON", `<html>`, fault.UnknownOutcome},
		{"nothing", ``, fault.UnknownOutcome},
		{"null", `null`, fault.UnknownOutcome},
		{"no parts", `{"compositeResponse":[]}`, fault.UnknownOutcome},
		{"one part", `{"compositeResponse":[` + newCase + `]}`, fault.UnknownOutcome},
		{"a part without a status", `{"compositeResponse":[{"body":null},{"body":null}]}`, fault.UnknownOutcome},
		{"a case that cannot be seen", read(`{"totalSize":0,"done":true,"records":[]}`), fault.UnknownOutcome},
		{"a case without a number", read(`{"records":[{"Id":"500dM0000000001QAA"}]}`), fault.UnknownOutcome},
		{"a case with a time that is none", read(`{"records":[{"Id":"5","CaseNumber":"1","CreatedDate":"now"}]}`),
			fault.UnknownOutcome},
		{"several cases have the key",
			`{"compositeResponse":[{"httpStatusCode":300,"body":["/a","/b"]},{"httpStatusCode":400,"body":[{"errorCode":"PROCESSING_HALTED"}]}]}`, fault.Conflict},
		{"nothing but halted parts", failedPart(400, "PROCESSING_HALTED"), fault.Invalid},
		{"the part that failed is the second",
			`{"compositeResponse":[{"httpStatusCode":400,"body":[{"errorCode":"PROCESSING_HALTED"}]},{"httpStatusCode":400,"body":[{"errorCode":"QUERY_TIMEOUT"}]}]}`, fault.Timeout},
		{"a field for keys that is not marked so", failedPart(404, "NOT_FOUND"), fault.Unsupported},
		{"a locked record", failedPart(400, "UNABLE_TO_LOCK_ROW"), fault.Unavailable},
		{"maintenance", failedPart(400, "INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE"), fault.Unavailable},
		{"a limit", failedPart(403, "REQUEST_LIMIT_EXCEEDED"), fault.RateLimited},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			d := s.open(t, nil)
			if _, err := d.Vocabulary(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.body) }))
			_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A pipe"})
			undone := c.rule == "a locked record" || c.rule == "maintenance"
			if f := fault.From(err); f == nil || f.Code != c.code || f.Unsent != undone ||
				strings.Contains(f.Detail, "secret words") {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
}

func TestAnswersToARead(t *testing.T) {
	for _, c := range []struct {
		rule   string
		status int
		body   string
		code   fault.Code
	}{
		{"a page", 200, `<html>`, fault.Unsupported},
		{"null", 200, `null`, fault.Unsupported},
		{"no such version", 404, `[{"errorCode":"NOT_FOUND","message":"The requested resource does not exist"}]`,
			fault.Unsupported},
		{"a version that is retired", 410, `[{"errorCode":"UNSUPPORTED_API_VERSION","message":"words of theirs"}]`,
			fault.Unsupported},
		{"a proxy's page", 502, `<html>`, fault.Unavailable},
		{"a page of maintenance", 503, `<html>`, fault.Unavailable},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			d := s.open(t, nil)
			for _, read := range []func() error{
				func() error { _, err := d.ByNumber(t.Context(), "7"); return err },
				func() error { _, err := d.Vocabulary(t.Context()); return err },
				func() error { _, err := d.Account(t.Context()); return err },
			} {
				if f := fault.From(read()); f == nil || f.Code != c.code {
					t.Errorf("got %v, want %s", f, c.code)
				}
			}
		})
	}
}

func TestWithoutAnAddressNothingIsSent(t *testing.T) {
	d, err := salesforce.Adapter().OpenCRM(t.Context(), adapter.Values{}, adapter.Environment{
		Zone: "UTC", HTTP: http.DefaultClient, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Account(t.Context())
	if err := conformance.WantFault("Account", err, fault.Unsupported,
		fault.ReasonProviderMisconfigured); err != nil {
		t.Error(err)
	}
}

func TestACaseThatWasMergedIntoAnotherIsThatOne(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	gone, next := create(t, d, crm.NewTicket{Subject: "A pipe"}), create(t, d, crm.NewTicket{Subject: "Pipes"})
	stays := create(t, d, crm.NewTicket{Subject: "Water"})
	for _, m := range [][2]crm.Ticket{{gone, next}, {next, stays}} {
		if err := s.Merge(m[0].ID, m[1].ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []string{gone.Number, next.Number} {
		if got, err := d.ByNumber(t.Context(), number); err != nil || got != stays {
			t.Errorf("%s: got %+v, %v", number, got, err)
		}
	}
}

func TestWithoutMergesACaseThatIsNotThereIsNone(t *testing.T) {
	d := serve(t, fake.Options{Hidden: []string{"MasterRecordId"}}).open(t, nil)
	if _, err := d.ByNumber(t.Context(), "00004711"); !errors.Is(err, fault.NotFound) {
		t.Errorf("answered %v", err)
	}
}
