package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	googlefake "frontdesk/adapters/calendar/google/fake"
	microsoftfake "frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/oauth/oauthtest"
)

// What the pretended accounts hold. Each calendar with ten events has them in the window, and the full one
// has 2,500, as many as one answer may have.
const (
	account      = "desk@example.com"
	clientID     = "bench"
	clientSecret = "bench-secret"
	calendars    = 10 // with ten events each, besides the default and the full one
	fullCalendar = "full@example.com"
	fullEvents   = 2500
	windowStart  = "2027-03-01T00:00:00Z"
	windowEnd    = "2027-04-01T00:00:00Z"
)

func calendarID(i int) string { return fmt.Sprintf("c%d@example.com", i) }

// upstream serves the fakes of the providers over TLS, with a latency. It counts what it is asked. Prepared,
// it answers with what a fake answered to the same request before, so that the fake, which keeps one lock, is
// not what is measured.
type upstream struct {
	google    *googlefake.Server
	microsoft *microsoftfake.Server
	boxes     []string // Microsoft's ids of the calendars, the full one last

	latency  atomic.Int64
	prepared atomic.Bool
	fails    atomic.Int64 // the status of every answer; 0: none fails
	answers  sync.Map     // request -> *httptest.ResponseRecorder
	inserted atomic.Pointer[map[string]any]

	mu    sync.Mutex
	count map[string]int
	last  string // the last list of events that was asked for
}

func newUpstream(base string) (*upstream, error) {
	u := &upstream{count: map[string]int{}}
	clients := map[string]string{clientID: clientSecret}
	u.google = googlefake.New(googlefake.Options{
		Accounts: []string{account}, Zone: "UTC",
		OAuth: oauthtest.Options{Issuer: base, Clients: clients, Lifetime: 24 * time.Hour},
	})
	u.microsoft = microsoftfake.New(
		microsoftfake.Options{Clients: clients, Account: account, Name: "Desk", Zone: "UTC"})
	begin, err := time.Parse(time.RFC3339, windowStart)
	if err != nil {
		return nil, err
	}
	for i := range calendars + 1 {
		id, events := calendarID(i), 10
		if i == calendars {
			id, events = fullCalendar, fullEvents
		}
		u.google.AddCalendar(account, googlefake.Calendar{ID: id, Name: id})
		box := u.microsoft.AddCalendar(id, false)
		u.boxes = append(u.boxes, box)
		for n := range events {
			from := begin.Add(time.Duration(n) * 17 * time.Minute)
			to := from.Add(15 * time.Minute)
			if _, err := u.google.Make(account, id, googleEvent(n, from, to)); err != nil {
				return nil, err
			}
			if _, err := u.microsoft.Invite(box, fmt.Sprintf("Consultation %d", n), "pat@example.com", from,
				to); err != nil {
				return nil, err
			}
		}
	}
	return u, nil
}

// googleEvent is an event with what most events have.
func googleEvent(n int, from, to time.Time) map[string]any {
	at := func(t time.Time) map[string]any {
		return map[string]any{"dateTime": t.Format(time.RFC3339), "timeZone": "UTC"}
	}
	return map[string]any{
		"summary": fmt.Sprintf("Consultation %d",
			n), "start": at(from), "end": at(to), "location": "Front office, second floor",
		"description": "First visit. Bring the plans and the letter of the insurance.",
		"attendees": []any{
			map[string]any{"email": "pat@example.com", "displayName": "Pat Example",
				"responseStatus": "accepted"},
			map[string]any{"email": "sam@example.com", "responseStatus": "needsAction"},
		},
	}
}

// ServeHTTP answers as the provider does, after the latency.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shape := shapeOf(r)
	u.mu.Lock()
	u.count[shape]++
	if strings.HasSuffix(shape, "/events") && r.Method == http.MethodGet {
		u.last = r.URL.RequestURI()
	}
	u.mu.Unlock()
	if d := u.latency.Load(); d > 0 {
		select {
		case <-time.After(time.Duration(d)):
		case <-r.Context().Done():
			return
		}
	}
	if status := u.fails.Load(); status > 0 {
		w.WriteHeader(int(status))
		return
	}
	if strings.Contains(shape, "token") || !u.prepared.Load() {
		u.fake(r).ServeHTTP(w, r)
		return
	}
	u.repeat(w, r, shape)
}

