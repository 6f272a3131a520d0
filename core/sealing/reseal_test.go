package sealing_test

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRotationSealsEverythingAgain(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		var all []connection.Connection
		for _, tenant := range []string{"acme", "beta"} {
			h.Tenant(tenant)
			all = append(all, h.Connection(tenant, "a", adapter.KindCalendar, "dav"),
				h.Connection(tenant, "b", adapter.KindCalendar, "dav"))
			h.Connection(tenant, "s", adapter.KindCalendar, "sandbox") // has no credentials, but is sealed
		}
		old := h.Vault.Status()[0].ID
		text, _ := h.Key("acme", apikey.Spec{})
		if _, err := h.Calendar(h.Caller(text)); err != nil {
			t.Fatal(err)
		}
		added, err := h.Vault.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		if inUse, err := h.Rows.KeysInUse(t.Context()); err != nil || !maps.Equal(inUse, map[uint32]int{old: 7}) {
			t.Errorf("before: in use %v, %v", inUse, err)
		}
		done, err := h.Rows.Reseal(t.Context())
		if err != nil || done.Sealed != 7 ||
			!maps.Equal(done.InUse, map[uint32]int{added.ID: 7}) {
			t.Errorf("done %+v, %v", done, err)
		}
		if done, err = h.Rows.Reseal(t.Context()); err != nil || done.Sealed != 0 {
			t.Errorf("a second time %+v, %v", done, err)
		}
		for _, c := range all {
			plain, err := h.Sealer.OpenConnection(h.Row(c))
			if err != nil || plain["password"] != tenanttest.Canary {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		if _, err := h.Calendar(h.Caller(text)); err != nil {
			t.Errorf("a call after the rotation: %v", err)
		}
	})
}

func TestInterruptedResealIsCompleted(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	a, b := h.Connection("acme", "a", adapter.KindCalendar, "dav"),
		h.Connection("acme", "b", adapter.KindCalendar, "dav")
	if _, err := h.Vault.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := h.Rows.ResealConnection(t.Context(), h.Row(a)); err != nil { // and then the process was killed
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Rows.Reseal(over); err == nil {
		t.Error("a context that is over resealed")
	}
	done, err := h.Rows.Reseal(t.Context())
	if err != nil || done.Sealed != 1 || len(done.InUse) != 1 {
		t.Errorf("done %+v, %v", done, err)
	}
	if _, err := h.Sealer.OpenConnection(h.Row(b)); err != nil {
		t.Error(err)
	}
}

// Another process sealed a row with a key that this one cannot read. Nothing is known of the row, so it is
// neither wrong nor passed over: its key would count as unneeded.
func TestRowsAreNotWrongWhileTheKeySetCannotBeRead(t *testing.T) {
	for kind, put := range map[string]func(*tenanttest.Kit, store.Connection, sealing.Sealer) error{
		"a connection": func(h *tenanttest.Kit, row store.Connection, by sealing.Sealer) error {
			if err := by.SealConnection(&row, nil); err != nil {
				return err
			}
			return h.Store.UpdateConnection(t.Context(), row, row.Revision)
		},
		"a link": func(h *tenanttest.Kit, row store.Connection, by sealing.Sealer) error {
			l := store.ConnectLink{
				Hash: make([]byte, 32), TenantID: row.TenantID, ConnectionID: "conn_b", Kind: "crm",
				Provider: "bearer", Name: "desk", Settings: []byte("{}"), CreatedAt: h.Clock.Now(),
				ExpiresAt: h.Clock.Now().Add(time.Hour),
			}
			if err := by.SealLink(&l); err != nil {
				return err
			}
			return h.Store.CreateConnectLink(t.Context(), l)
		},
		"a webhook": func(h *tenanttest.Kit, _ store.Connection, by sealing.Sealer) error {
			w := store.Webhook{ID: "hook_a", URL: "https://platform.example.com/", CreatedAt: h.Clock.Now()}
			if err := by.SealWebhook(&w, []byte("{}")); err != nil {
				return err
			}
			return h.Store.CreateWebhook(t.Context(), w, 1)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			h := tenanttest.Open(t, storetest.SQLite(t))
			h.Tenant("acme")
			row := h.Row(h.Connection("acme", "a", adapter.KindCalendar, "dav"))
			other, err := vault.Open("", h.DataDir)
			tenanttest.Must(t, err)
			_, err = other.Rotate()
			tenanttest.Must(t, err)
			tenanttest.Must(t, put(h, row, sealing.New(other)))
			path := filepath.Join(h.DataDir, "keyset.json")
			tenanttest.Must(t, os.Chmod(path, 0o644))
			if wrong, err := h.Rows.Wrong(t.Context()); !vault.IsAway(err) {
				t.Errorf("wrong: %v, %v", wrong, err)
			}
			if kind == "a webhook" {
				if inUse, err := h.Rows.KeysInUse(t.Context()); !vault.IsAway(err) {
					t.Errorf("in use: %v, %v", inUse, err)
				}
			}
			tenanttest.Must(t, os.Chmod(path, 0o600))
			if wrong, err := h.Rows.Wrong(t.Context()); len(wrong) > 0 || err != nil {
				t.Errorf("once it can be read: %v, %v", wrong, err)
			}
		})
	}
}

