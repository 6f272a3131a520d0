// Package upstream provides the HTTP client that adapters share. A driver gets an *http.Client from this
// package and uses it like any other; what every provider needs is built in:
//
//	pool := upstream.NewPool(upstream.PoolOptions{AllowTenantNetworks: allowed})
//	client := pool.Client(upstream.ClientOptions{Provider: "rest", TenantAddress: true,
//		Authorize: basic, AuthorizeFor: server})
//	err := upstream.Exchange{Method: http.MethodGet, URL: address, Out: &calendars, Provider: "rest"}.Do(ctx, client)
//
// It promises:
//   - Every failure to get a response is a *fault.Error for errors.As, though http.Client wraps it in a
//     *url.Error. Its text holds neither userinfo nor query. Unsent is set only when no byte of the request
//     left this machine.
//   - A request that changes something is sent once: net/http is kept from repeating it.
//   - Credentials are sent only to the origin they belong to and to https hosts of its registrable domain.
//     The same holds for requests that change something. Neither redirects nor addresses read by [Reference]
//     lead from https to http.
//   - A client for an address that a tenant gave connects only to public addresses and allowed networks,
//     whatever DNS returns and wherever redirects lead.
//   - A response is read completely before any of it is decoded. Its size, its compression ratio and the
//     amount of its structure are bounded. All responses share one memory budget. A response beyond the
//     bounds is a fault that is not retried.
//   - Every wait ends, even if the context has no deadline.
//   - A server that was asked lately keeps a connection open ([Pool.KeepWarm]), by requests without credentials
//     and without effect, under the same egress rules. One that fails gets none until a call has reached it.
//
// It does not retry, queue or remember failures: the guard does.
package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// The defaults of PoolOptions.
const (
	defaultConnectTimeout = 3 * time.Second
	defaultTLSTimeout     = 3 * time.Second
	defaultCallTimeout    = 30 * time.Second
)

// Metrics counts what a Pool does.
type Metrics interface {
	// Exchange counts one HTTP exchange with a provider. If there was no response, status is 0 and code is the
	// fault's code.
	Exchange(provider string, status int, code string)
	// EgressRefused counts a refused connection to an address that a tenant must not reach.
	EgressRefused(provider string)
}

type noMetrics struct{}

func (noMetrics) Exchange(string, int, string) {}
func (noMetrics) EgressRefused(string)         {}

// idleTimeout is shorter than the 60 s or more after which most servers close: a write on a connection that the
// server is just closing has an unknown outcome.
const idleTimeout = 50 * time.Second

// PoolOptions configure a Pool. The zero value is usable.
type PoolOptions struct {
	// AllowTenantNetworks are the networks that addresses given by tenants may reach besides public ones. A
	// cloud's metadata address is allowed only by a prefix for this address alone (/32 or /128): an operator
	// who allows fd00::/8 for an on-premises server does not mean to hand out the machine's credentials.
	AllowTenantNetworks []netip.Prefix

	MaxResponseBytes int64         // of a decompressed response that is no listing; 0 means 2 MiB
	ConnectTimeout   time.Duration // of one TCP connection, DNS included; 0 means 3 s
	TLSTimeout       time.Duration // of a TLS handshake; 0 means 3 s
	CallTimeout      time.Duration // of a whole call, unless its context ends earlier; 0 means 30 s

	UserAgent string // sent if the driver sets none

	RootCAs  *x509.CertPool // nil: the system's
	Resolver *net.Resolver  // nil: the system's
	Metrics  Metrics        // nil: nothing is counted
	Log      *slog.Logger   // one line per exchange at debug level; may be nil
}

// Pool holds the connections that all clients share. It is safe for concurrent use.
type Pool struct {
	options     PoolOptions
	operator    transports // for addresses from the configuration and from adapters' code
	tenant      transports // for addresses that tenants gave: guarded, and never through a proxy
	tenantPlain transports // for http with ClientOptions.RequireTLS: these reach allowed networks alone
	budget      *budget
	warm        *warmer
}

// transports are alike, but that anew, for ClientOptions.NewConnections, opens a connection for each request.
type transports struct{ kept, anew *http.Transport }

