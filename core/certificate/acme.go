package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"frontdesk/core/parallel"
	"frontdesk/core/pause"
)

// The times between looks at the certificates: while all of them are there, and after a failure. A server such
// as Let's Encrypt refuses a host name for an hour after five failures.
const (
	checkEvery  = time.Hour
	retryFirst  = time.Minute
	retryAtMost = time.Hour
)

// ACMEOptions says where certificates come from.
type ACMEOptions struct {
	Domains   []string
	Email     string // "" for none
	Directory string // URL
	CA        string // a file with the roots that the server is trusted by; "" for those of the system
	Cache     string // a directory, which is created with mode 0700
	UserAgent string
	Log       *slog.Logger
	// Loaded is called now and then with the certificate in use that ends first. It may be nil.
	Loaded func(leaf *x509.Certificate)
}

// ACME obtains certificates from an ACME server (RFC 8555) and renews them. The server validates a domain by
// connecting to its port 443 (TLS-ALPN-01, RFC 8737), so that no second listener is needed.
type ACME struct {
	o       ACMEOptions
	manager autocert.Manager
	cache   autocert.DirCache
	hangUp  func() // ends all connections to the server, for good
}

// NewACME returns a source whose certificates are in the cache, or are obtained by Run.
func NewACME(o ACMEOptions) (*ACME, error) {
	// The manager takes no context, so that ending its connections is the way to end what it does.
	life, hangUp := context.WithCancel(context.Background())
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout: time.Minute,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				context.AfterFunc(life, func() { _ = conn.Close() })
			}
			return conn, err
		},
	}
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			hangUp()
			return nil, fmt.Errorf("server.tls.acme.ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			hangUp()
			return nil, fmt.Errorf("server.tls.acme.ca: %s does not hold a certificate in PEM", o.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	a := &ACME{o: o, cache: autocert.DirCache(o.Cache), hangUp: hangUp}
	a.manager.Prompt = autocert.AcceptTOS // whoever names domains accepts the terms
	a.manager.Cache = a.cache
	a.manager.HostPolicy = autocert.HostWhitelist(o.Domains...)
	a.manager.Email = o.Email
	a.manager.Client = &acme.Client{
		DirectoryURL: o.Directory, UserAgent: o.UserAgent,
		HTTPClient: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}
	return a, nil
}

// TLSConfig returns a configuration with the certificate of the domain that a client names.
func (a *ACME) TLSConfig() *tls.Config {
	return config(func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return a.manager.GetCertificate(a.understood(*hello))
	}, acme.ALPNProto)
}

// understood returns a client's hello as the manager has to see it. A client that names no host, such as a
// health check by address, gets the certificate of the first domain. The manager tells by the suites of TLS 1.2
// whether a client takes an ECDSA key, and would obtain a second certificate for clients that have TLS 1.3 only,
// whose suites do not say it (RFC 8446 section 4.2.3).
func (a *ACME) understood(hello tls.ClientHelloInfo) *tls.ClientHelloInfo {
	if hello.ServerName == "" {
		hello.ServerName = a.o.Domains[0]
	}
	if slices.Contains(hello.SupportedVersions, tls.VersionTLS13) {
		hello.CipherSuites = append(slices.Clip(hello.CipherSuites), tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
	}
	return &hello
}

// Run obtains the certificates that are missing. The manager renews them from then on. Without Run, the first
// caller would wait for the ACME server. When ctx ends, Run ends the connections to the server and returns. A
// certificate that is being obtained then fails in its own time, which may be a minute between two polls.
func (a *ACME) Run(ctx context.Context) {
	defer a.hangUp()
	for wait := retryFirst; ; {
		obtained := make(chan error, 1)
		go func() { obtained <- parallel.Try(ctx, a.o.Log, func() error { return a.obtain(ctx) }) }()
		next := checkEvery
		select {
		case <-ctx.Done():
			return
		case err := <-obtained:
			if err == nil {
				wait = retryFirst
				break
			}
			a.o.Log.ErrorContext(ctx, "a certificate cannot be obtained", "error", err, "next_try_in", wait.String())
			next, wait = wait, min(2*wait, retryAtMost)
		}
		if pause.For(ctx, next) != nil {
			return
		}
	}
}

// obtain makes sure that there is a certificate for every domain, and tells which of them ends first.
func (a *ACME) obtain(ctx context.Context) error {
	var first *x509.Certificate
	var failures []error
	for _, domain := range a.o.Domains {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the gateway stops
		}
		held, err := a.manager.GetCertificate(a.understood(tls.ClientHelloInfo{
			ServerName: domain, SupportedVersions: []uint16{tls.VersionTLS13},
		}))
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", domain, err))
			continue
		}
		if first == nil || held.Leaf.NotAfter.Before(first.NotAfter) {
			first = held.Leaf
		}
	}
	if first != nil && a.o.Loaded != nil {
		a.o.Loaded(first)
	}
	return errors.Join(failures...)
}

// Leaves returns the certificates in the cache, one for each domain that has one.
func (a *ACME) Leaves(ctx context.Context) ([]*x509.Certificate, error) {
	var leaves []*x509.Certificate
	for _, domain := range a.o.Domains {
		text, err := a.cache.Get(ctx, domain)
		if errors.Is(err, autocert.ErrCacheMiss) {
			continue
		}
		if err != nil {
			return leaves, err
		}
		if leaf := leafOf(text); leaf != nil {
			leaves = append(leaves, leaf)
		}
	}
	return leaves, nil
}
