package fake

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const token = "pat-test"

// ask sends a request as a private app and returns status, headers and body of the response.
func ask(t *testing.T, s *Server, method, path, body string) (int, http.Header, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	answer := map[string]any{}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s %s answers %q: %v", method, path, w.Body, err)
		}
	}
	return w.Code, w.Header(), answer
}

const (
	objects = "/crm/objects/2026-09/tickets"
	ticketA = `{"properties":{"subject":"a","hs_pipeline_stage":"1"}}`
)

func TestWhatIsNotAsHubSpotWantsItIsRefused(t *testing.T) {
	s := New(Options{
		Tokens: map[string][]string{token: {"tickets"}}, Unique: []string{"key"}, Require: []string{"room"},
	})
	for _, c := range []struct {
		rule, method, path, body string
		status                   int
		category, says           string
	}{
		{"a subject is required", "POST", objects, `{"properties":{"hs_pipeline_stage":"1","room":"1"}}`, 400,
			"VALIDATION_ERROR", "required properties"},
		{"a stage is required", "POST", objects, `{"properties":{"subject":"a","room":"1"}}`, 400,
			"VALIDATION_ERROR", "required properties"},
		{"what a rule asks for is required", "POST", objects, ticketA, 400, "VALIDATION_ERROR",
			"required properties"},
		{"a stage is one of the pipeline", "POST", objects,
			`{"properties":{"subject":"a","room":"1","hs_pipeline":"77130","hs_pipeline_stage":"1"}}`, 400,
			"VALIDATION_ERROR", "INVALID_OPTION"},
		{"a stage is an id", "POST", objects, `{"properties":{"subject":"a","room":"1","hs_pipeline_stage":"New"}}`,
			400, "VALIDATION_ERROR", "INVALID_OPTION"},
		{"a priority is a value", "POST", objects,
			`{"properties":{"subject":"a","room":"1","hs_pipeline_stage":"1","hs_ticket_priority":"High"}}`, 400,
			"VALIDATION_ERROR", "INVALID_OPTION"},
		{"a property exists", "POST", objects,
			`{"properties":{"subject":"a","room":"1","hs_pipeline_stage":"1","colour":"red"}}`, 400,
			"VALIDATION_ERROR", "PROPERTY_DOESNT_EXIST"},
		{"some properties are HubSpot's to set", "POST", objects,
			`{"properties":{"subject":"a","room":"1","hs_pipeline_stage":"1","closed_date":"x"}}`, 400,
			"VALIDATION_ERROR", "READ_ONLY_VALUE"},
		{"a value has an end", "POST", objects,
			`{"properties":{"room":"1","hs_pipeline_stage":"1","subject":"` + strings.Repeat("a", 65537) + `"}}`, 400,
			"VALIDATION_ERROR", "TOO_LONG"},
		{"a body has no other members", "POST", objects, `{"property":{}}`, 400, "VALIDATION_ERROR",
			"Invalid input JSON"},
		{"an association needs its scope", "POST", objects,
			`{"properties":{"subject":"a","room":"1","hs_pipeline_stage":"1"},"associations":[{"to":{"id":"101"},"types":[{"associationCategory":"HUBSPOT_DEFINED","associationTypeId":16}]}]}`, 403, "MISSING_SCOPES", "scopes"},
		{"an association has a type of tickets", "POST", objects,
			`{"properties":{"subject":"a","room":"1","hs_pipeline_stage":"1"},"associations":[{"to":{"id":"101"},"types":[{"associationCategory":"HUBSPOT_DEFINED","associationTypeId":1}]}]}`, 400, "VALIDATION_ERROR", "association type"},
		{"a parameter is known", "GET", objects + "/1?fields=a", "", 400, "VALIDATION_ERROR", "parameter fields"},
		{"a ticket exists", "GET", objects + "/1", "", 404, "OBJECT_NOT_FOUND", "not found"},
		{"an id property is unique", "GET", objects + "/1?idProperty=subject", "", 400,
			"VALIDATION_ERROR", "non-unique"},
		{"associations to read need their scopes", "GET",
			"/conversations/conversations/2026-09/threads?threadStatus=OPEN&associatedContactId=101", "", 403,
			"MISSING_SCOPES", "scopes"},
		{"a path has the version", "GET", "/crm/objects/v3/tickets/1", "", 404, "", ""},
	} {
		status, _, answer := ask(t, s, c.method, c.path, c.body)
		category, _ := answer["category"].(string)
		message, _ := answer["message"].(string)
		if status != c.status || category != c.category || !strings.Contains(message, c.says) {
			t.Errorf("%s: %d %v", c.rule, status, answer)
		}
	}
	if s.Count() != 0 {
		t.Errorf("%d tickets were made all the same", s.Count())
	}
}

