// Package config reads the configuration of the gateway ([Load]) and the file of tenants for the apply
// command ([LoadTenants]). Both are YAML and both are strict: an unknown key or an unusable value is an
// error. One error lists all faults, each with the key's path and, for an unknown key, the nearest known key.
//
//	cfg, err := config.Load("frontdesk.yaml", os.Environ(), providers) // "" reads no file
//
// Every key of the configuration can also be set by a variable: FRONTDESK_ and its path in capitals, with two
// underscores between levels, such as FRONTDESK_SERVER__LISTEN. A list is separated by commas. Variables
// override the file.
//
// A key is declared once, as a field of [Config]. Its tags give the name, the default, the bounds and the
// explanation, which the loader and frontdesk.example.yaml share. The keys of a provider are declared by its
// adapter, as a [Provider]. No error holds a secret, because errors do not quote values.
package config

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Config is the gateway's configuration. Its tags:
//
//	yaml     the key's name
//	help     what it is, for the example file
//	default  its value when it is not set, written as in a variable
//	min, max the bounds of a number or duration
//	choices  the values it may have
//	kind     the form of a text, or of each element of a list; see checkForm
type Config struct {
	Server       Server       `yaml:"server" help:"The addresses of the gateway."`
	DataDir      string       `yaml:"data_dir" default:"./frontdesk-data" kind:"given" help:"Directory of the SQLite file and the generated key set. The gateway creates it with mode 0700, and refuses one that others can write."`
	Store        Store        `yaml:"store" help:"The database of tenants, connections, keys and the state of calls."`
	Secrets      Secrets      `yaml:"secrets" help:"How connections' credentials are sealed."`
	Providers    Providers    `yaml:"providers" help:"The OAuth clients by which customers give consent, and the addresses of providers."`
	SettingsPage SettingsPage `yaml:"settings_page" help:"The page at /settings, where the operator and tenants' administrators manage the gateway in a browser."`
	Pages        Pages        `yaml:"pages" help:"The pages on which customers connect accounts."`
	Egress       Egress       `yaml:"egress" help:"Which addresses tenants' servers may have."`
	Limits       Limits       `yaml:"limits" help:"How many requests callers may make."`
	Resilience   Resilience   `yaml:"resilience" help:"How calls to providers are limited and retried."`
	Idempotency  Idempotency  `yaml:"idempotency" help:"How repeated calls are recognised."`
	RequestLog   RequestLog   `yaml:"request_log" help:"The log of requests, in which people look for what happened."`
	Audit        Audit        `yaml:"audit" help:"The audit, the record of every change."`
	Calendar     Calendar     `yaml:"calendar" help:"Options of the calendar operations."`
	Log          Log          `yaml:"log" help:"The log, on standard error."`
	Telemetry    Telemetry    `yaml:"telemetry" help:"Where traces go."`
}

// Server configures the addresses of the gateway and its shutdown.
type Server struct {
	Listen    string        `yaml:"listen" default:"127.0.0.1:8080" kind:"address" help:"Address that serves the API."`
	PublicURL string        `yaml:"public_url" default:"http://127.0.0.1:8080" kind:"base" help:"Address at which callers and customers reach the gateway. OAuth redirects and problem types begin with it."`
	OpsListen string        `yaml:"ops_listen" default:"127.0.0.1:9090" kind:"address or none" help:"Address that serves /metrics, /healthz and /readyz; empty serves no metrics. server.listen serves the two health paths as well."`
	Pprof     bool          `yaml:"pprof" default:"false" help:"Whether ops_listen serves /debug/pprof as well, which shows what the process spends time and memory on. A profile shows no data, but a flood of profiles slows the gateway."`
	TLS       TLS           `yaml:"tls" help:"TLS by the gateway itself, at server.listen, for where no proxy with TLS is in front. Name certificate files, or the domains that an ACME server issues certificates for. server.public_url is then an https address, and server.ops_listen stays without TLS."`
	Drain     time.Duration `yaml:"drain" default:"5s" min:"0" max:"5m" help:"How long the gateway still accepts requests after SIGTERM. Meanwhile /readyz answers 503, so that a load balancer stops sending requests here. Set it longer than the load balancer's check interval. Then running requests finish, for at most resilience.deadline and 4s."`
}