// NewPool returns a pool with the given options.
func NewPool(o PoolOptions) *Pool {
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = maxAnswerBytes
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.TLSTimeout <= 0 {
		o.TLSTimeout = defaultTLSTimeout
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{
		options: o, operator: newTransports(o, nil), tenant: newTransports(o, &egress{allowed: o.AllowTenantNetworks}),
		tenantPlain: newTransports(o, &egress{allowed: o.AllowTenantNetworks, allowedOnly: true}),
		budget:      newBudget(), warm: newWarmer(o),
	}
}

// newTransports returns transports whose connections the guard allows. Without a guard, they use the proxy of the
// environment.
func newTransports(o PoolOptions, guard *egress) transports {
	dialer := newDialer(o)
	if guard != nil {
		dialer.ControlContext = guard.control
	}
	kept := newTransport(o, dialer)
	if guard == nil {
		kept.Proxy = http.ProxyFromEnvironment
	}
	anew := kept.Clone()
	anew.DisableKeepAlives = true
	return transports{kept, anew}
}

func newDialer(o PoolOptions) *net.Dialer {
	return &net.Dialer{
		Timeout:  o.ConnectTimeout,
		Resolver: o.Resolver,
		// A vanished peer is detected on an idle connection within about 20 s, before the connection is used
		// again.
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: 10 * time.Second, Interval: 3 * time.Second, Count: 3,
		},
	}
}

func newTransport(o PoolOptions, d *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := d.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn}, nil
		},
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout: o.TLSTimeout,

		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           2048,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true, // a custom DialContext would switch it off
		// Without pings, net/http keeps an HTTP/2 connection whose peer is gone for minutes
		// (golang/go#36026). Together these timeouts are shorter than one try of a read, so that a read on a
		// dead connection is retried.
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 2500 * time.Millisecond, PingTimeout: 2 * time.Second, WriteByteTimeout: 4 * time.Second,
		},
	}
}

// Close closes idle connections, and ends what keeps them open. Running calls end by themselves.
func (p *Pool) Close() {
	p.warm.close()
	for _, t := range []transports{p.operator, p.tenant, p.tenantPlain} {
		t.kept.CloseIdleConnections() // the others keep none
	}
}

// ClientOptions configure a client.
type ClientOptions struct {
	// Authorize adds credentials to a request. It is called for each hop that may carry them. Nil adds none.
	Authorize func(*http.Request) error
	// Renew is called after a 401 response, with the request as it was sent. It reports whether there are new
	// credentials by now, so that the request is worth sending once more. If nil, there never are. Its error
	// becomes that of the call.
	Renew func(refused *http.Request) (bool, error)
	// AuthorizeFor is the address the credentials belong to. Nil means the address at which each call starts.
	AuthorizeFor *url.URL
	// TenantAddress marks a client whose addresses come from a tenant: the egress rules apply.
	TenantAddress bool

	// NewConnections opens a new connection for each request. It is for the few requests that must not be
	// lost on a connection that died unnoticed, or wait behind a request that hangs.
	NewConnections bool

	// RequireTLS lets http reach only AllowTenantNetworks; all other addresses must be https.
	RequireTLS bool

	// StatusOnly is for a client that needs only the status of a response. Redirects are not followed. At most
	// 64 KiB of the body are read, and discarded.
	StatusOnly bool

	// Pace is called before each request is sent. It may wait, and returns a function that is called once the
	// response was read. Its error becomes that of the call, which was not sent. Nil: nothing is waited for.
	Pace func(*http.Request) (done func(), err error)

	// CallTimeout replaces the pool's CallTimeout; 0 keeps that.
	CallTimeout time.Duration

	Connection, Provider string // for metrics, logs, the memory budget and fault messages
}

// Client returns a client that uses the pool's connections. It follows redirects itself, so that PROPFIND and
// REPORT keep their methods (RFC 4918, RFC 3253): net/http would turn them into GET on 301 and 302.
func (p *Pool) Client(o ClientOptions) *http.Client {
	return &http.Client{
		Transport:     &transport{pool: p, client: o},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// baseOf returns the transport of a client's connections to an address.
func (p *Pool) baseOf(o ClientOptions, at *url.URL) *http.Transport {
	of := p.operator
	switch {
	case o.RequireTLS && at.Scheme == "http":
		of = p.tenantPlain
	case o.TenantAddress:
		of = p.tenant
	}
	if o.NewConnections {
		return of.anew
	}
	return of.kept
}
