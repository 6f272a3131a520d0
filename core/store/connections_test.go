package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	t.Run("a connection comes back as it was written, with revision 1", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			row := store.Connection{
				ID: "c1", TenantID: "acme", Name: "front-office", Kind: "calendar", Provider: "caldav", IsDefault: true,
				Settings: json.RawMessage(`{"url":"https://example.com"}`), Credentials: []byte{0xff, 0, 1}, Status: "ok",
				Email: "a@example.com", CreatedAt: noon,
			}
			must(t, s.CreateConnection(t.Context(), row))
			row.Revision = 1
			equal(t, got(s.Connection(t.Context(), "acme", "c1"))(t), row)
			equal(t, got(s.Connections(t.Context(), "acme"))(t), []store.Connection{row})
			equal(t, got(s.AllConnections(t.Context()))(t), []store.Connection{row})
		})
	})
	t.Run("no credentials stay nil", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.CreateConnection(t.Context(), store.Connection{
				ID: "c1", TenantID: "acme", Name: "n", Kind: "crm", Provider: "sandbox", CreatedAt: noon,
			}))
			row := got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, row.Credentials, nil)
			equal(t, row.Status, "ok")
		})
	})
	t.Run("one of each kind is the default: the first, until another is made it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			connectionOf(t, s, "acme", "c1", "calendar")
			connectionOf(t, s, "acme", "c2", "calendar")
			connectionOf(t, s, "acme", "d1", "crm")
			equal(t, defaults(t, s), []string{"c1", "d1"})
			must(t, s.CreateConnection(t.Context(), store.Connection{
				ID: "c3", TenantID: "acme", Name: "c3", Kind: "calendar", Provider: "sandbox", IsDefault: true,
				CreatedAt: noon,
			}))
			equal(t, defaults(t, s), []string{"c3", "d1"})
			c2 := got(s.Connection(t.Context(), "acme", "c2"))(t)
			c2.IsDefault = true
			must(t, s.UpdateConnection(t.Context(), c2, c2.Revision))
			equal(t, defaults(t, s), []string{"c2", "d1"})
		})
	})
	t.Run("a default is not taken away by an update of itself", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			c := connection(t, s, "c1")
			c.IsDefault = false
			must(t, s.UpdateConnection(t.Context(), c, c.Revision))
			equal(t, defaults(t, s), []string{"c1"})
		})
	})
	t.Run("a change that read the former default does not make it the default again", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			was := connection(t, s, "c1")
			chosen := connectionOf(t, s, "acme", "c2", "calendar")
			chosen.IsDefault = true
			must(t, s.UpdateConnection(t.Context(), chosen, chosen.Revision))
			refused(t, s.UpdateConnection(t.Context(), was, was.Revision), fault.Conflict,
				fault.ReasonChangedMeanwhile)
			got(s.ChangeConnection(t.Context(), was, func(c *store.Connection) ([]store.AuditRow, error) {
				c.Credentials = []byte("sealed again")
				return nil, nil
			}))(t)
			equal(t, defaults(t, s), []string{"c2"})
			equal(t, string(got(s.Connection(t.Context(), "acme", "c1"))(t).Credentials), "sealed again")
		})
	})
	t.Run("when the default goes, the oldest of its kind follows it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.CreateConnection(t.Context(), store.Connection{
				ID: "younger", TenantID: "acme", Name: "a", Kind: "calendar", Provider: "sandbox",
				CreatedAt: noon.Add(time.Hour),
			}))
			must(t, s.CreateConnection(t.Context(), store.Connection{
				ID: "older", TenantID: "acme", Name: "b", Kind: "calendar", Provider: "sandbox",
				CreatedAt: noon.Add(time.Minute),
			}))
			must(t, s.DeleteConnection(t.Context(), "acme", "c1"))
			equal(t, defaults(t, s), []string{"older"})
		})
	})
	t.Run("of connections made at once exactly one is the default", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			for _, err := range at(16, func(i int) error {
				id := string(rune('a' + i))
				return s.CreateConnection(t.Context(), store.Connection{
					ID: id, TenantID: "acme", Name: id, Kind: "crm", Provider: "sandbox", IsDefault: i%2 == 0,
					CreatedAt: noon,
				})
			}) {
				must(t, err)
			}
			equal(t, len(defaults(t, s)), 1)
		})
	})
	t.Run("an update replaces all but kind and creation, and the revision grows", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			was := connection(t, s, "c1")
			now := was
			now.Name, now.Provider, now.Settings, now.Credentials = "renamed", "caldav", json.RawMessage(`{}`), nil
			now.Status, now.Email, now.Kind, now.CreatedAt = "reconnect_required", "b@example.com", "crm",
				noon.Add(time.Hour)
			must(t, s.UpdateConnection(t.Context(), now, was.Revision))
			now.Kind, now.CreatedAt, now.Revision = was.Kind, was.CreatedAt, 2
			equal(t, got(s.Connection(t.Context(), "acme", "c1"))(t), now)
		})
	})
	t.Run("of updates from one revision exactly one counts", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			c := connection(t, s, "c1")
			won := 0
			for _, err := range at(16, func(int) error { return s.UpdateConnection(t.Context(), c, c.Revision) }) {
				if err == nil {
					won++
					continue
				}
				refused(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
			}
			equal(t, won, 1)
			equal(t, got(s.Connection(t.Context(), "acme", "c1"))(t).Revision, 2)
		})
	})
	t.Run("an address is kept without a new revision, and only by who saw the last one", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.SetConnectionEmail(t.Context(), "acme", "c1", "b@example.com", 1))
			c := got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, []any{c.Status, c.Email, c.Revision}, []any{"ok", "b@example.com", int64(1)})
			disconnect(t, s, "c1")
			err := s.SetConnectionEmail(t.Context(), "acme", "c1", "c@example.com", 1)
			refused(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
			c = got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, []any{c.Status, c.Email, c.Revision}, []any{"reconnect_required", "b@example.com", int64(2)})
		})
	})
	t.Run("a name is given once in a tenant", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			c := connection(t, s, "c1")
			c.ID = "c2"
			refused(t, s.CreateConnection(t.Context(), c), fault.Conflict, store.ReasonAlreadyExists)
			tenant(t, s, "bolt")
			c.TenantID = "bolt"
			must(t, s.CreateConnection(t.Context(), c))
			equal(t, len(got(s.Connections(t.Context(), "acme"))(t)), 1)
		})
	})
	t.Run("a connection of another tenant is not found", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			c := connection(t, s, "c1")
			tenant(t, s, "bolt")
			_, err := s.Connection(t.Context(), "bolt", "c1")
			refused(t, err, fault.NotFound, store.ReasonConnectionNotFound)
			refused(t, s.DeleteConnection(t.Context(), "bolt", "c1"), fault.NotFound, store.ReasonConnectionNotFound)
			c.TenantID = "bolt"
			refused(t, s.UpdateConnection(t.Context(), c, c.Revision), fault.NotFound, store.ReasonConnectionNotFound)
			err = s.SetConnectionEmail(t.Context(), "bolt", "c1", "b@example.com", c.Revision)
			refused(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
			c.TenantID = "nobody"
			refused(t, s.CreateConnection(t.Context(), c), fault.NotFound, store.ReasonTenantNotFound)
		})
	})
	t.Run("with a connection go its documents, numbers, holds and events; its answers stay, "+
		"and nothing of it is to settle", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			c := connectionOf(t, s, "acme", "connection-of-acme", "calendar")
			fill(t, s, c)
			must(t, s.DeleteConnection(t.Context(), "acme", c.ID))
			equal(t, left(t, s, "acme"), belongings{tenants: 1, keys: 1, answers: 1})
			connectionOf(t, s, "acme", c.ID, "calendar")
			equal(t, left(t, s, "acme"), belongings{tenants: 1, keys: 1, answers: 1, connections: 1})
		})
	})
}

// defaults returns the ids of the default connections, by name.
func defaults(t *testing.T, s *store.Store) (ids []string) {
	t.Helper()
	for _, c := range got(s.AllConnections(t.Context()))(t) {
		if c.IsDefault {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
