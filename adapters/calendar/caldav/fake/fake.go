// Package fake is a CalDAV server for tests: stateful, strict, and able to fail on demand. It is written from
// RFC 4918 (WebDAV), RFC 4791 (CalDAV), RFC 5397, RFC 6764 and RFC 6638 (scheduling), and shares no code with
// the adapter: it reads iCalendar with go-ical and expands rules with rrule-go.
//
//	server := fake.New(fake.Options{User: "alice", Password: "secret", Email: "alice@example.com"})
//	http.ListenAndServe("127.0.0.1:5232", server)
//
// A request that breaks a specification is refused and recorded in Violations.
package fake

import (
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"frontdesk/core/adapter/adaptertest"
)

// Options configure the server.
type Options struct {
	User, Password string
	Email          string // the account's calendar user address

	AutoSchedule bool // send invitations (RFC 6638): responses to PUT then have no ETag
	QuietClasses bool // send the header DAV with responses to OPTIONS only, as Cyrus 3.6 does
	// Send ETags as a compressing front end does, W/"..."; conditions still use the strong form.
	WeakTags      bool
	NoTags        bool   // no ETags at all
	Rename        bool   // store new resources under other names, sent in Location
	AbsoluteHrefs bool   // write hrefs as absolute URLs
	HomeHost      string // another host that has the calendars, like Apple's partitions

	NoEmail bool     // the principal has no mail address
	Aliases []string // further calendar user addresses of the account, URIs
	Freezes []string // properties of events that the server never changes; such a PUT returns no ETag
	NoSync  bool     // no sync-collection (RFC 6578)

	// OnScheduleTag is called for each schedule-tag that is looked up. DAViCal reads an object from its
	// database again for a property that it has not loaded (caldav-REPORT.php, component_to_xml).
	OnScheduleTag func()
}

// Quirks are deviations of real servers from RFC 4791 section 7.8 and RFC 6578. They may change while the
// server runs.
type Quirks struct {
	FirstInstanceOnly  bool // a time range looks at the first instance of a series only, as in Xandikos 0.2
	OverlooksRDATE     bool // a time range ignores RDATE (sabre/vobject, VEvent::isInTimeRange)
	IgnoresRRULEFilter bool // a filter for RRULE finds all events (DAViCal, caldav-REPORT-calquery.php)
	ListsTasks         bool // a filter for events finds tasks too, as in Bedework
	BareSync           bool // sync-collection returns no calendar data, as in Xandikos
	SilentSync         bool // sync-collection reports no change
	RefusesPropFilter  bool // no filter by property (RFC 4791 section 7.8, supported-filter)
}

// Server serves one account's calendars. It is an http.Handler, safe for concurrent use.
type Server struct {
	adaptertest.Faults
	options Options

	mu          sync.Mutex
	collections map[string]*collection // by decoded path, with the slash at its end
	standard    string                 // path of the default calendar
	quirks      Quirks
	users       map[string]string   // address of each further principal, by its path
	forgotten   int                 // sync tokens up to this version are no longer valid
	tags        int                 // schedule-tags looked up
	notices     map[string][]Notice // by decoded path of the resource
	violations  []string
	requests    map[string]int // by method
	versions    int
	revoked     bool
}

type collection struct {
	name, zone string // zone: a VTIMEZONE object, or ""
	readOnly   bool
	tasks      bool   // VTODO only
	owner      string // path of its principal
	objects    map[string]*stored
	removed    map[string]int // version at which an object was removed
}

type stored struct {
	data    string
	uid     string
	version int
}

// Notice is a message that the server sent to an attendee.
type Notice struct{ To, Kind string }

// The paths of the server.
const (
	root       = "/dav/"
	principals = "/dav/principals/"
	homes      = "/dav/calendars/"
)

// New returns a server without calendars.
func New(o Options) *Server {
	return &Server{
		options: o, collections: map[string]*collection{}, users: map[string]string{},
		notices: map[string][]Notice{}, requests: map[string]int{}, forgotten: -1,
	}
}

// Home returns the path of the calendar home.
func (s *Server) Home() string { return homes + s.options.User + "/" }

func (s *Server) principal() string { return principals + s.options.User + "/" }
func (s *Server) inbox() string     { return s.Home() + "inbox/" }

// AddCalendar adds a calendar to the home and returns its path, escaped. zone is a VTIMEZONE object, or "".
func (s *Server) AddCalendar(segment, name, zone string, readOnly bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.Home() + segment + "/"
	s.collections[path] = &collection{
		name: name, zone: zone, readOnly: readOnly, owner: s.principal(),
		objects: map[string]*stored{}, removed: map[string]int{},
	}
	if s.standard == "" && !readOnly {
		s.standard = path
	}
	return escape(path)
}

// AddShared adds a calendar that another user owns and the account can write. It returns the path, escaped.
func (s *Server) AddShared(segment, name, owner, ownerEmail string) string {
	path := s.AddCalendar(segment, name, "", false)
	s.mu.Lock()
	defer s.mu.Unlock()
	principal := principals + owner + "/"
	s.collections[decode(path)].owner, s.users[principal] = principal, ownerEmail
	return path
}