func TestThreadsOfAContactAreAskedForByStatus(t *testing.T) {
	s := New(Options{Tokens: map[string][]string{token: nil}})
	threads := "/conversations/conversations/2026-09/threads"
	for query, want := range map[string]int{
		"?associatedContactId=101":                                               400,
		"?associatedContactId=101&threadStatus=OPEN&sort=-id":                    200,
		"?associatedContactId=101&threadStatus=OPEN&inboxId=1":                   400,
		"?associatedContactId=101&threadStatus=OPEN&sort=latestMessageTimestamp": 400,
		"?sort=-id": 400,
	} {
		if status, _, answer := ask(t, s, "GET", threads+query, ""); status != want {
			t.Errorf("%s: %d %v", query, status, answer)
		}
	}
}

func TestSearchLearnsOfATicketLate(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := New(Options{
		Tokens: map[string][]string{token: nil}, SearchLag: 10 * time.Second, Now: func() time.Time { return now },
	})
	_, _, made := ask(t, s, "POST", objects, ticketA)
	id, _ := made["id"].(string)
	query := `{"filterGroups":[{"filters":[{"propertyName":"hs_object_id","operator":"EQ","value":"` + id +
		`"}]}],"properties":["subject"],"limit":1}`
	for wait, want := range map[time.Duration]float64{0: 0, 10 * time.Second: 1} {
		now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(wait)
		if _, _, answer := ask(t, s, "POST", objects+"/search", query); answer["total"] != want {
			t.Errorf("after %v: %v", wait, answer)
		}
		if status, _, _ := ask(t, s, "GET", objects+"/"+id, ""); status != http.StatusOK {
			t.Errorf("by its id after %v: %d", wait, status)
		}
	}
}

func TestCallsAreMetered(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := New(Options{
		Tokens: map[string][]string{token: nil}, PerTenSeconds: 2, PerDay: 3, Now: func() time.Time { return now },
	})
	details := "/account-info/2026-09/details"
	for _, step := range []struct {
		pass      time.Duration
		path      string
		status    int
		policy    string
		remaining string
	}{
		{0, details, 200, "", "1"},
		{0, details, 200, "", "0"},
		{0, details, 429, "TEN_SECONDLY_ROLLING", "0"},
		{10 * time.Second, details, 429, "DAILY", ""},
		{24 * time.Hour, details, 200, "", "1"},
	} {
		now = now.Add(step.pass)
		status, header, answer := ask(t, s, "GET", step.path, "")
		policy, _ := answer["policyName"].(string)
		if status != step.status || policy != step.policy ||
			header.Get("X-HubSpot-RateLimit-Remaining") != step.remaining {
			t.Errorf("after %v: %d %q, %q left", step.pass, status, policy,
				header.Get("X-HubSpot-RateLimit-Remaining"))
		}
	}
	for i := range 6 {
		status, header, _ := ask(t, s, "POST", objects+"/search", `{}`)
		if want := map[bool]int{true: 200, false: 429}[i < 5]; status != want ||
			header.Get("X-HubSpot-RateLimit-Max") != "" {
			t.Errorf("search %d: %d %v", i+1, status, header)
		}
	}
}

