// Package tenanttest sets up tenants for tests: the packages tenant, connection, apikey, link, apply and
// sealing over a real store and a real key set, with fake providers.
//
//	k := tenanttest.Open(t, storetest.SQLite(t))
//	k.Tenant("acme")
//	k.Connection("acme", "front-office", adapter.KindCalendar, "dav")
//	text, _ := k.Key("acme", apikey.Spec{})
//	open, err := k.Calendar(k.Caller(text))
package tenanttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/audit"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/oauth"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

// Canary is a secret that must appear nowhere but on requests.
const Canary = "Canary-5d21"

// OnEveryStore runs a test on SQLite and on PostgreSQL.
func OnEveryStore(t *testing.T, test func(t *testing.T, url string)) {
	for name, open := range map[string]func(testing.TB) string{
		"sqlite": storetest.SQLite, "postgres": storetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Clock is a clock that a test moves.
type Clock struct{ nanos atomic.Int64 }

// NewClock returns a clock set to a fixed time.
func NewClock() *Clock {
	c := &Clock{}
	c.nanos.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixNano())
	return c
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }

// Advance moves the clock forward.
func (c *Clock) Advance(by time.Duration) { c.nanos.Add(int64(by)) }

// Options configure a Kit.
type Options struct {
	Adapters  []adapter.Adapter // those of Open unless given
	Operators map[string]adapter.Operator
	Now       func() time.Time // the kit's clock unless given
	Log       *slog.Logger     // to Logged unless given
	Pool      *upstream.Pool   // one that reaches 127.0.0.0/8 unless given
	Audited   bool             // changes are recorded in the audit
	Kept      int              // see connection.DriverOptions
}

// Kit holds everything that tenants have, on one store.
type Kit struct {
	T       testing.TB
	Store   *store.Store
	Vault   *vault.Vault
	Sealer  sealing.Sealer
	Clock   *Clock
	Desk    *Provider // the calendar "dav": basic authorization, an address given by the tenant
	Sandbox *Provider // the calendar "sandbox"
	Logged  *Buffer
	DataDir string

	Tenants     *tenant.Directory
	Connections *connection.Directory
	Drivers     *connection.Drivers
	Tokens      *oauth.TokenSource
	Callers     *apikey.Callers
	Keys        *apikey.Directory
	Links       *link.Directory
	Consented   *TokenStore // where links store tokens
	Rows        *sealing.Rows
	Applier     apply.Applier
}

// ReturnURL is the address below which customers of the kit's links may return.
const ReturnURL = "https://platform.example.com/connections/"

// TokenStore is a token store that a test may replace.
type TokenStore struct{ link.TokenStore }

// Open returns a kit on the store at url, which is closed when the test ends. The test fails if anything that
// is logged holds the Canary.
func Open(t testing.TB, url string, change ...func(*Options)) *Kit {
	t.Helper()
	k := &Kit{
		T: t, Store: storetest.Open(t, url), Clock: NewClock(), Desk: &Provider{}, Sandbox: &Provider{},
		Logged: &Buffer{}, DataDir: t.TempDir(),
	}
	var err error
	if k.Vault, err = vault.Open("", k.DataDir); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Now: k.Clock.Now, Log: slog.New(slog.NewTextHandler(k.Logged, nil)),
		Adapters: []adapter.Adapter{
			k.Desk.Calendar(Dav()),
			k.Sandbox.Calendar(adapter.Declaration{Name: "sandbox", Sandbox: true}),
			tokenCRM("bearer", adapter.Auth{Scheme: adapter.Bearer, Password: "token", BaseURL: "base_url"}),
			tokenCRM("header", adapter.Auth{
				Scheme: adapter.Header, HeaderName: "X-Token", Password: "token", BaseURL: "base_url",
			}),
			numbers(),
		},
	}
	for _, c := range change {
		c(&o)
	}
	if o.Pool == nil {
		o.Pool = upstream.NewPool(upstream.PoolOptions{
			Log: o.Log, AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		})
		t.Cleanup(o.Pool.Close)
	}
	k.assemble(o)
	t.Cleanup(k.Close)
	t.Cleanup(func() {
		if bytes.Contains(k.Logged.Bytes(), []byte(Canary)) {
			t.Errorf("the log holds a secret: %s", k.Logged.Bytes())
		}
	})
	return k
}

