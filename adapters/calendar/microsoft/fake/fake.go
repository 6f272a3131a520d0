// Package fake is Microsoft Graph's calendar for tests: stateful, strict, and able to fail on demand. It is
// written from Microsoft's documentation (learn.microsoft.com/graph/api/resources/calendar and the pages it
// links to: event, calendar-list-calendarview, event-cancel, event-update, outlook-immutable-id,
// json-batching, paging, throttling, errors) and, for what that leaves open, from reports in public threads.
// It shares no code with the adapter.
//
//	server := fake.New(fake.Options{Clients: map[string]string{"id": "secret"}, Account: "alice@example.com"})
//	http.ListenAndServe("127.0.0.1:9102", server)
//
// Graph is served under /v1.0, the OAuth endpoints under /common/oauth2/v2.0.
package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// Options configure the account and the server.
type Options struct {
	Clients   map[string]string // OAuth clients: id to secret
	Redirects []string          // registered redirect URIs; nil accepts any
	Account   string            // the address of the mailbox
	Name      string            // the name of its owner

	Personal  bool // an account of Outlook.com: no mail, no online meetings
	Guest     bool // a guest of the directory: no mail, a name with #EXT#, no address of the owner
	NoMailbox bool // an account without Exchange Online
	Silent    bool // online meetings are allowed, but events are created without one
	LateLinks int  // reads of an event before its link exists

	// MostPerPage makes pages smaller than asked for, which Graph may do (learn.microsoft.com/graph/paging).
	MostPerPage int

	// Forgets frees a transactionId once its event was removed. Otherwise it stays taken. What Exchange does
	// is not documented.
	Forgets bool

	Zone string // IANA name of the mailbox's zone; "" means UTC

	Works *WorkingHours // nil: Monday to Friday, from 8 to 17 in the mailbox's zone
	Now   func() time.Time
}

// WorkingHours are those that the owner has set, as Graph shows them.
type WorkingHours struct {
	DaysOfWeek []string       `json:"daysOfWeek"`
	StartTime  string         `json:"startTime"`
	EndTime    string         `json:"endTime"`
	TimeZone   map[string]any `json:"timeZone"`
}

// Server is one mailbox and the OAuth server for it. It is an http.Handler and safe for concurrent use.
type Server struct {
	adaptertest.Faults
	options Options
	oauth   *oauthtest.Server
	zone    *time.Location

	running atomic.Int32
	peak    atomic.Int32

	mu                    sync.Mutex
	calendars             []*box
	events                map[string]*event  // by immutable id
	pages                 map[string]further // by skip token
	refusedForConcurrency int                // requests refused because too many ran
	mutable               int                // requests that did not ask for immutable ids
	count                 int                // of everything created, for ids and change keys
	fails                 []fail
	requests              []string // method and path, without the query
}

type box struct {
	id, name string
	readOnly bool
	standard bool
}

const (
	graphPath = "/v1.0"
	oauthPath = "/common/oauth2/v2.0/"
)

// New returns a server whose mailbox has only its default calendar.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	zone, err := time.LoadLocation(o.Zone)
	if err != nil {
		panic(err) // tests use only known zones
	}
	s := &Server{options: o, zone: zone, events: map[string]*event{}, pages: map[string]further{}}
	s.oauth = oauthtest.New(oauthtest.Options{
		AuthorizePath: oauthPath + "authorize", TokenPath: oauthPath + "token",
		Clients: o.Clients, Redirects: o.Redirects, Accounts: []string{o.Account},
		Rotation: oauthtest.Renew, Now: o.Now,
		// learn.microsoft.com/entra/identity-platform/scopes-oidc: a refresh token needs offline_access,
		// which is not listed among the granted scopes; scopes of Graph are listed with its address.
		Offline: func(ask url.Values) bool {
			return slices.Contains(strings.Fields(ask.Get("scope")), "offline_access")
		},
		Granted: func(scopes []string) string {
			var granted []string
			for _, scope := range scopes {
				if scope != "offline_access" {
					granted = append(granted, "https://graph.microsoft.com/"+scope)
				}
			}
			return strings.Join(granted, " ")
		},
	})
	s.addCalendar("Calendar", false)
	return s
}

