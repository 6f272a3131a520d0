package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

const (
	tenantID      = "acme"
	theConnection = "c1"
)

// harness holds a provider, a store and connections, which token sources share.
type harness struct {
	t      *testing.T
	url    string
	keys   string // the directory of the key set
	store  *store.Store
	vault  *vault.Vault
	fake   *oauthtest.Server
	logged lockedBuffer

	rotation adapter.Rotation // the adapter's declaration

	mu      sync.Mutex
	given   map[string]Credentials // by connection
	changed []string
	gate    func(replica string, r *http.Request, forward func() (*http.Response, error)) (*http.Response, error)
}

// stores maps names to functions that create an empty store and return its URL.
var stores = map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": storetest.Postgres}

// onEveryStore runs a test on SQLite and on PostgreSQL, in a synctest bubble.
func onEveryStore(t *testing.T, rotation oauthtest.Rotation, lifetime time.Duration, test func(h *harness)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			url := open(t) // the database server is outside the bubble
			synctest.Test(t, func(t *testing.T) { test(build(t, url, rotation, lifetime)) })
		})
	}
}

func onSQLite(t *testing.T, rotation oauthtest.Rotation, lifetime time.Duration, test func(h *harness)) {
	t.Helper()
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) { test(build(t, url, rotation, lifetime)) })
}

func build(t *testing.T, url string, rotation oauthtest.Rotation, lifetime time.Duration) *harness {
	t.Helper()
	h := &harness{
		t: t, url: url, keys: t.TempDir(), store: storetest.Open(t, url), given: map[string]Credentials{},
	}
	var err error
	if h.vault, err = vault.Open("", h.keys); err != nil {
		t.Fatal(err)
	}
	h.fake = oauthtest.New(oauthtest.Options{
		AuthorizePath: "/auth", TokenPath: "/token", Clients: map[string]string{"id": clientSecret},
		Rotation: rotation, Lifetime: lifetime,
	})
	if err := h.store.CreateTenant(t.Context(), store.Tenant{
		ID: tenantID, Name: tenantID, CreatedAt: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	h.connect(theConnection)
	t.Cleanup(func() {
		for _, word := range []string{"access-", "refresh-", clientSecret} {
			if strings.Contains(h.logged.String(), word) {
				t.Errorf("the log holds a secret: %s", h.logged.String())
			}
		}
	})
	return h
}

// connect creates a connection with a refresh token among its credentials.
func (h *harness) connect(id string) {
	h.t.Helper()
	h.connectFor(tenantID, id)
}

func (h *harness) connectFor(tenantID, id string) {
	h.t.Helper()
	err := h.store.CreateConnection(h.t.Context(), store.Connection{
		ID: id, TenantID: tenantID, Name: id, Kind: "calendar", Provider: "provider", CreatedAt: time.Now(),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.give(id, h.fake.Grant("id", "ada@example.com", events))
}

// give replaces the credentials of a connection.
func (h *harness) give(id, refresh string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given[id] = Credentials{Refresh: refresh, Fingerprint: "since " + refresh}
}

// source returns a token source with its own store, like that of another replica.
func (h *harness) source(name string, change ...func(*TokenSource)) *TokenSource {
	h.t.Helper()
	s := storetest.Connect(h.t, h.url)
	source := NewTokenSource(Options{
		Store: s, Vault: h.vault, Owner: name, Log: slog.New(slog.NewTextHandler(&h.logged, nil)),
		Credentials: func(ctx context.Context, tenantID, connectionID string) (Credentials, error) {
			row, err := s.Connection(ctx, tenantID, connectionID)
			if err != nil {
				return Credentials{}, err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			source := h.given[connectionID]
			source.Revision = row.Revision
			source.Client = Client{
				Provider: "provider", ID: "id", Secret: clientSecret, HTTP: &http.Client{Transport: wireTo{h, name}},
				Grant: adapter.Grant{
					Flow: adapter.Consent, TokenURL: "https://provider.example/token", Rotation: h.rotation,
				},
			}
			return source, nil
		},
		Changed: func(connectionID string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changed = append(h.changed, connectionID)
		},
	})
	for _, c := range change {
		c(source)
	}
	h.t.Cleanup(func() {
		source.Close()
		_ = s.Close() // the test may have closed it already
	})
	return source
}

// run runs a token source until stop, or the end of the test.
func (h *harness) run(source *TokenSource) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		source.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	h.t.Cleanup(stop)
	return stop
}

// through makes the token requests of all sources go through gate; nil removes it.
func (h *harness) through(
	gate func(replica string, r *http.Request, forward func() (*http.Response, error)) (*http.Response, error),
) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = gate
}

// wireTo is a transport to the fake without a network, which a synctest bubble could not wait for.
type wireTo struct {
	harness *harness
	replica string
}

func (w wireTo) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	w.harness.mu.Lock()
	gate := w.harness.gate
	w.harness.mu.Unlock()
	forward := func() (*http.Response, error) { return w.forward(r) }
	if gate == nil {
		return forward()
	}
	return gate(w.replica, r, forward)
}

func (w wireTo) forward(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			if broken, ok := v.(error); !ok || !errors.Is(broken, http.ErrAbortHandler) {
				panic(v)
			}
			answer, err = nil, io.ErrUnexpectedEOF
		}
	}()
	in := r.Clone(r.Context())
	in.Host = r.URL.Host
	recorder := httptest.NewRecorder()
	w.harness.fake.ServeHTTP(recorder, in)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// token returns an access token, and fails the test if the token does not work.
func (h *harness) token(source *TokenSource, id string) string {
	h.t.Helper()
	access, err := source.Token(h.t.Context(), tenantID, id)
	if err != nil {
		h.t.Fatalf("%s gets no token: %v", id, err)
	}
	if _, ok := h.fake.Bearer(bearer(access)); !ok {
		h.t.Fatalf("the token of %s does not work", id)
	}
	return access
}

// tokenAtLast repeats the call until it returns a token, like callers who learn that a renewal hangs.
func (h *harness) tokenAtLast(source *TokenSource) string {
	h.t.Helper()
	for {
		access, err := source.Token(h.t.Context(), tenantID, theConnection)
		if err == nil {
			return h.token(source, theConnection)
		}
		if fault.From(err).Reason != fault.ReasonStoreUnavailable {
			wantReason(h.t, err, fault.ReasonProviderUnavailable)
		}
		if h.t.Failed() || access != "" {
			h.t.Fatal("there will be no token")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (h *harness) row(id string) store.Tokens {
	h.t.Helper()
	row, _, err := h.store.Tokens(h.t.Context(), tenantID, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return row
}

func (h *harness) status(id string) string {
	h.t.Helper()
	c, err := h.store.Connection(h.t.Context(), tenantID, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return c.Status
}

// wantFamily fails the test unless the result of each redeem was stored and no refresh token was presented
// twice.
func (h *harness) wantFamily() {
	h.t.Helper()
	if reuses := h.fake.Reuses(); reuses != 0 {
		h.t.Errorf("%d refresh tokens were used again", reuses)
	}
	if redeems, version := h.fake.Redeems(), h.row(theConnection).Version; int64(redeems) != version {
		h.t.Errorf("%d redeems, of which %d were kept", redeems, version)
	}
}

// wantReason fails the test unless err is a fault with the given reason.
func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Reason != reason {
		t.Errorf("got %v, want %s", err, reason)
	}
}

// all runs do from n goroutines at once, and waits.
func all(n int, do func(i int)) {
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { do(i) })
	}
	work.Wait()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func name(i int) string { return fmt.Sprintf("c%04d", i) }
