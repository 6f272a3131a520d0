package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"frontdesk/config"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/certificate/certificatetest"
	"frontdesk/core/tenant/tenanttest"
)

const ownHost = "desk.example.com"

// serving starts a gateway, and stops it when the test ends.
func serving(t *testing.T, cfg config.Config, logTo io.Writer) (*Gateway, Addresses) {
	t.Helper()
	cfg.Server.Drain = 0
	g, err := Open(t.Context(), cfg, Options{LogTo: logTo})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	go func() { ended <- g.Serve(ctx, func(at Addresses) error { ready <- at; return nil }) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		g.Close()
	})
	select {
	case at := <-ready:
		return g, at
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return nil, Addresses{}
	}
}

// tlsConfig returns a configuration with ports that the system chooses.
func tlsConfig(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.Server.Listen, cfg.Server.OpsListen = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Server.PublicURL = "https://" + ownHost
	return cfg
}

// shown asks an address for its health as a client that trusts roots, and returns the answer and the leaf.
func shown(t *testing.T, url string, roots *x509.CertPool, change func(*tls.Config)) (
	*http.Response, *x509.Certificate, error,
) {
	t.Helper()
	trust := &tls.Config{RootCAs: roots, ServerName: ownHost, MinVersion: tls.VersionTLS10}
	if change != nil {
		change(trust)
	}
	transport := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	return res, res.TLS.PeerCertificates[0], nil
}