func TestContactsAreSearched(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := New(Options{
		Tokens: map[string][]string{token: nil}, Now: func() time.Time { return now }, SearchesPerSecond: 100,
		SearchLag: time.Minute,
	})
	s.AddContact(Person{First: "Pat", Email: "Pat@Example.com", Emails: []string{"p@example.com"},
		Phone: "+1 (513) 555-7611"})
	s.AddContact(Person{First: "Sam", Mobile: "0171 1234567"})
	const path = "/crm/objects/2026-09/contacts/search"
	count := func(body string) (int, any) {
		status, _, answer := ask(t, s, "POST", path, body)
		return status, answer["total"]
	}
	if status, total := count(`{}`); status != http.StatusOK || total != 0.0 {
		t.Errorf("the index does not lag: %d, %v", status, total)
	}
	now = now.Add(time.Hour)
	group := func(filter string) string { return `{"filters":[` + filter + `]}` }
	equal := func(property, value string) string {
		return group(`{"propertyName":"` + property + `","operator":"EQ","value":"` + value + `"}`)
	}
	for _, c := range []struct {
		rule, groups string
		status       int
		total        any
	}{
		{"a number without country code", equal("hs_searchable_calculated_phone_number", "5135557611"), 200, 1.0},
		{"a number without a trunk prefix", equal("hs_searchable_calculated_mobile_number", "1711234567"), 200,
			1.0},
		{"an exact value", equal("phone", "5135557611"), 200, 0.0},
		{"no regard to case", equal("email", "PAT@example.com"), 200, 1.0},
		{"one of several groups", equal("firstname", "pat") + "," + equal("firstname", "sam"), 200, 2.0},
		{"values in lower case", group(`{"propertyName":"firstname","operator":"IN","values":["Pat","sam"]}`), 200, 1.0},
		{"a word of a list", group(
			`{"propertyName":"hs_additional_emails","operator":"CONTAINS_TOKEN","value":"p@example.com"}`), 200, 1.0},
		{"an asterisk", group(`{"propertyName":"email","operator":"CONTAINS_TOKEN","value":"*@example.com"}`), 200, 1.0},
		{"a property that does not exist", equal("shoe", "9"), 400, nil},
		{"a group without filters", `{"filters":[]}`, 400, nil},
		{"six groups", strings.Repeat(equal("email", "a")+",", 5) + equal("email", "a"), 400, nil},
	} {
		if status, total := count(`{"filterGroups":[` + c.groups + `]}`); status != c.status || total != c.total {
			t.Errorf("%s: %d, %v contacts", c.rule, status, total)
		}
	}
}

func TestABatchSaysWhatItDoesNotFind(t *testing.T) {
	s := New(Options{Tokens: map[string][]string{token: nil}})
	for _, c := range []struct {
		rule, path, body string
		status           int
		errors           any
	}{
		{"companies", "/crm/objects/2026-09/companies/batch/read",
			`{"properties":["name"],"inputs":[{"id":"202"},{"id":"203"}]}`, 200, nil},
		{"a company that is gone", "/crm/objects/2026-09/companies/batch/read",
			`{"properties":["name"],"inputs":[{"id":"202"},{"id":"1"}]}`, 207, 1.0},
		{"a ticket that is gone", objects + "/batch/read", `{"inputs":[{"id":"1"}]}`, 207, 1.0},
		{"a contact without tickets", "/crm/associations/2026-09/contacts/tickets/batch/read",
			`{"inputs":[{"id":"101"}]}`, 207, 1.0},
		{"nothing to read", objects + "/batch/read", `{"inputs":[]}`, 400, nil},
		{"too much to read", objects + "/batch/read",
			`{"inputs":[` + strings.Repeat(`{"id":"1"},`, 100) + `{"id":"1"}]}`, 400, nil},
	} {
		if status, _, answer := ask(t, s, "POST", c.path, c.body); status != c.status ||
			answer["numErrors"] != c.errors {
			t.Errorf("%s: %d %v", c.rule, status, answer)
		}
	}
}
