package store_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// Whoever keeps what a key reaches is told of everything that changes it, and of nothing that each call or hour brings.
func TestDirectoryChanges(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		acme := tenant(t, s, "acme")
		tenant(t, s, "beta")
		connectionOf(t, s, "acme", "c1", "calendar")
		key := store.APIKey{ID: "k1", TenantID: "acme", Hash: []byte("1"), Seal: []byte("s"), CreatedAt: noon}
		admin := store.APIKey{ID: "k2", Hash: []byte("2"), Seal: []byte("s"), CreatedAt: noon}
		rolled := store.APIKey{ID: "k3", TenantID: "acme", Hash: []byte("3"), CreatedAt: noon, EndsAt: noon}
		agent := store.APIKey{
			ID: "k5", TenantID: "acme", Hash: []byte("5"), Platform: "retell", Seal: []byte("s"), CreatedAt: noon,
		}
		for _, k := range []store.APIKey{key, admin, rolled, agent} {
			k.EndsAt = time.Time{}
			must(t, s.CreateKey(ctx, k))
		}
		next := rolled
		next.ID, next.Hash, next.EndsAt = "k4", []byte("4"), time.Time{}
		must(t, s.ResetTokens(ctx, tokens("c1")))

		_, mark, whole, err := s.DirectoryChanges(ctx, store.Mark{})
		must(t, err)
		equal(t, whole, false)
		_, mark, _, err = s.DirectoryChanges(ctx, mark) // what a long transaction of another test held up
		must(t, err)
		for _, step := range []struct {
			name   string
			change func() error
			want   []string
		}{
			{"nothing", func() error { return nil }, nil},
			{"settings", func() error {
				return s.UpdateTenant(ctx, acme.ID, json.RawMessage(`{"timezone":"Europe/Berlin"}`))
			}, []string{"acme"}},
			{"a connection of another tenant", func() error {
				connectionOf(t, s, "beta", "c2", "crm")
				return nil
			}, []string{"beta"}},
			{"a status", func() error {
				_, err := s.RefuseTokens(ctx, tokens("c1"), 1, 1)
				return err
			}, []string{"acme"}},
			{"a consent", func() error { return s.PutTokens(ctx, tokens("c1")) }, []string{"acme"}},
			{"a renewed access token", func() error {
				_, err := s.SaveTokens(ctx, tokens("c1"), 3)
				return err
			}, nil},
			{"last uses", func() error { return s.TouchKeys(ctx, map[string]time.Time{"k1": noon}) }, nil},
			{"a new key, which nobody keeps", func() error {
				return s.CreateKey(ctx, store.APIKey{ID: "k9", TenantID: "acme", Hash: []byte("9"), CreatedAt: noon})
			}, nil},
			{"a revoked key", func() error { return s.RevokeKey(ctx, key, noon, []byte("t")) }, []string{"acme"}},
			{"a key without a tenant", func() error { return s.RevokeKey(ctx, admin, noon, []byte("t")) }, []string{""}},
			{"a rolled key", func() error { return s.ReplaceKey(ctx, rolled, next) }, []string{"acme"}},
			{"a voice agent", func() error {
				other := agent
				other.Scopes = []string{"calendar:read"}
				return s.ChangeAgent(ctx, agent, other)
			}, []string{"acme"}},
			{"a removed connection", func() error { return s.DeleteConnection(ctx, "beta", "c2") }, []string{"beta"}},
			{"a deleted tenant", func() error { return s.DeleteTenant(ctx, "acme") }, []string{"acme"}},
		} {
			must(t, step.change())
			changed, now, whole, err := s.DirectoryChanges(ctx, mark)
			must(t, err)
			slices.Sort(changed)
			if got := slices.Compact(changed); !slices.Equal(got, step.want) || !whole {
				t.Errorf("%s: changed %q (whole: %t), want %q", step.name, got, whole, step.want)
			}
			mark = now
		}
		for got(s.PurgeDirectoryChanges(ctx, time.Now().Add(time.Hour), 10))(t) > 0 {
		}
		equal(t, got(s.Count(ctx, "SELECT COUNT(*) FROM directory_changes"))(t), 0)
		_, _, whole, err = s.DirectoryChanges(ctx, mark)
		must(t, err)
		equal(t, whole, true)
	})
}

// A transaction may take long, and others that began later may commit before it.
func TestDirectoryChangesOfATransactionThatTakesLong(t *testing.T) {
	t.Parallel()
	url := storetest.ReusedPostgres(t)
	s := storetest.Open(t, url)
	tenant(t, s, "late")
	tenant(t, s, "early")
	_, mark, _, err := s.DirectoryChanges(t.Context(), store.Mark{})
	must(t, err)
	const rename = "UPDATE tenants SET name = name || '!' WHERE id = "
	long := got(storetest.Database(t, url).BeginTx(t.Context(), nil))(t)
	got(long.ExecContext(t.Context(), rename+"'late'"))(t)
	must(t, s.Execute(t.Context(), rename+"'early'"))
	changed, mark, whole, err := s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	if !whole || !slices.Equal(changed, []string{"early"}) {
		t.Errorf("changed %q (whole: %t) before the long transaction ends", changed, whole)
	}
	must(t, long.Commit())
	changed, mark, whole, err = s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	if !whole || !slices.Equal(changed, []string{"late"}) {
		t.Errorf("changed %q (whole: %t) after it", changed, whole)
	}
	changed, _, _, err = s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	equal(t, len(changed), 0)
}

// A restored database has notes of another server, whose numbers this one comes to later.
func TestDirectoryChangesBesideRestoredOnes(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.ReusedPostgres(t))
	acme := tenant(t, s, "acme")
	must(t, s.Execute(t.Context(), `INSERT INTO directory_changes (number, tenant_id)
		SELECT CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) + i, 'acme' FROM generate_series(1, 1000) AS i`))
	_, mark, _, err := s.DirectoryChanges(t.Context(), store.Mark{})
	must(t, err)
	_, mark, _, err = s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	must(t, s.UpdateTenant(t.Context(), acme.ID, json.RawMessage(`{"timezone":"Europe/Berlin"}`)))
	changed, _, _, err := s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	if !slices.Equal(changed, []string{"acme"}) {
		t.Errorf("changed %q, want the tenant", changed)
	}
}

// After a failover, the last changes before it may be lost, and their numbers given to others.
func TestDirectoryChangesOfAnotherServer(t *testing.T) {
	t.Parallel()
	cluster := storetest.Start(t)
	s := storetest.Open(t, cluster.URL("postgres"))
	_, mark, _, err := s.DirectoryChanges(t.Context(), store.Mark{})
	must(t, err)
	must(t, cluster.Down())
	must(t, cluster.Up())
	for s.Ping(t.Context()) != nil { // until the connections to the server from before are gone
	}
	_, mark, whole, err := s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	equal(t, whole, false)
	_, _, whole, err = s.DirectoryChanges(t.Context(), mark)
	must(t, err)
	equal(t, whole, true)
}
