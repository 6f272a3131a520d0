// Package fake is a fake Zendesk Support for tests: stateful, strict, and able to fail on demand. It is
// written from Zendesk's documentation (developer.zendesk.com/api-reference/ticketing) and shares no code
// with the adapter. It also serves the account's OAuth endpoints, through core/oauth/oauthtest.
//
//	server := fake.New(fake.Options{})
//	http.ListenAndServe("127.0.0.1:9111", server)
//
// It has one account with two agents, one organization and one customer. It is stricter than Zendesk where a
// mistake should fail a test: it refuses an unknown property or parameter.
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
	"frontdesk/core/oauth/oauthtest"
)

// Options configure the account.
type Options struct {
	Email       string   // of the agent who has the API token and consents; "" is agent@example.com
	APIToken    string   // "" is none
	AccessToken string   // an OAuth token that does not expire; "" is none
	Scopes      []string // of the AccessToken; nil is read and write
	OAuth       oauthtest.Options
	Now         func() time.Time

	SystemStatuses bool          // the account has no custom statuses
	NoStatuses     bool          // the list of custom statuses does not exist
	ListLag        time.Duration // how old a ticket is before it is listed
	PageSize       int           // the most comments or a user's tickets in a page; 0 is as many as requested
	NeedsAssignee  bool          // a ticket without an assignee cannot be solved
	Fields         []Field       // custom fields

	Role        string // of the agent; "" is agent
	RoleType    int    // of the agent, such as 1 of a light agent
	Restriction string // on the tickets that the agent sees; "" is none
}

// Field is a custom field.
type Field struct {
	ID          int64
	Type, Title string // such as text, Room
	Options     []string
	Inactive    bool
	Required    bool // to solve a ticket
	Always      bool // a condition of the account's forms requires it of every ticket
}

// Paths of the server.
const (
	APIPath       = "/api/v2"
	AuthorizePath = "/oauth/authorizations/new"
	TokenPath     = "/oauth/tokens"
)

// Ids of the account's records.
const (
	Agent        = 20978392000101
	Colleague    = 20978392000202
	Customer     = 20978392000303
	Organization = 50997400000401
	Group        = 360000000101
	Brand        = 360000000201
	Form         = 360000000301
	other        = 50997400000402 // an organization that the customer is not in
)

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	adaptertest.Faults
	OAuth *oauthtest.Server

	options Options

	mu       sync.Mutex
	statuses []status
	tickets  []*ticket
	users    []user
	orgs     []organization
	keys     map[string]*idempotent
	made     int64
	revoked  bool
}

// idempotent is the outcome of a request with an Idempotency-Key.
type idempotent struct {
	request string
	answer  map[string]any
	at      time.Time
}

// keyLife is how long an Idempotency-Key is remembered.
const keyLife = 2 * time.Hour

// New returns a new server.
func New(o Options) *Server {
	o.Email = cmp.Or(o.Email, "agent@example.com")
	if o.Now == nil {
		o.Now = time.Now
	}
	auth := o.OAuth
	auth.AuthorizePath, auth.TokenPath, auth.Rotation, auth.Accounts, auth.Now = AuthorizePath, TokenPath,
		oauthtest.SingleUse, []string{o.Email}, o.Now
	auth.Asked = true
	return &Server{
		OAuth: oauthtest.New(auth), options: o, statuses: slices.Clone(statuses), keys: map[string]*idempotent{},
		users: []user{
			{id: Agent, name: "Johnny Agent", role: "agent", emails: []string{o.Email}},
			{id: Colleague, name: "Jenny Colleague", role: "agent"},
			{id: Customer, name: "Carla Customer", role: endUser, org: Organization},
		},
		orgs: []organization{{Organization, "Acme"}, {other, "Other"}},
	}
}

