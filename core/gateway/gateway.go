// Package gateway assembles the gateway. From a configuration and a list of adapters it builds the HTTP
// handler, the background work and the operations that the operator's commands need.
//
//	g, err := gateway.Open(ctx, cfg, gateway.Options{Adapters: all.Adapters(), LogTo: os.Stderr})
//	defer g.Close()
//	err = g.Serve(ctx, nil)
package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/agents"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/budget"
	"frontdesk/core/connection"
	"frontdesk/core/guard"
	"frontdesk/core/link"
	"frontdesk/core/mcp"
	"frontdesk/core/metrics"
	"frontdesk/core/oauth"
	"frontdesk/core/page"
	"frontdesk/core/requestlog"
	"frontdesk/core/sealing"
	"frontdesk/core/service"
	"frontdesk/core/signin"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/tenant"
	"frontdesk/core/tracing"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
	"frontdesk/core/webhook"
)

// Options holds what a gateway needs besides its configuration.
type Options struct {
	Adapters []adapter.Adapter
	LogTo    io.Writer
	Now      func() time.Time // the clock; time.Now if nil

	// OpenKey returns the key of a key management service: uri is secrets.kms.key, address is secrets.kms.url, and
	// vaultToken returns the token for HashiCorp Vault. If it is nil, no service can encrypt the key set. So only
	// programs that give it hold the libraries of these services.
	OpenKey func(uri, address string, vaultToken func() (string, error)) (vault.KEK, error)

	// ServesNothing is for commands: the gateway has no handler, whose pages and routes take a third of the time to open.
	ServesNothing bool
}

func (o Options) clock() func() time.Time {
	if o.Now == nil {
		return time.Now
	}
	return o.Now
}

// Gateway is an open gateway: its store is reachable and its keys are loaded. Create one with [Open].
type Gateway struct {
	config   config.Config
	registry adapter.Registry
	log      *slog.Logger
	now      func() time.Time
	metrics  *metrics.Metrics
	process  string // names this process in the store
	openKey  func(uri, address string, vaultToken func() (string, error)) (vault.KEK, error)
	traces   *tracing.Traces // nil: nothing is traced
	store    *store.Store
	vault    *vault.Vault
	audit    *audit.Log
	requests *requestlog.Log
	pool     *upstream.Pool
	budgets  *budget.Budgets
	guard    *guard.Guard
	services *service.Services
	admin    *admin.Service
	handler  http.Handler
	brand    page.Brand
	draining atomic.Bool

	providers   connection.Providers
	tokens      *oauth.TokenSource
	drivers     *connection.Drivers
	tenants     *tenant.Directory
	connections *connection.Directory
	callers     *apikey.Callers
	keys        *apikey.Directory
	links       *link.Directory
	rows        *sealing.Rows
	signInLinks *signin.Links
	openID      *signin.OpenID // nil: there is no OpenID provider

	webhooks *webhook.Directory
	sender   *webhook.Sender
	health   *webhook.Health

	unwritable atomic.Pointer[error] // why the last probe write failed; nil if it succeeded
	unopenable atomic.Pointer[error] // why the key set opened no row at the last probe; nil if it did

	volumeOf func(path string) (volume, error) // of the doctor
	outside  *http.Client                      // with which the doctor asks addresses of the configuration
}

