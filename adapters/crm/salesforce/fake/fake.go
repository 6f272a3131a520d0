// Package fake is a fake Salesforce for tests: stateful, strict, and able to fail on demand. It is written
// from Salesforce's documentation (REST API Developer Guide, SOQL and SOSL Reference, Object Reference, and
// of Salesforce Help "OAuth Authorization Flows") and shares no code with the adapter. It also serves the
// OAuth endpoints, through core/oauth/oauthtest.
//
//	server := fake.New(fake.Options{})
//	http.ListenAndServe("127.0.0.1:9104", server)
//
// It has one organisation. It serves the part of the API that handles cases: query, describe, insert and
// upsert, alone and in composite calls, the list of resources, and the search for contacts. Its SOQL has
// fields, those of an account through its contact, toLabel, one level of child queries, comparisons by =, !=,
// LIKE and >=, AND, OR in parentheses, ORDER BY and LIMIT. A long list comes in batches, but for child
// records. Its SOSL searches the phone numbers of contacts.
package fake

import (
	"cmp"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// Options configure the organisation.
type Options struct {
	Name     string   // of the organisation; "" is Acme
	Accounts []string // user names; nil is alice@acme.example
	Now      func() time.Time

	OAuth        oauthtest.Options         // unset values are as at Salesforce
	Certificates map[string]*rsa.PublicKey // of apps, by client id, for the JWT bearer flow

	Statuses, Priorities, Origins []Value // nil is as in a new organisation
	Required                      []string
	Hidden                        []string // fields that the users do not see
	ReadOnly                      []string // fields that the users see and cannot set
	NoCreate                      bool     // the users may not create cases
	Private                       bool     // users see only their own cases
	Fields                        []Field  // custom fields

	SearchLag time.Duration // until a search finds a new contact
	BatchSize int           // the most records in one response to a query; 0 is 2,000

	// A custom field of cases, marked External ID and Unique; "" is none.
	ExternalID           string
	NotUnique, NotMarked bool // the field lacks that mark
	// The display format of case numbers, for fmt; "" is %08d.
	Numbers string
	// A validation rule. It returns its error message if it refuses a case.
	Validate func(fields map[string]any) (no string)
}

// Field is a custom field of cases.
type Field struct {
	Name, Type string // such as Region__c, string
	Required   bool
	Values     []Value // of a picklist, which is restricted to them
}

// Value is a value of a picklist.
type Value struct {
	Value    string
	Label    string // "" is the value
	Inactive bool
	Default  bool
	Closed   bool // of Status: cases that have it are closed
}

// Paths of the server.
const (
	AuthorizePath = "/services/oauth2/authorize"
	TokenPath     = "/services/oauth2/token"
	DataPath      = "/services/data/"
)

// Records that the organisation has.
var (
	Owner        = RecordID("005", 1) // a user
	Queue        = RecordID("00G", 1)
	DefaultOwner = RecordID("00G", 2) // owner of a case that no rule assigns
	Account      = RecordID("001", 1)
	Contact      = RecordID("003", 1)
)

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	adaptertest.Faults
	OAuth *oauthtest.Server // issues the access tokens

	options Options

	mu      sync.Mutex
	rows    map[string]row // records that cases refer to, by the first 15 characters of the id
	cases   []*caseRow
	numbers int
	made    int
	cursors map[string]cursor // by locator
}

// row is a record: a string, a bool or nil by field.
type row map[string]any

// caseRow is a case with its comments, emails and posts.
type caseRow struct {
	row
	comments, emails, posts []row
	deleted                 bool
}