// ServeHTTP serves the API and the OAuth endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.EscapedPath(); {
	case path == AuthorizePath, path == TokenPath:
		s.OAuth.ServeHTTP(w, r)
	case strings.HasPrefix(path, APIPath+"/"):
		s.serve(w, r, strings.TrimPrefix(path, APIPath+"/"))
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, path string) {
	if s.faulty(w, r) {
		return
	}
	status, answer, refused := s.answer(w, r, path)
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the connection is closed without a response
	}
	if refused != nil {
		refused.write(w)
		return
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

// answer routes a request and returns its response.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, path string) (int, map[string]any, *refusal) {
	scopes, known := s.who(r)
	if !known {
		return 0, nil, unauthenticated()
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, nil, &refusal{
			status: 400, body: map[string]any{"error": "InvalidQuery", "description": "The query cannot be read."},
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, basic := r.BasicAuth()
	c := call{Server: s, query: query, scopes: scopes, basic: basic}
	route := r.Method + " " + path
	if id, part, isTicket := ticketPath(path); isTicket {
		route = r.Method + " ticket" + part
		c.id = id
	}
	switch route {
	case "GET users/me":
		return c.reading(c.me, "users")
	case "GET custom_statuses":
		return c.reading(c.customStatuses, "")
	case "GET ticket_fields":
		return c.reading(c.ticketFields, "")
	case "GET oauth/tokens/current":
		return c.reading(c.token, "")
	case "GET users/search":
		return c.reading(c.searchUsers, "users", "query", "page", "per_page")
	case "GET users/show_many":
		return c.reading(c.showUsers, "users", "ids", "include")
	case "GET tickets":
		return c.reading(c.list, "tickets", "external_id")
	case "GET ticket":
		return c.reading(c.show, "tickets")
	case "GET ticket/comments":
		return c.reading(c.comments, "tickets", "sort", "page[size]", "page[after]")
	case "GET ticket/metrics":
		return c.reading(c.metrics, "tickets")
	case "POST tickets":
		if refused := c.requireScope("tickets", "write"); refused != nil {
			return 0, nil, refused
		}
		return c.create(w, r)
	}
	if id, is := requestedPath(path); is && r.Method == http.MethodGet {
		c.id = id
		return c.reading(c.requested, "tickets", "sort_by", "sort_order", "page", "per_page")
	}
	if r.Method == http.MethodGet && strings.Count(path, "/") == 1 {
		return c.reading(func() (map[string]any, *refusal) { return c.record(path) }, "")
	}
	return 0, nil, noEndpoint()
}

// record responds with a record that tickets refer to (developer.zendesk.com/api-reference/ticketing: "Show
// Group", "Show a Brand", "Show Ticket Form", "Show Organization", "Show User").
func (c call) record(path string) (map[string]any, *refusal) {
	kind, id, _ := strings.Cut(path, "/")
	var users, orgs []int64
	for _, u := range c.users {
		users = append(users, u.id)
	}
	for _, o := range c.orgs {
		orgs = append(orgs, o.id)
	}
	known := map[string]map[string][]int64{
		"groups": {"group": {Group}}, "brands": {"brand": {Brand}}, "ticket_forms": {"ticket_form": {Form}},
		"organizations": {"organization": orgs}, "users": {"user": users},
	}[kind]
	if known == nil {
		return nil, noEndpoint()
	}
	for name, ids := range known {
		for _, n := range ids {
			if strconv.FormatInt(n, 10) != id {
				continue
			}
			u, _ := c.user(n)
			return map[string]any{name: map[string]any{"id": n, "name": "One of the account's", "role": u.role}}, nil
		}
	}
	return nil, notFound()
}

func noEndpoint() *refusal {
	return &refusal{status: 404, body: map[string]any{"error": "InvalidEndpoint", "description": "Not found"}}
}

// token responds with the request's OAuth token
// (developer.zendesk.com/api-reference/ticketing/oauth/oauth_tokens, "Show Current Token"). It refuses an API
// token.
func (c call) token() (map[string]any, *refusal) {
	if c.basic {
		return nil, forbidden()
	}
	return map[string]any{"token": map[string]any{"id": 1, "user_id": Agent, "client_id": 2,
		"token": "0123456789", "scopes": c.scopes}}, nil
}

// ticketPath splits a path of the form tickets/ID into the id and the rest.
func ticketPath(path string) (id int64, part string, is bool) {
	rest, is := strings.CutPrefix(path, "tickets/")
	if !is {
		return 0, "", false
	}
	digits, part, deeper := strings.Cut(rest, "/")
	if deeper {
		part = "/" + part
	}
	if err := json.Unmarshal([]byte(digits), &id); err != nil {
		id = -1
	}
	return id, part, true
}

// who returns the scopes of the request's credentials. An API token has every scope.
func (s *Server) who(r *http.Request) (scopes []string, known bool) {
	all := []string{"read", "write"}
	granted := s.options.Scopes
	if granted == nil {
		granted = all
	}
	s.mu.Lock()
	revoked := s.revoked
	s.mu.Unlock()
	if user, token, basic := r.BasicAuth(); basic {
		return all, !revoked && s.options.APIToken != "" && user == s.options.Email+"/token" &&
			token == s.options.APIToken
	}
	if r.Header.Get("Authorization") == "Bearer "+s.options.AccessToken && s.options.AccessToken != "" {
		return granted, !revoked
	}
	token, known := s.OAuth.Bearer(r)
	return token.Scopes, known
}

// call is one authenticated request. The server is locked meanwhile.
type call struct {
	*Server
	query  url.Values
	scopes []string
	basic  bool // by an API token
	id     int64
}

// requireScope refuses a token that has neither the scope of the resource nor that of all resources. The
// resource "" has no scope of its own.
func (c call) requireScope(resource, action string) *refusal {
	if slices.Contains(c.scopes, action) || resource != "" && slices.Contains(c.scopes, resource+":"+action) {
		return nil
	}
	return forbidden()
}

func (c call) reading(
	read func() (map[string]any, *refusal), resource string, parameters ...string,
) (int, map[string]any, *refusal) {
	if refused := c.requireScope(resource, "read"); refused != nil {
		return 0, nil, refused
	}
	for name, values := range c.query {
		if !slices.Contains(parameters, name) || len(values) != 1 {
			return 0, nil, &refusal{
				status: 400, body: map[string]any{"error": "InvalidParameter", "description": name},
			}
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

func (c call) me() (map[string]any, *refusal) {
	return map[string]any{"user": map[string]any{
		"id": Agent, "name": "Johnny Agent", "email": c.options.Email, "role": cmp.Or(c.options.Role, "agent"),
		"role_type": c.options.RoleType, "ticket_restriction": orNull(c.options.Restriction),
		"authenticity_token": "a-token-for-browsers",
	}}, nil
}

// orNull returns a value as JSON shows it: null for one that there is not.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}
