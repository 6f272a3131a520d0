package gateway

import (
	"context"
	"io"
	"net/http"
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
	go func() { ended <- g.Serve(ctx, func(at Addresses) { ready <- at }) }()
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