// A gateway with certificate files serves HTTP/2 by TLS 1.2 and later, uses files that are replaced without a
// restart, and keeps health and metrics without TLS where they have a listener of their own.
func TestTheGatewayServesTLS(t *testing.T) {
	t.Parallel()
	first := certificatetest.New(t, time.Now().AddDate(0, 2, 0), ownHost)
	second := certificatetest.New(t, time.Now().AddDate(0, 3, 0), ownHost)
	roots := x509.NewCertPool()
	roots.AddCert(first.Leaf)
	roots.AddCert(second.Leaf)
	cfg, dir := tlsConfig(t), t.TempDir()
	cfg.Server.TLS.Certificate, cfg.Server.TLS.Key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certificatetest.Replace(t, cfg.Server.TLS.Certificate, first.Certificate)
	certificatetest.Replace(t, cfg.Server.TLS.Key, first.Key)
	g, at := serving(t, cfg, io.Discard)

	res, leaf, err := shown(t, at.API, roots, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 || !leaf.Equal(first.Leaf) {
		t.Errorf("%d by %s, with the certificate until %s", res.StatusCode, res.Proto, leaf.NotAfter)
	}
	for version, want := range map[uint16]bool{
		tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		_, _, err := shown(t, at.API, roots, func(c *tls.Config) { c.MinVersion, c.MaxVersion = version, version })
		if (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
	if metrics := body(t, at.Ops+"/metrics"); !strings.Contains(metrics,
		"frontdesk_tls_certificate_expiration_timestamp_seconds "+
			strconv.FormatFloat(float64(first.Leaf.NotAfter.Unix()), 'g', -1, 64)) {
		t.Error("the metrics do not tell when the certificate expires")
	}
	if got := body(t, "http"+strings.TrimPrefix(at.API, "https")+"/healthz"); !strings.Contains(got, "HTTPS") {
		t.Errorf("without TLS, the API answers %q", got)
	}
	if base := g.CallersBase(at); base != "https://"+ownHost || !strings.Contains(g.DemoCurl(at, "KEY"), base+"/v1/") {
		t.Errorf("callers are told %s", base)
	}
	certificatetest.Replace(t, cfg.Server.TLS.Certificate, second.Certificate)
	certificatetest.Replace(t, cfg.Server.TLS.Key, second.Key)
	for !leaf.Equal(second.Leaf) { // within two seconds
		if _, leaf, err = shown(t, at.API, roots, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDoctorLooksAtTheCertificate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what      string
		days      int
		host      string
		publicURL string
		acme      bool
		want      []string // what is wrong
	}{
		{what: "all is well", days: 60, host: ownHost, publicURL: "https://" + ownHost + ":8443/base"},
		{what: "about to expire", days: 5, host: ownHost, publicURL: "https://" + ownHost,
			want: []string{"for desk.example.com, until "}},
		{what: "another host", days: 60, host: "other.example.com", publicURL: "https://" + ownHost,
			want: []string{"no certificate is for server.public_url, https://desk.example.com"}},
		{what: "a public address without TLS", days: 60, host: ownHost, publicURL: "http://127.0.0.1:8080",
			want: []string{"no certificate is for server.public_url, http://127.0.0.1:8080"}},
		{what: "nothing from ACME", acme: true, publicURL: "https://" + ownHost,
			want: []string{"there is none for desk.example.com yet"}},
		{what: "ACME for another host", acme: true, publicURL: "https://desk.exmaple.com",
			want: []string{"there is none for desk.example.com yet", "no certificate is for server.public_url"}},
		{what: "no file", publicURL: "https://" + ownHost, want: []string{"server.tls.certificate: "}},
	} {
		t.Run(c.what, func(t *testing.T) {
			cfg := tlsConfig(t)
			cfg.Server.PublicURL = c.publicURL
			if c.acme {
				cfg.Server.TLS.ACME.Domains = []string{ownHost}
			} else {
				dir := t.TempDir()
				cfg.Server.TLS.Certificate = filepath.Join(dir, "tls.crt")
				cfg.Server.TLS.Key = filepath.Join(dir, "tls.key")
			}
			if c.days > 0 {
				p := certificatetest.New(t, time.Now().AddDate(0, 0, c.days), c.host)
				certificatetest.Replace(t, cfg.Server.TLS.Certificate, p.Certificate)
				certificatetest.Replace(t, cfg.Server.TLS.Key, p.Key)
			}
			g := opened(t, cfg)
			defer g.Close()
			var wrong []string
			for _, f := range g.examineCertificates(t.Context()) {
				if f.OK {
					continue
				}
				if f.Advice == "" {
					t.Errorf("no advice about %s", f.Says)
				}
				wrong = append(wrong, f.Says)
			}
			if !slices.EqualFunc(wrong, c.want, strings.HasPrefix) {
				t.Errorf("wrong: %q, want %q", wrong, c.want)
			}
		})
	}
}

// A gateway obtains its certificate from Pebble, the ACME server of Let's Encrypt for tests, which validates the
// domain at the gateway's own listener. After a restart, the gateway has the certificate still.
func TestTheGatewayObtainsItsCertificate(t *testing.T) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	port := adaptertest.FreePort(t)
	directory, trust, roots := pebble(t, port)
	cfg := tlsConfig(t)
	cfg.Server.Listen = "127.0.0.1:" + port
	cfg.Server.TLS.ACME = config.ACME{
		Domains: []string{ownHost}, Email: "pat@example.com", Directory: directory, CA: trust,
	}
	var log tenanttest.Buffer
	_, at := serving(t, cfg, &log)
	res, leaf, err := shown(t, at.API, roots, func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 })
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if res.ProtoMajor != 2 || leaf.VerifyHostname(ownHost) != nil {
		t.Errorf("%s for %v", res.Proto, leaf.DNSNames)
	}
	for name, change := range map[string]func(*tls.Config){
		"TLS 1.2": func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
		"no host": func(c *tls.Config) {
			c.ServerName, c.InsecureSkipVerify = "", true
		},
	} {
		if _, again, err := shown(t, at.API, roots, change); err != nil || !again.Equal(leaf) {
			t.Errorf("%s: another certificate (%v)", name, err)
		}
	}
	other := func(c *tls.Config) { c.ServerName = "other.example.com" }
	if _, _, err := shown(t, at.API, roots, other); err == nil {
		t.Error("a host that is not configured has a certificate")
	}
	if info, err := os.Stat(filepath.Join(cfg.DataDir, acmeDirectory)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the cache: %v, %v", info.Mode(), err)
	}
	cfg.Server.TLS.ACME.Directory = "https://127.0.0.1:1/" // nobody answers there
	g := opened(t, cfg)
	defer g.Close()
	source, err := g.certificates()
	if err != nil {
		t.Fatal(err)
	}
	if leaves, err := source.Leaves(t.Context()); err != nil || len(leaves) != 1 || !leaves[0].Equal(leaf) {
		t.Errorf("after a restart: %v, %v", leaves, err)
	}
	if found := g.examineCertificates(t.Context()); len(found) != 1 || !found[0].OK {
		t.Errorf("the doctor finds %+v", found)
	}
}

// pebble starts an ACME server that finds every host at 127.0.0.1 and the given port. It returns the server's
// directory, a file with the roots that it is trusted by, and the root of the certificates that it issues.
func pebble(t *testing.T, port string) (directory, trust string, roots *x509.CertPool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	everything := dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if q := question.Question[0]; q.Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A:   net.IPv4(127, 0, 0, 1),
			}}
		}
		_ = w.WriteMsg(answer)
	})
	resolver := &dns.Server{Listener: listener, Net: "tcp", Handler: everything}
	answering := make(chan struct{})
	go func() { defer close(answering); _ = resolver.ActivateAndServe() }()
	t.Cleanup(func() { _ = listener.Close(); <-answering })

	quiet, store := stdlog.New(io.Discard, "", 0), db.NewMemoryStore()
	tlsPort, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	validation := va.New(quiet, 1, tlsPort, true, listener.Addr().String(), store)
	front := wfe.New(quiet, store, validation, authority, []string{"ca.example"}, true, false, 0, 0)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	trust = filepath.Join(t.TempDir(), "ca.pem")
	certificatetest.Replace(t, trust, pem.EncodeToMemory(
		&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	roots = x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority.GetRootCert(0).PEM()) {
		t.Fatal("the ACME server has no root")
	}
	return server.URL + wfe.DirectoryPath, trust, roots
}