func TestResealOfWhatIsRemovedMeanwhile(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	row := h.Row(h.Connection("acme", "a", adapter.KindCalendar, "dav"))
	if err := h.Connections.Remove(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	if err := h.Rows.ResealConnection(t.Context(), row); err != nil {
		t.Error(err)
	}
}

func TestARotationKeepsTheDefaultThatIsChosenMeanwhile(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Connection("acme", "m-first", adapter.KindCalendar, "dav") // the default
		h.Connection("acme", "a-other", adapter.KindCalendar, "dav")
		h.Connection("acme", "z-chosen", adapter.KindCalendar, "dav")
		if _, err := h.Vault.Rotate(); err != nil {
			t.Fatal(err)
		}
		choose := sync.OnceFunc(func() { // after a-other is sealed, and before the others
			change := connection.Change{Default: true}
			if _, err := h.Connections.Update(t.Context(), "acme", "z-chosen", change); err != nil {
				t.Error(err)
			}
		})
		rows := sealing.NewRows(sealing.Options{
			Store: h.Store, Vault: h.Vault, Now: h.Clock.Now, Log: slog.New(slog.DiscardHandler),
			Changed: choose,
		})
		if done, err := rows.Reseal(t.Context()); err != nil || len(done.InUse) != 1 {
			t.Fatalf("done %+v, %v", done, err)
		}
		all, err := h.Connections.List(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if c.IsDefault != (c.Name == "z-chosen") {
				t.Errorf("%s: default %v", c.Name, c.IsDefault)
			}
		}
	})
}

func TestCallsGoOnDuringRotations(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.Key("acme", apikey.Spec{})
		server, err := vault.Open("", h.DataDir) // another process, with the old keys
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		stop, looped, updated := make(chan struct{}), make(chan struct{}), make(chan struct{})
		work.Go(func() {
			for {
				caller, err := h.Callers.Authenticate(t.Context(), text)
				if err == nil {
					_, err = h.Calendar(caller)
				}
				if err != nil {
					t.Errorf("a call: %v", err)
				}
				row, err := h.Store.Connection(t.Context(), c.TenantID, c.ID)
				if err == nil {
					_, err = sealing.New(server).OpenConnection(row)
				}
				if err != nil {
					t.Errorf("another process: %v", err)
				}
				select {
				case looped <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
		work.Go(func() {
			for { // while someone enters the credentials again
				_, err := h.Connections.Update(t.Context(), "acme", "a", connection.Change{
					Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary},
				})
				if f := fault.From(err); f != nil && f.Reason != fault.ReasonChangedMeanwhile {
					t.Errorf("an update: %v", err)
				}
				select {
				case updated <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
		defer work.Wait()
		defer close(stop)
		for range 5 {
			for range 2 { // writes begun before the last rotation are done: only the key before it is kept
				<-looped
				<-updated
			}
			if _, err := h.Vault.Rotate(); err != nil {
				t.Fatal(err)
			}
			done, err := h.Rows.Reseal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Vault.Prune(func(id uint32) bool { return done.InUse[id] > 0 }); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(h.Vault.Status()); n != 2 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestTokensAreSealedAgainAsTheyAre(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		c := h.Connection("acme", "s", adapter.KindCalendar, "sandbox") // has no credentials
		old := h.Vault.Status()[0].ID
		put := func() {
			t.Helper()
			sealed, err := h.Vault.SealTokens(c.TenantID, c.ID, []byte(tenanttest.Canary))
			if err == nil {
				err = h.Store.ResetTokens(t.Context(), store.Tokens{
					TenantID: c.TenantID, ConnectionID: c.ID, Sealed: sealed,
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		put()
		before, _, err := h.Store.Tokens(t.Context(), c.TenantID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		put() // the tokens are renewed after they were listed
		added, err := h.Vault.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		if inUse, err := h.Rows.KeysInUse(t.Context()); err != nil || !maps.Equal(inUse, map[uint32]int{old: 2}) {
			t.Errorf("before: in use %v, %v", inUse, err)
		}
		if sealed, err := h.Rows.ResealTokens(t.Context(), before, added.ID); err != nil || !sealed {
			t.Errorf("sealed %t, %v", sealed, err)
		}
		done, err := h.Rows.Reseal(t.Context()) // the connection is sealed again; its tokens already are
		if err != nil || done.Sealed != 1 ||
			!maps.Equal(done.InUse, map[uint32]int{added.ID: 2}) {
			t.Errorf("a second time %+v, %v", done, err)
		}
		after, _, err := h.Store.Tokens(t.Context(), c.TenantID, c.ID)
		// The one more comes from the renewal. A process that renews this version can still save.
		if err != nil || after.Version != before.Version+1 {
			t.Errorf("the version is %d after %d, %v", after.Version, before.Version, err)
		}
		if plain, err := h.Vault.UnsealTokens(c.TenantID, c.ID, after.Sealed); err != nil ||
			string(plain) != tenanttest.Canary {
			t.Errorf("%v", err)
		}
	})
}
