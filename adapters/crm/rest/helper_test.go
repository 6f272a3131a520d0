package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/crm/rest"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = rest.Adapter()

// gate stands before a ticket system and makes it fail as ticket systems do.
type gate struct {
	adaptertest.Faults
	next http.Handler

	mu   sync.Mutex
	seen []string // the requests, as "GET /path?query"
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.seen = append(g.seen, r.Method+" "+r.URL.RequestURI())
	g.mu.Unlock()
	switch injected := g.Inject(w, r); {
	case injected.Answered:
	case injected.Stopped:
		refuse(w, http.StatusServiceUnavailable)
	case injected.Forbidden:
		refuse(w, http.StatusForbidden)
	case injected.Limited:
		w.Header().Set("Retry-After", injected.Seconds())
		refuse(w, http.StatusTooManyRequests)
	case g.Drops(r):
		g.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		g.next.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"message":%q}`, http.StatusText(status))
}

func (g *gate) with(instead http.HandlerFunc) { g.Instead(instead) }

func (g *gate) requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.seen...)
}

// testServer is a ticket system behind a gate, and how requests to it are authorised.
type testServer struct {
	*gate
	url       string
	authorize func(*http.Request)
	later     time.Duration // how late it is for the drivers

	mu      sync.Mutex
	revoked bool
}

func serve(t testing.TB, system http.Handler, authorize func(*http.Request)) *testServer {
	t.Helper()
	g := &gate{next: system}
	return &testServer{gate: g, url: adaptertest.Serve(t, g), authorize: authorize}
}

// Revoke replaces the credentials of all later requests with wrong ones, so that the ticket system refuses
// them.
func (s *testServer) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *testServer) authorise(r *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked {
		r.SetBasicAuth("root", "wrong")
		return nil
	}
	s.authorize(r)
	return nil
}

// open opens a driver as the gateway does: with an authorised client, and without any secret's value.
func (s *testServer) open(t testing.TB, settings map[string]any) crm.Driver {
	t.Helper()
	d, err := s.tryOpen(t, settings)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *testServer) tryOpen(t testing.TB, settings map[string]any) (crm.Driver, error) {
	t.Helper()
	return s.openBy(t, declared,
		adapter.Values{Settings: settings, Credentials: map[string]string{"token": "withheld"}})
}

// openBy opens a driver of an adapter.
func (s *testServer) openBy(t testing.TB, a adapter.Adapter, values adapter.Values) (crm.Driver, error) {
	t.Helper()
	return a.OpenCRM(context.Background(), values, adapter.Environment{
		Zone: "UTC", HTTP: adaptertest.Client(t, "rest", s.url, s.authorise),
		Now: func() time.Time { return time.Now().Add(s.later) },
	})
}

// ask sends a request to the ticket system as one of its own people does, past the gate.
func (s *testServer) ask(ctx context.Context, method, address string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if in == nil {
		body = nil
	}
	r := httptest.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	r.RequestURI = ""
	r.Header.Set("Content-Type", "application/json")
	s.authorize(r)
	w := httptest.NewRecorder()
	s.next.ServeHTTP(w, r)
	answer := w.Result()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode > 299 {
		return fmt.Errorf("%s %s answered %d: %s (%w)", method, address, answer.StatusCode, text, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
