package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/certificate/certificatetest"
	"frontdesk/core/connection"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

// The gateway is not ready while the store answers reads but accepts no writes. Afterwards it is ready again.
func TestReadyzFailsWhileWritesFail(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			url, do := database(t)
			g := opened(t, readyConfig(t, url))
			defer g.Close()
			readyz := func(want int) {
				t.Helper()
				// A probe waits for the store as long as a call does. This probe must not.
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				if want == http.StatusOK {
					ctx = t.Context()
				}
				g.probe(ctx)
				w := httptest.NewRecorder()
				g.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
				if w.Code != want {
					t.Errorf("/readyz answers %d, want %d", w.Code, want)
				}
			}
			readyz(http.StatusOK)
			writesEnd := map[string]func() (again func()){
				"sqlite": func() func() { return lockedElsewhere(t, url) },
				"postgres": func() func() {
					// As after a failover: connections end, and new ones can only read.
					becomes := func(readOnly string) {
						do("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = " + readOnly +
							"', current_database()); END $$")
						do(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
							WHERE datname = current_database() AND pid <> pg_backend_pid()`)
					}
					becomes("on")
					return func() { becomes("off") }
				},
			}[name]()
			readyz(http.StatusServiceUnavailable)
			writesEnd()
			readyz(http.StatusOK)
		})
	}
}

// Another replica has rotated the key set, and this one cannot read it: it would refuse every call. While its keys
// suffice, it stays ready.
func TestReadyzFailsWhileTheKeySetOpensNothing(t *testing.T) {
	t.Parallel()
	var log tenanttest.Buffer
	url := storetest.SQLite(t)
	cfg := readyConfig(t, url)
	desk := &tenanttest.Provider{}
	desk.Says(calendar.Account{Email: "desk@acme.example"}, nil)
	g, err := Open(t.Context(), cfg, Options{
		LogTo: &log, Adapters: []adapter.Adapter{desk.Calendar(tenanttest.Dav())},
	})
	tenanttest.Must(t, err)
	defer g.Close()
	rotating := opened(t, cfg)
	defer rotating.Close()
	_, err = g.Connections().Add(t.Context(), "acme", connection.Spec{
		Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
		Settings:    map[string]any{"url": "https://calendar.example.com/"},
		Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary},
	})
	tenanttest.Must(t, err)
	readyz := readyzOf(t, g)
	mode := func(mode os.FileMode) {
		t.Helper()
		tenanttest.Must(t, os.Chmod(filepath.Join(cfg.DataDir, "keyset.json"), mode))
	}
	mode(0o644) // which the gateway refuses to read
	readyz(http.StatusOK)
	mode(0o600)
	_, err = rotating.RotateKeys(t.Context())
	tenanttest.Must(t, err)
	mode(0o644)
	readyz(http.StatusServiceUnavailable)
	mode(0o600)
	readyz(http.StatusOK)
	before := log.String()
	if !strings.Contains(before, "(secrets.keyset) opens none of the stored credentials") {
		t.Errorf("the log has\n%s", before)
	}
	_, err = storetest.Database(t, url).Exec("ALTER TABLE connections RENAME TO elsewhere")
	tenanttest.Must(t, err)
	readyz(http.StatusServiceUnavailable)
	said := strings.TrimPrefix(log.String(), before)
	if !strings.Contains(said, "not ready") || strings.Contains(said, "opens no") {
		t.Errorf("where the store does not answer, the log has\n%s", said)
	}
}

// Replicas may have the key set as a copy: in a Secret, or in a variable.
func TestARotationThatWasPreparedIsNoticedByNoCopyOfTheKeySet(t *testing.T) {
	t.Parallel()
	cfg := readyConfig(t, storetest.SQLite(t))
	rotating := opened(t, cfg)
	defer rotating.Close()
	made, replicas := filepath.Join(cfg.DataDir, "keyset.json"), filepath.Join(t.TempDir(), "keyset.json")
	copied := func() {
		t.Helper()
		raw, err := os.ReadFile(made)
		tenanttest.Must(t, err)
		tenanttest.Must(t, os.WriteFile(replicas, raw, 0o600))
	}
	copied()
	cfg.Secrets.Keyset = "file:" + replicas
	desk := &tenanttest.Provider{}
	desk.Says(calendar.Account{Email: "desk@acme.example"}, nil)
	g, err := Open(t.Context(), cfg, Options{
		LogTo: io.Discard, Adapters: []adapter.Adapter{desk.Calendar(tenanttest.Dav())},
	})
	tenanttest.Must(t, err)
	defer g.Close()
	_, err = g.Connections().Add(t.Context(), "acme", connection.Spec{
		Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
		Settings:    map[string]any{"url": "https://calendar.example.com/"},
		Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary},
	})
	tenanttest.Must(t, err)
	readyz := readyzOf(t, g)
	_, err = rotating.PrepareKey(t.Context())
	tenanttest.Must(t, err)
	readyz(http.StatusOK)
	copied()
	_, err = rotating.RotateKeys(t.Context())
	tenanttest.Must(t, err)
	readyz(http.StatusOK)
	_, err = rotating.RotateKeys(t.Context()) // with a key that the copy lacks
	tenanttest.Must(t, err)
	readyz(http.StatusServiceUnavailable)
	copied()
	readyz(http.StatusOK)
}

func readyzOf(t *testing.T, g *Gateway) func(want int) {
	return func(want int) {
		t.Helper()
		g.probe(t.Context())
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != want {
			t.Errorf("/readyz answers %d, want %d", w.Code, want)
		}
	}
}

// A gateway whose database file was put aside goes on writing to it, where the next start finds nothing.
func TestReadyzFailsWhenTheDatabaseFileIsReplaced(t *testing.T) {
	t.Parallel()
	cfg := readyConfig(t, "")
	g := opened(t, cfg)
	defer g.Close()
	file := filepath.Join(cfg.DataDir, "frontdesk.db")
	readyz := readyzOf(t, g)
	readyz(http.StatusOK)
	tenanttest.Must(t, g.Backup(t.Context(), file+".copy"))
	tenanttest.Must(t, os.Rename(file, file+".aside"))
	readyz(http.StatusServiceUnavailable)
	tenanttest.Must(t, os.Rename(file+".copy", file))
	readyz(http.StatusServiceUnavailable)
	tenanttest.Must(t, os.Rename(file+".aside", file))
	readyz(http.StatusOK)
}

func lockedElsewhere(t *testing.T, url string) (unlock func()) {
	t.Helper()
	db := storetest.Database(t, url)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback(); _ = db.Close() }
}

// Whoever asks whether the gateway is ready asks the listener for operations or, without one, that of callers, whatever
// certificate it has.
func TestTheGatewayIsAskedWhetherItIsReady(t *testing.T) {
	t.Parallel()
	ask := func(cfg config.Server, want string) {
		t.Helper()
		err := AskReady(t.Context(), cfg)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("asked at %q and %q: %v, want %q", cfg.OpsListen, cfg.Listen, err, want)
		}
	}
	host := func(url string) string { return url[strings.LastIndex(url, "/")+1:] }
	foreign := certificatetest.New(t, time.Now().AddDate(0, 2, 0), ownHost) // by an authority that nobody trusts
	dir := t.TempDir()
	cfg := tlsConfig(t)
	cfg.Server.TLS.Certificate, cfg.Server.TLS.Key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certificatetest.Replace(t, cfg.Server.TLS.Certificate, foreign.Certificate)
	certificatetest.Replace(t, cfg.Server.TLS.Key, foreign.Key)
	g, at := serving(t, cfg, io.Discard)

	ask(cfg.Server, "server.ops_listen names no port")
	cfg.Server.OpsListen = host(at.Ops)
	ask(cfg.Server, "")
	_, port, _ := net.SplitHostPort(host(at.Ops))
	for _, every := range []string{"0.0.0.0:", "[::]:", ":"} {
		other := cfg.Server
		other.OpsListen = every + port
		ask(other, "") // the listener is on 127.0.0.1, which each of these includes
	}
	public := cfg.Server
	public.OpsListen, public.Listen = "", host(at.API)
	ask(public, "")

	g.draining.Store(true)
	ask(cfg.Server, at.Ops+"/readyz is not ready")
	ask(public, at.API+"/readyz is not ready")

	stranger := httptest.NewServer(http.NotFoundHandler())
	cfg.Server.OpsListen = host(stranger.URL)
	ask(cfg.Server, "with status 404, is no gateway")
	stranger.Close()
	ask(cfg.Server, "no gateway answers at "+stranger.URL+"/readyz: dial tcp")
}
