package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/upstream"
	"frontdesk/core/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is tenants whose changes are told, on one store.
type kit struct {
	*tenanttest.Kit
	t         *testing.T
	url       string
	pool      *upstream.Pool
	directory *webhook.Directory
	sender    *webhook.Sender
}

func open(t *testing.T, url string) *kit {
	t.Helper()
	k := &kit{Kit: tenanttest.Open(t, url), t: t, url: url}
	k.prepare(k.Store)
	k.pool = upstream.NewPool(upstream.PoolOptions{
		AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolver: noNames,
	})
	t.Cleanup(k.pool.Close)
	k.directory = webhook.NewDirectory(webhook.Options{
		Store: k.Store, Vault: k.Vault, Pool: k.pool, Now: k.Clock.Now, PlainHTTP: true,
	})
	k.sender = k.newSender(k.Store, "first", k.pool)
	return k
}

// noNames finds no host, but for those of this machine: what a test takes must not depend on who answers for names.
var noNames = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("there is no name service")
}}

func (k *kit) prepare(s *store.Store) {
	s.SealWith(k.Vault)
	s.PublishWith(webhook.Publisher(k.Clock.Now))
}

// newSender returns a sender that gives a receiver more time than it takes on a busy machine.
func (k *kit) newSender(s *store.Store, owner string, pool *upstream.Pool) *webhook.Sender {
	return k.senderThatWaits(time.Minute, s, owner, pool)
}

func (k *kit) senderThatWaits(
	forAnswers time.Duration, s *store.Store, owner string, pool *upstream.Pool,
) *webhook.Sender {
	return webhook.NewSender(webhook.SenderOptions{
		Store: s, Vault: k.Vault, Pool: pool, Owner: owner, Now: k.Clock.Now, Log: slog.New(slog.DiscardHandler),
		AttemptTimeout: forAnswers,
	})
}

// replica returns a sender with connections of its own to the same database.
func (k *kit) replica() (*store.Store, *webhook.Sender) {
	s := storetest.Open(k.t, k.url)
	k.prepare(s)
	return s, k.newSender(s, "second", k.pool)
}

// must fails the test on an error.
func (k *kit) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// connect adds a connection of a tenant and returns its id.
func (k *kit) connect(tenantName, name string) string {
	k.t.Helper()
	return k.Connection(tenantName, name, adapter.KindCalendar, "dav").ID
}

// add adds a webhook at a URL and returns its secret and id.
func (k *kit) add(tenantName, url string, types ...string) (secret, id string) {
	k.t.Helper()
	secret, made, err := k.directory.Create(k.t.Context(), tenantName, webhook.Spec{URL: url, Types: types})
	k.must(err)
	return secret, made.ID
}

// change makes the provider of a connection go down or come back, a second after the last change.
func (k *kit) change(connectionID string, down bool) {
	k.t.Helper()
	k.Clock.Advance(time.Second)
	changed, err := k.Store.SetProviderHealth(k.t.Context(), connectionID, down)
	if err != nil || !changed {
		k.t.Fatalf("the change is not stored: %v %v", changed, err)
	}
}

// deliveries returns the states of a webhook's deliveries.
func (k *kit) deliveries(id string) (states string, all []store.Delivery) {
	k.t.Helper()
	all, err := k.Store.Deliveries(k.t.Context(), id, 1000)
	k.must(err)
	var list []string
	for _, d := range all {
		list = append(list, d.State)
	}
	return strings.Join(list, " "), all
}

// message is what a receiver got.
type message struct {
	ID     string
	Header http.Header
	Raw    []byte
	Type   string         `json:"type"`
	At     time.Time      `json:"timestamp"`
	Data   map[string]any `json:"data"`
}

// receiver is a platform that takes events. It answers as its function says.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	got    []message // that were answered with 2xx
	all    []message
}

func receive(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	m := message{ID: req.Header.Get("webhook-id"), Header: req.Header.Clone()}
	m.Raw, _ = io.ReadAll(req.Body)
	_ = json.Unmarshal(m.Raw, &m)
	r.mu.Lock()
	r.all = append(r.all, m)
	answer := r.answer
	r.mu.Unlock()
	recorded := httptest.NewRecorder()
	if answer != nil {
		answer(recorded, req)
	}
	if recorded.Code < 300 {
		r.mu.Lock()
		r.got = append(r.got, m)
		r.mu.Unlock()
	}
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

func (r *receiver) answers(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = h
}

func (r *receiver) received() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message{}, r.got...)
}

func (r *receiver) attempts() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message{}, r.all...)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// told lists the types that were told about a connection.
func told(all []message, connection string) string {
	var types []string
	for _, m := range all {
		if m.Data["connection"] == connection {
			types = append(types, m.Type)
		}
	}
	return strings.Join(types, " ")
}

// verifies reports whether the library of Standard Webhooks accepts a message.
func verifies(t *testing.T, secret string, m message) bool {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return verifier.VerifyIgnoringTimestamp(m.Raw, m.Header) == nil // the kit's clock has a time of its own
}
