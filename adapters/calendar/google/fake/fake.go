// Package fake is Google Calendar for tests: stateful, strict, and able to fail on demand. It is written from
// Google's documentation (developers.google.com/workspace/calendar/api/v3/reference and .../guides) and
// shares no code with the adapter. Beside the API it serves Google's OAuth endpoints, by
// core/oauth/oauthtest.
//
//	server := fake.New(fake.Options{Accounts: []string{"alice@example.com"}})
//	http.ListenAndServe("127.0.0.1:9101", server)
//
// Each account has a primary calendar, whose id is its address; [Server.AddCalendar] adds others. What
// happens in one account does not show in another's: an attendee is somebody to notify, and no more.
//
// It is stricter than Google where a mistake should fail a test: a property or parameter that is not known is
// refused, and a deleted event that is patched comes back to life, as some have seen it do.
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

// Options say how the server is.
type Options struct {
	Accounts []string // who has calendars; nil is alice@example.com
	Zone     string   // of the primary calendars; "" is Europe/London
	Now      func() time.Time

	OAuth oauthtest.Options // what is not set is as at Google

	PageSize   int  // so many entries in a page at most; 0 is as many as are asked for
	EmptyPages bool // the first page of each list is empty, and has a token

	MeetPolls int  // how often an event is read before its conference is there
	MeetFails bool // conferences fail in the end
}

// The addresses, which at Google lie on several hosts.
const (
	APIPath       = "/calendar/v3/"
	AuthorizePath = "/o/oauth2/v2/auth"
	TokenPath     = "/token"
)

// The scopes that are looked at.
const scopePrefix = "https://www.googleapis.com/auth/"

// Server is an http.Handler; safe for concurrent use.
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
	Role           string   // freeBusyReader, reader, writerWithoutPrivateAccess, writer or owner; "" is owner
	Hidden         bool     // from the list, unless hidden ones are asked for
	Unlisted       bool     // can be reached, and is not in the list at all
	Solutions      []string // the kinds of conference it can make; nil is hangoutsMeet
	primary        bool
}

type collection struct {
	Calendar
	events map[string]*event
}

// New makes a server.
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

// AddCalendar gives an account another calendar.
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

// Solutions says which kinds of conference a calendar can make from now on.
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
		panic(http.ErrAbortHandler) // the connection is closed without an answer
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
	_ = json.NewEncoder(w).Encode(body) // who asked may have left
}

// answer finds what the path means, and lets it act. No body is 204.
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
	case len(segments) >= 3 && segments[0] == "calendars" && segments[2] == "events" && len(segments) <= 4:
		return c.events(segments[1], segments[3:])
	}
	return nil, notFound()
}

// call is one request that has a good token. The server is locked meanwhile.
type call struct {
	*Server
	account *account
	scopes  []string
	query   url.Values
	request *http.Request
}

// requireScope reports whether the token has one of the scopes.
func (c call) requireScope(scopes ...string) *refusal {
	for _, name := range scopes {
		if slices.Contains(c.scopes, scopePrefix+name) {
			return nil
		}
	}
	return insufficientPermissions()
}

// everywhere are the query parameters that every method has.
var everywhere = []string{"alt", "fields", "prettyPrint", "quotaUser", "key"}

// takes refuses parameters that are none of the method's.
func (c call) takes(names ...string) *refusal {
	for name, values := range c.query {
		if !slices.Contains(names, name) && !slices.Contains(everywhere, name) || len(values) != 1 {
			return invalidParameter(name)
		}
	}
	return nil
}

// next returns a number that was never given before.
func (s *Server) next() int {
	s.made++
	return s.made
}
