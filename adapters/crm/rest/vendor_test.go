package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/adapters/crm/rest"
	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
)

// system is a ticket system as its vendor documents it: a table of requests over records in memory. A request
// that the table does not have, or that has more than it says, is a violation of the documentation.
type system struct {
	name        string // in the catalogue
	settings    object // without base_url
	credentials map[string]string
	refusal     reply // of wrong credentials
	routes      []route
	seed        func(*vendor) // records that are there from the beginning

	header        http.Header // how requests are authorised, once it is known
	ticketKind    string      // of the records that count as tickets
	harness       crmtest.Harness
	comment       func(*vendor, string, crmtest.Comment) // nil: the system shows none
	move          func(v *vendor, id, status string)     // nil: nothing changes a status
	labels        [3]string                              // resolved, closed, reopened
	addContact    func(*vendor, crmtest.NewContact) string
	otherContacts bool // the system shows less of a contact than the suite asks for; see findsContacts
	findsPhones   bool // with otherContacts: it finds telephone numbers
}

// route is one documented request and what it does.
type route struct {
	method, path string // the path has {names}
	query        string // the documented parameters that may be sent, separated by spaces
	body         string // the documented members of the body, as a.b; "!" marks a required one
	headers      string // headers that must be sent
	rare         bool   // the contract's suite has nothing that needs it, but another test
	do           func(v *vendor, q ask) (int, any)
}

// ask is a request that the table has.
type ask struct {
	vars  map[string]string
	query url.Values
	body  object
}

func (q ask) get(path string) any { return at(q.body, path) }

func (q ask) text(path string) string {
	text, _ := q.get(path).(string)
	return text
}

// at returns a member of a value by its path, or nil.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch has := v.(type) {
		case map[string]any:
			v = has[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(has) {
				return nil
			}
			v = has[i]
		default:
			return nil
		}
	}
	return v
}

// vendor is a running system.
type vendor struct {
	*system
	authorized func(*http.Request) bool

	mu         sync.Mutex
	records    map[string][]object // by kind
	last       int                 // id
	violations []string
	used       *sync.Map // the routes that were requested
}

func (v *vendor) violate(w http.ResponseWriter, r *http.Request, format string, args ...any) {
	v.violations = append(v.violations, fmt.Sprintf("%s %s: %s", r.Method, r.URL.RequestURI(),
		fmt.Sprintf(format, args...)))
	http.Error(w, `{"error":"undocumented"}`, http.StatusBadRequest)
}

// ServeHTTP implements http.Handler.
func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.authorized(r) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(v.refusal.status)
		fmt.Fprint(w, v.refusal.body)
		return
	}
	for _, route := range v.routes {
		vars, fits := route.match(r)
		if !fits {
			continue
		}
		q := ask{vars: vars, query: r.URL.Query()}
		if problem := route.check(r, &q); problem != "" {
			v.violate(w, r, "%s", problem)
			return
		}
		v.used.Store(route.method+" "+route.path, true)
		status, answer := route.do(v, q)
		text, isText := answer.(string)
		if isText {
			w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		} else {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
		}
		w.WriteHeader(status)
		switch {
		case status == http.StatusNoContent:
		case isText:
			fmt.Fprint(w, text)
		default:
			_ = json.NewEncoder(w).Encode(answer)
		}
		return
	}
	v.violate(w, r, "is not documented")
}

var variable = regexp.MustCompile(`\\\{([a-z]+)\\\}`)

func (route route) match(r *http.Request) (map[string]string, bool) {
	if r.Method != route.method {
		return nil, false
	}
	pattern := variable.ReplaceAllString(regexp.QuoteMeta(route.path), `(?P<$1>[^/]+)`)
	re := regexp.MustCompile(`\A` + pattern + `\z`)
	found := re.FindStringSubmatch(r.URL.EscapedPath())
	if found == nil {
		return nil, false
	}
	vars := map[string]string{}
	for i, name := range re.SubexpNames() {
		if name != "" {
			vars[name], _ = url.PathUnescape(found[i])
		}
	}
	return vars, true
}

