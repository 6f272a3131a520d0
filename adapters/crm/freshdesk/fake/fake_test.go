package fake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"frontdesk/adapters/crm/freshdesk/fake"
)

const key = "an-api-key"

func ask(
	t *testing.T, s *fake.Server, method, path, body string, change func(*http.Request),
) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.SetBasicAuth(key, "X")
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestItRefusesWhatFreshdeskRefuses(t *testing.T) {
	const good = `{"subject":"a","description":"b","status":2,"priority":1,"email":"a@example.com"}`
	with := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, c := range []struct {
		rule, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		{"a good ticket", "POST", "/api/v2/tickets", good, nil, 201},
		{"no key", "GET", "/api/v2/agents/me", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"another key", "GET", "/api/v2/agents/me", "", func(r *http.Request) { r.SetBasicAuth("x", "X") }, 401},
		{"another password", "GET", "/api/v2/agents/me", "", func(r *http.Request) { r.SetBasicAuth(key, "") },
			401},
		{"no requester", "POST", "/api/v2/tickets", with(`,"email":"a@example.com"`, ""), nil, 400},
		{"an email that is none", "POST", "/api/v2/tickets", with("a@example.com", "a"), nil, 400},
		{"no description", "POST", "/api/v2/tickets", with(`"description":"b",`, ""), nil, 400},
		{"no subject", "POST", "/api/v2/tickets", with(`"subject":"a",`, ""), nil, 400},
		{"a subject that is too long", "POST", "/api/v2/tickets",
			with(`"subject":"a"`, `"subject":"`+strings.Repeat("a", 256)+`"`), nil, 400},
		{"no status", "POST", "/api/v2/tickets", with(`"status":2,`, ""), nil, 400},
		{"a status that is none", "POST", "/api/v2/tickets", with(`"status":2`, `"status":9`), nil, 400},
		{"a status in words", "POST", "/api/v2/tickets", with(`"status":2`, `"status":"Open"`), nil, 400},
		{"a priority that is none", "POST", "/api/v2/tickets", with(`"priority":1`, `"priority":5`), nil, 400},
		{"a field that is none", "POST", "/api/v2/tickets", with(`"subject"`, `"owner":1,"subject"`), nil, 400},
		{"no JSON", "POST", "/api/v2/tickets", "ticket", nil, 400},
		{"JSON that is not called so", "POST", "/api/v2/tickets", good,
			func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"no such ticket", "GET", "/api/v2/tickets/1", "", nil, 404},
		{"an id that is none", "GET", "/api/v2/tickets/x", "", nil, 404},
		{"no such path", "GET", "/api/v2/search/tickets", "", nil, 404},
	} {
		s := fake.New(fake.Options{APIKey: key})
		w := ask(t, s, c.method, c.path, c.body, c.change)
		if w.Code != c.want {
			t.Errorf("%s: answered %d %s, want %d", c.rule, w.Code, w.Body, c.want)
		}
		if c.want == http.StatusNotFound && w.Body.Len() > 0 {
			t.Errorf("%s: the answer has a body: %s", c.rule, w.Body)
		}
	}
}

func TestParametersAreHeeded(t *testing.T) {
	s := fake.New(fake.Options{APIKey: key})
	ask(t, s, "POST", "/api/v2/tickets",
		`{"subject":"a","description":"b","status":2,"priority":1,"requester_id":501001204168}`, nil)
	for path, want := range map[string]int{
		"/1?include=stats": 200, "/1?include=comments": 400, "/1?fields=id": 400, "/1/conversations": 200,
		"/1/conversations?per_page=101": 400, "/1/conversations?page=0": 400, "/1/conversations?page=9": 200,
		"/1/conversations?sort=desc": 400,
	} {
		if w := ask(t, s, "GET", "/api/v2/tickets"+path, "", nil); w.Code != want {
			t.Errorf("%s: answered %d, want %d", path, w.Code, want)
		}
	}
}
