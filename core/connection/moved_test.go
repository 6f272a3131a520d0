package connection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

// TestARequestFollowsAnAccountThatHasMoved: the old address refuses the token, and the renewal names another one. The
// request is not sent to the old one again, and whoever tries again finds the new one.
func TestARequestFollowsAnAccountThatHasMoved(t *testing.T) {
	var asked atomic.Int64
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer old.Close()
	home := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer home.Close()
	var renewals atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		n, instance := renewals.Add(1), old.URL
		if n > 1 {
			instance = home.URL
		}
		fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "Bearer", "instance_url": %q}`, n, instance)
	}))
	defer provider.Close()

	rows := storetest.Open(t, storetest.SQLite(t))
	keys, err := vault.Open("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := Connection{ID: "c", TenantID: "t", Provider: "desk"}
	err = errors.Join(rows.CreateTenant(t.Context(), store.Tenant{ID: "t", Name: "t", CreatedAt: time.Now()}),
		rows.CreateConnection(t.Context(), store.Connection{
			ID: "c", TenantID: "t", Name: "c", Kind: "crm", Provider: "desk", CreatedAt: time.Now(),
		}))
	if err != nil {
		t.Fatal(err)
	}
	tokens := oauth.NewTokenSource(oauth.Options{
		Store: rows, Vault: keys, Owner: "process",
		Credentials: func(context.Context, string, string) (oauth.Credentials, error) {
			return oauth.Credentials{Refresh: "refresh", Fingerprint: "f", Client: oauth.Client{
				Provider: "desk", ID: "id", Secret: "secret", HTTP: http.DefaultClient, Grant: adapter.Grant{
					TokenURL: provider.URL,
					Instance: &adapter.Instance{Field: "instance_url", Check: func(string) error { return nil }},
				},
			}}, nil
		},
	})
	defer tokens.Close()
	defer http.DefaultClient.CloseIdleConnections()
	pool := upstream.NewPool(upstream.PoolOptions{})
	defer pool.Close()
	by := tokenAuthority(tokens, c, bearer)
	client := pool.Client(upstream.ClientOptions{Provider: "desk", Authorize: by.authorise, Renew: by.renew})
	send := func() error {
		address, err := tokens.Instance(t.Context(), "t", "c")
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		return upstream.Read(client, req, func(answer *http.Response, _ []byte) error {
			if answer.StatusCode != http.StatusOK {
				return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired, "It answers %d.", answer.StatusCode)
			}
			return nil
		})
	}
	if f := fault.From(send()); f == nil || f.Code != fault.Unavailable || !f.Unsent || asked.Load() != 1 {
		t.Errorf("got %v after %d requests to the old address", f, asked.Load())
	}
	if err := send(); err != nil || asked.Load() != 1 {
		t.Errorf("tried again: %v", err)
	}
}
