package settingspage_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/gateway"
	"frontdesk/core/settingspage"
	"frontdesk/core/signin"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/webhook"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a gateway with its store, served over plain HTTP, which browsers regard as secure at 127.0.0.1.
type world struct {
	t      testing.TB
	store  string // URL
	dir    string
	url    string
	g      *gateway.Gateway
	later  atomic.Int64 // how far the gateway's clock is ahead of the machine's
	log    tenanttest.Buffer
	change func(*config.Config)

	number              string            // the id of a number that a tenant bought
	agents              map[string]string // ids, by the tenant
	webhooks, adminKeys map[string]string // ids, by the tenant that they are for; "": the operator's webhook
}

func (w *world) now() time.Time           { return time.Now().Add(time.Duration(w.later.Load())) }
func (w *world) advance(by time.Duration) { w.later.Add(int64(by)) }

// onEveryStore runs a test with a gateway on SQLite and on PostgreSQL.
func onEveryStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string { return sqlite(t) }, "postgres": func(t *testing.T) string { return storetest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, open(t)))
		})
	}
}

func start(t testing.TB, store string, change ...func(*config.Config)) *world {
	t.Helper()
	w := &world{t: t, store: store, dir: t.TempDir(), webhooks: map[string]string{},
		adminKeys: map[string]string{}, agents: map[string]string{}, change: func(c *config.Config) {
			for _, each := range change {
				each(c)
			}
		}}
	if err := os.Chmod(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.g.Handler().ServeHTTP(rw, r)
	}))
	w.url = "http://" + server.Listener.Addr().String()
	w.open()
	server.Start()
	t.Cleanup(func() {
		server.Close()
		w.g.Close()
	})
	return w
}

