package fake_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/oauth/oauthtest"
)

const token = "an-api-token"

func ask(
	t *testing.T, s *fake.Server, method, path, body string, change func(*http.Request),
) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.SetBasicAuth("agent@example.com/token", token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestItRefusesWhatZendeskRefuses(t *testing.T) {
	const good = `{"ticket":{"subject":"a","comment":{"body":"b"}}}`
	for _, c := range []struct {
		rule, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		{"a good ticket", "POST", "/api/v2/tickets", good, nil, 201},
		{"no credentials", "GET", "/api/v2/users/me", "", func(r *http.Request) { r.Header.Del("Authorization") },
			401},
		{"an email without its ending", "GET", "/api/v2/users/me", "",
			func(r *http.Request) { r.SetBasicAuth("agent@example.com", token) }, 401},
		{"another token", "GET", "/api/v2/users/me", "",
			func(r *http.Request) { r.SetBasicAuth("agent@example.com/token", "x") }, 401},
		{"no comment", "POST", "/api/v2/tickets", `{"ticket":{"subject":"a"}}`, nil, 422},
		{"a description", "POST", "/api/v2/tickets",
			`{"ticket":{"subject":"a","description":"b","comment":{"body":"b"}}}`, nil, 400},
		{"a priority that is none", "POST", "/api/v2/tickets",
			`{"ticket":{"comment":{"body":"b"},"priority":"P1"}}`, nil, 422},
		{"a status that is none", "POST", "/api/v2/tickets",
			`{"ticket":{"comment":{"body":"b"},"status":"closed"}}`, nil, 422},
		{"an inactive custom status", "POST", "/api/v2/tickets",
			`{"ticket":{"comment":{"body":"b"},"custom_status_id":7}}`, nil, 422},
		{"a subject that is too long", "POST", "/api/v2/tickets",
			`{"ticket":{"subject":"` + strings.Repeat("a", 256) + `","comment":{"body":"b"}}}`, nil, 422},
		{"an organization that is not the requester's", "POST", "/api/v2/tickets",
			`{"ticket":{"comment":{"body":"b"},"requester_id":20978392000303,"organization_id":50997400000402}}`,
			nil, 422},
		{"no JSON", "POST", "/api/v2/tickets", `ticket`, nil, 400},
		{"JSON that is not called so", "POST", "/api/v2/tickets", good,
			func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"a key that is too long", "POST", "/api/v2/tickets", good,
			func(r *http.Request) { r.Header.Set("Idempotency-Key", strings.Repeat("k", 256)) }, 400},
		{"a parameter that is none", "GET", "/api/v2/tickets?external=1", "", nil, 400},
		{"a page that is too large", "GET", "/api/v2/tickets/35001/comments?page[size]=101", "", nil, 404},
		{"no such ticket", "GET", "/api/v2/tickets/1", "", nil, 404},
		{"an id that is none", "GET", "/api/v2/tickets/x", "", nil, 404},
		{"no such path", "GET", "/api/v2/search", "", nil, 404},
	} {
		s := fake.New(fake.Options{APIToken: token})
		if w := ask(t, s, c.method, c.path, c.body, c.change); w.Code != c.want {
			t.Errorf("%s: answered %d %s, want %d", c.rule, w.Code, w.Body, c.want)
		}
	}
}

func TestPagesOfCommentsAreAsked(t *testing.T) {
	s := fake.New(fake.Options{APIToken: token})
	ask(t, s, "POST", "/api/v2/tickets", `{"ticket":{"subject":"a","comment":{"body":"b"}}}`, nil)
	for query, want := range map[string]int{
		"sort=-created_at&page[size]=100": 200, "page[size]=101": 400, "page[size]=0": 400,
		"sort=body&page[size]=1": 400, "page[size]=1&page[after]=x": 400,
	} {
		if w := ask(t, s, "GET", "/api/v2/tickets/35001/comments?"+query, "", nil); w.Code != want {
			t.Errorf("%s: answered %d, want %d", query, w.Code, want)
		}
	}
}

func TestScopesAreHeeded(t *testing.T) {
	for _, c := range []struct {
		scopes, method, path string
		want                 int
	}{
		{"read", "GET", "/api/v2/ticket_fields", 200},
		{"tickets:read", "GET", "/api/v2/ticket_fields", 403},
		{"tickets:read", "GET", "/api/v2/tickets", 200},
		{"tickets:read", "GET", "/api/v2/users/me", 403},
		{"users:read", "GET", "/api/v2/users/me", 200},
		{"read", "POST", "/api/v2/tickets", 403},
		{"tickets:write", "POST", "/api/v2/tickets", 422},
	} {
		s := fake.New(fake.Options{OAuth: oauthtest.Options{Clients: map[string]string{"c": "s"}}})
		refresh := s.OAuth.Grant("c", "agent@example.com", c.scopes)
		form := "grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=" + refresh
		w := ask(t, s, "POST", fake.TokenPath, form, func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
		_, rest, _ := strings.Cut(w.Body.String(), `"access_token":"`)
		access, _, _ := strings.Cut(rest, `"`)
		w = ask(t, s, c.method, c.path, `{"ticket":{}}`,
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+access) })
		if w.Code != c.want {
			t.Errorf("%s %s with %s: answered %d %s, want %d", c.method, c.path, c.scopes, w.Code, w.Body, c.want)
		}
	}
}