// New returns a new server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Accounts) == 0 {
		o.Accounts = []string{"alice@acme.example"}
	}
	if o.Statuses == nil {
		o.Statuses = []Value{
			{Value: "New", Default: true}, {Value: "Working"}, {Value: "Escalated"}, {Value: "Closed", Closed: true},
		}
	}
	if o.Priorities == nil {
		o.Priorities = []Value{{Value: "High"}, {Value: "Medium", Default: true}, {Value: "Low"}}
	}
	if o.Origins == nil {
		o.Origins = []Value{{Value: "Phone"}, {Value: "Email"}, {Value: "Web"}}
	}
	o.Name, o.Numbers = cmp.Or(o.Name, "Acme"), cmp.Or(o.Numbers, "%08d")
	o.BatchSize = cmp.Or(o.BatchSize, 2000)
	auth := o.OAuth
	auth.AuthorizePath, auth.TokenPath = AuthorizePath, TokenPath
	if auth.Accounts == nil {
		auth.Accounts = o.Accounts
	}
	if auth.Now == nil {
		auth.Now = o.Now
	}
	// A token lives as long as the organisation's session timeout, which the response does not report.
	auth.Lifetime = cmp.Or(auth.Lifetime, -1)
	if auth.Offline == nil {
		auth.Offline = func(ask url.Values) bool {
			return slices.Contains(strings.Fields(ask.Get("scope")), "refresh_token")
		}
	}
	s := &Server{
		OAuth: oauthtest.New(auth), options: o, rows: map[string]row{}, numbers: 1000, made: 1000,
		cursors: map[string]cursor{},
	}
	for _, id := range []string{Owner, Queue, DefaultOwner, Account, Contact} {
		s.rows[id[:15]] = row{"Id": id}
	}
	return s
}

// RecordID returns an id of 18 characters for a kind, which has three characters, and a number.
func RecordID(kind string, n int) string {
	return inFull(fmt.Sprintf("%sdM%010d", kind, n))
}

// inFull extends an id of 15 characters to 18.
func inFull(id string) string {
	// Each further character encodes which of five are capitals ("ID Field Type", Object Reference).
	for at := 0; at < 15; at += 5 {
		bits := 0
		for i, c := range id[at : at+5] {
			if c >= 'A' && c <= 'Z' {
				bits |= 1 << i
			}
		}
		id += string("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[bits])
	}
	return id
}

// ServeHTTP serves the API and the OAuth endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == AuthorizePath:
		s.OAuth.ServeHTTP(w, r)
	case path == TokenPath:
		s.token(w, r)
	case strings.HasPrefix(path, DataPath):
		s.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.faulty(w, r) {
		return
	}
	answer := s.answer(r)
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the connection is closed without a response
	}
	write(w, answer)
}

// reply is the response to a call or to a part of one.
type reply struct {
	status int
	body   any
}

func write(w http.ResponseWriter, answer reply) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.Header().Set("Sforce-Limit-Info", "api-usage=18/5000")
	w.WriteHeader(answer.status)
	_ = json.NewEncoder(w).Encode(answer.body) // the client may have left
}

func (s *Server) answer(r *http.Request) reply {
	who, ok := s.OAuth.Bearer(r)
	if !ok {
		return refuse(http.StatusUnauthorized, "INVALID_SESSION_ID", "Session expired or invalid")
	}
	if !slices.Contains(who.Scopes, "api") && !slices.Contains(who.Scopes, "full") {
		return refuse(http.StatusForbidden, "INVALID_SESSION_ID",
			"This session is not valid for use with the REST API")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return refuse(http.StatusBadRequest, "JSON_PARSER_ERROR", "The body cannot be read")
	}
	if len(body) > 0 && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return refuse(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE",
			"Content-Type is not application/json")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resource(call{
		method: r.Method, address: r.URL, body: body, autoAssign: r.Header.Get("Sforce-Auto-Assign"), user: Owner,
	})
}

// call is a request, or a part of one. The server is locked meanwhile.
type call struct {
	method     string
	address    *url.URL
	body       []byte
	autoAssign string
	user       string
	within     string // the version of the composite call that it is a part of
}

