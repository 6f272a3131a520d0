// Package fake is Google Calendar for tests: stateful, strict, and able to fail on demand. It is written from
// Google's documentation (developers.google.com/workspace/calendar/api/v3/reference and .../guides) and
// shares no code with the adapter. It also serves Google's OAuth endpoints, by core/oauth/oauthtest.
//
//	server := fake.New(fake.Options{Accounts: []string{"alice@example.com"}})
//	http.ListenAndServe("127.0.0.1:9101", server)
//
// Each account has a primary calendar, whose id is its address; [Server.AddCalendar] adds others. Events of
// one account do not appear in another: attendees are only notified.
//
// It is stricter than Google where a mistake should fail a test: it refuses unknown properties and
// parameters, and restores a deleted event that is patched, as has been observed at Google.
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
	Accounts []string // addresses of the accounts; nil means alice@example.com
	Zone     string   // of the primary calendars; "" means Europe/London
	Now      func() time.Time

	OAuth oauthtest.Options // the defaults are those of Google

	PageSize   int  // the maximum number of entries in a page; 0 sets no limit
	EmptyPages bool // the first page of each list is empty, and has a token

	MeetPolls int  // how often an event is read before its conference exists
	MeetFails bool // conferences fail in the end
}

// Paths of the endpoints, which Google serves on several hosts.
const (
	APIPath       = "/calendar/v3/"
	AuthorizePath = "/o/oauth2/v2/auth"
	TokenPath     = "/token"
)

// scopePrefix starts the names of the scopes that are checked.
const scopePrefix = "https://www.googleapis.com/auth/"

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	adaptertest.Faults
	OAuth *oauthtest.Server // who may call, and with which scopes

	options Options

	mu       sync.Mutex
	accounts map[string]*account
	pages    map[string]page // by token
	made     int             // counts versions, ids and tokens
}

type account struct {
	email     string
	calendars []*collection
}

// Calendar is an entry of an account's list of calendars.
type Calendar struct {
	ID, Name, Zone string
	Role           string   // freeBusyReader, reader, writerWithoutPrivateAccess, writer or owner (default)
	Hidden         bool     // not in the list unless hidden ones are requested
	Unlisted       bool     // accessible, but never in the list
	Solutions      []string // the kinds of conference it can create; nil means hangoutsMeet
	primary        bool
}

type collection struct {
	Calendar
	events map[string]*event
}

// New returns a server with the given options.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Accounts) == 0 {
		o.Accounts = []string{"alice@example.com"}
	}
	o.Zone = cmp.Or(o.Zone, "Europe/London")
	auth := o.OAuth
	auth.AuthorizePath, auth.TokenPath = AuthorizePath, TokenPath
	if auth.Accounts == nil {
		auth.Accounts = o.Accounts
	}
	if auth.Now == nil {
		auth.Now = o.Now
	}
	if auth.Offline == nil {
		auth.Offline = func(ask url.Values) bool { return ask.Get("access_type") == "offline" }
	}
	s := &Server{
		OAuth: oauthtest.New(auth), options: o, accounts: map[string]*account{}, pages: map[string]page{},
	}
	for _, email := range o.Accounts {
		s.accounts[email] = &account{email: email}
		s.AddCalendar(email, Calendar{ID: email, Name: email, Zone: o.Zone, primary: true})
	}
	return s
}

// AddCalendar adds a calendar to an account.
func (s *Server) AddCalendar(email string, c Calendar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Role, c.Zone = cmp.Or(c.Role, "owner"), cmp.Or(c.Zone, s.options.Zone)
	if c.Solutions == nil {
		c.Solutions = []string{"hangoutsMeet"}
	}
	a := s.accounts[email]
	a.calendars = append(a.calendars, &collection{Calendar: c, events: map[string]*event{}})
}

// Solutions sets the kinds of conference that a calendar can create from now on.
func (s *Server) Solutions(email, calendarID string, kinds ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[email].calendar(calendarID).Solutions = kinds
}

// calendar finds a calendar by its id or alias.
func (a *account) calendar(id string) *collection {
	for _, c := range a.calendars {
		if strings.EqualFold(c.ID, id) || c.primary && id == "primary" {
			return c
		}
	}
	return nil
}

// ServeHTTP serves the API and the OAuth endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.EscapedPath(); {
	case path == AuthorizePath, path == TokenPath:
		s.OAuth.ServeHTTP(w, r)
	case strings.HasPrefix(path, APIPath):
		s.serve(w, r, strings.TrimPrefix(path, APIPath))
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, path string) {
	if s.faulty(w, r) {
		return
	}
	answer, refused := s.answer(r, path)
	if refused == nil && answer != nil {
		answer, refused = selectFields(answer, r.URL.Query().Get("fields"))
	}
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the connection is closed without a response
	}
	switch {
	case refused != nil:
		refused.write(w)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		write(w, http.StatusOK, answer)
	}
}

func write(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

// answer routes a request by its path and handles it. A nil body means status 204.
func (s *Server) answer(r *http.Request, path string) (map[string]any, *refusal) {
	who, ok := s.OAuth.Bearer(r)
	if !ok {
		return nil, invalidCredentials()
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("The query cannot be read.")
	}
	segments := strings.Split(path, "/")
	for i := range segments {
		if segments[i], err = url.PathUnescape(segments[i]); err != nil || segments[i] == "" {
			return nil, notFound()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, known := s.accounts[who.Account]
	if !known {
		return nil, notACalendarUser()
	}
	c := call{Server: s, account: a, scopes: who.Scopes, query: query, request: r}
	switch {
	case len(segments) >= 3 && strings.Join(segments[:3], "/") == "users/me/calendarList":
		return c.calendarList(segments[3:])
	case path == "freeBusy" && r.Method == http.MethodPost:
		return c.freeBusy()
	case len(segments) >= 3 && segments[0] == "calendars" && segments[2] == "events" && len(segments) <= 4:
		return c.events(segments[1], segments[3:])
	}
	return nil, notFound()
}

// call is one request with a valid token. The server is locked while it is handled.
type call struct {
	*Server
	account *account
	scopes  []string
	query   url.Values
	request *http.Request
}

// requireScope refuses a token that has none of the scopes.
func (c call) requireScope(scopes ...string) *refusal {
	for _, name := range scopes {
		if slices.Contains(c.scopes, scopePrefix+name) {
			return nil
		}
	}
	return insufficientPermissions()
}

// everywhere lists the query parameters of every method.
var everywhere = []string{"alt", "fields", "prettyPrint", "quotaUser", "key"}

// takes refuses parameters that the method does not have.
func (c call) takes(names ...string) *refusal {
	for name, values := range c.query {
		if !slices.Contains(names, name) && !slices.Contains(everywhere, name) || len(values) != 1 {
			return invalidParameter(name)
		}
	}
	return nil
}

// next returns a number that it has not returned before.
func (s *Server) next() int {
	s.made++
	return s.made
}