// check decodes the body and returns what of the request is not documented.
func (route route) check(r *http.Request, q *ask) string {
	for name := range q.query {
		if !slices.Contains(strings.Fields(route.query), name) {
			return fmt.Sprintf("the parameter %q is not documented", name)
		}
	}
	for name := range strings.FieldsSeq(route.headers) {
		if r.Header.Get(name) == "" {
			return fmt.Sprintf("the header %q is required", name)
		}
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	if route.body == "" {
		if len(raw) > 0 {
			return "a body is not documented"
		}
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&q.body); err != nil || r.Header.Get("Content-Type") != "application/json" {
		return fmt.Sprintf("the body is no JSON object: %v", err)
	}
	var known []string
	for member := range strings.FieldsSeq(route.body) {
		name, required := strings.CutSuffix(member, "!")
		known = append(known, name)
		if value := at(q.body, name); required && (value == nil || value == "") {
			return fmt.Sprintf("the member %q is required", name)
		}
	}
	for _, name := range leaves("", q.body) {
		if !slices.ContainsFunc(known, func(k string) bool { return k == name || strings.HasPrefix(name, k+".") && strings.HasSuffix(k, "*") }) &&
			!slices.Contains(known, index.ReplaceAllString(name, "0")) {
			return fmt.Sprintf("the member %q is not documented", name)
		}
	}
	return ""
}

var index = regexp.MustCompile(`\b[1-9][0-9]*\b`)

// leaves returns the paths of the values in a body that have no parts.
func leaves(prefix string, v any) []string {
	var paths []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			paths = append(paths, leaves(prefix+"."+name, v[name])...)
		}
	case []any:
		for i, item := range v {
			paths = append(paths, leaves(fmt.Sprintf("%s.%d", prefix, i), item)...)
		}
	default:
		paths = append(paths, strings.TrimPrefix(prefix, "."))
	}
	return paths
}

// add keeps a record, with the next number as its "n".
func (v *vendor) add(kind string, record object) object {
	v.last++
	record["n"] = v.last
	record["created"], record["updated"] = time.Now().UTC(), time.Now().UTC()
	v.records[kind] = append(v.records[kind], record)
	return record
}

// one returns the record whose member has the value as text, or nil.
func (v *vendor) one(kind, member, value string) object {
	i := slices.IndexFunc(v.records[kind], func(o object) bool { return fmt.Sprint(o[member]) == value })
	if i < 0 {
		return nil
	}
	return v.records[kind][i]
}

// where returns the records that fit, the last changed first.
func (v *vendor) where(kind string, fits func(object) bool) []object {
	var found []object
	for _, o := range v.records[kind] {
		if fits(o) {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b object) int {
		return b["updated"].(time.Time).Compare(a["updated"].(time.Time))
	})
	return found
}

func shown(list []object, show func(object) any) []any {
	all := []any{}
	for _, o := range list {
		all = append(all, show(o))
	}
	return all
}

// asHTML returns a comment as HTML.
func asHTML(c crmtest.Comment) string {
	if c.HTML {
		return c.Body
	}
	return html.EscapeString(c.Body)
}

// describedSystem returns the adapter of a system.
func describedSystem(t testing.TB, list []adapter.Adapter, name string) adapter.Adapter {
	t.Helper()
	i := slices.IndexFunc(list, func(a adapter.Adapter) bool { return a.Name == "rest/"+name })
	if i < 0 {
		t.Fatalf("the catalogue has no %s", name)
	}
	return list[i]
}

// headersOf returns how the adapter's connections authorise requests.
func headersOf(t testing.TB, a adapter.Adapter, credentials map[string]string) http.Header {
	t.Helper()
	r := &http.Request{Header: http.Header{}}
	switch auth := a.Auth; auth.Scheme {
	case adapter.Basic:
		r.SetBasicAuth(credentials[auth.Username], credentials[auth.Password])
	case adapter.Header:
		r.Header.Set(auth.HeaderName, auth.Prefix+credentials[auth.Password])
	case adapter.OAuth2:
		prefix := auth.Prefix
		if prefix == "" {
			prefix = "Bearer "
		}
		r.Header.Set("Authorization", prefix+"an-access-token")
	default:
		t.Fatalf("%s authorises by %q", a.Name, auth.Scheme)
	}
	if a.Auth.SecondHeader != "" {
		r.Header.Set(a.Auth.SecondHeader, credentials[a.Auth.Second])
	}
	return r.Header
}

