// Package fake is a fake Freshdesk for tests: stateful, strict, and able to fail on demand. It is written
// from Freshdesk's documentation (developers.freshdesk.com/api) and shares no code with the adapter.
//
//	server := fake.New(fake.Options{APIKey: "key"})
//	http.ListenAndServe("127.0.0.1:9112", server)
//
// It has one account with two agents, one company and one contact. It is stricter than Freshdesk where a
// mistake should fail a test: it refuses an unknown parameter and any password other than X.
package fake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"frontdesk/core/adapter/adaptertest"
)

// Options configure the account.
type Options struct {
	APIKey    string
	Email     string // of the agent that the key belongs to; "" is agent@example.com
	AgentType string // "" is support_agent
	NoView    bool   // the agent may not view contacts
	Scope     int    // which tickets the agent sees: 1 all, 2 the groups', 3 those assigned; 0 is 1
	Now       func() time.Time

	Fields []Field // custom fields
	// Fields of Freshdesk's own, such as "type", that agents must fill in beside the usual ones.
	Require []string
}

// Field is a custom field.
type Field struct {
	Name, Type string // such as cf_room, custom_text
	Required   bool
	Choices    []string // of a dropdown
}

// APIPath is the path of the API.
const APIPath = "/api/v2"

// Ids of the account's records.
const (
	Agent     = 501001202520
	Colleague = 501001202521
	Contact   = 501001204168
	Company   = 501000456789
	Group     = 501000111222
)

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	adaptertest.Faults
	options Options

	mu        sync.Mutex
	tickets   []*ticket
	contacts  []contact
	companies map[int64]string // the names
	made      int64
	revoked   bool
}

// New returns a new server.
func New(o Options) *Server {
	o.Email = cmp.Or(o.Email, "agent@example.com")
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{
		options: o, contacts: []contact{{id: Contact, name: "Carla Caller", email: "caller@example.com"}},
		companies: map[int64]string{Company: "Acme"},
	}
}

// ServeHTTP serves the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, api := strings.CutPrefix(r.URL.EscapedPath(), APIPath+"/")
	if !api {
		http.NotFound(w, r)
		return
	}
	if s.faulty(w, r) {
		return
	}
	status, answer, refused := s.answer(r, path)
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the connection is closed without a response
	}
	if refused != nil {
		refused.write(w)
		return
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Ratelimit-Total", "400")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

// answer routes a request and returns its response.
func (s *Server) answer(r *http.Request, path string) (int, any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, password, basic := r.BasicAuth(); !basic || key != s.options.APIKey || key == "" ||
		password != "X" || s.revoked {
		return 0, nil, unauthenticated()
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, nil, invalid("query", "invalid_value")
	}
	c := call{Server: s, query: query}
	route := r.Method + " " + path
	if rest, is := strings.CutPrefix(path, "tickets/"); is {
		rest, c.archived = strings.CutPrefix(rest, "archived/")
		digits, part, _ := strings.Cut(rest, "/")
		if c.id, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return 0, nil, notFound()
		}
		route = r.Method + " ticket " + part
	}
	if id, is := strings.CutPrefix(path, "companies/"); is && r.Method == http.MethodGet {
		return c.reading(func() (any, *refusal) { return c.company(id) })
	}
	switch route {
	case "GET agents/me":
		return c.reading(c.me)
	case "GET ticket_fields":
		return c.reading(c.fields, "type")
	case "GET ticket ":
		return c.reading(c.show, "include")
	case "GET ticket conversations":
		return c.reading(c.conversations, "page", "per_page")
	case "GET contacts":
		return c.reading(c.listContacts, "email", "phone", "mobile", "page", "per_page")
	case "GET search/contacts":
		return c.reading(c.searchContacts, "query", "page")
	case "GET tickets":
		return c.reading(c.list, "filter", "requester_id", "updated_since", "order_by", "order_type", "include", "page",
			"per_page")
	case "POST tickets":
		return c.create(r)
	}
	return 0, nil, notFound()
}

// call is one authenticated request. The server is locked meanwhile.
type call struct {
	*Server
	query    url.Values
	id       int64
	archived bool // the path is one of the archive
}

func (c call) reading(read func() (any, *refusal), parameters ...string) (int, any, *refusal) {
	for name, values := range c.query {
		if !slices.Contains(parameters, name) || len(values) != 1 {
			return 0, nil, invalid(name, "invalid_field")
		}
	}
	answer, refused := read()
	return http.StatusOK, answer, refused
}

// next returns a number that was never returned before.
func (s *Server) next() int64 {
	s.made++
	return s.made
}

func (c call) me() (any, *refusal) {
	return map[string]any{
		"id": Agent, "available": true, "type": cmp.Or(c.options.AgentType, "support_agent"),
		"ticket_scope": cmp.Or(c.options.Scope, 1),
		"contact":      map[string]any{"name": "Rachel Agent", "email": c.options.Email, "active": true},
	}, nil
}
