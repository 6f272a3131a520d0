// Package fake implements Telnyx's numbers API for tests. It is stateful and strict, and can fail on demand.
// It is written from Telnyx's documentation (developers.telnyx.com/api-reference, and its guides to number
// search and number orders) and shares no code with the adapter.
//
//	server := fake.New(fake.Options{APIKey: "KEY0123"})
//	http.ListenAndServe("127.0.0.1:9122", server)
//
// There is one account. The fake is stricter than Telnyx where a mistake should fail a test: it refuses
// unknown properties and parameters, and orders of numbers that no recent search has returned. Options decide
// where the documentation leaves open how Telnyx behaves.
package fake

import (
	"encoding/json"
	"fmt"
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
	APIKey string // "": KEY-fake
	Now    func() time.Time

	OrderTime  time.Duration // how long orders are under way
	NumberLag  time.Duration // how long after its order a number is listed
	LateFail   bool          // an order of a number that is not for sale is accepted, and fails
	BareNumber bool          // a number does not get its order's customer reference
	NoCoverage bool          // a search where Telnyx has no numbers is refused, not empty
	PerArea    int           // numbers for sale in each area code; 0: 12
}

// APIPath is the path of the API.
const APIPath = "/v2"

// The account and its connections.
const (
	Organization = "0ddba11a-7c5d-4b1e-9e57-000000000001"
	Email        = "owner@example.com"
	Application  = "1521916448077776306" // a Voice API application
	Trunk        = "2521916448077776307" // a SIP connection
)

// areas maps the area codes where numbers are for sale to their countries.
var areas = map[string]string{"415": "US", "628": "US", "303": "US", "512": "US", "416": "CA", "604": "CA"}

// price is the price of a number, and opening the initial balance, in cents.
const (
	price   = 100
	opening = 500_00
)

// Server is an http.Handler; safe for concurrent use.
type Server struct {
	adaptertest.Faults
	options Options

	mu           sync.Mutex
	stock        []*offer
	numbers      []*number
	orders       []*order
	ids          int64
	purchases    int
	balance      int // cents
	restocked    map[string]int
	outbid       int // how many orders still lose to somebody else
	failing      int // how many orders still fail after they were accepted
	documents    bool
	revoked      bool
	suspended    bool
	keepSettings bool
	removed      []string // ids of removed connections
}

// New returns a server.
func New(o Options) *Server {
	if o.APIKey == "" {
		o.APIKey = "KEY-fake"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PerArea == 0 {
		o.PerArea = 12
	}
	s := &Server{options: o, balance: opening, restocked: map[string]int{}}
	for area := range areas {
		s.restock(area, o.PerArea)
	}
	return s
}

// ServeHTTP serves the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ours := strings.CutPrefix(r.URL.Path, APIPath+"/")
	if !ours {
		http.NotFound(w, r)
		return
	}
	if s.faulty(w, r) {
		return
	}
	answer, refused := s.answer(r, path)
	if s.Drops(r) {
		panic(http.ErrAbortHandler) // the connection is closed without a response
	}
	if refused != nil {
		refused.write(w)
		return
	}
	write(w, http.StatusOK, answer)
}

func write(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

// answer authenticates a request and serves it.
func (s *Server) answer(r *http.Request, path string) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.revoked || r.Header.Get("Authorization") != "Bearer "+s.options.APIKey:
		return nil, unauthenticated()
	case s.suspended:
		return nil, forbidden()
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformed("")
	}
	s.settle(s.options.Now())
	c := call{Server: s, request: r, query: query}
	kind, id, deep := strings.Cut(path, "/")
	if deep {
		kind += "/"
	}
	switch r.Method + " " + kind {
	case "GET whoami":
		return c.reading(c.whoami)
	case "GET balance":
		return c.reading(c.funds)
	case "GET connections/":
		return c.reading(func() (map[string]any, *refusal) { return c.showConnection(id, Trunk) })
	case "GET call_control_applications/":
		return c.reading(func() (map[string]any, *refusal) { return c.showConnection(id, Application) })
	case "GET texml_applications/":
		return nil, notFound()
	case "GET available_phone_numbers":
		return c.reading(c.search, searchFilters...)
	case "GET number_orders":
		return c.reading(c.listOrders, "filter[customer_reference]", "page[number]", "page[size]")
	case "POST number_orders":
		return c.makeOrder()
	case "GET number_orders/":
		return c.reading(func() (map[string]any, *refusal) { return c.showOrder(id) })
	case "GET phone_numbers":
		return c.reading(c.listNumbers, "filter[phone_number]", "sort", "page[number]", "page[size]")
	case "GET phone_numbers/":
		return c.reading(func() (map[string]any, *refusal) { return c.showNumber(id) })
	case "PATCH phone_numbers/":
		return c.changeNumber(id)
	case "DELETE phone_numbers/":
		return c.deleteNumber(id)
	}
	return nil, notFound()
}

// call is one request with a valid key. The server is locked while it is served.
type call struct {
	*Server
	request *http.Request
	query   url.Values
}

func (c call) reading(
	read func() (map[string]any, *refusal), parameters ...string,
) (map[string]any, *refusal) {
	for name, values := range c.query {
		if !slices.Contains(parameters, name) || len(values) != 1 {
			return nil, malformed(name)
		}
	}
	return read()
}

// body decodes a JSON body and refuses unknown properties.
func (c call) body(into any) *refusal {
	if kind, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";"); kind != "application/json" {
		return &refusal{
			415, "10014", "Unsupported Media Type",
			"The request failed because the server does not support the media type.", "", "",
		}
	}
	decoder := json.NewDecoder(c.request.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return malformed("/")
	}
	return nil
}

func (c call) whoami() (map[string]any, *refusal) {
	return map[string]any{"data": map[string]any{
		"organization_id": Organization, "user_id": "0ddba11a-7c5d-4b1e-9e57-000000000002", "email": Email,
	}}, nil
}

func (c call) funds() (map[string]any, *refusal) {
	amount := fmt.Sprintf("%d.%02d", c.balance/100, c.balance%100)
	return map[string]any{"data": map[string]any{
		"record_type": "balance", "balance": amount, "available_credit": amount, "credit_limit": "0.00",
		"pending": "0.00", "currency": "USD",
	}}, nil
}

// nextID returns a new id in the form of a phone number's id.
func (s *Server) nextID() string {
	s.ids++
	return fmt.Sprintf("%d", 1293384261075731000+s.ids)
}

// nextUUID returns a new id in the form that orders and their lines have.
func (s *Server) nextUUID() string {
	s.ids++
	return fmt.Sprintf("12ade33a-21c0-473b-b055-%012x", s.ids)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
