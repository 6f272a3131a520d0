package store_test

import (
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	key := store.APIKey{
		ID: "k1", TenantID: "acme", Prefix: "fd_live_ab", Hash: []byte{0, 0xff, 7}, Label: "backend",
		Scopes: []string{"calendar:read"}, Connections: []string{"c1"}, Test: true, CreatedAt: noon,
	}
	t.Run("a key comes back as it was written", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			equal(t, got(s.KeyOwnerByHash(t.Context(), key.Hash))(t).Key, key)
			bare := store.APIKey{ID: "k0", TenantID: "acme", Hash: []byte("other"), CreatedAt: noon}
			must(t, s.CreateKey(t.Context(), bare))
			equal(t, got(s.Keys(t.Context(), "acme"))(t), []store.APIKey{bare, key})
			equal(t, got(s.Keys(t.Context(), "bolt"))(t), []store.APIKey{})
		})
	})
	t.Run("a revoked key is answered with the time of its first revocation", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			must(t, s.RevokeKey(t.Context(), key, noon.Add(time.Minute), []byte("revoked")))
			must(t, s.RevokeKey(t.Context(), key, noon.Add(time.Hour), []byte("again")))
			k := got(s.KeyOwnerByHash(t.Context(), key.Hash))(t).Key
			equal(t, k.RevokedAt, noon.Add(time.Minute))
			equal(t, string(k.Seal), "revoked")
		})
	})
	t.Run("the time of last use never goes back, and unknown keys do not matter", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			for _, used := range []time.Duration{time.Minute, time.Hour, time.Second} {
				must(t, s.TouchKeys(t.Context(), map[string]time.Time{"k1": noon.Add(used), "nothing": noon}))
			}
			must(t, s.TouchKeys(t.Context(), nil))
			equal(t, got(s.KeyOwnerByHash(t.Context(), key.Hash))(t).Key.LastUsedAt, noon.Add(time.Hour))
		})
	})
	t.Run("a seal is replaced where the row has the one that was read", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			equal(t, got(s.SealKey(t.Context(), key, []byte("first")))(t), true)
			equal(t, got(s.SealKey(t.Context(), key, []byte("late")))(t), false)
			now := got(s.Key(t.Context(), key.ID))(t)
			equal(t, got(s.SealKey(t.Context(), now, []byte("second")))(t), true)
			equal(t, string(got(s.AllKeys(t.Context()))(t)[0].Seal), "second")
		})
	})
	t.Run("the audit's word that a key was revoked outlives its row", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			must(t, s.AddAudit(t.Context(), store.AuditRow{UID: "u", At: noon, Action: "revoke-key", Subject: key.ID},
				store.AuditRow{UID: "v", At: noon, Action: "roll-key", Subject: key.ID},
				store.AuditRow{UID: "w", At: noon, Action: "create-key", Subject: key.ID}))
			equal(t, got(s.Key(t.Context(), key.ID))(t).Ended, true)
			// It outlives its own archiving, too.
			got2(s.SealAudit(t.Context(), store.AuditMark{}, 9, chain))(t)
			equal(t, got(s.CutAudit(t.Context(), 3, 9, cut))(t), 3)
			equal(t, recorded(t, s), []string{key.ID, key.ID})
			k := got(s.Key(t.Context(), key.ID))(t)
			equal(t, []bool{k.Ended, k.Rolled}, []bool{true, true})
		})
	})
	t.Run("a key takes the place of another one, once", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			old := store.APIKey{ID: "k1", EndsAt: noon.Add(time.Hour), Seal: []byte("rolled")}
			next := store.APIKey{ID: "k2", TenantID: "acme", Hash: []byte("next"), CreatedAt: noon.Add(time.Second)}
			rolled := store.AuditRow{UID: "u", At: noon, Action: "roll-key", Subject: "k1"}
			must(t, s.ReplaceKey(t.Context(), old, next, rolled))
			k := got(s.Key(t.Context(), "k1"))(t)
			equal(t, k.EndsAt, noon.Add(time.Hour))
			equal(t, string(k.Seal), "rolled")
			equal(t, []bool{k.Rolled, k.Ended}, []bool{true, false})
			equal(t, got(s.KeyOwnerByHash(t.Context(), next.Hash))(t).Key, next)

			next.ID, next.Hash = "k3", []byte("another")
			refused(t, s.ReplaceKey(t.Context(), old, next), fault.Conflict, store.ReasonKeyRevoked)
			must(t, s.RevokeKey(t.Context(), store.APIKey{ID: "k2"}, noon, nil))
			refused(t, s.ReplaceKey(t.Context(), store.APIKey{ID: "k2"}, next), fault.Conflict, store.ReasonKeyRevoked)
			equal(t, len(got(s.Keys(t.Context(), "acme"))(t)), 2)
		})
	})
	t.Run("unknown and doubled keys are refused", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			refused(t, s.CreateKey(t.Context(), key), fault.NotFound, store.ReasonTenantNotFound)
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			again := key
			again.ID = "k2"
			refused(t, s.CreateKey(t.Context(), again), fault.Conflict, store.ReasonAlreadyExists)
			_, err := s.KeyOwnerByHash(t.Context(), []byte("nothing"))
			refused(t, err, fault.NotFound, store.ReasonKeyNotFound)
			refused(t, s.RevokeKey(t.Context(), store.APIKey{ID: "nothing"}, noon, nil), fault.NotFound, store.ReasonKeyNotFound)
		})
	})
}