func (u *upstream) fake(r *http.Request) http.Handler {
	if strings.HasPrefix(r.URL.Path, "/v1.0/") || strings.Contains(r.URL.Path, "/oauth2/v2.0/") {
		return u.microsoft
	}
	return u.google
}

// repeat answers a request as the fake did before.
func (u *upstream) repeat(w http.ResponseWriter, r *http.Request, shape string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if shape == "POST calendars/{id}/events" {
		u.insert(w, r, body)
		return
	}
	key := r.Method + " " + r.URL.RequestURI()
	if shape == "POST freeBusy" { // its times differ between calls
		u.free(w, r, key, body)
		return
	}
	key += " " + string(body)
	known, found := u.answers.Load(key)
	if !found {
		known, _ = u.answers.LoadOrStore(key, u.ask(r, body))
	}
	write(w, known.(*httptest.ResponseRecorder))
}

// free answers which times are busy, as the fake answered for the same calendars, at the times that are asked
// for.
func (u *upstream) free(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	var asked struct {
		Min   string          `json:"timeMin"`
		Max   string          `json:"timeMax"`
		Items json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key += " " + string(asked.Items)
	known, found := u.answers.Load(key)
	if !found {
		answer := map[string]json.RawMessage{}
		made := u.ask(r, body)
		if err := json.Unmarshal(made.Body.Bytes(), &answer); err != nil || made.Code != http.StatusOK {
			write(w, made)
			return
		}
		known, _ = u.answers.LoadOrStore(key, answer)
	}
	answer := maps.Clone(known.(map[string]json.RawMessage))
	answer["timeMin"], answer["timeMax"] = fmt.Appendf(nil, "%q", asked.Min), fmt.Appendf(nil, "%q",
		asked.Max)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(answer) // the client may have disconnected
}

// insert answers an insert of an event as the fake answered the first, with what this one has.
func (u *upstream) insert(w http.ResponseWriter, r *http.Request, body []byte) {
	like := u.inserted.Load()
	if like == nil {
		answer := u.ask(r, body)
		var made map[string]any
		if answer.Code == http.StatusOK && json.Unmarshal(answer.Body.Bytes(), &made) == nil {
			u.inserted.Store(&made)
		}
		write(w, answer)
		return
	}
	var given map[string]any
	if err := json.Unmarshal(body, &given); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	made := maps.Clone(*like)
	maps.Copy(made, given)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(made) // the client may have disconnected
}

func (u *upstream) ask(r *http.Request, body []byte) *httptest.ResponseRecorder {
	asked := r.Clone(r.Context())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	u.fake(r).ServeHTTP(answer, asked)
	return answer
}

func write(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client may have disconnected
}

// shapeOf returns what kind of request it is, without the ids.
func shapeOf(r *http.Request) string {
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/calendar/v3/"), "/v1.0/")
	if strings.HasSuffix(path, "/token") {
		return r.Method + " token"
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if i > 0 && (segments[i-1] == "calendars" || segments[i-1] == "events" ||
			segments[i-1] == "calendarList" ||
			segments[i-1] == "users" && segment != "me") {
			segments[i] = "{id}"
		}
	}
	return r.Method + " " + strings.Join(segments, "/")
}

// control serves the measuring program, apart from what is measured.
func (u *upstream) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/set", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if text := q.Get("latency"); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			u.latency.Store(int64(d))
		}
		if text := q.Get("prepared"); text != "" {
			u.prepared.Store(text == "true")
		}
		if text := q.Get("status"); text != "" {
			status, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			u.fails.Store(status)
		}
	})
	mux.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) {
		u.mu.Lock()
		defer u.mu.Unlock()
		_ = json.NewEncoder(w).Encode(u.count)
		u.count = map[string]int{}
	})
	mux.HandleFunc("/last", func(w http.ResponseWriter, _ *http.Request) {
		u.mu.Lock()
		defer u.mu.Unlock()
		_ = json.NewEncoder(w).Encode(u.last)
	})
	mux.HandleFunc("/boxes",
		func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(u.boxes) })
	mux.HandleFunc("/grant", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		tokens := make([]string, n)
		for i := range tokens {
			tokens[i] = u.grant(r.URL.Query().Get("provider"))
		}
		_ = json.NewEncoder(w).Encode(tokens)
	})
	mux.HandleFunc("/access", func(w http.ResponseWriter, r *http.Request) {
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {u.grant("google")},
			"client_id":     {clientID},
			"client_secret": {clientSecret}}
		ask := httptest.NewRequestWithContext(r.Context(), http.MethodPost, googlefake.TokenPath,
			strings.NewReader(form.Encode()))
		ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		u.google.ServeHTTP(w, ask)
	})
	return mux
}

