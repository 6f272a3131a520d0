// Package config reads what the operator sets: the configuration of the gateway ([Load]) and the file of tenants that
// apply takes ([LoadTenants]). Both are YAML and both are strict: an unknown key or an unusable value is refused with the
// key's path, all of them at once, and with the known key that is nearest.
//
//	cfg, err := config.Load("frontdesk.yaml", os.Environ(), providers) // "" reads no file
//
// Every key of the configuration is also a variable: FRONTDESK_ and its path in capitals, with two underscores between
// levels, such as FRONTDESK_SERVER__LISTEN; a list is separated by commas. Variables win over the file.
//
// A key is declared once, as a field of [Config]: its tags give the name, the default, the bounds and the explanation,
// which the loader and frontdesk.example.yaml share. The keys of a provider are declared by its adapter, as a
// [Provider]. No error holds a secret: values are not quoted.
package config

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Config is the gateway's configuration. Its tags:
//
//	yaml     the key's name
//	help     what it is, for the example file
//	default  its value when it is not given, as a variable would write it
//	min, max the bounds of a number or duration
//	choices  the values it may have
//	kind     a form that a text, or each of a list, must have; see malformed
type Config struct {
	Server      Server      `yaml:"server" help:"Where the gateway is reached."`
	DataDir     string      `yaml:"data_dir" default:"./frontdesk-data" kind:"given" help:"Directory of the SQLite file and of the generated key set. It is made with mode 0700; one that others can write is refused."`
	Store       Store       `yaml:"store" help:"Where tenants, connections, keys and the state of calls are kept."`
	Secrets     Secrets     `yaml:"secrets" help:"How the credentials of connections are sealed."`
	Providers   Providers   `yaml:"providers" help:"The OAuth clients that customers give their consent to, and where providers are."`
	Egress      Egress      `yaml:"egress" help:"Where addresses given by tenants may lead."`
	Limits      Limits      `yaml:"limits" help:"What callers may ask for."`
	Resilience  Resilience  `yaml:"resilience" help:"How calls to providers are bounded and repeated."`
	Idempotency Idempotency `yaml:"idempotency" help:"How repeated calls are recognised."`
	Calendar    Calendar    `yaml:"calendar" help:"Particulars of the calendar operations."`
	Log         Log         `yaml:"log" help:"What is written to standard error."`
}

// Server is where the gateway is reached.
type Server struct {
	Listen    string        `yaml:"listen" default:"127.0.0.1:8080" kind:"address" help:"Address the interface is served on."`
	PublicURL string        `yaml:"public_url" default:"http://127.0.0.1:8080" kind:"base" help:"Address callers reach the gateway at; the base of problem types and redirects."`
	OpsListen string        `yaml:"ops_listen" default:"127.0.0.1:9090" kind:"address or none" help:"Address of /metrics, /healthz and /readyz; empty serves no metrics. The health paths are on server.listen too."`
	Drain     time.Duration `yaml:"drain" default:"5s" min:"0" max:"5m" help:"How long requests are still taken after the gateway was told to end (SIGTERM): /readyz says 503 from then on, so that a load balancer stops sending them here. Longer than its interval of checks; then what runs is finished, for at most resilience.deadline and 4s."`
}

// Store is where state is kept.
type Store struct {
	URL string `yaml:"url" default:"sqlite:" kind:"store" help:"sqlite: is frontdesk.db in data_dir, sqlite:PATH another file; postgres://USER:PASSWORD@HOST/DATABASE serves several replicas. env:VAR or file:PATH reads the address from there, so that no password is written here."`
}

// Secrets is how credentials are sealed.
type Secrets struct {
	Keyset string `yaml:"keyset" default:"" kind:"keyset" help:"The keys that seal credentials, a Tink key set: empty is keyset.json in data_dir, made on first use; or file:PATH, or env:VAR."`
}

// Egress is where addresses given by tenants may lead.
type Egress struct {
	Allow []string `yaml:"allow" default:"" kind:"network" help:"Networks, such as 10.0.0.0/8, that a tenant's server may be in besides public addresses. Loopback, private, link-local and metadata addresses are refused otherwise; a metadata address has to be named alone, as a /32 or /128."`
}

// Limits are what callers may ask for.
type Limits struct {
	RequestsPerMinutePerKey    int `yaml:"requests_per_minute_per_key" default:"60000" min:"0" max:"10000000" help:"Requests of one API key in a minute, per replica; 0 is no limit. It ends loops that run away; it is far above what calls on the phone need."`
	RequestsPerMinutePerTenant int `yaml:"requests_per_minute_per_tenant" default:"120000" min:"0" max:"10000000" help:"Requests of all keys of one tenant in a minute, per replica; 0 is no limit. It leaves room for the other tenants."`
	MaxInFlight                int `yaml:"max_in_flight" default:"1024" min:"1" help:"Requests at one time. Beyond it they are refused at once (OVERLOADED), which is better than answering all of them late. One tenant has half of them at most. While the processors cannot keep up, fewer are let in; reads are refused before writes."`
}