// TLS configures the gateway's own certificate.
type TLS struct {
	Certificate string `yaml:"certificate" default:"" kind:"line or none" help:"File with the certificate and its intermediates, in PEM. The gateway reads both files again within seconds after they change; it keeps the former pair while the new one cannot be used. Empty means no TLS."`
	Key         string `yaml:"key" default:"" kind:"line or none" help:"File with the certificate's private key, in PEM."`
	ACME        ACME   `yaml:"acme" help:"Certificates from an ACME server, such as Let's Encrypt, for one gateway that the server reaches at port 443 of its domains. Replicas share certificate files instead."`
}

// On reports whether the gateway serves TLS.
func (t TLS) On() bool { return t.Certificate != "" || len(t.ACME.Domains) > 0 }

// ACME configures where the gateway's certificates come from.
type ACME struct {
	Domains   []string `yaml:"domains" default:"" kind:"domain" help:"The host names to get certificates for, that of server.public_url among them. Naming them accepts the server's terms of service. Empty means no ACME."`
	Email     string   `yaml:"email" default:"" kind:"email or none" help:"Where the server may send warnings about the certificates. Empty means nowhere."`
	Directory string   `yaml:"directory" default:"https://acme-v02.api.letsencrypt.org/directory" kind:"https" help:"The ACME server's directory."`
	CA        string   `yaml:"ca" default:"" kind:"line or none" help:"File with the certificates, in PEM, that the ACME server itself is trusted by, such as those of a company's own CA. Empty means those of the system."`
}

// Store configures the database.
type Store struct {
	URL string `yaml:"url" default:"sqlite:" kind:"store" help:"sqlite: means frontdesk.db in data_dir, and sqlite:PATH another file. postgres://USER:PASSWORD@HOST/DATABASE serves several replicas; through PgBouncer in transaction mode, add ?default_query_exec_mode=exec. pool_max_conns, there, is how many connections a replica may open, 20 without it. env:VAR or file:PATH reads the address from there, which keeps its password out of this file."`
}

// Secrets configures how credentials are sealed.
type Secrets struct {
	Keyset string `yaml:"keyset" default:"" kind:"keyset" help:"The keys that seal credentials, as a Tink key set: file:PATH or env:VAR. Empty means keyset.json in data_dir, which is created on first use. The name of a key as in secrets.kms.key means keyset.encrypted.json there, encrypted with that key."`
	KMS    KMS    `yaml:"kms" help:"The key management service that encrypts the key set. It is asked when the gateway starts and when the key set changes. Its credentials are found on the machine, as its own tools find them."`
}

// KMS configures the key management service.
type KMS struct {
	Key        string `yaml:"key" default:"" kind:"kms key or none" help:"The key that encrypts the key set: aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID, gcp-kms://projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME, or hcvault://HOST:PORT/transit/keys/NAME. Empty means that the key set is not encrypted."`
	URL        string `yaml:"url" default:"" kind:"base or none" help:"Address of the service, such as a private endpoint. Empty means the public one, and for Vault the one in the key's name."`
	VaultToken string `yaml:"vault_token" default:"env:VAULT_TOKEN" kind:"secret source" help:"Where the token for HashiCorp Vault is: env:VAR or file:PATH. It is read at each use, so that an agent may renew it."`
}

// settle takes the name of a key as the place of a key set for both.
func (s *Secrets) settle(d *decoder) {
	if kmsKey(s.Keyset) != "" {
		return
	}
	if s.KMS.Key != "" {
		d.wrong("secrets.kms.key", "is not needed, since secrets.keyset names a key.")
	}
	s.Keyset, s.KMS.Key = "", s.Keyset
}

// SettingsPage configures the page at /settings.
type SettingsPage struct {
	Enabled bool `yaml:"enabled" default:"true" help:"Whether the page is served. Sign in with the link that \"frontdesk admin link\" prints."`
	OIDC    OIDC `yaml:"oidc" help:"Sign-in at an OpenID provider, for teams."`
}