// vendorServer is a vendor behind the gate of the tests.
type vendorServer struct {
	*testServer
	v *vendor
}

// Tickets implements crmtest.Counter.
func (s vendorServer) Tickets(context.Context) (int, error) {
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	return len(s.v.records[s.v.ticketKind]), nil
}

type commenter struct{ v *vendor }

// Comment implements crmtest.Commenter.
func (c commenter) Comment(_ context.Context, id string, said crmtest.Comment) error {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	c.v.comment(c.v, id, said)
	return nil
}

type mover struct{ v *vendor }

// Move implements crmtest.Mover.
func (m mover) Move(_ context.Context, id, status string) error {
	m.v.mu.Lock()
	defer m.v.mu.Unlock()
	m.v.move(m.v, id, status)
	return nil
}

// Labels implements crmtest.Mover.
func (m mover) Labels() (resolved, closed, reopened string) {
	return m.v.labels[0], m.v.labels[1], m.v.labels[2]
}

type keeper struct{ v *vendor }

// AddContact implements crmtest.ContactKeeper.
func (k keeper) AddContact(_ context.Context, c crmtest.NewContact) (string, error) {
	k.v.mu.Lock()
	defer k.v.mu.Unlock()
	return k.v.addContact(k.v, c), nil
}

// provider returns what the system's people can do, as far as the system shows it.
func (s vendorServer) provider() any {
	c, m, k := s.v.comment != nil, s.v.move != nil, s.v.addContact != nil && !s.v.otherContacts
	switch {
	case c && m && k:
		return struct {
			vendorServer
			commenter
			mover
			keeper
		}{s, commenter{s.v}, mover{s.v}, keeper{s.v}}
	case c && m:
		return struct {
			vendorServer
			commenter
			mover
		}{s, commenter{s.v}, mover{s.v}}
	case m && k:
		return struct {
			vendorServer
			mover
			keeper
		}{s, mover{s.v}, keeper{s.v}}
	}
	return s
}

// run starts a system and returns the values of a connection to it. list is the catalogue.
func (s *system) run(
	t testing.TB, list []adapter.Adapter, used *sync.Map,
) (vendorServer, adapter.Adapter, adapter.Values) {
	t.Helper()
	v := &vendor{system: s, records: map[string][]object{}, used: used}
	if s.seed != nil {
		s.seed(v)
	}
	a := describedSystem(t, list, s.name)
	settings := maps.Clone(s.settings)
	if settings == nil {
		settings = object{}
	}
	values := adapter.Values{Settings: settings, Credentials: s.credentials}
	server := vendorServer{serve(t, v, nil), v}
	settings["base_url"] = server.url
	if s.header == nil { // compiling a description takes a while, and the address does not matter here
		fit, err := a.With(values)
		if err != nil {
			t.Fatalf("%s: %v", s.name, wrong(err))
		}
		s.header = headersOf(t, fit, s.credentials)
	}
	header := s.header
	server.authorize = func(r *http.Request) { maps.Copy(r.Header, header) }
	v.authorized = func(r *http.Request) bool {
		for name := range header {
			if r.Header.Get(name) != header.Get(name) {
				return false
			}
		}
		return true
	}
	t.Cleanup(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, violation := range v.violations {
			t.Errorf("the documentation of %s forbids %s", s.name, violation)
		}
	})
	return server, a, values
}

func (s *system) open(t testing.TB) (crm.Driver, vendorServer) {
	t.Helper()
	server, a, values := s.run(t, rest.Catalogue(), &sync.Map{})
	d, err := server.openBy(t, a, withheld(values))
	if err != nil {
		t.Fatal(wrong(err))
	}
	return d, server
}

// withheld returns values as an adapter gets them: without the secrets.
func withheld(v adapter.Values) adapter.Values {
	hidden := map[string]string{}
	for name := range v.Credentials {
		hidden[name] = "withheld"
	}
	return adapter.Values{Settings: v.Settings, Credentials: hidden}
}
