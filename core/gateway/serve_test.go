package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/config"
)

func TestMain(m *testing.M) {
	// The gateway refuses data directories that others can write, which some systems create by default.
	syscall.Umask(0o022)
	// Pebble, an ACME server for tests, never ends the goroutine that takes its tasks.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/letsencrypt/pebble/v2/va.VAImpl.processTasks"))
}

// When it shuts down, a gateway reports that it is not ready, tells its callers not to reuse their
// connections, and leaves nothing running.
func TestServeDrainsAndEnds(t *testing.T) {
	t.Parallel()
	cfg := config.Default(nil)
	cfg.DataDir = t.TempDir()
	cfg.Server.Listen, cfg.Server.OpsListen = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Server.Drain = time.Second
	g, err := Open(t.Context(), cfg, Options{LogTo: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	go func() { ended <- g.Serve(ctx, func(at Addresses) error { ready <- at; return nil }) }()
	at := <-ready
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func(url string) *http.Response {
		t.Helper()
		res, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	if res := get(at.API + "/readyz"); res.StatusCode != http.StatusOK || res.Close {
		t.Errorf("while it serves: %d, closed %v", res.StatusCode, res.Close)
	}
	end()
	for get(at.Ops+"/readyz").StatusCode == http.StatusOK { // until the gateway notices the end of ctx
	}
	if res := get(at.API + "/healthz"); res.StatusCode != http.StatusOK || !res.Close {
		t.Errorf("while it drains: %d, closed %v", res.StatusCode, res.Close)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A balancer sends requests on a connection for as long as it keeps that one open. If the gateway closes it first, a
// request may be on its way, and its caller gets a 502.
func TestABalancerEndsIdleConnections(t *testing.T) {
	const kept = 10 * time.Minute // by Google's, for good
	if idle := (&Gateway{}).server(nil).IdleTimeout; idle <= kept {
		t.Errorf("connections are closed after %s without a request, and balancers use them for %s", idle, kept)
	}
}

// Profiles are served at the address for operations alone, and only if they were asked for. The command line,
// which pprof can tell, is not served.
func TestProfilesAreServedToTheOperator(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		cfg := config.Default(nil)
		cfg.DataDir, cfg.Server.Pprof = t.TempDir(), asked
		g, err := Open(t.Context(), cfg, Options{LogTo: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		status := func(h http.Handler, path string) int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code
		}
		want := http.StatusNotFound
		if asked {
			want = http.StatusOK
		}
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/symbol"} {
			if got := status(g.ops(), path); got != want {
				t.Errorf("asked for %v: %s answers %d to the operator, want %d", asked, path, got, want)
			}
			if got := status(g.Handler(), path); got != http.StatusNotFound {
				t.Errorf("asked for %v: %s answers %d to callers", asked, path, got)
			}
		}
		if got := status(g.ops(), "/debug/pprof/cmdline"); got != http.StatusNotFound {
			t.Errorf("the command line answers %d", got)
		}
		g.Close()
	}
}

// The census reaches the metrics, and what the store does not tell stays as it was.
func TestTheCensusIsTaken(t *testing.T) {
	t.Parallel()
	cfg := config.Default(nil)
	cfg.DataDir = t.TempDir()
	g, err := Open(t.Context(), cfg, Options{LogTo: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	metrics := func() string {
		w := httptest.NewRecorder()
		g.ops().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	g.census(t.Context()) // there are no tables yet
	if got := metrics(); strings.Contains(got, "frontdesk_intents_open") {
		t.Error("what was not counted is told")
	}
	if err := g.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.census(t.Context())
	got := metrics()
	for _, want := range []string{`frontdesk_intents_open{state="unknown"} 0`, "frontdesk_webhook_deliveries_waiting 0",
		"frontdesk_store_writable 1", "frontdesk_key_set_opens_rows 1", "frontdesk_gate_limit 1024",
		`frontdesk_requests_waiting{for="body"} 0`} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(got, "frontdesk_data_dir_free_bytes 0\n") {
		t.Error("the disk is said to be full")
	}
}

// The disk that the metrics tell of is the fuller one of data_dir's and the SQLite file's.
func TestTheMetricsTellOfTheFullerDisk(t *testing.T) {
	t.Parallel()
	disks := map[string][2]float64{"data": {90, 100}, "/db": {40, 400}, "/empty": {399, 400}, "/unknown": {}}
	for url, want := range map[string]float64{
		"": 100, "sqlite:data/own.db": 100, "sqlite:/db/frontdesk.db": 400, "sqlite:/empty/frontdesk.db": 100,
		"sqlite:/unknown/frontdesk.db": 100, "postgres://db/frontdesk": 100,
	} {
		g := &Gateway{config: config.Config{DataDir: "data", Store: config.Store{URL: url}}}
		_, size := g.fullest(func(folder string) (free, size float64) { return disks[folder][0], disks[folder][1] })
		if size != want {
			t.Errorf("with the store at %q, the disk has %v bytes, want %v", url, size, want)
		}
	}
}