// OIDC configures the sign-in at an OpenID provider.
type OIDC struct {
	Issuer       string   `yaml:"issuer" default:"" kind:"base or none" help:"The provider's issuer, such as https://login.example.com. Empty means no OpenID provider."`
	ClientID     string   `yaml:"client_id" default:"" kind:"line or none" help:"The id of the gateway's client there. Its redirect URI is {server.public_url}/settings/oidc/callback."`
	ClientSecret string   `yaml:"client_secret" default:"" kind:"client secret" help:"The secret of that client; better as env:VAR or file:PATH."`
	Roles        []string `yaml:"roles" default:"" kind:"grant" help:"Who is let in: WHO=ROLE, or WHO=ROLE@TENANT for one tenant. WHO is an e-mail address that the provider has verified, or CLAIM:VALUE of the ID token. ROLE is viewer or admin. Examples: pat@example.com=admin, groups:support=viewer, lee@acme.example=admin@acme."`
}

// Pages configures the pages on which customers connect accounts.
type Pages struct {
	Name       string   `yaml:"name" default:"" kind:"line or none" help:"The operator's name, as customers know it. Empty means none."`
	Logo       string   `yaml:"logo" default:"" kind:"line or none" help:"A file with the operator's logo: PNG, JPEG, WebP or SVG, at most 256 KiB. Empty means none."`
	Support    string   `yaml:"support" default:"" kind:"contact or none" help:"Whom customers may ask: an e-mail address, a telephone number, or an https URL. Empty means nobody."`
	ReturnURLs []string `yaml:"return_urls" default:"" kind:"base" help:"Addresses, such as https://platform.example.com/connections, below which a connect link may let the customer return once the consent is over."`
}

// Egress configures which addresses tenants' servers may have.
type Egress struct {
	Allow []string `yaml:"allow" default:"" kind:"network" help:"Networks, such as 10.0.0.0/8, that tenants' servers may be in besides public addresses, and where they may be asked by plain http. All other loopback, private, link-local and metadata addresses are refused. A metadata address needs an entry of its own, as a /32 or /128."`
}

// Limits configures how many requests callers may make.
type Limits struct {
	RequestsPerMinutePerKey    int `yaml:"requests_per_minute_per_key" default:"60000" min:"0" max:"10000000" help:"Requests per minute of one API key, at all replicas together; 0 means no limit. The limit stops runaway loops. It is far above what phone calls need."`
	RequestsPerMinutePerTenant int `yaml:"requests_per_minute_per_tenant" default:"120000" min:"0" max:"10000000" help:"Requests per minute of all keys of one tenant, at all replicas together; 0 means no limit. The limit leaves room for other tenants."`
	MaxInFlight                int `yaml:"max_in_flight" default:"1024" min:"1" help:"Concurrent requests. Further ones are refused at once (OVERLOADED), which is better than answering all of them late. One tenant gets at most half. While the processors cannot keep up, fewer are admitted, and reads are refused before writes."`
}

// Resilience configures how calls to providers are limited and retried.
type Resilience struct {
	Deadline     time.Duration `yaml:"deadline" default:"8s" min:"100ms" max:"2m" help:"The longest that a request may take, including retries. A caller can ask for less with X-Request-Timeout-Ms."`
	TryTimeout   time.Duration `yaml:"try_timeout" default:"5s" min:"50ms" max:"2m" help:"The longest that one attempt of a read may take, so that another still fits into the deadline."`
	WriteGrace   time.Duration `yaml:"write_grace" default:"15s" min:"1s" max:"2m" help:"How long a write in progress may continue after its caller's deadline. It is finished rather than cut off."`
	MaxTries     int           `yaml:"max_tries" default:"3" min:"1" max:"10" help:"Attempts per call, including the first. A write is retried only where it cannot take effect twice."`
	RetryPercent int           `yaml:"retry_percent" default:"10" min:"1" max:"100" help:"Retries as a percentage of the calls to a host over ten seconds, so that retries do not flood a provider in trouble."`
	Breaker      Breaker       `yaml:"breaker" help:"Circuit breakers: when the gateway stops calling a connection or a provider's host that keeps failing."`
	Bulkhead     Bulkhead      `yaml:"bulkhead" help:"Bulkheads: how many calls run concurrently, so that one slow provider does not use up all capacity."`
}

