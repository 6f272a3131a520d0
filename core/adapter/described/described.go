// Package described checks the requests of an adapter's tests against the provider's own description of its
// API, an OpenAPI document. It wraps the provider's fake, which responds as usual:
//
//	api := described.Open(t, "google-calendar.openapi.json", "/calendar/v3")
//	server := httptest.NewServer(api.Handler(fake))
//	...
//	api.Report(t)
//
// It checks path, method, parameters, headers and body of requests. A query parameter that is not described
// is a violation. Authorisation and responses are not checked: they are up to the fake.
package described

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Description is a provider's description of its API. It is safe for concurrent use.
type Description struct {
	base    string
	router  routers.Router
	missing string // why nothing is compared; "" if there is a description

	mu         sync.Mutex
	requests   int
	violations []string
}

// Open reads a description. The file is in shared/providers beside the repository; if that folder does not
// exist, nothing is compared, and Report skips the test. base is the path under which the API is served, such as
// "/calendar/v3".
func Open(t testing.TB, file, base string) *Description {
	t.Helper()
	folder := filepath.Join(filepath.Dir(repository(t)), "shared", "providers")
	if _, err := os.Stat(folder); err != nil {
		return &Description{missing: fmt.Sprint("the descriptions of providers are missing: ", err)}
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	d, err := parse(text, base)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return d
}

// repository returns the folder of go.mod.
func repository(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("no go.mod above the test")
		}
		folder = parent
	}
}

func parse(text []byte, base string) (*Description, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	doc.Servers = openapi3.Servers{{URL: base}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	return &Description{base: base, router: router}, nil
}

// Handler checks each request below the base, records violations of the description, and has next serve the
// request.
func (d *Description) Handler(next http.Handler) http.Handler {
	if d.missing != "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == d.base || strings.HasPrefix(r.URL.Path, strings.TrimSuffix(d.base, "/")+"/") {
			d.note(r)
		}
		next.ServeHTTP(w, r)
	})
}

// note checks a request, whose body can still be read afterwards.
func (d *Description) note(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		checked := r.Clone(r.Context())
		checked.Body = io.NopCloser(bytes.NewReader(body))
		err = d.check(checked)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests++
	if err != nil {
		d.violations = append(d.violations,
			fmt.Sprintf("%s %s: %v\n%.2000s", r.Method, r.URL.RequestURI(), err, body))
	}
}

func (d *Description) check(r *http.Request) error {
	route, parameters, err := d.router.FindRoute(r)
	if err != nil {
		return err
	}
	for name := range r.URL.Query() {
		if !describes(route, name) {
			return fmt.Errorf("the query parameter %q is not described", name)
		}
	}
	r.URL.RawQuery = numberItems(r.URL.Query()).Encode()
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:                openapi3filter.NoopAuthenticationFunc,
			SkipSettingDefaults:               true,
			RejectWhenRequestBodyNotSpecified: true,
		},
	})
}

// describes reports whether an operation has a query parameter of that name, or one of style deepObject with
// that property: filter[status] is the property status of filter (OpenAPI 3.0, "Parameter Object").
func describes(route *routers.Route, name string) bool {
	if parameter(route, name) != nil {
		return true
	}
	object, rest, deep := strings.Cut(name, "[")
	property, _, _ := strings.Cut(rest, "]")
	p := parameter(route, object)
	return deep && p != nil && p.Style == openapi3.SerializationDeepObject && p.Schema != nil &&
		p.Schema.Value.Properties[property] != nil
}

// numberItems adds indexes to the items of a list inside an object, as the filter expects them: a[b][]=c
// becomes a[b][0]=c.
func numberItems(query url.Values) url.Values {
	for name, values := range query {
		list, isList := strings.CutSuffix(name, "][]")
		if !isList {
			continue
		}
		delete(query, name)
		for i, v := range values {
			query.Set(fmt.Sprintf("%s][%d]", list, i), v)
		}
	}
	return query
}

func parameter(route *routers.Route, name string) *openapi3.Parameter {
	if p := route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name); p != nil {
		return p
	}
	return route.PathItem.Parameters.GetByInAndName(openapi3.ParameterInQuery, name)
}

// Report fails the test for each violation of the description, or if no request was checked. Without a
// description, it skips the test, which has been right in all else.
func (d *Description) Report(t testing.TB) {
	t.Helper()
	if d.missing != "" {
		t.Skip(d.missing)
		return // a TB of a test of this package records, and goes on
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.requests == 0 {
		t.Error("no request was compared with the description")
	}
	for _, v := range d.violations {
		t.Error("the description forbids", v)
	}
}
