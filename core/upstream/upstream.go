// Package upstream is the HTTP client that adapters share. A driver is handed an *http.Client made here and
// uses it as any other; what every provider needs alike is already in it:
//
//	pool := upstream.NewPool(upstream.PoolOptions{AllowTenantNetworks: allowed})
//	client := pool.Client(upstream.ClientOptions{Provider: "caldav", TenantAddress: true,
//		Authorize: basic, AuthorizeFor: server})
//	err := upstream.JSON(ctx, client, http.MethodGet, address, nil, nil, &calendars, "caldav")
//
// It promises:
//   - Every failure to get an answer is a *fault.Error for errors.As, though http.Client wraps it in a
//     *url.Error. Its text holds neither userinfo nor query. Unsent is set only when no byte of the request
//     left this machine.
//   - A request that changes something goes out once: net/http's own repeats are kept from it.
//   - Credentials reach the origin they belong to and https hosts of its registrable domain, and nothing
//     else. So do requests that change something. What begins by https stays so, wherever redirects lead, and
//     addresses read by [Reference].
//   - A client of an address that a tenant gave connects to public addresses and allowed networks only,
//     whatever DNS says and wherever redirects lead.
//   - An answer is read whole and within bounds before anything is decoded of it: its bytes, how far they
//     were compressed, and how much of structure they hold. All answers have one budget of memory. An answer
//     beyond the bounds is a fault that is not tried again.
//   - Each wait has an end even where the context has none.
//
// It does not retry, queue or remember failures: that is the guard's.
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

	"frontdesk/core/telemetry"
)

// The defaults of PoolOptions.
const (
	defaultConnectTimeout = 3 * time.Second
	defaultTLSTimeout     = 3 * time.Second
	defaultCallTimeout    = 30 * time.Second
)

// PoolOptions configure a Pool. The zero value is usable.
type PoolOptions struct {
	// AllowTenantNetworks are the networks that addresses given by tenants may reach besides public ones. A
	// cloud's metadata address is opened only by a prefix that names it alone (/32 or /128): who allows
	// fd00::/8 for a server on the premises does not mean to hand out the machine's credentials.
	AllowTenantNetworks []netip.Prefix

	MaxResponseBytes int64         // of a decompressed answer that lists no events; 0 is 2 MiB
	ConnectTimeout   time.Duration // of one TCP connection, DNS included; 0 is 3 s
	TLSTimeout       time.Duration // of a TLS handshake; 0 is 3 s
	CallTimeout      time.Duration // of a whole call, where its context ends later or never; 0 is 30 s

	UserAgent      string // sent where the driver sets none
	PropagateTrace bool   // pass the caller's traceparent on to providers

	RootCAs  *x509.CertPool     // nil: the system's
	Resolver *net.Resolver      // nil: the system's
	Metrics  *telemetry.Metrics // may be nil
	Log      *slog.Logger       // one line per exchange at debug level; may be nil
}

// Pool holds the connections that all clients share. Safe for concurrent use.
type Pool struct {
	options  PoolOptions
	operator *http.Transport // for addresses from the configuration and from adapters' code
	tenant   *http.Transport // for addresses that tenants gave: guarded, and never through a proxy
	budget   *budget

	// The same for clients with ClientOptions.NewConnections.
	operatorAnew, tenantAnew *http.Transport
}

// NewPool makes a pool.
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}

	plain := newDialer(o)
	operator := newTransport(o, plain)
	operator.Proxy = http.ProxyFromEnvironment

	guarded := newDialer(o)
	guarded.ControlContext = (&egress{allowed: o.AllowTenantNetworks}).control
	tenant := newTransport(o, guarded)
	return &Pool{
		options: o, operator: operator, tenant: tenant, operatorAnew: anew(operator), tenantAnew: anew(tenant),
		budget: newBudget(),
	}
}

// anew returns a transport that makes a connection for each request.
func anew(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.DisableKeepAlives = true
	return t
}

func newDialer(o PoolOptions) *net.Dialer {
	return &net.Dialer{
		Timeout:  o.ConnectTimeout,
		Resolver: o.Resolver,
		// A peer that vanished is noticed on an idle connection within about 20 s, before it is used again.
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
		// Shorter than the 60 s or more after which usual servers close: a write on a connection that the
		// server is just closing has an unknown outcome.
		IdleConnTimeout:        50 * time.Second,
		MaxIdleConns:           2048,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true, // a DialContext of one's own switches it off otherwise
		// net/http keeps an HTTP/2 connection whose peer is gone for minutes (golang/go#36026), unless it
		// pings. Together these are less than the time of one try of a read, so that a read that met a dead
		// connection is made again.
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 2500 * time.Millisecond, PingTimeout: 2 * time.Second, WriteByteTimeout: 4 * time.Second,
		},
	}
}

// Close closes idle connections. Calls that are running end by themselves.
func (p *Pool) Close() {
	p.operator.CloseIdleConnections()
	p.tenant.CloseIdleConnections()
}

// ClientOptions say whose client it is.
type ClientOptions struct {
	// Authorize adds credentials to a request. It is called for each hop that may carry them. Nil: none.
	Authorize func(*http.Request) error
	// Renew is asked when a request is answered 401, with the request as it was sent: whether there are other
	// credentials by now, so that it is worth sending once more. Nil: never. Its error is the call's.
	Renew func(refused *http.Request) (bool, error)
	// AuthorizeFor is the address the credentials belong to. Nil: the address each call starts at.
	AuthorizeFor *url.URL
	// TenantAddress marks a client whose addresses come from a tenant: the egress rules apply.
	TenantAddress bool

	// NewConnections has each request go on a connection of its own: for the few that must not be lost on one
	// that has died unnoticed, or wait behind a request that hangs.
	NewConnections bool

	// CallTimeout bounds a whole call in the place of the pool's; 0: the pool's.
	CallTimeout time.Duration

	Connection, Provider string // for metrics, logs and the words of a fault
}

// Client makes a client on the pool's connections. It follows redirects itself, so that PROPFIND and REPORT
// stay what they are (RFC 4918, RFC 3253): net/http would turn them into GET on 301 and 302.
func (p *Pool) Client(o ClientOptions) *http.Client {
	base := p.operator
	switch {
	case o.TenantAddress && o.NewConnections:
		base = p.tenantAnew
	case o.TenantAddress:
		base = p.tenant
	case o.NewConnections:
		base = p.operatorAnew
	}
	return &http.Client{
		Transport:     &transport{pool: p, base: base, client: o},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