// Breaker configures when the gateway stops calling a connection or host that keeps failing.
type Breaker struct {
	Failures    int           `yaml:"failures" default:"10" min:"1" help:"Consecutive failures after which the breaker of a connection or a host opens."`
	Connections int           `yaml:"connections" default:"3" min:"1" help:"Connections that must fail before their host counts as down for all."`
	OpenFor     time.Duration `yaml:"open_for" default:"1500ms" min:"100ms" max:"10m" help:"How long the breaker stays open before one call tries again."`
}

// Bulkhead configures how many calls run concurrently.
type Bulkhead struct {
	PerConnection      int `yaml:"per_connection" default:"8" min:"1" help:"Concurrent calls per connection, unless its provider states a limit of its own."`
	PerConnectionQueue int `yaml:"per_connection_queue" default:"32" min:"1" help:"Calls that may wait for a free place on a connection; further ones are refused."`
	PerHost            int `yaml:"per_host" default:"256" min:"1" help:"Concurrent calls per host of a provider."`
	PerHostQueue       int `yaml:"per_host_queue" default:"256" min:"1" help:"Calls that may wait for a free place at a host, or on a connection to it; further ones are refused."`
}

// Idempotency configures how repeated calls are recognised.
type Idempotency struct {
	Keep         time.Duration `yaml:"keep" default:"72h" min:"1h" max:"720h" help:"How long the answer to a call with an Idempotency-Key is kept for replay."`
	DedupeWindow time.Duration `yaml:"dedupe_window" default:"10m" min:"0" max:"24h" help:"How long equal book-meeting calls without a key count as one meeting, unless the tenant sets its own window; 0 turns this off."`

	TicketDedupeWindow time.Duration `yaml:"ticket_dedupe_window" default:"10m" min:"0" max:"24h" help:"How long equal create-ticket calls without a key count as one ticket, likewise."`
}

// RequestLog configures how many requests are kept for people to look at.
type RequestLog struct {
	PerTenant int           `yaml:"per_tenant" default:"10000" min:"0" max:"1000000" help:"How many of a tenant's last requests are kept, without bodies; 0 keeps none."`
	Keep      time.Duration `yaml:"keep" default:"720h" min:"1h" max:"8760h" help:"How long a request is kept at most."`
}

// Audit configures how long rows of the audit are in the database.
type Audit struct {
	Keep       time.Duration `yaml:"keep" default:"0" min:"0" help:"How long a row stays in the database before it is moved to a file in archive_dir, at least 24h, such as 8760h for a year. One gateway does so once a day. 0 means for ever."`
	ArchiveDir string        `yaml:"archive_dir" default:"" kind:"line or none" help:"Directory of the archived rows, on a disk that lasts and is backed up. Of several replicas, only those that have it archive. Empty means that none are archived by themselves."`
}

// leastKept is the least that audit.keep can be, unless it is 0.
const leastKept = 24 * time.Hour

// settle checks that rows which are not kept for ever have a place to go to.
func (a *Audit) settle(d *decoder) {
	switch {
	case a.Keep > 0 && a.Keep < leastKept:
		d.wrong("audit.keep", "must be 0 or at least %s.", leastKept)
	case a.Keep > 0 && a.ArchiveDir == "":
		d.wrong("audit.archive_dir", "is required with audit.keep: no row is removed before it is archived.")
	}
}

// Calendar configures the calendar operations.
type Calendar struct {
	LegacyConferencingTypes []string `yaml:"legacy_conferencing_types" default:"nylas" kind:"word" help:"Deprecated values of conferencing_type. They mean provider, and are answered with a Deprecation header."`
}

// Log configures the log, which is written to standard error.
type Log struct {
	Level  string `yaml:"level" default:"info" choices:"debug,info,warn,error" help:"The lowest level that is logged."`
	Format string `yaml:"format" default:"json" choices:"json,text" help:"The format of a line."`
}

// Telemetry configures where traces go.
type Telemetry struct {
	OTLP OTLP `yaml:"otlp" help:"Traces of OpenTelemetry, sent by OTLP over HTTP. The exporter also reads OTEL_EXPORTER_OTLP_HEADERS, which may hold the key of a collector, and OTEL_EXPORTER_OTLP_CERTIFICATE."`
}