// Resilience is how calls to providers are bounded and repeated.
type Resilience struct {
	Deadline     time.Duration `yaml:"deadline" default:"8s" min:"100ms" max:"2m" help:"The most a request takes, its retries included. A caller may ask for less with X-Request-Timeout-Ms."`
	TryTimeout   time.Duration `yaml:"try_timeout" default:"5s" min:"50ms" max:"2m" help:"The most one try of a call takes that only reads, so that another still fits into the deadline."`
	WriteGrace   time.Duration `yaml:"write_grace" default:"15s" min:"1s" max:"2m" help:"How long a write that was begun may go on after its caller's deadline: it is finished rather than cut off."`
	MaxTries     int           `yaml:"max_tries" default:"3" min:"1" max:"10" help:"Tries of one call, the first included. A write is repeated only where it cannot happen twice."`
	RetryPercent int           `yaml:"retry_percent" default:"10" min:"1" max:"100" help:"Retries at one host over ten seconds, as a share of its calls, so that a provider in trouble is not flooded."`
	Breaker      Breaker       `yaml:"breaker" help:"When a provider or a connection that keeps failing is no longer asked."`
	Bulkhead     Bulkhead      `yaml:"bulkhead" help:"How many calls run at one time, so that one slow provider does not take all there is."`
}

// Breaker is when what keeps failing is no longer asked.
type Breaker struct {
	Failures    int           `yaml:"failures" default:"10" min:"1" help:"Failures in a row after which a connection, or a provider's host, is no longer asked."`
	Connections int           `yaml:"connections" default:"3" min:"1" help:"Connections that must have failed before their host is taken to be down for all."`
	OpenFor     time.Duration `yaml:"open_for" default:"1500ms" min:"100ms" max:"10m" help:"How long it is left alone before one call tries again."`
}

// Bulkhead is how many calls run at one time.
type Bulkhead struct {
	PerConnection      int `yaml:"per_connection" default:"8" min:"1" help:"Calls at one time on one connection, where its provider names no number of its own."`
	PerConnectionQueue int `yaml:"per_connection_queue" default:"32" min:"1" help:"Calls that wait for one of those places; further ones are refused."`
	PerHost            int `yaml:"per_host" default:"256" min:"1" help:"Calls at one time to one provider's host."`
	PerHostQueue       int `yaml:"per_host_queue" default:"256" min:"1" help:"Calls that wait for one of those places, or for one of their connection; further ones are refused."`
}

// Idempotency is how repeated calls are recognised.
type Idempotency struct {
	Keep         time.Duration `yaml:"keep" default:"72h" min:"1h" max:"720h" help:"How long the answer to a call with an Idempotency-Key is kept for repeats."`
	DedupeWindow time.Duration `yaml:"dedupe_window" default:"10m" min:"0" max:"24h" help:"How long equal book-meeting calls without a key are one meeting, where a tenant sets nothing else; 0 ends it."`

	TicketDedupeWindow time.Duration `yaml:"ticket_dedupe_window" default:"10m" min:"0" max:"24h" help:"The same for create-ticket."`
}

// Calendar is what concerns the calendar operations.
type Calendar struct {
	LegacyConferencingTypes []string `yaml:"legacy_conferencing_types" default:"nylas" kind:"word" help:"Values of conferencing_type that mean provider and are answered with a Deprecation header."`
}

// Log is what is written to standard error.
type Log struct {
	Level  string `yaml:"level" default:"info" choices:"debug,info,warn,error" help:"The least that is logged."`
	Format string `yaml:"format" default:"json" choices:"json,text" help:"How a line is written."`
}

// maxFileBytes bounds what is read of a configuration or tenants file.
const maxFileBytes = 16 << 20

// Load reads the configuration: the defaults, the file at path unless that is "", and the variables in environ
// (NAME=VALUE). It knows the keys of the providers that are declared and of no others. Its error is an *Error
// with every fault. It panics where the default of a declared key is not of the key's kind.
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
		return Config{}, &Error{Source: path, Faults: d.sorted()}
	}
	return cfg, nil
}

// Default returns the configuration of an empty file and environment, with the providers that are declared.
func Default(declared []Provider) Config {
	cfg := defaults(declared)
	cfg.settle(&decoder{declared: declared})
	return cfg
}

// settle completes what was read and checks what concerns several keys.
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
	if c.Server.OpsListen == c.Server.Listen && !strings.HasSuffix(c.Server.Listen, ":0") {
		d.wrong("server.ops_listen", "must be another address than server.listen.")
	}
}

// readFile reads a whole file; "-" is standard input.
func readFile(path string) ([]byte, error) {
	file := os.Stdin
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, err // it names the path
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
