package caldav_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav"
	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/upstream"
)

// sink is a server that a hostile calendar server names in its responses. It serves the same calendars, so
// that a driver led there continues.
type sink struct {
	*httptest.Server
	mu  sync.Mutex
	got []string // what must not have arrived
	n   int      // requests
}

// startServer starts a sink at an address. If no request is allowed at all, every request counts.
func startServer(t *testing.T, ip string, isTLS, isEmpty bool, calendars func() http.Handler) *sink {
	t.Helper()
	s := &sink{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.n++
		switch {
		case isEmpty, r.Header.Get("Authorization") != "", r.Header.Get("Cookie") != "",
			bytes.Contains(body, []byte("canary")),
			r.Method == http.MethodPut, r.Method == http.MethodDelete, r.Method == http.MethodPost:
			s.got = append(s.got, fmt.Sprintf("%s %s %v %s", r.Method, r.URL, r.Header, body))
		}
		s.mu.Unlock()
		r.SetBasicAuth("alice", password) // as a server without authentication
		calendars().ServeHTTP(w, r)
	}))
	listener, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Skip("no such address here: ", err)
	}
	server.Listener.Close()
	server.Listener = listener
	if isTLS {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	s.Server = server
	return s
}

func (s *sink) check(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.got {
		t.Errorf("%s got %s", name, got)
	}
}

var hrefElement = regexp.MustCompile(`(<(?:[A-Za-z0-9]+:)?href[^>]*>)([^<]+)(</)`)

// hostile serves calendars, and moves each address that matches which to otherHost.
func hostile(next http.Handler, which *regexp.Regexp, otherHost func() string, redirects bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if redirects && which.MatchString(r.URL.Path) {
			w.Header().Set("Location", otherHost()+r.URL.EscapedPath())
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		body := hrefElement.ReplaceAllStringFunc(recorder.Body.String(), func(element string) string {
			parts := hrefElement.FindStringSubmatch(element)
			if !which.MatchString(parts[2]) {
				return element
			}
			return parts[1] + otherHost() + parts[2] + parts[3]
		})
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		if r.Method == http.MethodPut && which.MatchString(r.URL.Path) {
			w.Header().Set("Location", otherHost()+r.URL.EscapedPath())
			w.Header().Del("ETag")
		}
		w.WriteHeader(recorder.Code)
		_, _ = io.WriteString(w, body)
	})
}

// TestAddressesInAnswersObeyTheRulesOfRedirects lets a calendar server return foreign addresses everywhere.
// No https request becomes plain http, none reaches an internal network, and another site sees neither the
// credentials nor the bookings.
func TestAddressesInAnswersObeyTheRulesOfRedirects(t *testing.T) {
	for place, which := range map[string]string{
		"the principal": `/dav/principals/`, "the home": `/dav/calendars/alice/$`,
		"a calendar": `/dav/calendars/alice/[a-z-]+/$`, "an event": `\.ics$`,
		"the inbox": `inbox`, "the inbox and the calendars": `inbox|/dav/calendars/alice/[a-z-]+/$`,
		"everything": `^/`,
	} {
		for _, redirects := range []bool{false, true} {
			for _, isTLS := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, redirects %t, TLS %t", place, redirects, isTLS), func(t *testing.T) {
					t.Parallel()
					attackHrefs(t, regexp.MustCompile(which), redirects, isTLS)
				})
			}
		}
	}
}

func attackHrefs(t *testing.T, which *regexp.Regexp, redirects, isTLS bool) {
	t.Helper()
	a := fake.New(fake.Options{User: "alice", Password: password, Email: email, AutoSchedule: true})
	a.AddCalendar("home", "Home", "", false)
	calendars := func() http.Handler { return a }
	inside := startServer(t, "127.0.0.2", false, true, calendars)
	insideTLS := startServer(t, "127.0.0.2", true, true, calendars)
	clear := startServer(t, "127.0.0.1", false, isTLS, calendars) // plain http: no request at all from https
	other := startServer(t, "127.0.0.1", true, false, calendars)

	var home *httptest.Server
	otherHost := ""
	home = httptest.NewUnstartedServer(hostile(a, which, func() string { return otherHost }, redirects))
	if isTLS {
		home.StartTLS()
	} else {
		home.Start()
	}
	t.Cleanup(home.Close)
	base, err := url.Parse(home.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, s := range []*httptest.Server{home, other.Server, insideTLS.Server} {
		if s.Certificate() != nil {
			roots.AddCert(s.Certificate())
		}
	}
	pool := upstream.NewPool(upstream.PoolOptions{
		AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, RootCAs: roots,
	})
	t.Cleanup(pool.Close)
	client := pool.Client(upstream.ClientOptions{
		Provider: "caldav", TenantAddress: true, AuthorizeFor: base,
		Authorize: func(r *http.Request) error { r.SetBasicAuth("alice", password); return nil },
	})
	for _, otherHost = range []string{
		clear.URL, other.URL, inside.URL, insideTLS.URL, "http://" + base.Host,
		strings.TrimPrefix(other.URL, "https:"), strings.TrimPrefix(clear.URL, "http:"),
		base.Scheme + "://mallory:pw@" + base.Host,
		"https://mallory:pw@" + strings.TrimPrefix(other.URL, "https://"), "ftp://" + base.Host, "file://",
		"javascript://" + base.Host,
		"http://[::ffff:127.0.0.2]" + inside.URL[strings.LastIndexByte(inside.URL, ':'):],
		base.Scheme + "://" + base.Host + "@" + strings.TrimPrefix(other.URL, "https://"),
	} {
		useCalendars(t, home.URL, client)
	}
	inside.check(t, "a network inside")
	insideTLS.check(t, "a network inside, by TLS,")
	clear.check(t, "a server in the clear")
	other.check(t, "another site")
}

// useCalendars makes every call of a driver. It ignores errors.
func useCalendars(t *testing.T, address string, client *http.Client) {
	t.Helper()
	driver, err := caldav.Adapter().OpenCalendar(t.Context(),
		adapter.Values{Settings: map[string]any{"url": address, "email": email}, Credentials: map[string]string{
			"username": "alice", "password": "withheld",
		}},
		adapter.Environment{Zone: "America/New_York", HTTP: client, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = driver.Account(t.Context())
	_, _ = driver.Calendars(t.Context())
	start, title := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), "canary"
	b := calendar.Booking{
		Key: "k1", Title: title, Start: start, End: start.Add(time.Hour), Zone: "UTC",
		Attendees: []string{"canary@example.com"},
	}
	booked, err := driver.Book(t.Context(), b)
	refs := []calendar.EventRef{{ID: "/dav/calendars/alice/home/x.ics"}}
	if err == nil {
		refs = append(refs, calendar.EventRef{ID: booked.ID})
	}
	for range 2 {
		page, _ := driver.Events(t.Context(), calendar.Query{
			From: start.Add(-time.Hour), To: start.Add(2 * time.Hour), Zone: "UTC",
		})
		for _, e := range page.Events {
			refs = append(refs, calendar.EventRef{ID: e.ID})
		}
	}
	for _, ref := range refs {
		_, _ = driver.Event(t.Context(), ref)
		_, _ = driver.Change(t.Context(), ref, calendar.Change{Description: &title})
		_ = driver.Cancel(t.Context(), ref)
	}
}