// OTLP configures the export of traces.
type OTLP struct {
	Endpoint      string `yaml:"endpoint" default:"" kind:"base or none" help:"Address of a collector, such as http://127.0.0.1:4318; traces go to /v1/traces below it. Empty means no traces, which then cost nothing."`
	SamplePercent int    `yaml:"sample_percent" default:"100" min:"0" max:"100" help:"How many of the traces that begin here are recorded. Where a caller sends a traceparent, its own choice counts."`
}

// maxFileBytes is the most that a configuration or tenants file may hold.
const maxFileBytes = 16 << 20

// Load reads the configuration: the defaults, the file at path unless that is "", and the variables in
// environ (NAME=VALUE). It knows the keys of the declared providers only. If the file can be read, an error
// is an *Error with every fault. Load panics if the default of a declared key is not of the key's kind.
func Load(path string, environ []string, declared []Provider) (Config, error) {
	d := decoder{environ: variables(environ), declared: declared}
	cfg := defaults(declared)
	if path != "" {
		raw, err := readFile(path)
		if err != nil {
			return Config{}, err
		}
		d.file(raw, &cfg)
	}
	d.variables(&cfg)
	cfg.settle(&d)
	if len(d.faults) > 0 {
		return Config{}, &Error{Source: path, Faults: d.sortFaults()}
	}
	return cfg, nil
}

// Default returns the configuration of an empty file and environment, with the declared providers.
func Default(declared []Provider) Config {
	cfg := defaults(declared)
	cfg.settle(&decoder{declared: declared})
	return cfg
}

// settle completes and checks the values that were read, and resolves references to secrets.
func (c *Config) settle(d *decoder) {
	c.Server.PublicURL = strings.TrimRight(c.Server.PublicURL, "/")
	if source := SecretSource(c.Store.URL); source.isReference() {
		url, err := source.resolve(d.environ, nil)
		if err == nil && !isStoreURL(url) {
			err = fmt.Errorf("%s does not hold an address that begins with sqlite: or postgres://", source)
		}
		if err != nil {
			d.wrong("store.url", "%s.", err)
		}
		c.Store.URL = url
	}
	d.resolveClientSecrets(c.Providers)
	c.Secrets.settle(d)
	c.SettingsPage.OIDC.settle(d)
	c.Server.TLS.settle(d)
	c.Audit.settle(d)
	if c.Server.OpsListen == c.Server.Listen && !strings.HasSuffix(c.Server.Listen, ":0") {
		d.wrong("server.ops_listen", "must differ from server.listen.")
	}
}

// settle checks that a certificate has a key, and that there is one source of certificates.
func (t *TLS) settle(d *decoder) {
	switch {
	case t.Certificate != "" && t.Key == "":
		d.wrong("server.tls.key", "is required with server.tls.certificate.")
	case t.Certificate == "" && t.Key != "":
		d.wrong("server.tls.certificate", "is required with server.tls.key.")
	case t.Certificate != "" && len(t.ACME.Domains) > 0:
		d.wrong("server.tls.acme.domains", "cannot be used together with server.tls.certificate.")
	}
	for i, domain := range t.ACME.Domains {
		if slices.Contains(t.ACME.Domains[:i], domain) {
			d.wrong(fmt.Sprintf("server.tls.acme.domains[%d]", i), "is there already.")
		}
	}
}

// settle checks that the settings of an OpenID provider are complete, and resolves the secret.
func (o *OIDC) settle(d *decoder) {
	const path = "settings_page.oidc."
	if source := SecretSource(o.ClientSecret); source.isReference() {
		o.ClientSecret = d.clientSecret(path+"client_secret", source)
	}
	if o.Issuer == "" {
		return
	}
	if o.ClientID == "" {
		d.wrong(path+"client_id", "is required with settings_page.oidc.issuer.")
	}
	unusable := func(f Fault) bool { return f.Key == path+"roles" }
	if len(o.Roles) == 0 && !slices.ContainsFunc(d.faults, unusable) {
		d.wrong(path+"roles", "is required with settings_page.oidc.issuer: nobody else is let in.")
	}
}

// readFile reads a whole file; "-" is standard input.
func readFile(path string) ([]byte, error) {
	file := os.Stdin
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, err // err names the path
		}
		defer opened.Close()
		file = opened
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if len(raw) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	return raw, nil
}
