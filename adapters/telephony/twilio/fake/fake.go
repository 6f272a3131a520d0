// Package fake implements the part of Twilio's REST API of 2010-04-01 that is about phone numbers, for tests.
// It is stateful and strict, and can fail on demand. It is written from Twilio's documentation
// (twilio.com/docs/phone-numbers/api, twilio.com/docs/iam/api, twilio.com/docs/iam/test-credentials,
// twilio.com/docs/api/errors) and shares no code with the adapter.
//
//	server := fake.New(fake.Options{})
//	http.ListenAndServe("127.0.0.1:9121", server)
//
// There is one account with one subaccount, an application, a SIP trunk, an address and a regulatory bundle.
// For sale are:
//
//	area code           what
//	415 646 305 206     twenty numbers each, of the US
//	604 416             twenty numbers each, of Canada
//	702                 two that cannot receive calls, and three that can
//	808                 five that need an address
//	907                 five that need a regulatory bundle
//
// A number that is released is not for sale again: Twilio keeps it for a while. The fake is stricter than
// Twilio where a mistake should fail a test: it refuses unknown parameters.
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
)

// Options configure a Server.
type Options struct {
	AccountSID, AuthToken         string // "": AccountSID and "an-auth-token"
	APIKeySID, APIKeySecret       string // of a main key; "": none
	StandardKey                   bool   // the key is a standard one, which may not read accounts
	SubaccountToken               string // the subaccount's own auth token; "": none
	TestAccountSID, TestAuthToken string // test credentials; "": none
	Name                          string // of the account; "": "Front Desk Inc."

	Trial           bool   // the account is a trial
	RefusesHeld     bool   // buying a number that the account holds is refused instead of being an update
	DefaultVoiceURL string // voice URL of a new number
	Now             func() time.Time
}

// The accounts and their resources.
const (
	AccountSID    = "AC0000000000000000000000000000a001"
	SubaccountSID = "AC0000000000000000000000000000a002"
	Application   = "AP0000000000000000000000000000b001"
	Trunk         = "TK0000000000000000000000000000c001"
	Address       = "AD0000000000000000000000000000d001"
	Bundle        = "BU0000000000000000000000000000e001"
)

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	adaptertest.Faults
	options Options

	mu        sync.Mutex
	stock     []stocked
	numbers   []*Number // the newest first
	made      int
	purchases int
	balance   string
	status    string // of the account
	snatches  int
	revoked   bool
	ignoring  bool
	removed   []string // SIDs of the resources that Remove took away
	pending   bool     // the bundle is not approved yet
}

// Number is a number that an account holds.
type Number struct {
	SID, Account, E164, Name       string
	VoiceURL, VoiceMethod          string
	Application, Trunk             string
	SMSURL, SMSApplication         string
	Address, Bundle                string
	EmergencyAddress, EmergencyNow string // emergency_address_sid, emergency_address_status
	Created                        time.Time
}

// New returns a server.
func New(o Options) *Server {
	o.AccountSID, o.AuthToken = cmp.Or(o.AccountSID, AccountSID), cmp.Or(o.AuthToken, "an-auth-token")
	o.Name = cmp.Or(o.Name, "Front Desk Inc.")
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{options: o, stock: initialStock(), balance: "50.00", status: "active"}
}

// root is the prefix of all paths.
const root = "/2010-04-01/"

// ServeHTTP serves the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ours := strings.CutPrefix(r.URL.EscapedPath(), root)
	product := !ours && isProduct(r.URL.EscapedPath())
	if !ours && !product {
		http.NotFound(w, r)
		return
	}
	if s.faulty(w, r) {
		return
	}
	var status int
	var answer map[string]any
	var refused *refusal
	if product {
		status, answer, refused = s.answerProduct(r)
	} else {
		status, answer, refused = s.answer(r, path)
	}
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
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

// call is one request with valid credentials. The server is locked while it is served.
type call struct {
	*Server
	account string // the account in the path
	given   url.Values
	path    string
}

// answer authorizes a request and serves it.
func (s *Server) answer(r *http.Request, path string) (int, map[string]any, *refusal) {
	rest, under := strings.CutPrefix(path, "Accounts/")
	rest, isJSON := strings.CutSuffix(rest, ".json")
	if !under || !isJSON {
		return 0, nil, notFound(path)
	}
	account, rest, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	as, refused := s.authorize(r, account)
	if refused != nil {
		return 0, nil, refused
	}
	given, refused := parameters(r)
	if refused != nil {
		return 0, nil, refused
	}
	c := call{Server: s, account: account, given: given, path: path}
	if as == tester {
		return c.test(r.Method + " " + rest)
	}
	switch {
	case rest == "" && as == standardKey:
		return 0, nil, unauthenticated()
	case s.status != "active" && rest != "":
		return 0, nil, inactive()
	}
	return c.serve(r.Method, rest)
}

func (c call) serve(method, rest string) (int, map[string]any, *refusal) {
	resource, name, _ := strings.Cut(rest, "/")
	switch method + " " + resource {
	case "GET ":
		return c.reading(c.showAccount)
	case "GET Balance":
		return c.reading(c.showBalance)
	case "GET Applications":
		return c.reading(func() (map[string]any, *refusal) { return c.show(name, Application) })
	case "GET Addresses":
		return c.reading(func() (map[string]any, *refusal) { return c.show(name, Address) })
	case "GET AvailablePhoneNumbers":
		return c.reading(func() (map[string]any, *refusal) { return c.search(name) }, searchParameters...)
	}
	switch {
	case resource != "IncomingPhoneNumbers":
		return 0, nil, notFound(c.path)
	case method == http.MethodGet && name == "":
		return c.reading(c.list, "PhoneNumber", "FriendlyName", "PageSize", "Page", "PageToken")
	case method == http.MethodPost && name == "":
		return c.buy()
	}
	n := c.findNumber(func(n *Number) bool { return n.SID == name })
	switch {
	case n == nil:
		return 0, nil, notFound(c.path)
	case method == http.MethodGet:
		return c.reading(func() (map[string]any, *refusal) { return n.body(), nil })
	case method == http.MethodPost:
		return c.update(n)
	case method == http.MethodDelete:
		return c.release(n)
	}
	return 0, nil, refuse(http.StatusMethodNotAllowed, 20004, "Method not allowed")
}

func (c call) reading(
	read func() (map[string]any, *refusal), known ...string,
) (int, map[string]any, *refusal) {
	if refused := c.knows(known...); refused != nil {
		return 0, nil, refused
	}
	answer, refused := read()
	return http.StatusOK, answer, refused
}

// knows refuses parameters that are unknown, or given twice.
func (c call) knows(known ...string) *refusal {
	for name, values := range c.given {
		if !slices.Contains(known, name) || len(values) != 1 {
			return refuse(http.StatusBadRequest, 20422, "Invalid Parameter "+name)
		}
	}
	return nil
}

// parameters returns the parameters of the query, or of the form.
func parameters(r *http.Request) (url.Values, *refusal) {
	if r.Method != http.MethodPost {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, 20001, "The query cannot be read")
		}
		return query, nil
	}
	if r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.URL.RawQuery != "" {
		return nil, refuse(http.StatusBadRequest, 20001, "Parameters are to be sent as a form")
	}
	if err := r.ParseForm(); err != nil {
		return nil, refuse(http.StatusBadRequest, 20001, "The form cannot be read")
	}
	return r.PostForm, nil
}