// grant returns a refresh token of the account.
func (u *upstream) grant(provider string) string {
	if provider == "microsoft" {
		return u.microsoft.OAuth().Grant(clientID, account, "User.Read", "Calendars.ReadWrite",
			"offline_access")
	}
	const scope = "https://www.googleapis.com/auth/calendar."
	return u.google.OAuth.Grant(clientID, account, scope+"events", scope+"calendarlist.readonly",
		scope+"freebusy")
}

// serveUpstream is the part that imitates the providers.
func serveUpstream(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	dir := flags.String("dir", "", "where the certificate is")
	if err := flags.Parse(args); err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(*dir, certFile), filepath.Join(*dir, keyFile))
	if err != nil {
		return err
	}
	listener, control, err := listenTwice(ctx)
	if err != nil {
		return err
	}
	u, err := newUpstream("https://" + listener.Addr().String())
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: u, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	if err := sayReady(out,
		map[string]string{"api": listener.Addr().String(), "control": control.Addr().String()}); err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	go func() {
		failed <- (&http.Server{Handler: u.control(), ReadHeaderTimeout: time.Minute}).Serve(control)
	}()
	return <-failed
}

func listenTwice(ctx context.Context) (first, second net.Listener, err error) {
	if first, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	second, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return first, second, err
}

// provider is the upstream as the measuring program sees it.
type provider struct {
	*process
	dir   string // with its certificate
	boxes []string
}

func startProvider(ctx context.Context, dir string) (*provider, error) {
	if _, err := os.Stat(filepath.Join(dir, certFile)); err != nil {
		if err := makeCertificate(dir); err != nil {
			return nil, err
		}
	}
	p, err := part(ctx, "upstream", "-dir", dir)
	if err != nil {
		return nil, err
	}
	u := &provider{process: p, dir: dir}
	return u, u.ask(ctx, "/boxes", &u.boxes)
}

// ask asks the control of the upstream; into may be nil.
func (p *provider) ask(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.at["control"]+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the upstream answers %s: %s", resp.Status, raw)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// set sets the latency, and whether answers are prepared.
func (p *provider) set(ctx context.Context, latency time.Duration, prepared bool) error {
	return p.ask(ctx, fmt.Sprintf("/set?latency=%s&prepared=%t", latency, prepared), nil)
}

// counted returns the requests since the last call.
func (p *provider) counted(ctx context.Context) (counts map[string]int, err error) {
	err = p.ask(ctx, "/count", &counts)
	return counts, err
}

// environ returns the gateway's variables that lead to the upstream.
func (p *provider) environ() []string {
	base := "https://" + p.at["api"]
	const prefix = "FRONTDESK_PROVIDERS__"
	return []string{
		// crypto/x509 reads it in place of the system's
		"SSL_CERT_FILE=" + filepath.Join(p.dir, authorityFile),
		prefix + "GOOGLE__CLIENT_ID=" + clientID, prefix + "GOOGLE__CLIENT_SECRET=" + clientSecret,
		prefix + "GOOGLE__AUTH_URL=" + base + googlefake.AuthorizePath,
		prefix + "GOOGLE__TOKEN_URL=" + base + googlefake.TokenPath,
		prefix + "GOOGLE__API_URL=" + base + "/", prefix + "GOOGLE__ISSUER=" + base,
		prefix + "MICROSOFT__CLIENT_ID=" + clientID, prefix + "MICROSOFT__CLIENT_SECRET=" + clientSecret,
		prefix + "MICROSOFT__AUTHORITY=" + base + "/common", prefix + "MICROSOFT__API_URL=" + base + "/v1.0",
	}
}
