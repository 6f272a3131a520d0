package upstream

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A client with NewConnections uses a connection only once, on HTTP/1.1 and HTTP/2.
func TestNewConnections(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			peers := map[string]bool{}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				peers[r.RemoteAddr] = true
				if r.Proto != name {
					t.Errorf("asked by %s", r.Proto)
				}
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			t.Cleanup(server.Close)
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			p := newPool(t, PoolOptions{RootCAs: roots, AllowTenantNetworks: loopback})
			connections := func(o ClientOptions) int {
				mu.Lock()
				clear(peers)
				mu.Unlock()
				client := p.Client(o)
				for range 3 {
					answer, err := client.PostForm(server.URL, url.Values{"grant_type": {"refresh_token"}})
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
				mu.Lock()
				defer mu.Unlock()
				return len(peers)
			}
			for _, tenant := range []bool{false, true} {
				if n := connections(ClientOptions{TenantAddress: tenant}); n != 1 {
					t.Errorf("%d connections, want one that is used again", n)
				}
				if n := connections(ClientOptions{TenantAddress: tenant, NewConnections: true}); n != 3 {
					t.Errorf("%d connections, want one for each request", n)
				}
			}
		})
	}
	t.Run("of a tenant's address are held to the egress rules", func(t *testing.T) {
		server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
		p := newPool(t, PoolOptions{})
		client := p.Client(ClientOptions{TenantAddress: true, NewConnections: true})
		if _, err := client.Post(server.String(), "", strings.NewReader("")); err == nil {
			t.Error("it was not refused")
		}
	})
}
