package store_test

import (
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func TestKeys(t *testing.T) {
	key := store.APIKey{
		ID: "k1", TenantID: "acme", Prefix: "fd_live_ab", Hash: []byte{0, 0xff, 7}, Label: "backend", Scopes: []string{"calendar:read"},
		Connections: []string{"c1"}, Test: true, CreatedAt: noon,
	}
	t.Run("a key comes back as it was written", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateKey(t.Context(), key))
			equal(t, got(s.KeyByHash(t.Context(), key.Hash))(t), key)
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
			must(t, s.RevokeKey(t.Context(), "k1", noon.Add(time.Minute)))
			must(t, s.RevokeKey(t.Context(), "k1", noon.Add(time.Hour)))
			equal(t, got(s.KeyByHash(t.Context(), key.Hash))(t).RevokedAt, noon.Add(time.Minute))
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
			equal(t, got(s.KeyByHash(t.Context(), key.Hash))(t).LastUsedAt, noon.Add(time.Hour))
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
			_, err := s.KeyByHash(t.Context(), []byte("nothing"))
			refused(t, err, fault.NotFound, store.ReasonKeyNotFound)
			refused(t, s.RevokeKey(t.Context(), "nothing", noon), fault.NotFound, store.ReasonKeyNotFound)
		})
	})
}