// assemble creates the kit's parts as the gateway does.
func (k *Kit) assemble(o Options) {
	registry, err := adapter.NewRegistry(o.Adapters)
	if err != nil {
		k.T.Fatal(err)
	}
	var log *audit.Log
	if o.Audited {
		log = audit.New(audit.Options{
			Store: k.Store, Vault: k.Vault, Now: o.Now, Log: slog.New(slog.DiscardHandler),
		})
	}
	k.Sealer = sealing.New(k.Vault)
	k.Callers = apikey.NewCallers(apikey.CallerOptions{
		Store: k.Store, Vault: k.Vault, Registry: registry, Now: o.Now, Log: o.Log,
	})
	changed := k.Callers.Forget
	providers := connection.Providers{Registry: registry, Operators: o.Operators, Pool: o.Pool}
	k.Tokens = oauth.NewTokenSource(oauth.Options{
		Store: k.Store, Vault: k.Vault, Credentials: providers.TokenCredentials(k.Store, k.Vault), Now: o.Now,
		Log: o.Log, Changed: func(string) { changed() },
	})
	k.Consented = &TokenStore{k.Tokens}
	k.Drivers = connection.NewDrivers(connection.DriverOptions{
		Store: k.Store, Vault: k.Vault, Providers: providers, Tokens: k.Tokens, Now: o.Now, Kept: o.Kept,
	})
	k.Tenants = tenant.NewDirectory(tenant.Options{
		Store: k.Store, Now: o.Now, Audit: log, Changed: changed, Deleted: k.Drivers.DropTenant,
	})
	k.Connections = connection.NewDirectory(connection.Options{
		Store: k.Store, Vault: k.Vault, Providers: providers, Tokens: k.Tokens, Drivers: k.Drivers, Now: o.Now,
		Log: o.Log, Audit: log, Changed: changed,
	})
	k.Keys = apikey.NewDirectory(apikey.Options{
		Store: k.Store, Vault: k.Vault, Registry: registry, Now: o.Now, Audit: log, Changed: changed,
	})
	k.Links = link.NewDirectory(link.Options{
		Store: k.Store, Vault: k.Vault, Providers: providers, Connections: k.Connections, Tokens: k.Consented,
		ReturnURLs: []string{ReturnURL}, Now: o.Now, Log: o.Log, Audit: log, Changed: changed,
	})
	k.Rows = sealing.NewRows(sealing.Options{
		Store: k.Store, Vault: k.Vault, Now: o.Now, Log: o.Log, Changed: changed,
	})
	k.Applier = apply.Applier{
		Store: k.Store, Sealer: k.Sealer, Providers: providers, Tenants: k.Tenants, Connections: k.Connections,
		Keys: k.Keys, AgentURL: func(platform, id string) string {
			return "https://front.example/" + platform + "/" + id
		},
	}
}

// Close stops the kit's background work and waits for it.
func (k *Kit) Close() {
	k.Tokens.Close()
	k.Drivers.Close()
	k.Callers.Close()
}

// Dav returns the declaration of the calendar "dav".
func Dav() adapter.Declaration {
	return adapter.Declaration{Name: "dav", Auth: adapter.Auth{
		Scheme: adapter.Basic, Username: "username", Password: "password", BaseURL: "url",
	}}
}

// Provider is a calendar provider whose results are set by tests.
type Provider struct {
	Opens    atomic.Int64
	Opening  func() error // called by open; may block
	mu       sync.Mutex
	seen     DeskSettings // what it was opened with last
	account  calendar.Account
	refusal  error // what Account and Calendars fail with
	contents []calendar.Calendar
}

// DeskSettings are the settings of the calendar "dav".
type DeskSettings struct {
	URL      string `setting:"url" kind:"url" help:"Server."`
	Room     string `setting:"room" help:"Room."`
	Size     int    `setting:"size" default:"1" help:"Size."`
	Username string `credential:"username" help:"User name."`
	Password string `credential:"password" help:"Password."`
}

