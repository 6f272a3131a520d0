package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/consent/consenttest"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/service"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
	"frontdesk/core/webhook"
)

const keepAnswers = 72 * time.Hour

// house is the admin interface over a store, with a tenant, a key of each kind, and a webhook.
type house struct {
	*tenanttest.Kit
	t        *testing.T
	url      string
	admin    *admin.Service
	key      string // the ids
	adminKey string
	webhook  string
}

func open(t *testing.T, url string) *house {
	t.Helper()
	meet := consenttest.Start(t, "meet", func(*oauthtest.Options) {})
	h := &house{t: t, url: url, Kit: tenanttest.Open(t, url, func(o *tenanttest.Options) {
		o.Audited = true
		o.Adapters = []adapter.Adapter{meet.Adapter(), (&tenanttest.Provider{}).Calendar(tenanttest.Dav())}
		o.Operators = map[string]adapter.Operator{"meet": meet.Operator()}
	})}
	h.Store.SealWith(h.Vault)
	pool := upstream.NewPool(upstream.PoolOptions{
		AllowTenantNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	t.Cleanup(pool.Close)
	h.admin = admin.New(admin.Options{
		Store: h.Store, Tenants: h.Tenants, Connections: h.Connections, Keys: h.Keys, Links: h.Links,
		Webhooks: webhook.NewDirectory(webhook.Options{
			Store: h.Store, Vault: h.Vault, Pool: pool, Now: h.Clock.Now, Audit: audit.New(audit.Options{
				Store: h.Store, Vault: h.Vault, Now: h.Clock.Now,
			}),
		}),
		Now: h.Clock.Now, KeepAnswers: keepAnswers,
		ConnectURL:  func(token string) string { return "https://gw.example/connect/" + token },
		RedirectURI: func(callback string) string { return "https://gw.example/callback/" + callback },
	})
	h.Tenant("acme")
	_, k := h.Key("acme", apikey.Spec{})
	_, a, err := h.Keys.CreateAdmin(t.Context(), "acme", apikey.RoleViewer, "")
	h.must(err)
	w, err := h.admin.CreateWebhook(t.Context(), apikey.Caller{}, admin.Write{}, admin.NewWebhook{
		Tenant: "acme", Spec: webhook.Spec{URL: "https://127.0.0.1/first"},
	})
	h.must(err)
	h.key, h.adminKey, h.webhook = k.ID, a.ID, w.Record.ID
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// changes returns how many rows the audit has.
func (h *house) changes() int {
	h.t.Helper()
	rows, err := h.Store.AuditRows(h.t.Context(), store.AuditFilter{Limit: 1000})
	h.must(err)
	return len(rows)
}

// as returns the context of a request with a key of the admin interface.
func (h *house) as(keyID string) context.Context {
	return audit.By(h.t.Context(), audit.Key(keyID))
}

// answer is what a caller gets of any creation.
type answer struct {
	body     []byte
	replayed bool
}

func answered[T any](a service.Answer[T], err error) (answer, error) {
	return answer{a.Body, a.Replayed}, err
}

// creation is a use case that creates something, with an input that a text makes different.
type creation struct {
	name string
	rows int // of the audit
	do   func(h *house, ctx context.Context, w admin.Write, text string) (answer, error)
}

// after returns a length of time that depends on a text.
func after(text string) *time.Duration {
	d := time.Duration(len(text)) * time.Hour
	return &d
}

var operator apikey.Caller

var creations = []creation{
	{"a tenant", 1, func(h *house, ctx context.Context, w admin.Write, text string) (answer, error) {
		return answered(h.admin.CreateTenant(ctx, operator, w, admin.TenantSpec{
			Name: "new", Settings: map[string]any{"display_name": text},
		}))
	}},
	{"a connection", 1, func(h *house, ctx context.Context, w admin.Write, text string) (answer, error) {
		return answered(h.admin.CreateConnection(ctx, operator, w, admin.NewConnection{
			Tenant: "acme", Spec: connection.Spec{
				Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
				Settings:    map[string]any{"url": "https://cal.acme.example/"},
				Credentials: map[string]string{"username": text, "password": tenanttest.Canary},
			},
		}))
	}},
	{"a connect link", 1, func(h *house, ctx context.Context, w admin.Write, text string) (answer, error) {
		return answered(h.admin.CreateLink(ctx, operator, w, admin.NewLink{Tenant: "acme", Spec: link.Spec{
			Connection: connection.Spec{Name: text, Kind: adapter.KindCalendar, Provider: "meet"},
		}}))
	}},
	{"an API key", 1, func(h *house, ctx context.Context, w admin.Write, text string) (answer, error) {
		return answered(h.admin.CreateKey(ctx, operator, w,
			admin.NewKey{Tenant: "acme", Spec: apikey.Spec{Label: text}}))
	}},
	{"a key in the place of another", 2, func(
		h *house, ctx context.Context, w admin.Write, text string,
	) (answer, error) {
		return answered(h.admin.RollKey(ctx, operator, w, admin.RollKey{
			KeyID: admin.KeyID{Tenant: "acme", ID: h.key}, Overlap: after(text),
		}))
	}},
	{"an admin key", 1, func(h *house, ctx context.Context, w admin.Write, text string) (answer, error) {
		return answered(h.admin.CreateAdminKey(ctx, operator, w,
			admin.NewAdminKey{Role: apikey.RoleAdmin, Label: text}))
	}},
	{"an admin key in the place of another", 2, func(
		h *house, ctx context.Context, w admin.Write, text string,
	) (answer, error) {
		return answered(h.admin.RollAdminKey(ctx, operator, w, admin.RollKey{
			KeyID: admin.KeyID{ID: h.adminKey}, Overlap: after(text),
		}))
	}},
	{"a webhook", 1, func(h *house, ctx context.Context, w admin.Write, text string) (answer, error) {
		return answered(h.admin.CreateWebhook(ctx, operator, w, admin.NewWebhook{
			Tenant: "acme", Spec: webhook.Spec{URL: "https://127.0.0.1/" + text},
		}))
	}},
	{"a secret of a webhook", 1, func(
		h *house, ctx context.Context, w admin.Write, text string,
	) (answer, error) {
		return answered(h.admin.RollWebhook(ctx, operator, w, admin.RollWebhook{
			WebhookID: admin.WebhookID{Tenant: "acme", ID: h.webhook}, Overlap: after(text),
		}))
	}},
}

func TestARepeatedCreationIsAnsweredAgain(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := open(t, url)
		for _, c := range creations {
			t.Run(c.name, func(t *testing.T) {
				h.t = t
				write, before := admin.Write{IdempotencyKey: "k"}, h.changes()
				first, err := c.do(h, h.as("key_a"), write, "office")
				h.must(err)
				made := h.changes()
				if first.replayed || made != before+c.rows {
					t.Fatalf("the first answer is %s, replayed %v, after %d changes", first.body, first.replayed,
						made-before)
				}
				h.Clock.Advance(keepAnswers - time.Millisecond)
				again, err := c.do(h, h.as("key_a"), write, "office")
				if err != nil || !again.replayed || !bytes.Equal(again.body, first.body) {
					t.Errorf("the repeat gets %s, %v, %v, want %s", again.body, again.replayed, err, first.body)
				}
				_, err = c.do(h, h.as("key_a"), write, "reception")
				if f := fault.From(err); f == nil || f.Reason != fault.ReasonIdempotencyReused {
					t.Errorf("another request with the key gets %v", err)
				}
				if now := h.changes(); now != made {
					t.Errorf("repeats made %d changes", now-made)
				}
				if other, err := c.do(h, h.as("key_b"), write, "office"); other.replayed ||
					err == nil && bytes.Equal(other.body, first.body) ||
					err != nil && !errors.Is(err, fault.Conflict) {
					t.Errorf("another caller gets %s, %v", other.body, err)
				}
				h.Clock.Advance(time.Millisecond)
				if late, err := c.do(h, h.as("key_a"), write, "office"); late.replayed ||
					err != nil && !errors.Is(err, fault.Conflict) {
					t.Errorf("a repeat after %s gets %s, %v", keepAnswers, late.body, err)
				}
			})
		}
	})
}

// A process that dies in the transaction leaves what a failing statement leaves: nothing.
func TestACreationThatTheStoreFailsIsMadeByTheRepeat(t *testing.T) {
	for _, table := range []string{"creations", "audit"} {
		t.Run(table, func(t *testing.T) {
			h := open(t, storetest.SQLite(t))
			db := storetest.Database(t, h.url)
			for _, c := range creations {
				t.Run(c.name, func(t *testing.T) {
					h.t = t
					write, before := admin.Write{IdempotencyKey: "k"}, h.changes()
					_, err := db.ExecContext(t.Context(), "CREATE TRIGGER failing BEFORE INSERT ON "+table+
						" BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
					h.must(err)
					if failed, err := c.do(h, h.as("key_a"), write, "office"); err == nil {
						t.Errorf("without the table there is the answer %s", failed.body)
					}
					_, err = db.ExecContext(t.Context(), "DROP TRIGGER failing")
					h.must(err)
					if now := h.changes(); now != before {
						t.Errorf("the failed one made %d changes", now-before)
					}
					first, err := c.do(h, h.as("key_a"), write, "office")
					if err != nil || first.replayed || h.changes() != before+c.rows {
						t.Fatalf("the repeat gets %s, %v, %v", first.body, first.replayed, err)
					}
					again, err := c.do(h, h.as("key_a"), write, "office")
					if err != nil || !again.replayed || !bytes.Equal(again.body, first.body) {
						t.Errorf("another repeat gets %s, %v", again.body, err)
					}
				})
			}
		})
	}
}

// What an answer shows once is in the database only as a hash and sealed.
func TestWhatIsShownOnceCannotBeReadInTheDatabase(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	made, err := h.admin.CreateKey(h.as("key_a"), operator, admin.Write{IdempotencyKey: "k"},
		admin.NewKey{Tenant: "acme"})
	h.must(err)
	var answer []byte
	db := storetest.Database(t, h.url)
	h.must(db.QueryRowContext(t.Context(), "SELECT answer FROM creations").Scan(&answer))
	if made.Record.Secret == "" || len(answer) == 0 || bytes.Contains(answer, []byte(made.Record.Secret)) {
		t.Errorf("the answer is stored as %q", answer)
	}
}

func TestACreationWithoutAKeyIsMadeEachTime(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	var ids [2]string
	for i := range ids {
		made, err := h.admin.CreateKey(h.as("key_a"), operator, admin.Write{}, admin.NewKey{Tenant: "acme"})
		h.must(err)
		ids[i] = made.Record.ID
	}
	_, recorded, err := h.Store.Creation(t.Context(), "key:key_a", "create-key", "")
	if ids[0] == ids[1] || recorded || err != nil {
		t.Errorf("the keys are %v, recorded %v, %v", ids, recorded, err)
	}
}

// The store decides whether a connection is the default of its kind, and the answer says so.
func TestTheRecordedAnswerIsTheConnectionAsItIsKept(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := open(t, url)
		for i, name := range []string{"first", "second"} {
			n := admin.NewConnection{Tenant: "acme", Spec: connection.Spec{
				Name: name, Kind: adapter.KindCalendar, Provider: "dav",
				Settings:    map[string]any{"url": "https://cal.acme.example/"},
				Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary},
			}}
			made, err := h.admin.CreateConnection(h.as("key_a"), operator, admin.Write{IdempotencyKey: name}, n)
			h.must(err)
			kept, err := h.admin.GetConnection(t.Context(), operator,
				admin.ConnectionName{Tenant: "acme", Name: name})
			h.must(err)
			if made.Record.Default != (i == 0) || fmt.Sprint(made.Record) != fmt.Sprint(kept) {
				t.Errorf("the answer is %+v, and the connection %+v", made.Record, kept)
			}
		}
	})
}

