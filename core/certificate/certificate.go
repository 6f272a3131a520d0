// Package certificate provides the certificate of the gateway's own TLS listener: from files, which are read
// again when they change ([OpenFiles]), or from an ACME server ([NewACME]).
//
//	files, err := certificate.OpenFiles(certificate.FileOptions{Certificate: "tls.crt", Key: "tls.key"})
//	server.TLSConfig = files.TLSConfig()
//	go files.Run(ctx)
//
// A certificate that is there is never given up for one that cannot be used. The package does not decide who
// may connect, and it serves nothing.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"time"
)

// Source provides certificates to a TLS listener.
type Source interface {
	// TLSConfig returns the configuration of the listener: TLS 1.2 and later, with HTTP/2.
	TLSConfig() *tls.Config
	// Run keeps the certificates up to date until ctx ends.
	Run(ctx context.Context)
	// Leaves returns the certificates that there are, without their intermediates. For ACME, they are those in
	// the cache, which another process may have put there.
	Leaves(ctx context.Context) ([]*x509.Certificate, error)
}

// config returns what the listeners of all sources have in common.
func config(get func(*tls.ClientHelloInfo) (*tls.Certificate, error), more ...string) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     append([]string{"h2", "http/1.1"}, more...),
		GetCertificate: get,
	}
}

// longestNotice is how long before its end a certificate is due at the latest. ACME renews those of 90 days 30
// days before.
const longestNotice = 14 * 24 * time.Hour

// IsDue reports whether a certificate should have been replaced by now: it ends within two weeks, or within a
// fifth of its lifetime if that is shorter.
func IsDue(leaf *x509.Certificate, now time.Time) bool {
	notice := min(longestNotice, leaf.NotAfter.Sub(leaf.NotBefore)/5)
	return now.After(leaf.NotAfter.Add(-notice))
}

// leafOf returns the first certificate in a PEM text, or nil if there is none.
func leafOf(text []byte) *x509.Certificate {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil
		}
		return leaf
	}
	return nil
}