// Calendar returns the provider's adapter.
func (p *Provider) Calendar(d adapter.Declaration) adapter.Adapter {
	d.Title, d.Help = d.Name, "For tests."
	return adapter.Calendar(d, func(
		_ context.Context, s DeskSettings, env adapter.Environment,
	) (calendar.Driver, error) {
		p.Opens.Add(1)
		if p.Opening != nil {
			if err := p.Opening(); err != nil {
				return nil, err
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = s
		return &CalendarDriver{provider: p, Env: env, Settings: s}, nil
	})
}

// Says sets what drivers return from now on.
func (p *Provider) Says(a calendar.Account, refusal error, contents ...calendar.Calendar) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.account, p.refusal, p.contents = a, refusal, contents
}

// OpenedWith returns the settings that a driver was opened with last.
func (p *Provider) OpenedWith() DeskSettings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// CalendarDriver returns what its provider's Says has set. Other methods must not be called.
type CalendarDriver struct {
	calendar.Driver
	provider *Provider
	Env      adapter.Environment
	Settings DeskSettings
}

func (d *CalendarDriver) Account(context.Context) (calendar.Account, error) {
	d.provider.mu.Lock()
	defer d.provider.mu.Unlock()
	return d.provider.account, d.provider.refusal
}

func (d *CalendarDriver) Calendars(context.Context) ([]calendar.Calendar, error) {
	d.provider.mu.Lock()
	defer d.provider.mu.Unlock()
	return d.provider.contents, d.provider.refusal
}

// TokenSettings are the settings of the CRMs "bearer" and "header".
type TokenSettings struct {
	BaseURL string `setting:"base_url" kind:"url" required:"true" help:"Server."`
	Token   string `credential:"token" required:"true" help:"Token."`
}

func tokenCRM(name string, auth adapter.Auth) adapter.Adapter {
	return adapter.CRM(adapter.Declaration{Name: name, Title: name, Help: "For tests.", Auth: auth},
		func(_ context.Context, s TokenSettings, env adapter.Environment) (crm.Driver, error) {
			return &CRMDriver{Env: env, Settings: s}, nil
		})
}

// CRMDriver is the driver of the CRMs "bearer" and "header".
type CRMDriver struct {
	crm.Driver
	Env      adapter.Environment
	Settings TokenSettings
}

func (d *CRMDriver) Account(context.Context) (crm.Account, error) {
	return crm.Account{Name: "Acme", Email: "help@acme.example"}, nil
}

func (d *CRMDriver) Vocabulary(context.Context) (crm.Vocabulary, error) {
	return crm.Vocabulary{Statuses: []string{"New", "Closed"}, Priorities: []string{"Low", "High"}}, nil
}

func (d *CRMDriver) Explain(context.Context) ([]string, error) {
	return []string{"account: asked at /me", "ticket: not tried"}, nil
}

type noSettings struct{}

func numbers() adapter.Adapter {
	d := adapter.Declaration{Name: "sandbox", Title: "Sandbox", Help: "For tests.", Sandbox: true}
	return adapter.Telephony(d, func(
		context.Context, noSettings, adapter.Environment,
	) (telephony.Driver, error) {
		return phoneDriver{}, nil
	})
}

type phoneDriver struct{ telephony.Driver }

func (phoneDriver) Account(context.Context) (telephony.Account, error) {
	return telephony.Account{Name: "Lines", Ref: "AC1"}, nil
}

// Origin starts a server. It returns its URL, and a function that returns the headers of the last request.
func Origin(t testing.TB) (url string, got func() http.Header) {
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

// Get sends a request and reads the response.
func Get(t testing.TB, client *http.Client, url string) {
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

// The steps of most tests. An error that is not returned fails the test.

// Tenant creates a tenant.
func (k *Kit) Tenant(name string) tenant.Tenant {
	k.T.Helper()
	made, err := k.Tenants.Create(k.T.Context(), name, tenant.Settings{})
	Must(k.T, err)
	return made
}

// Connection creates a connection.
func (k *Kit) Connection(tenantName, name string, kind adapter.Kind, provider string) connection.Connection {
	k.T.Helper()
	s := connection.Spec{Name: name, Kind: kind, Provider: provider}
	if provider == "dav" {
		s.Settings = map[string]any{"url": "https://cal.acme.example/"}
		s.Credentials = map[string]string{"username": "desk", "password": Canary}
	}
	made, err := k.Connections.Add(k.T.Context(), tenantName, s)
	Must(k.T, err)
	k.Clock.Advance(time.Millisecond) // so that creation times differ
	return made
}

// Key creates an API key.
func (k *Kit) Key(tenantName string, s apikey.Spec) (string, apikey.Key) {
	k.T.Helper()
	text, made, err := k.Keys.Create(k.T.Context(), tenantName, s)
	Must(k.T, err)
	return text, made
}

// Caller authenticates a key.
func (k *Kit) Caller(key string) apikey.Caller {
	k.T.Helper()
	c, err := k.Callers.Authenticate(k.T.Context(), key)
	Must(k.T, err)
	return c
}

// Calendar opens a caller's calendar.
func (k *Kit) Calendar(c apikey.Caller) (connection.Opened[calendar.Driver], error) {
	return k.Drivers.Calendar(k.T.Context(), c.Tenant, c.Connections)
}

// CRM opens a caller's ticket system.
func (k *Kit) CRM(c apikey.Caller) (connection.Opened[crm.Driver], error) {
	return k.Drivers.CRM(k.T.Context(), c.Tenant, c.Connections)
}

// Overwrite stores values that the directory would not. If sealed is nil, the row is sealed without
// credentials, as an earlier version with other rules would.
func (k *Kit) Overwrite(c connection.Connection, provider, settings string, sealed []byte) {
	k.T.Helper()
	row := k.Row(c)
	row.Provider, row.Settings, row.Credentials = provider, []byte(settings), sealed
	if sealed == nil {
		Must(k.T, k.Sealer.SealConnection(&row, nil))
	}
	Must(k.T, k.Store.UpdateConnection(k.T.Context(), row, row.Revision))
}

// LoseKeySet lets another process rotate the key set, and leave it as this one must not use it, until the returned
// function is called.
func (k *Kit) LoseKeySet() (again func()) {
	k.T.Helper()
	other, err := vault.Open("", k.DataDir)
	Must(k.T, err)
	_, err = other.Rotate()
	Must(k.T, err)
	_, err = sealing.NewRows(sealing.Options{
		Store: k.Store, Vault: other, Now: k.Clock.Now, Log: slog.New(slog.DiscardHandler), Changed: func() {},
	}).Reseal(k.T.Context())
	Must(k.T, err)
	path := filepath.Join(k.DataDir, "keyset.json")
	Must(k.T, os.Chmod(path, 0o644))
	return func() { Must(k.T, os.Chmod(path, 0o600)) }
}

// Must fails the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Row returns a connection as the store has it.
func (k *Kit) Row(c connection.Connection) store.Connection {
	k.T.Helper()
	row, err := k.Store.Connection(k.T.Context(), c.TenantID, c.ID)
	if err != nil {
		k.T.Fatal(err)
	}
	return row
}

// WantFault fails the test unless err is a fault of the code and reason that holds no secret.
func WantFault(t testing.TB, err error, code fault.Code, reason string) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != code || f.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, code, reason)
	}
	if bytes.Contains([]byte(err.Error()), []byte(Canary)) {
		t.Errorf("the error holds a secret: %v", err)
	}
	return f
}