// Another replica sealed the position with a key that this one cannot read.
func TestKeySetThatCannotBeReadIsNoBadPositionOfAnExport(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	other, err := vault.Open("", h.DataDir)
	h.must(err)
	_, err = other.Rotate()
	h.must(err)
	by := func(v *vault.Vault) *admin.Service {
		log := audit.New(audit.Options{Store: h.Store, Vault: v, Now: h.Clock.Now})
		return admin.New(admin.Options{Store: h.Store, Sealer: v, Now: h.Clock.Now, Audit: log})
	}
	query := admin.ExportQuery{Tenant: "acme", Limit: 1}
	first, err := by(other).ExportTenant(t.Context(), apikey.Caller{}, query)
	h.must(err)
	query.After = first.Next
	path := filepath.Join(h.DataDir, "keyset.json")
	h.must(os.Chmod(path, 0o644))
	_, err = by(h.Vault).ExportTenant(t.Context(), apikey.Caller{}, query)
	tenanttest.WantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	h.must(os.Chmod(path, 0o600))
	_, err = by(h.Vault).ExportTenant(t.Context(), apikey.Caller{}, query)
	h.must(err)
}

// Only the first page is recorded in the audit, so its export does not go on for ever.
func TestAnExportGoesOnForADay(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	s := admin.New(admin.Options{
		Store: h.Store, Sealer: h.Vault, Now: h.Clock.Now,
		Audit: audit.New(audit.Options{Store: h.Store, Vault: h.Vault, Now: h.Clock.Now}),
	})
	query := admin.ExportQuery{Tenant: "acme", Limit: 1}
	first, err := s.ExportTenant(t.Context(), apikey.Caller{}, query)
	h.must(err)
	h.Clock.Advance(24 * time.Hour)
	query.After = first.Next
	second, err := s.ExportTenant(t.Context(), apikey.Caller{}, query)
	h.must(err)
	h.Clock.Advance(time.Second)
	for _, query.After = range []string{first.Next, second.Next} {
		_, err = s.ExportTenant(t.Context(), apikey.Caller{}, query)
		tenanttest.WantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	}
}