// open opens the gateway, or another one after it was closed, as a restart does.
func (w *world) open() {
	w.t.Helper()
	declared, err := gateway.Providers(all.Adapters())
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := config.Default(declared)
	cfg.DataDir, cfg.Store.URL, cfg.Server.PublicURL = w.dir, w.store, w.url
	cfg.Egress.Allow = []string{"127.0.0.1/32"} // the webhooks' address, which takes no name service
	w.change(&cfg)
	w.g, err = gateway.Open(context.Background(), cfg,
		gateway.Options{Adapters: all.Adapters(), LogTo: &w.log, Now: w.now})
	if err == nil {
		err = w.g.Migrate(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// tenant makes a tenant with a webhook, a key of the admin interface, and a sandbox calendar and an API key
// that are named like the tenant. It returns the API key's id. The calendar is the webhook's first event.
func (w *world) tenant(name string) string {
	w.t.Helper()
	ctx, operator := w.t.Context(), apikey.Caller{}
	_, err := w.g.Admin().CreateTenant(ctx, operator, admin.Write{}, admin.TenantSpec{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(w.webhooks) == 0 {
		w.webhook("")
	}
	w.webhook(name)
	ours, err := w.g.Admin().CreateAdminKey(ctx, operator, admin.Write{}, admin.NewAdminKey{
		Tenant: name, Role: apikey.RoleAdmin, Label: name,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.adminKeys[name] = ours.Record.ID
	agent, err := w.g.Admin().CreateAgent(ctx, operator, admin.Write{}, admin.NewAgent{
		Tenant: name, AgentSpec: apikey.AgentSpec{Platform: "retell", Signing: "the-secret-of-" + name},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.agents[name] = agent.Record.ID
	made := admin.NewConnection{Tenant: name}
	made.Name, made.Kind, made.Provider = name, "calendar", "sandbox"
	if _, err := w.g.Admin().CreateConnection(ctx, operator, admin.Write{}, made); err != nil {
		w.t.Fatal(err)
	}
	k, err := w.g.Admin().CreateKey(ctx, operator, admin.Write{}, admin.NewKey{Tenant: name, Spec: apikey.Spec{Label: name}})
	if err != nil {
		w.t.Fatal(err)
	}
	return k.Record.ID
}

// webhook makes a webhook of a tenant, or of the operator if the name is "".
func (w *world) webhook(tenantName string) {
	w.t.Helper()
	made, err := w.g.Admin().CreateWebhook(w.t.Context(), apikey.Caller{}, admin.Write{}, admin.NewWebhook{
		Tenant: tenantName, Spec: webhook.Spec{URL: "https://127.0.0.1:1/hooks/" + tenantName},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.webhooks[tenantName] = made.Record.ID
}

// link returns the path of a new sign-in link.
func (w *world) link(n signin.NewLink) string {
	w.t.Helper()
	link, _, err := w.g.CreateSignInLink(w.t.Context(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimPrefix(link, w.url)
}

// browser is a person's browser without scripts.
type browser struct {
	w      *world
	cookie string // of the session; "": none
	header http.Header
}

func (w *world) browser() *browser {
	return &browser{w: w, header: http.Header{"Sec-Fetch-Site": {"same-origin"}}}
}

// signedIn returns a browser in which a link was used.
func (w *world) signedIn(n signin.NewLink) *browser {
	w.t.Helper()
	b := w.browser()
	if p := b.post(w.link(n), nil); p.status != http.StatusSeeOther || b.cookie == "" {
		w.t.Fatalf("not signed in: %d %s", p.status, p.body)
	}
	return b
}

// shown is what a browser shows.
type shown struct {
	status int
	to     string // where it is led
	body   string
	header http.Header
}

func (b *browser) get(path string) shown { return b.send(http.MethodGet, path, nil) }

func (b *browser) post(path string, form url.Values) shown {
	return b.send(http.MethodPost, path, form)
}

const sessionCookie = "__Host-frontdesk-session"

func (b *browser) send(method, path string, form url.Values) shown {
	b.w.t.Helper()
	r, err := http.NewRequestWithContext(b.w.t.Context(), method, b.w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.w.t.Fatal(err)
	}
	r.Header = b.header.Clone()
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if b.cookie != "" {
		r.Header.Add("Cookie", sessionCookie+"="+b.cookie)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		if c.Name == sessionCookie {
			b.cookie = c.Value
		}
	}
	return shown{answer.StatusCode, answer.Header.Get("Location"), string(body), answer.Header}
}

// isSignedIn reports whether the browser's session is good.
func (b *browser) isSignedIn() bool {
	b.w.t.Helper()
	p := b.get("/settings")
	if p.status != http.StatusOK && p.to != "/settings/sign-in" {
		b.w.t.Fatalf("the overview is %d %s", p.status, p.body)
	}
	return p.status == http.StatusOK
}

// above is the operation that leads from the address of a form to the page above it, and shows nothing itself.
const above = "settings-above"

// routes returns all routes of the settings page.
func routes(t testing.TB) []settingspage.Route {
	t.Helper()
	p, err := settingspage.New(settingspage.Options{PublicURL: "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return p.Routes()
}

// at puts values into the path of a route.
func (w *world) at(path, tenant, connection, key string) string {
	hook := w.webhooks[tenant]
	if strings.HasPrefix(path, "/settings/webhooks") {
		hook = w.webhooks[""]
	}
	if strings.HasPrefix(path, "/settings/admin-keys") {
		key = w.adminKeys[tenant]
	}
	return strings.NewReplacer("{tenant}", tenant, "{connection}", connection, "{key}", key,
		"{kind}/{provider}/{system}", "crm/rest/zammad", "{kind}", "calendar", "{provider}", "sandbox",
		"{operation}", "bookMeeting", "{platform}", "vapi", "{token}", "fds_none", "{request}", "none",
		"{number}", cmp.Or(w.number, "1"),
		"{agent}", cmp.Or(w.agents[tenant], "none"), "{webhook}", cmp.Or(hook, "none"), "{delivery}", "none").Replace(path)
}

// sqlite returns the URL of a new SQLite database that has its tables.
func sqlite(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frontdesk.db")
	storetest.CopyTables(t, path)
	return "sqlite:" + path
}