// OAuth returns the server that issues the tokens.
func (s *Server) OAuth() *oauthtest.Server { return s.oauth }

// Default returns the id of the default calendar.
func (s *Server) Default() string { return s.calendars[0].id }

// AddCalendar adds a calendar and returns its id.
func (s *Server) AddCalendar(name string, readOnly bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addCalendar(name, readOnly)
}

func (s *Server) addCalendar(name string, readOnly bool) string {
	b := &box{id: s.newID(), name: name, readOnly: readOnly, standard: len(s.calendars) == 0}
	s.calendars = append(s.calendars, b)
	return b.id
}

// newID returns an id like those of Exchange: it is case-sensitive, and contains characters that must be
// escaped in a path.
func (s *Server) newID() string {
	s.count++
	return fmt.Sprintf("AAMkAGI/T+%s=", base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%06d", s.count)))
}

func (s *Server) newKey() string {
	s.count++
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "key%07d", s.count))
}

// Peak returns the highest number of requests, including parts of batches, that ran at one time.
func (s *Server) Peak() int { return int(s.peak.Load()) }

// Crowded returns the number of requests that were refused because more than four ran at one time.
func (s *Server) Crowded() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusedForConcurrency
}

// Mutable returns the number of requests about calendars and events that did not ask for immutable ids.
func (s *Server) Mutable() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mutable
}

// Requests returns the requests so far, as method and path, including parts of batches.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP serves Graph and the OAuth endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if directory, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/oauth2/v2.0/"); ok &&
		!strings.Contains(directory, "/") {
		signIn := r.Clone(r.Context())
		signIn.URL.Path = oauthPath + rest // any directory has the same account
		s.oauth.ServeHTTP(w, signIn)
		return
	}
	path, below := strings.CutPrefix(r.URL.EscapedPath(), graphPath+"/")
	if !below {
		http.NotFound(w, r)
		return
	}
	met := s.Inject(w, r) // a batch is one call
	if met.Answered {
		return
	}
	token, good := s.oauth.Bearer(r)
	if !good {
		w.Header().Set("WWW-Authenticate",
			`Bearer realm="", authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize", `+
				`client_id="00000003-0000-0000-c000-000000000000"`)
		send(w, refuse(http.StatusUnauthorized, "InvalidAuthenticationToken",
			"Access token has expired or is not yet valid."))
		return
	}
	if path == "$batch" {
		s.batch(w, r, token, met)
		return
	}
	a := s.serve(r, token, met, path)
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the request took effect, the response is lost
	}
	send(w, a)
}

// answer is a response before it is sent.
type answer struct {
	status int
	header http.Header
	body   any // nil: none
	raw    string
}

func send(w http.ResponseWriter, a answer) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("request-id", requestID)
	if a.raw != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.raw))
		return
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Type", "application/json; odata.metadata=minimal; charset=utf-8")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body) // the client may have disconnected
}

const requestID = "5a2e1d9c-0000-4000-8000-000000000102"

// refuse returns an error in the form of Graph (learn.microsoft.com/graph/errors).
func refuse(status int, code, message string) answer {
	return answer{status: status, body: map[string]any{"error": map[string]any{
		"code": code, "message": message,
		"innerError": map[string]any{
			"request-id": requestID, "client-request-id": requestID, "date": "2026-11-21T10:00:00",
		},
	}}}
}

func notFound() answer {
	return refuse(http.StatusNotFound, "ErrorItemNotFound", "The specified object was not found in the store.")
}

func denied() answer {
	return refuse(http.StatusForbidden, "ErrorAccessDenied",
		"Access is denied. Check credentials and try again.")
}

func invalid(code, message string) answer { return refuse(http.StatusBadRequest, code, message) }