// TestKeysOfTheVersionBeforeGoOn writes a row as that version wrote it: its table is replaced by the
// migration.
func TestKeysOfTheVersionBeforeGoOn(t *testing.T) {
	t.Parallel()
	bothEmpty(t, func(t *testing.T, address string) {
		s := storetest.Connect(t, address)
		defer s.Close()
		must(t, s.MigrateTo(t.Context(), 9))
		tenant(t, s, "acme")
		must(t, s.Execute(t.Context(), `INSERT INTO api_keys (id, tenant_id, prefix, hash, label, scopes, connections, test,
			created_at, revoked_at, last_used_at, seal) VALUES ('k1', 'acme', 'fd_live_ab', $1, 'backend', '["calendar:read"]',
			'["c1"]', TRUE, $2, $3, $4, $5)`, []byte{0, 0xff, 7}, noon.UnixMilli(), noon.Add(time.Hour).UnixMilli(),
			noon.Add(time.Minute).UnixMilli(), []byte("sealed")))
		must(t, s.Migrate(t.Context()))
		equal(t, got(s.KeyOwnerByHash(t.Context(), []byte{0, 0xff, 7}))(t).Key, store.APIKey{
			ID: "k1", TenantID: "acme", Prefix: "fd_live_ab", Hash: []byte{0, 0xff, 7}, Label: "backend",
			Scopes: []string{"calendar:read"}, Connections: []string{"c1"}, Test: true, CreatedAt: noon,
			RevokedAt: noon.Add(time.Hour), LastUsedAt: noon.Add(time.Minute), Seal: []byte("sealed"),
		})
		must(t, s.CreateKey(t.Context(), store.APIKey{ID: "op", Hash: []byte("op"), CreatedAt: noon}))
		equal(t, got(s.Keys(t.Context(), ""))(t)[0].ID, "op")
		must(t, s.DeleteTenant(t.Context(), "acme"))
		equal(t, len(got(s.AllKeys(t.Context()))(t)), 1)
	})
}

// Everything that is needed to let a caller in comes in one query.
func TestAKeyIsReadWithWhatItReaches(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		tenant(t, s, "acme")
		tenant(t, s, "other")
		crm, cal := connectionOf(t, s, "acme", "crm", "crm"), connectionOf(t, s, "acme", "cal", "calendar")
		connectionOf(t, s, "other", "its", "calendar")
		key := store.APIKey{
			ID: "key", TenantID: "acme", Hash: []byte("hash"), Scopes: []string{}, Connections: []string{},
			CreatedAt: noon,
		}
		must(t, s.CreateKey(t.Context(), key))
		cal.Credentials, crm.Credentials = nil, nil
		acme := got(s.TenantByID(t.Context(), "acme"))(t)
		_, now, _, err := s.DirectoryChanges(t.Context(), store.Mark{})
		must(t, err)
		want := store.KeyOwner{Key: key, Tenant: acme, Connections: []store.Connection{cal, crm}, Server: now.Server}
		equal(t, got(s.KeyOwnerByHash(t.Context(), key.Hash))(t), want)
		equal(t, got(s.KeyOwnerByID(t.Context(), key.ID))(t), want)

		admin := store.APIKey{
			ID: "admin", Hash: []byte("admin"), Scopes: []string{}, Connections: []string{}, CreatedAt: noon,
		}
		must(t, s.CreateKey(t.Context(), admin))
		equal(t, got(s.KeyOwnerByHash(t.Context(), admin.Hash))(t), store.KeyOwner{Key: admin, Server: now.Server})
		_, err = s.KeyOwnerByID(t.Context(), "nothing")
		refused(t, err, fault.NotFound, store.ReasonKeyNotFound)
	})
}