// TestTheFormOfRequestsStays pins what repeats are compared by. With another name of a field or one field more, a later
// version would refuse the repeats of what an earlier one has answered: leave a new field out while it is zero.
func TestTheFormOfRequestsStays(t *testing.T) {
	const (
		connection = `"Name":"","Kind":"","Provider":"","Default":false,"Settings":null,"Credentials":null`
		key        = `"Label":"","Scopes":null,"Test":false,"Connections":null`
	)
	for _, test := range []struct {
		request any
		want    string
	}{
		{admin.TenantSpec{}, `{"Name":"","Settings":null}`},
		{admin.NewConnection{}, `{"Tenant":"",` + connection + `}`},
		{
			admin.NewLink{},
			`{"Tenant":"","Connection":{` + connection + `},"OtherAccount":false,"Life":0,"ReturnURL":""}`,
		},
		{admin.NewAgent{}, `{"Tenant":"",` + key + `,"Platform":"","Signing":""}`},
		{admin.NewKey{}, `{"Tenant":"",` + key + `}`},
		{admin.NewAdminKey{}, `{"Tenant":"","Role":"","Label":""}`},
		{admin.RollKey{}, `{"Tenant":"","ID":"","Overlap":null}`},
		{admin.NewWebhook{}, `{"Tenant":"","URL":"","Types":null}`},
		{admin.RollWebhook{}, `{"Tenant":"","ID":"","Overlap":null}`},
	} {
		if got, err := json.Marshal(test.request); err != nil || string(got) != test.want {
			t.Errorf("%T is compared as %s (%v), want %s", test.request, got, err, test.want)
		}
	}
}
