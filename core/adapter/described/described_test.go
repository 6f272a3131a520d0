package described

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const shop = `{
  "openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": "https://shop.example.com/v9"}],
  "security": [{"token": []}],
  "paths": {"/shelves/{shelf}/books": {
    "parameters": [{"name": "shelf", "in": "path", "required": true, "schema": {"type": "string"}}, {"name": "fields", "in": "query", "schema": {"type": "string"}}],
    "post": {
      "parameters": [{"name": "copies", "in": "query", "schema": {"type": "integer", "maximum": 5}}, {"name": "X-Reader", "in": "header", "schema": {"type": "string", "enum": ["adult"]}},
        {"name": "where", "in": "query", "style": "deepObject", "explode": true, "schema": {"type": "object", "properties": {
          "year": {"type": "integer"}, "marks": {"type": "array", "items": {"type": "string", "enum": ["new", "used"]}}}}}],
      "requestBody": {"required": true, "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": false, "required": ["title"],
        "properties": {"title": {"type": "string"}, "printed": {"type": "string", "format": "date-time"}, "pages": {"type": "integer", "default": 1}}}}}},
      "responses": {"200": {"description": "done"}}},
    "delete": {"responses": {"204": {"description": "done"}}}}},
  "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
}`

func TestViolations(t *testing.T) {
	for _, c := range []struct {
		rule, method, target, body string
		header                     http.Header
		allowed                    bool
	}{
		{rule: "as described", method: "POST", target: "/v1/shelves/a/books?copies=5&fields=x",
			body: `{"title":"Emma"}`, allowed: true},
		{rule: "an escaped id is one segment", method: "POST", target: "/v1/shelves/a%2Fb%23c%40d/books",
			body: `{"title":"Emma"}`, allowed: true},
		{rule: "no body where none is described", method: "DELETE", target: "/v1/shelves/a/books", allowed: true},
		{rule: "unknown path", method: "POST", target: "/v1/shelves/a/papers", body: `{"title":"Emma"}`},
		{rule: "unknown method", method: "PATCH", target: "/v1/shelves/a/books", body: `{"title":"Emma"}`},
		{rule: "unknown query parameter", method: "POST", target: "/v1/shelves/a/books?copy=5",
			body: `{"title":"Emma"}`},
		{rule: "query parameter out of range", method: "POST", target: "/v1/shelves/a/books?copies=6",
			body: `{"title":"Emma"}`},
		{rule: "a property of a parameter", method: "POST",
			target: "/v1/shelves/a/books?where[year]=1815&where%5Bmarks%5D%5B%5D=new",
			body:   `{"title":"Emma"}`, allowed: true},
		{rule: "unknown property of a parameter", method: "POST", target: "/v1/shelves/a/books?where[yaer]=1815",
			body: `{"title":"Emma"}`},
		{rule: "property of a parameter that has none", method: "POST",
			target: "/v1/shelves/a/books?copies[year]=5", body: `{"title":"Emma"}`},
		{rule: "property of the wrong type", method: "POST", target: "/v1/shelves/a/books?where[year]=x",
			body: `{"title":"Emma"}`},
		{rule: "item of a property out of range", method: "POST", target: "/v1/shelves/a/books?where[marks][]=old",
			body: `{"title":"Emma"}`},
		{rule: "header out of range", method: "POST", target: "/v1/shelves/a/books", body: `{"title":"Emma"}`,
			header: http.Header{"X-Reader": {"child"}}},
		{rule: "body missing", method: "POST", target: "/v1/shelves/a/books"},
		{rule: "property missing", method: "POST", target: "/v1/shelves/a/books", body: `{"pages":3}`},
		{rule: "unknown property", method: "POST", target: "/v1/shelves/a/books",
			body: `{"title":"Emma","author":"Austen"}`},
		{rule: "wrong type", method: "POST", target: "/v1/shelves/a/books", body: `{"title":7}`},
		{rule: "wrong format", method: "POST", target: "/v1/shelves/a/books",
			body: `{"title":"Emma","printed":"1815"}`},
		{rule: "body where none is described", method: "DELETE", target: "/v1/shelves/a/books", body: `{}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d, err := parse([]byte(shop), "/v1")
			if err != nil {
				t.Fatal(err)
			}
			var served string
			handler := d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				served = string(body)
			}))
			r := httptest.NewRequestWithContext(t.Context(), c.method, c.target, strings.NewReader(c.body))
			if c.body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			for name, values := range c.header {
				r.Header[name] = values
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
			if served != c.body {
				t.Errorf("the body served is %q, want it as it came: %q", served, c.body)
			}
			if got := len(d.violations) == 0; got != c.allowed {
				t.Errorf("violations %q", d.violations)
			}
			if d.requests != 1 {
				t.Errorf("%d requests were counted", d.requests)
			}
		})
	}
}

func TestRequestsBesideTheAPIAreLeftAlone(t *testing.T) {
	d, err := parse([]byte(shop), "/v1")
	if err != nil {
		t.Fatal(err)
	}
	handler := d.Handler(http.NotFoundHandler())
	for _, path := range []string{"/token", "/v10/shelves", "/"} {
		handler.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}
	if d.requests != 0 || len(d.violations) != 0 {
		t.Errorf("%d requests, violations %q", d.requests, d.violations)
	}
}

func TestTheReportFailsTheTest(t *testing.T) {
	for _, c := range []struct {
		rule string
		d    *Description
		want []string
	}{
		{"nothing wrong", &Description{requests: 3}, nil},
		{"no request", &Description{}, []string{"no request was compared"}},
		{"violations, each", &Description{
			requests: 3, violations: []string{"GET /a", "GET /b"},
		}, []string{"GET /a", "GET /b"}},
		{"no description", &Description{missing: "there is none"}, []string{"skipped: there is none"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			recorder := &recorder{TB: t}
			c.d.Report(recorder)
			if len(recorder.failures) != len(c.want) {
				t.Fatalf("said %q, want %q", recorder.failures, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(recorder.failures[i], want) {
					t.Errorf("said %q, want %q", recorder.failures[i], want)
				}
			}
		})
	}
}

// TestDescriptionsAreRead checks that the descriptions in use can be loaded.
func TestDescriptionsAreRead(t *testing.T) {
	for file, base := range map[string]string{
		"google-calendar.openapi.json":         "/calendar/v3",
		"msgraph-calendar.openapi.json":        "/v1.0",
		"salesforce-case.openapi.json":         "",
		"hubspot-tickets-2026-09.openapi.json": "/",
		"zendesk-tickets.openapi.json":         "/",
		"freshdesk-tickets.openapi.json":       "/",
		"rt-rest2.openapi.json":                "/REST/2.0",
		"telnyx-numbers.openapi.json":          "/v2",
	} {
		t.Run(file, func(t *testing.T) {
			if d := Open(t, file, base); d.missing != "" {
				t.Skip(d.missing)
			}
		})
	}
}
