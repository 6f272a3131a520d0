// Package fake is a fake of HubSpot's API for tickets and their contacts, for tests: stateful, strict, and
// able to fail on demand. It is written from HubSpot's documentation
// (developers.hubspot.com/docs/api-reference/latest and .../error-handling) and from answers that others have
// recorded, and shares no code with the adapter. It also serves HubSpot's OAuth endpoints, through
// core/oauth/oauthtest.
//
//	server := fake.New(fake.Options{Tokens: map[string][]string{"pat-eu1-secret": nil}})
//	http.ListenAndServe("127.0.0.1:9104", server)
//
// The account has two ticket pipelines, the owners 6166860 and 6166861, the contacts 101 to 103 and the
// companies 202 and 203. The fake is stricter than HubSpot where a mistake should fail a test: it refuses an
// unknown parameter or member of a body.
package fake

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// Options configure the server.
type Options struct {
	Version string   // of the API, as in URLs; "" is 2026-09
	Zone    string   // of the account; "" is US/Eastern
	Unique  []string // custom ticket properties with unique values
	Plain   []string // custom ticket properties without
	Require []string // properties that a rule of the account requires
	Fields  []Field  // more custom properties
	NoPhone bool     // the account does not offer PHONE as a source

	Tokens map[string][]string // of private apps, with their scopes; nil scopes are all
	OAuth  oauthtest.Options   // unset values are as at HubSpot

	PerTenSeconds, PerDay int           // calls that are allowed; 0 is any number
	SearchesPerSecond     int           // that are allowed, apart from the other limits; 0 is HubSpot's 5
	SearchLag             time.Duration // until a search finds a new record
	Now                   func() time.Time
}

// Field is a custom property of tickets.
type Field struct {
	Name, Type, FieldType string // such as region, enumeration, select
	Options               []string
	ReadOnly              bool
}

// Paths of the server. HubSpot serves them on two hosts.
const (
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/2026-09/token"
)

// PortalID is the account's id.
const PortalID = 2519445

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	adaptertest.Faults
	OAuth *oauthtest.Server // issues the access tokens, with their scopes

	options Options
	zone    *time.Location

	mu        sync.Mutex
	pipelines []pipeline
	contacts  []*contact
	companies []company
	tickets   []*ticket
	threads   []*thread
	made      int64     // counts ids
	written   time.Time // the last entry of a conversation
	revoked   bool
	asked     []string    // method and path of each call
	recent    []time.Time // calls of the last ten seconds
	daily     map[string]int
	searches  []time.Time
	faults    faults
}

// New returns a new server.
func New(o Options) *Server {
	o.Version, o.Zone = cmp.Or(o.Version, "2026-09"), cmp.Or(o.Zone, "US/Eastern")
	o.SearchesPerSecond = cmp.Or(o.SearchesPerSecond, 5)
	if o.Now == nil {
		o.Now = time.Now
	}
	zone, err := time.LoadLocation(o.Zone)
	if err != nil {
		panic(err)
	}
	auth := o.OAuth
	auth.AuthorizePath, auth.TokenPath = AuthorizePath, TokenPath
	auth.Lifetime = cmp.Or(auth.Lifetime, 30*time.Minute)
	if auth.Accounts == nil {
		auth.Accounts = []string{"admin@example.com"}
	}
	if auth.Now == nil {
		auth.Now = o.Now
	}
	return &Server{
		OAuth: oauthtest.New(auth), options: o, zone: zone, made: 409229446354,
		pipelines: initialPipelines(), contacts: initialContacts(), companies: initialCompanies(),
		daily: map[string]int{},
	}
}

// ServeHTTP serves the API and the OAuth endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == AuthorizePath || r.URL.Path == TokenPath {
		// HubSpot grants what optional_scope requests if the account has it, which this one does.
		query := r.URL.Query()
		if optional := query.Get("optional_scope"); optional != "" {
			query.Set("scope", query.Get("scope")+" "+optional)
			query.Del("optional_scope")
			r.URL.RawQuery = query.Encode()
		}
		s.OAuth.ServeHTTP(w, r)
		return
	}
	if s.faulty(w, r) {
		return
	}
	answer, refused := s.answer(w, r)
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the connection is closed without a response
	}
	if refused != nil {
		refused.write(w)
		return
	}
	write(w, statusOf(r, answer), answer)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

// call is one authenticated request. The server is locked meanwhile.
type call struct {
	*Server
	scopes  []string // nil is all
	query   url.Values
	request *http.Request
}