// Behave replaces the server's quirks and returns the previous ones.
func (s *Server) Behave(q Quirks) (before Quirks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.quirks = s.quirks, q
	return before
}

// ForgetTokens invalidates every sync token issued so far.
func (s *Server) ForgetTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions++
	s.forgotten = s.versions - 1
}

// ScheduleTags returns how many schedule-tags were looked up for REPORT and PROPFIND.
func (s *Server) ScheduleTags() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tags
}

// AddTasks adds a collection of tasks.
func (s *Server) AddTasks(segment string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collections[s.Home()+segment+"/"] = &collection{
		name: segment, tasks: true, objects: map[string]*stored{}, removed: map[string]int{},
	}
}

// RemoveCalendar removes a calendar and all in it.
func (s *Server) RemoveCalendar(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.collections, decode(path))
}

// Put stores an object without checking it and returns its path, escaped.
func (s *Server) Put(calendarPath, segment, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions++
	path := decode(calendarPath)
	s.collections[path].objects[segment] = &stored{data: data, uid: uidOf(data), version: s.versions}
	return escape(path + segment)
}

// Remove removes an object.
func (s *Server) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, segment, _ := s.find(decode(path))
	s.drop(c, segment)
}

func (s *Server) drop(c *collection, segment string) {
	s.versions++
	delete(c.objects, segment)
	c.removed[segment] = s.versions
}

// Get returns a stored object, or "" if there is none.
func (s *Server) Get(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, _, object := s.find(decode(path)); object != nil {
		return object.data
	}
	return ""
}

// Notices returns what was sent about a resource, in order.
func (s *Server) Notices(path string) []Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices[decode(path)])
}

// Violations returns the requests that break a specification, in order.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Requests returns the number of requests by method, and of REPORTs by report.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// find returns the collection that holds the path, the last segment, and the object there.
func (s *Server) find(path string) (*collection, string, *stored) {
	i := strings.LastIndexByte(path, '/')
	parent, segment := path[:i+1], path[i+1:]
	c := s.collections[parent]
	if c == nil || segment == "" {
		return c, segment, nil
	}
	return c, segment, c.objects[segment]
}

// tag returns the ETag of an object.
func (o *stored) tag() string { return fmt.Sprintf(`"%d-%s"`, o.version, hash(o.data)) }

func (s *Server) shownTag(o *stored) string {
	switch {
	case s.options.NoTags:
		return ""
	case s.options.WeakTags:
		return "W/" + o.tag()
	}
	return o.tag()
}

func (s *Server) violate(r *http.Request, format string, args ...any) {
	s.violations = append(s.violations, r.Method+" "+r.URL.Path+": "+fmt.Sprintf(format, args...))
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.well-known/caldav" { // RFC 6764 section 5: anyone may ask
		http.Redirect(w, r, root, http.StatusMovedPermanently)
		return
	}
	if s.faulty(w, r) {
		return
	}
	user, password, ok := r.BasicAuth()
	if !ok || !same(user, s.options.User) || !same(password, s.options.Password) || s.isRevoked() {
		w.Header().Set("WWW-Authenticate", `Basic realm="fake"`)
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}

	answer := recorded{header: http.Header{}, status: http.StatusOK}
	s.handle(&answer, r)
	if writes := r.Method == http.MethodPut || r.Method == http.MethodDelete; writes && s.Drops(r) {
		panic(http.ErrAbortHandler) // carried out, but the response is lost
	}
	if r.Method == http.MethodOptions || !s.options.QuietClasses {
		answer.header.Set("DAV", s.classes())
	}
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	_, _ = w.Write([]byte(answer.body))
}

func (s *Server) classes() string {
	if s.options.AutoSchedule {
		return "1, 3, access-control, calendar-access, calendar-auto-schedule"
	}
	return "1, 3, access-control, calendar-access"
}

// recorded is a response before it is sent.
type recorded struct {
	header http.Header
	status int
	body   string
}

// refuse responds with a precondition's name (RFC 4918 section 16).
func (a *recorded) refuse(condition string) {
	a.status = http.StatusForbidden
	a.header.Set("Content-Type", "application/xml; charset=utf-8")
	a.body = `<?xml version="1.0" encoding="utf-8"?>` +
		`<D:error xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">` + condition + `</D:error>`
}

func (s *Server) handle(a *recorded, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.Method]++
	switch r.Method {
	case "PROPFIND":
		s.propfind(a, r)
	case "REPORT":
		s.report(a, r)
	case http.MethodGet:
		s.get(a, r)
	case http.MethodPut:
		s.put(a, r)
	case http.MethodDelete:
		s.remove(a, r)
	case http.MethodOptions:
		a.header.Set("Allow", "OPTIONS, GET, PUT, DELETE, PROPFIND, REPORT")
	default:
		a.status = http.StatusMethodNotAllowed
	}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func hash(data string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(data))
	return hex.EncodeToString(h.Sum(nil))
}

// escape escapes all that may be escaped, as some servers do, so that clients have to compare paths with
// care.
func escape(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i] = strings.ReplaceAll(url.QueryEscape(segment), "+", "%20")
	}
	return strings.Join(segments, "/")
}

func decode(path string) string {
	if u, err := url.Parse(path); err == nil {
		return u.Path
	}
	return path
}
