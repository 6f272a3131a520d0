package tenant

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a secret that must be found nowhere but on requests.
const canary = "canary-5d21"

// onEveryStore runs a test on SQLite and on PostgreSQL.
func onEveryStore(t *testing.T, test func(t *testing.T, url string)) {
	for name, open := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// clock is a clock that a test moves.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time           { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) advance(by time.Duration) { c.nanos.Add(int64(by)) }

// harness is a directory with everything around it.
type harness struct {
	*Directory
	t       *testing.T
	store   *store.Store
	vault   *vault.Vault
	clock   *clock
	desk    *provider // the calendar "dav": basic authorization, an address given by the tenant
	sandbox *provider // the calendar "sandbox"
	logged  *lockedBuffer
	dataDir string
}

// build opens a store and a directory on it; they are closed with the test.
func build(t *testing.T, url string, change ...func(*Options)) *harness {
	t.Helper()
	h := &harness{t: t, store: storetest.Open(t, url), clock: newClock(), desk: &provider{}, sandbox: &provider{}, logged: &lockedBuffer{}, dataDir: t.TempDir()}
	var err error
	if h.vault, err = vault.Open("", h.dataDir); err != nil {
		t.Fatal(err)
	}
	registry, err := adapter.NewRegistry([]adapter.Adapter{
		h.desk.calendar(adapter.Declaration{Name: "dav", Auth: adapter.Auth{Scheme: adapter.Basic, Username: "username", Password: "password", BaseURL: "url"}}),
		h.sandbox.calendar(adapter.Declaration{Name: "sandbox", Sandbox: true}),
		tokenCRM("bearer", adapter.Auth{Scheme: adapter.Bearer, Password: "token", BaseURL: "base_url"}),
		tokenCRM("header", adapter.Auth{Scheme: adapter.Header, HeaderName: "X-Token", Password: "token", BaseURL: "base_url"}),
		numbers(),
	})
	if err != nil {
		t.Fatal(err)
	}
	pool := upstream.NewPool(upstream.PoolOptions{AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(pool.Close)
	o := Options{Store: h.store, Vault: h.vault, Registry: registry, Pool: pool, Now: h.clock.now,
		Log: slog.New(slog.NewTextHandler(h.logged, nil))}
	for _, c := range change {
		c(&o)
	}
	h.Directory = NewDirectory(o)
	t.Cleanup(h.Directory.Close)
	t.Cleanup(func() {
		if bytes.Contains(h.logged.Bytes(), []byte(canary)) {
			t.Errorf("the log holds a secret: %s", h.logged.Bytes())
		}
	})
	return h
}

// provider is a calendar provider of which tests decide what it says.
type provider struct {
	opens    atomic.Int64
	opening  func() error // called by open; may block
	mu       sync.Mutex
	seen     deskSettings // what it was opened with last
	account  calendar.Account
	refusal  error // what Account and Calendars fail with
	contents []calendar.Calendar
}

type deskSettings struct {
	URL      string `setting:"url" kind:"url" help:"Server."`
	Room     string `setting:"room" help:"Room."`
	Size     int    `setting:"size" default:"1" help:"Size."`
	Username string `credential:"username" help:"User name."`
	Password string `credential:"password" help:"Password."`
}

func (p *provider) calendar(d adapter.Declaration) adapter.Adapter {
	d.Title, d.Help = d.Name, "For tests."
	return adapter.Calendar(d, func(_ context.Context, s deskSettings, env adapter.Environment) (calendar.Driver, error) {
		p.opens.Add(1)
		if p.opening != nil {
			if err := p.opening(); err != nil {
				return nil, err
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = s
		return &calendarDriver{provider: p, env: env, settings: s}, nil
	})
}

func (p *provider) says(a calendar.Account, refusal error, contents ...calendar.Calendar) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account, p.refusal, p.contents = a, refusal, contents
}

func (p *provider) openedWith() deskSettings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// calendarDriver answers what its provider says; what it does not override must not be called.
type calendarDriver struct {
	calendar.Driver
	provider *provider
	env      adapter.Environment
	settings deskSettings
}

func (d *calendarDriver) Account(context.Context) (calendar.Account, error) {
	d.provider.mu.Lock()
	defer d.provider.mu.Unlock()
	return d.provider.account, d.provider.refusal
}

func (d *calendarDriver) Calendars(context.Context) ([]calendar.Calendar, error) {
	d.provider.mu.Lock()
	defer d.provider.mu.Unlock()
	return d.provider.contents, d.provider.refusal
}

type tokenSettings struct {
	BaseURL string `setting:"base_url" kind:"url" required:"true" help:"Server."`
	Token   string `credential:"token" required:"true" help:"Token."`
}

func tokenCRM(name string, auth adapter.Auth) adapter.Adapter {
	return adapter.CRM(adapter.Declaration{Name: name, Title: name, Help: "For tests.", Auth: auth},
		func(_ context.Context, s tokenSettings, env adapter.Environment) (crm.Driver, error) {
			return &crmDriver{env: env, settings: s}, nil
		})
}

type crmDriver struct {
	crm.Driver
	env      adapter.Environment
	settings tokenSettings
}

func (d *crmDriver) Account(context.Context) (crm.Account, error) {
	return crm.Account{Name: "Acme", Email: "help@acme.example"}, nil
}

func (d *crmDriver) Vocabulary(context.Context) (crm.Vocabulary, error) {
	return crm.Vocabulary{Statuses: []string{"New", "Closed"}, Priorities: []string{"Low", "High"}}, nil
}

func (d *crmDriver) Explain(context.Context) ([]string, error) {
	return []string{"account: asked at /me", "ticket: not tried"}, nil
}

type noSettings struct{}

func numbers() adapter.Adapter {
	return adapter.Telephony(adapter.Declaration{Name: "sandbox", Title: "Sandbox", Help: "For tests.", Sandbox: true},
		func(context.Context, noSettings, adapter.Environment) (telephony.Driver, error) {
			return phoneDriver{}, nil
		})
}

type phoneDriver struct{ telephony.Driver }

func (phoneDriver) Account(context.Context) (telephony.Account, error) {
	return telephony.Account{Name: "Lines", Ref: "AC1"}, nil
}

// origin is a server that notes what requests carry.
func origin(t *testing.T) (url string, got func() http.Header) {
	t.Helper()
	var mu sync.Mutex
	var last http.Header
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		last = r.Header.Clone()
	}))
	t.Cleanup(s.Close)
	return s.URL, func() http.Header {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

func get(t *testing.T, client *http.Client, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
}

// The steps of most tests, which fail it when they fail.

func (h *harness) tenant(name string) Tenant {
	h.t.Helper()
	made, err := h.CreateTenant(h.t.Context(), name, Settings{})
	if err != nil {
		h.t.Fatal(err)
	}
	return made
}

func (h *harness) connection(tenant, name string, kind adapter.Kind, provider string) Connection {
	h.t.Helper()
	n := NewConnection{Name: name, Kind: kind, Provider: provider}
	if provider == "dav" {
		n.Settings = map[string]any{"url": "https://cal.acme.example/"}
		n.Credentials = map[string]string{"username": "desk", "password": canary}
	}
	made, err := h.AddConnection(h.t.Context(), tenant, n)
	if err != nil {
		h.t.Fatal(err)
	}
	h.clock.advance(time.Millisecond) // so that the order of making can be told
	return made
}

func (h *harness) key(tenant string, k NewKey) (string, Key) {
	h.t.Helper()
	text, made, err := h.CreateKey(h.t.Context(), tenant, k)
	if err != nil {
		h.t.Fatal(err)
	}
	return text, made
}

func (h *harness) caller(key string) Caller {
	h.t.Helper()
	c, err := h.Authenticate(h.t.Context(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// row returns a connection as the store has it.
func (h *harness) row(c Connection) store.Connection {
	h.t.Helper()
	row, err := h.store.Connection(h.t.Context(), c.TenantID, c.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return row
}

// wantFault fails the test unless err is a fault of the code and reason that holds no secret.
func wantFault(t *testing.T, err error, code fault.Code, reason string) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != code || f.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, code, reason)
	}
	if bytes.Contains([]byte(err.Error()), []byte(canary)) {
		t.Errorf("the error holds a secret: %v", err)
	}
	return f
}

// wantFields fails the test unless err names exactly these input faults ("path message").
func wantFields(t *testing.T, err error, want ...string) {
	t.Helper()
	f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	got := make([]string, 0, len(f.Fields))
	for _, field := range f.Fields {
		got = append(got, field.Path+" "+field.Message)
	}
	if len(got) != len(want) {
		t.Fatalf("got %q\nwant %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got  %q\nwant %q", got[i], want[i])
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.b.Bytes())
}