func (s *Server) resource(c call) reply {
	versioned, resource, _ := strings.Cut(strings.TrimPrefix(c.address.EscapedPath(), DataPath), "/")
	if !strings.HasPrefix(versioned, "v") || !strings.HasSuffix(versioned, ".0") ||
		c.within != "" && c.within != versioned {
		return notFound()
	}
	segments := strings.Split(strings.TrimSuffix(resource, "/"), "/")
	for i := range segments {
		plain, err := url.PathUnescape(segments[i])
		if err != nil || plain == "" && resource != "" {
			return notFound()
		}
		segments[i] = plain
	}
	path := strings.Join(segments, "/")
	switch {
	case (path == "query" || path == "queryAll") && c.method == http.MethodGet:
		return s.query(c, versioned, path == "queryAll")
	case len(segments) == 2 && segments[0] == "query" && c.method == http.MethodGet:
		return s.queryMore(c, versioned, segments[1])
	case path == "search" && c.method == http.MethodGet:
		return s.search(c)
	case path == "composite" && c.method == http.MethodPost && c.within == "":
		return s.composite(c, versioned)
	case path == "sobjects/Case/describe" && c.method == http.MethodGet:
		return reply{http.StatusOK, s.describe()}
	case path == "sobjects/Case" && c.method == http.MethodPost:
		return s.insert(c, "", "")
	case len(segments) == 4 && path[:min(len(path), 14)] == "sobjects/Case/" && c.method == http.MethodPatch:
		return s.upsert(c, segments[2], segments[3])
	}
	return notFound()
}

func notFound() reply {
	return refuse(http.StatusNotFound, "NOT_FOUND", "The requested resource does not exist")
}

// refuse returns an error as Salesforce writes it.
func refuse(status int, code, message string, fields ...string) reply {
	e := map[string]any{"message": message, "errorCode": code}
	if status == http.StatusBadRequest {
		e["fields"] = append([]string{}, fields...)
	}
	return reply{status, []any{e}}
}

func (s *Server) hides(field string) bool { return slices.Contains(s.options.Hidden, field) }

// describe returns what the user sees of cases ("sObject Describe", REST API Developer Guide).
func (s *Server) describe() map[string]any {
	var fields []any
	add := func(name, kind string, nillable, defaulted bool, list []Value, more map[string]any) {
		if s.hides(name) {
			return
		}
		values := []any{}
		for _, v := range list {
			values = append(values, map[string]any{
				"active": !v.Inactive, "defaultValue": v.Default, "label": cmp.Or(v.Label, v.Value), "value": v.Value,
				"validFor": nil,
			})
		}
		field := map[string]any{
			"name": name, "type": kind, "nillable": nillable && !slices.Contains(s.options.Required, name),
			"updateable":        true,
			"createable":        !slices.Contains(s.options.ReadOnly, name) && !slices.Contains(kept, name),
			"defaultedOnCreate": defaulted, "restrictedPicklist": list != nil, "externalId": false, "unique": false,
			"referenceTo": []string{}, "picklistValues": values,
		}
		maps.Copy(field, more)
		fields = append(fields, field)
	}
	for _, name := range kept {
		add(name, "string", false, true, nil, nil)
	}
	add("Status", "picklist", true, true, s.options.Statuses, nil)
	add("Priority", "picklist", true, true, s.options.Priorities, nil)
	add("Origin", "picklist", true, false, s.options.Origins, nil)
	add("Subject", "string", true, false, nil, nil)
	add("Description", "textarea", true, false, nil, nil)
	add("OwnerId", "reference", false, true, nil, map[string]any{"referenceTo": []string{"Group", "User"}})
	add("AccountId", "reference", true, false, nil, map[string]any{"referenceTo": []string{"Account"}})
	add("ContactId", "reference", true, false, nil, map[string]any{"referenceTo": []string{"Contact"}})
	if s.options.ExternalID != "" {
		add(s.options.ExternalID, "string", true, false, nil, map[string]any{
			"externalId": !s.options.NotMarked, "unique": !s.options.NotUnique,
		})
	}
	for _, own := range s.options.Fields {
		add(own.Name, own.Type, !own.Required && own.Type != "boolean", own.Type == "boolean", own.Values, nil)
	}
	return map[string]any{"name": "Case", "createable": !s.options.NoCreate, "fields": fields}
}

// snapshot saves the cases. undo restores them.
func (s *Server) snapshot() (undo func()) {
	cases := make([]*caseRow, 0, len(s.cases))
	for _, c := range s.cases {
		kept := *c
		kept.row = maps.Clone(c.row)
		cases = append(cases, &kept)
	}
	return func() { s.cases = cases }
}

// stamp returns the current time as the API writes it.
func (s *Server) stamp() string {
	return s.options.Now().UTC().Format("2006-01-02T15:04:05.000-0700")
}