// WantFields fails the test unless err names exactly these input faults ("path message").
func WantFields(t testing.TB, err error, want ...string) {
	t.Helper()
	f := WantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest)
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

// Buffer is a buffer that is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// Bytes returns what was written.
func (b *Buffer) Bytes() []byte { return []byte(b.String()) }

// String returns what was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Audited turns on the recording of changes.
func Audited(o *Options) { o.Audited = true }

// NewAuditRows returns "actor action tenant subject [names]" of each row of the audit that is not in seen,
// and a text of all rows. It adds the rows to seen.
func (k *Kit) NewAuditRows(seen map[string]bool) (said []string, all string) {
	k.T.Helper()
	rows, err := k.Store.AuditRows(k.T.Context(), store.AuditFilter{Limit: 1000})
	if err != nil {
		k.T.Fatal(err)
	}
	for _, r := range rows {
		if seen[r.UID] {
			continue
		}
		seen[r.UID] = true
		if r.Outcome != audit.Done {
			k.T.Errorf("the outcome is %s", r.Outcome)
		}
		if (r.ConnectionID != "") != strings.Contains(r.Action, "connect") {
			k.T.Errorf("%s names the connection %q", r.Action, r.ConnectionID)
		}
		subject := r.Subject
		if at := strings.IndexByte(subject, '_'); at > 0 { // an id, which is random
			subject = subject[:at]
		}
		said = append(said,
			strings.TrimSpace(fmt.Sprint(r.Actor, " ", r.Action, " ", r.Tenant, " ", subject, " ", r.Changed)))
	}
	return said, fmt.Sprintf("%+v", rows)
}