// Open opens the store and the key set and assembles the gateway. It calls no provider, and a key management
// service if one encrypts the key set. It changes nothing, except that it creates the data directory and a key
// set if they are missing.
func Open(ctx context.Context, cfg config.Config, o Options) (_ *Gateway, err error) {
	g := &Gateway{
		config: cfg, now: o.clock(), process: owner(), openKey: o.OpenKey, volumeOf: volumeOf, outside: outsideClient(),
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if g.log, err = telemetry.NewLogger(o.LogTo, logOptions(cfg)); err != nil {
		return nil, err
	}
	if g.registry, err = adapter.NewRegistry(o.Adapters); err != nil {
		return nil, err
	}
	g.metrics = metrics.New(metrics.Build{Version: Version(), Revision: revision()})
	if g.traces, err = tracing.Open(ctx, tracing.Options{
		Endpoint: cfg.Telemetry.OTLP.Endpoint, SamplePercent: cfg.Telemetry.OTLP.SamplePercent,
		Version: Version(), Instance: g.process, Log: g.log, Metrics: g.metrics,
	}); err != nil {
		return nil, err
	}
	if g.brand, err = brandOf(cfg); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	if err = checkDirectories(cfg); err != nil {
		return nil, err
	}
	if g.store, err = store.Open(ctx, storeURL(cfg)); err != nil {
		return nil, err
	}
	if g.vault, err = g.openVault(ctx); err != nil {
		return nil, err
	}
	g.store.SealWith(g.vault)
	g.store.PublishWith(webhook.Publisher(g.now))
	g.audit = audit.New(audit.Options{
		Store: g.store, Vault: g.vault, Now: g.now, Log: g.log, HeadFile: filepath.Join(cfg.DataDir, headFile),
	})
	allowed, err := networks(cfg.Egress.Allow)
	if err != nil {
		return nil, err
	}
	g.pool = upstream.NewPool(upstream.PoolOptions{
		AllowTenantNetworks: allowed, UserAgent: "frontdesk/" + Version(), Metrics: g.metrics, Log: g.log,
	})
	g.health = webhook.NewHealth(g.store, g.log)
	shared := g.openBudgets()
	g.guard = guard.New(g.guardOptions(shared))
	g.openTenants()
	g.openWebhooks(len(allowed) > 0)
	g.openServices()
	g.openSignIn()
	g.watch()
	if o.ServesNothing {
		return g, nil
	}
	if g.handler, err = g.newHandler(shared); err != nil {
		return nil, err
	}
	return g, nil
}

// openServices assembles the use cases, the log of their requests, and what is administered.
func (g *Gateway) openServices() {
	cfg := g.config
	g.services = service.New(service.Options{
		Store: g.store, Drivers: g.drivers, Connections: g.connections, Callers: g.callers, Guard: g.guard,
		Log: g.log, Now: g.now, Owner: g.process, KeepAnswers: cfg.Idempotency.Keep,
		DedupeWindow: cfg.Idempotency.DedupeWindow, TicketDedupeWindow: cfg.Idempotency.TicketDedupeWindow,
		Deadline: cfg.Resilience.Deadline, Metrics: g.metrics, Audit: g.audit,
	})
	g.requests = requestlog.New(requestlog.Options{
		Store: g.store, PerTenant: cfg.RequestLog.PerTenant, Age: cfg.RequestLog.Keep, Now: g.now, Log: g.log,
	})
	g.admin = admin.New(admin.Options{
		Registry: g.registry, Store: g.store, Tenants: g.tenants, Connections: g.connections, Keys: g.keys,
		Links: g.links, Callers: g.callers, Numbers: g.services.Numbers,
		Calendar: g.services.Calendar, Audit: g.audit,
		Webhooks: g.webhooks, Requests: g.requests, Sealer: g.vault, Breaker: g.guard.Breaker, Breakers: g.breakersOf,
		Now:         g.now,
		KeepAnswers: cfg.Idempotency.Keep,
		ConnectURL:  func(token string) string { return ConnectURL(cfg.Server.PublicURL, token) },
		RedirectURI: func(callback string) string { return RedirectURI(cfg.Server.PublicURL, callback) },
		AgentURL:    g.agentURL,
		Operations:  api.LoggedOperations(),
	})
}

// newHandler returns the handler of the API and the pages. With other replicas, they share its quotas.
func (g *Gateway) newHandler(shared bool) (http.Handler, error) {
	o := apiOptions(g.config)
	o.Services = api.Services{
		Calendar: g.services.Calendar, Tickets: g.services.Tickets, Numbers: g.services.Numbers,
		Contacts: g.services.Contacts, Admin: g.admin,
	}
	o.Keys, o.Log, o.Metrics, o.Ready, o.Now = g.callers, g.log, g.metrics, g.ready, g.now
	if shared {
		o.Budgets = g.budgets
	}
	o.StoreWaited, o.Requests, o.Tracer = g.store.Waited, g.requests, g.traces.Tracer()
	var err error
	if o.Pages, err = g.consentPages(); err != nil {
		return nil, err
	}
	settings, err := g.settingsPages()
	if err != nil {
		return nil, err
	}
	o.Pages, o.SettingsURL = append(o.Pages, settings...), g.SettingsURL()
	tools, err := mcp.New(mcp.Options{
		PublicURL: g.config.Server.PublicURL, Version: Version(), API: g.Handler, Tools: api.Tools(), Notes: g.store,
		Now: g.now, Zone: g.services.Calendar.Zone,
	})
	if err != nil {
		return nil, err
	}
	platforms := agents.New(agents.Options{
		API: g.Handler, Callers: g.callers, Tools: api.Tools(), Notes: g.store, Now: g.now, Zone: g.services.Calendar.Zone,
	})
	o.Protocols = append(platforms.Protocols(), tools.Protocol())
	handler, err := api.New(o)
	if err != nil {
		return nil, err
	}
	return g.proving(handler), nil
}

// Close stops the running work and waits for it. It also works on a partly opened gateway.
func (g *Gateway) Close() {
	if g.guard != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		if err := g.guard.Close(ctx); err != nil {
			g.log.Warn("calls to providers were still running at shutdown; their intents are settled at the "+
				"next start", "error", err)
		}
	}
	if g.services != nil {
		g.services.Close()
	}
	g.closeTenants()
	if g.openID != nil {
		g.openID.Close()
	}
	if g.pool != nil {
		g.pool.Close()
	}
	g.outside.CloseIdleConnections()
	if g.budgets != nil {
		g.budgets.Close()
	}
	if g.audit != nil {
		g.audit.Close()
	}
	if g.requests != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		g.requests.Close(ctx)
	}
	if g.store != nil {
		if err := g.store.Close(); err != nil {
			g.log.Warn("the store did not close cleanly", "error", err)
		}
	}
	if err := g.traces.Close(); err != nil {
		g.log.Warn("the last traces were not exported", "error", err)
	}
}

// Handler returns the handler of the API and the consent pages.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Registry returns the registry of adapters.
func (g *Gateway) Registry() adapter.Registry { return g.registry }

// closeWait is how long Close waits for writes that outlived their requests.
const closeWait = 3 * time.Second

// storeURL returns the store's address. The default is SQLite in the data directory.
func storeURL(cfg config.Config) string {
	if cfg.Store.URL == "" || cfg.Store.URL == "sqlite:" {
		return "sqlite:" + filepath.Join(cfg.DataDir, "frontdesk.db")
	}
	return cfg.Store.URL
}

func networks(list []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(list))
	for i, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("egress.allow[%d]: %q is not a network such as 10.0.0.0/8", i, text)
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes, nil
}

// owner names this process in intents and leases.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// version and revision are set by the linker where a release is built (-X), since reproducible builds do not
// depend on a repository.
var version, revisionBuilt string

// Version returns the version of the build or of the module, or "dev" for a build from a work tree.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

func revision() string {
	if revisionBuilt != "" {
		return revisionBuilt
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
