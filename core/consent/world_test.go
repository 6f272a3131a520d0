package consent

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/consent/consenttest"
	"frontdesk/core/link"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/page"
	"frontdesk/core/service"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a gateway with real use cases, two providers for consents, and a customer's browser.
type world struct {
	t      *testing.T
	url    string
	meet   *consenttest.Provider
	dial   *consenttest.Provider
	kit    *tenanttest.Kit
	nanos  atomic.Int64 // the time, in Unix nanoseconds
	log    *tenanttest.Buffer
	seen   *tenanttest.Buffer // the text of all responses
	posted atomic.Value       // string: Origin and Sec-Fetch-Site of the last POST request
	jar    http.CookieJar
	client *http.Client
}

func (w *world) now() time.Time           { return time.Unix(0, w.nanos.Load()).UTC() }
func (w *world) advance(by time.Duration) { w.nanos.Add(int64(by)) }

// start starts a world whose gateway uses plain HTTP, which browsers regard as secure at 127.0.0.1.
func start(t *testing.T, change ...func(*oauthtest.Options)) *world {
	t.Helper()
	w := &world{t: t, log: &tenanttest.Buffer{}, seen: &tenanttest.Buffer{}}
	w.nanos.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixNano())
	server := httptest.NewUnstartedServer(nil)
	w.url = "http://" + server.Listener.Addr().String()
	registered := func(name string) func(*oauthtest.Options) {
		return func(o *oauthtest.Options) {
			o.Redirects = []string{w.url + "/oauth/callback/" + name}
			o.Offline = func(ask url.Values) bool {
				return ask.Get("scope") != "" && !strings.Contains(ask.Get("redirect_uri"), "nothing")
			}
		}
	}
	w.meet, w.dial = consenttest.Start(t, "meet",
		append([]func(*oauthtest.Options){registered("meet")}, change...)...),
		consenttest.Start(t, "dial", registered("dial"))
	// This log redacts no secrets.
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.kit = tenanttest.Open(t, storetest.SQLite(t), func(o *tenanttest.Options) {
		o.Adapters = []adapter.Adapter{w.meet.Adapter(), w.dial.Adapter()}
		o.Operators = map[string]adapter.Operator{"meet": w.meet.Operator(), "dial": w.dial.Operator()}
		o.Now, o.Log = w.now, log
	})
	handler := surface(t, w.url, w.kit.Links, log, branded(t, ""))
	server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.posted.Store(r.Header.Get("Origin") + " " + r.Header.Get("Sec-Fetch-Site"))
		}
		handler.ServeHTTP(rw, r)
	})
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	w.newBrowser()
	w.kit.Tenant("acme")
	return w
}

func surface(t *testing.T, publicURL string, links Links, log *slog.Logger, brand ...page.Brand) http.Handler {
	t.Helper()
	pages, err := New(publicURL, links, append(brand, page.Brand{})[0])
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(api.Options{
		PublicURL: publicURL, Log: log, Keys: (*apikey.Callers)(nil),
		Services: api.Services{
			Calendar: &service.Calendar{}, Tickets: &service.Tickets{}, Numbers: &service.Numbers{},
			Contacts: &service.Contacts{}, Admin: &admin.Service{},
		},
		Pages: []api.Page{
			{Method: http.MethodGet, Path: "/connect/{token}", Operation: "connect-page", Serve: pages.Ask},
			{Method: http.MethodHead, Path: "/connect/{token}", Operation: "connect-page", Serve: pages.Ask},
			{Method: http.MethodGet, Path: page.BrandPath + "{file}", Operation: "logo", Serve: pages.Logo},
			{Method: http.MethodPost, Path: "/connect/{token}", Operation: "connect-begin", Serve: pages.Begin},
			{Method: http.MethodGet, Path: "/oauth/callback/{provider}", Operation: "connect-finish",
				Serve: pages.Finish},
			{Method: http.MethodGet, Path: "/oauth/callback/{provider}/{own}", Operation: "connect-finish",
				Serve: pages.Finish},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// newBrowser makes the customer use another browser from now on.
func (w *world) newBrowser() {
	w.jar, _ = cookiejar.New(nil)
	w.client = &http.Client{
		Jar: w.jar, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// link returns a new link to the connection "front-office" at meet.
func (w *world) link(change ...func(*link.Spec)) (token string) {
	w.t.Helper()
	n := link.Spec{Connection: connection.Spec{
		Name: "front-office", Kind: adapter.KindCalendar, Provider: "meet",
	}}
	for _, c := range change {
		c(&n)
	}
	token, _, err := w.kit.Links.Create(w.t.Context(), "acme", n)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

// text returns the body of a page without its head.
func (a answer) text() string {
	_, text, found := strings.Cut(a.body, "</head>")
	if !found {
		return a.body
	}
	return text
}

// send sends a request like a current browser on a same-origin page.
func (w *world) send(method, address string, headers ...string) answer {
	w.t.Helper()
	req, err := http.NewRequest(method, address, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return w.do(req)
}

func (w *world) do(req *http.Request) answer {
	w.t.Helper()
	response, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{response.StatusCode, response.Header, string(body)}
	fmt.Fprintln(w.seen, a.text())
	return a
}

// begin presses the button of a link's page, and returns the URL that it redirects to.
func (w *world) begin(token string) string {
	w.t.Helper()
	a := w.send(http.MethodPost, w.url+"/connect/"+token)
	if a.status != http.StatusSeeOther {
		w.t.Fatalf("the button leads nowhere: %d %s", a.status, a.text())
	}
	return a.header.Get("Location")
}

// back begins a consent, presses a button at the provider, and returns the URL that the provider redirects
// to.
func (w *world) back(token, button string) *url.URL {
	w.t.Helper()
	return w.meet.Decide(w.t, w.begin(token), button)
}

// connect begins, gives and finishes a consent.
func (w *world) connect(token string) answer {
	w.t.Helper()
	a := w.send(http.MethodGet, w.back(token, "approve").String())
	if a.status != http.StatusOK {
		w.t.Fatalf("not connected: %d %s", a.status, a.text())
	}
	return a
}

// stored returns all rows that a consent may change, as JSON.
func (w *world) stored() string {
	w.t.Helper()
	connections, err := w.kit.Store.AllConnections(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	tokens, err := w.kit.Store.AllTokens(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal([]any{connections, tokens})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}
