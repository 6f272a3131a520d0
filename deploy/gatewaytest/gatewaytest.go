// Package gatewaytest serves a gateway with the demo's sandbox, for tests of clients. It tests those that are not in Go
// itself.
package gatewaytest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	calendarsandbox "frontdesk/adapters/calendar/sandbox"
	crmsandbox "frontdesk/adapters/crm/sandbox"
	telephonysandbox "frontdesk/adapters/telephony/sandbox"
	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/gateway"
)

// Serve returns the address of a gateway and an API key, until the test ends. If lossy is set, the gateway's
// first answer to each request is lost on the way: the request is carried out, and the connection breaks.
func Serve(t *testing.T, lossy bool) (url, key string) {
	t.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = t.TempDir()
	cfg.Store.URL = "sqlite:" + cfg.DataDir + "/frontdesk.db"
	sandbox := []adapter.Adapter{calendarsandbox.Adapter(), crmsandbox.Adapter(), telephonysandbox.Adapter()}
	g, err := gateway.Open(t.Context(), cfg, gateway.Options{Adapters: sandbox, LogTo: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if key, err = g.Demo(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler := g.Handler()
	if lossy {
		handler = losing(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL, key
}

func losing(h http.Handler) http.Handler {
	var seen sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, repeated := seen.LoadOrStore(r.Method+r.URL.Path+r.Header.Get("Idempotency-Key"), true); !repeated {
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	})
}