// answer authenticates and routes a request and returns its response.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scopes, private, ok := s.who(r)
	if !ok {
		return nil, invalidAuthentication()
	}
	if limited := s.meter(w, r, private); limited != nil {
		return nil, limited
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, validation("The query cannot be read.")
	}
	segments := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i := range segments {
		if segments[i], err = url.PathUnescape(segments[i]); err != nil {
			return nil, noSuchPath()
		}
	}
	c := call{Server: s, scopes: scopes, query: query, request: r}
	return c.route(r.Method, segments)
}

// route matches a path: VERSION stands for the version that is served, and * for any segment.
func (c call) route(method string, path []string) (any, *refusal) {
	for _, known := range []struct {
		method, path string
		serve        func(c call, parts []string) (any, *refusal)
	}{
		{http.MethodGet, "account-info/VERSION/details", call.account},
		{http.MethodGet, "crm/pipelines/VERSION/tickets", call.listPipelines},
		{http.MethodGet, "crm/properties/VERSION/tickets/*", call.property},
		{http.MethodGet, "crm/owners/VERSION/*", call.owner},
		{http.MethodGet, "crm/objects/VERSION/tickets", call.list},
		{http.MethodPost, "crm/objects/VERSION/tickets", call.create},
		{http.MethodPost, "crm/objects/VERSION/tickets/search", call.searchTickets},
		{http.MethodPost, "crm/objects/VERSION/tickets/batch/read", call.readTickets},
		{http.MethodPost, "crm/objects/VERSION/contacts/search", call.searchContacts},
		{http.MethodPost, "crm/objects/VERSION/companies/batch/read", call.readCompanies},
		{http.MethodPost, "crm/associations/VERSION/contacts/tickets/batch/read", call.ticketsOf},
		{http.MethodGet, "crm/objects/VERSION/tickets/*", call.read},
		{http.MethodPatch, "crm/objects/VERSION/tickets/*", call.update},
		{http.MethodGet, "conversations/conversations/VERSION/threads", call.listThreads},
		{http.MethodGet, "conversations/conversations/VERSION/threads/*/messages", call.listMessages},
	} {
		want := strings.Split(strings.Replace(known.path, "VERSION", c.options.Version, 1), "/")
		if method != known.method || len(want) != len(path) {
			continue
		}
		var parts []string
		if !slices.EqualFunc(want, path, func(w, p string) bool {
			if w == "*" {
				parts = append(parts, p)
				return p != ""
			}
			return w == p
		}) {
			continue
		}
		return known.serve(c, parts)
	}
	return nil, noSuchPath()
}

// who returns the scopes of the request's token, and whether it is that of a private app.
func (s *Server) who(r *http.Request) (scopes []string, private, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if own, known := s.options.Tokens[token]; known && strings.EqualFold(scheme, "Bearer") && !s.revoked {
		return own, true, true
	}
	if t, known := s.OAuth.Bearer(r); known {
		return append([]string{}, t.Scopes...), false, true
	}
	return nil, false, false
}

// needs refuses a token that lacks one of the scopes.
func (c call) needs(scopes ...string) *refusal {
	for _, name := range scopes {
		if c.scopes != nil && !slices.Contains(c.scopes, name) {
			return missingScopes(name)
		}
	}
	return nil
}

// The scopes that allow reading and creating tickets. The scope tickets allows both.
var (
	readTickets  = []string{"tickets", "crm.objects.tickets.read"}
	writeTickets = []string{"tickets", "crm.objects.tickets.write"}
)

// needsOne refuses a token that has none of the scopes.
func (c call) needsOne(scopes []string) *refusal {
	if c.scopes != nil && !slices.ContainsFunc(scopes,
		func(name string) bool { return slices.Contains(c.scopes, name) }) {
		return missingScopes(scopes...)
	}
	return nil
}

// takes refuses parameters that are not among names or are repeated.
func (c call) takes(names ...string) *refusal {
	for name, values := range c.query {
		if !slices.Contains(names, name) || len(values) != 1 {
			return validation("Unknown or repeated parameter " + name)
		}
	}
	return nil
}

// values returns the values of a parameter that holds several.
func (c call) values(name string) []string {
	return strings.FieldsFunc(c.query.Get(name), func(r rune) bool { return r == ',' })
}

func (c call) account([]string) (any, *refusal) {
	if refused := c.takes(); refused != nil {
		return nil, refused
	}
	return map[string]any{
		"portalId": PortalID, "accountType": "STANDARD", "timeZone": c.options.Zone, "companyCurrency": "USD",
		"additionalCurrencies": []string{}, "utcOffset": "-05:00", "utcOffsetMilliseconds": -18000000,
		"uiDomain": "app.hubspot.com", "dataHostingLocation": "na1",
	}, nil
}

// next returns an id that was never returned before.
func (s *Server) next() int64 {
	s.made++
	return s.made
}
