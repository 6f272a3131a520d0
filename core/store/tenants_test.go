package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func TestTenants(t *testing.T) {
	t.Parallel()
	t.Run("a tenant comes back as it was written", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := store.Tenant{
				ID: "t1", Name: "Zoë & Söhne", Settings: json.RawMessage(`{"a": [1, "ü"]}`),
				CreatedAt: noon.Add(123 * time.Millisecond),
			}
			must(t, s.CreateTenant(t.Context(), row))
			equal(t, got(s.TenantByID(t.Context(), "t1"))(t), row)
			equal(t, got(s.TenantByName(t.Context(), "Zoë & Söhne"))(t), row)
		})
	})
	t.Run("tenants are listed by name in byte order, and none is an empty list", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			equal(t, got(s.Tenants(t.Context()))(t), []store.Tenant{})
			for _, name := range []string{"b", "Z", "a"} {
				must(t, s.CreateTenant(t.Context(), store.Tenant{ID: "id-" + name, Name: name, CreatedAt: noon}))
			}
			var names []string
			for _, row := range got(s.Tenants(t.Context()))(t) {
				names = append(names, row.Name)
			}
			equal(t, names, []string{"Z", "a", "b"})
		})
	})
	t.Run("settings are replaced; none are an empty object", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.UpdateTenant(t.Context(), "acme", json.RawMessage(`{"reject_past":true}`)))
			equal(t, string(got(s.TenantByID(t.Context(), "acme"))(t).Settings), `{"reject_past":true}`)
			must(t, s.UpdateTenant(t.Context(), "acme", nil))
			equal(t, string(got(s.TenantByID(t.Context(), "acme"))(t).Settings), `{}`)
		})
	})
	t.Run("settings made from others than the tenant has are refused", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			before := tenant(t, s, "acme").Settings
			first, second := json.RawMessage(`{"reject_past":true}`), json.RawMessage(`{"timezone":"UTC"}`)
			must(t, s.ChangeTenant(t.Context(), "acme", before, first))
			refused(t, s.ChangeTenant(t.Context(), "acme", before, second), fault.Conflict,
				fault.ReasonChangedMeanwhile)
			equal(t, string(got(s.TenantByID(t.Context(), "acme"))(t).Settings), string(first))
			must(t, s.ChangeTenant(t.Context(), "acme", first, second))
			equal(t, string(got(s.TenantByID(t.Context(), "acme"))(t).Settings), string(second))
		})
	})
	t.Run("a name is given once", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := tenant(t, s, "acme")
			row.ID = "other"
			refused(t, s.CreateTenant(t.Context(), row), fault.Conflict, store.ReasonAlreadyExists)
		})
	})
	t.Run("an unknown tenant is not found", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			_, err := s.TenantByID(t.Context(), "nobody")
			refused(t, err, fault.NotFound, store.ReasonTenantNotFound)
			_, err = s.TenantByName(t.Context(), "nobody")
			refused(t, err, fault.NotFound, store.ReasonTenantNotFound)
			refused(t, s.UpdateTenant(t.Context(), "nobody", nil), fault.NotFound, store.ReasonTenantNotFound)
			refused(t, s.DeleteTenant(t.Context(), "nobody"), fault.NotFound, store.ReasonTenantNotFound)
		})
	})
	t.Run("with a tenant goes everything that is its own, and nothing else", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			for _, id := range []string{"acme", "bolt"} {
				tenant(t, s, id)
				fill(t, s, connectionOf(t, s, id, "connection-of-"+id, "calendar"))
			}
			kept := left(t, s, "bolt")
			must(t, s.DeleteTenant(t.Context(), "acme"))
			equal(t, left(t, s, "acme"), belongings{})
			equal(t, left(t, s, "bolt"), kept)
		})
	})
}

// fill adds one row of each kind to a connection.
func fill(t *testing.T, s *store.Store, c store.Connection) {
	t.Helper()
	ctx := t.Context()
	must(t, s.CreateKey(ctx, store.APIKey{
		ID: "key-" + c.ID, TenantID: c.TenantID, Hash: []byte(c.ID), CreatedAt: noon,
	}))
	intent := begun(t, s, store.Intent{TenantID: c.TenantID, ConnectionID: c.ID, Key: "k"})
	intent.Answer, intent.EffectRef = []byte("{}"), "event"
	must(t, s.FinishIntent(ctx, intent,
		store.Attached{Seen: []store.EventSeen{{TenantID: c.TenantID, ConnectionID: c.ID, EventID: "event",
			CalendarID: "cal", UpdatedAt: noon}}}))
	begun(t, s, store.Intent{TenantID: c.TenantID, ConnectionID: c.ID, Key: "still running"})
	taken := got(s.TakeHolds(ctx, []store.Hold{{ID: "hold-" + c.ID, ConnectionID: c.ID, From: noon,
		To: noon.Add(time.Hour), Until: noon.Add(time.Hour)}}, nil, noon))(t)
	if taken != nil {
		t.Fatalf("in the way: %+v", taken)
	}
	got(add(t, s, store.Number{
		TenantID: c.TenantID, ConnectionID: c.ID, Ref: "ref", E164: "+1212555" + c.ID, CreatedAt: noon,
	}))(t)
	put(t, s, c.ID, "doc", "{}")
}

// belongings counts the rows left of a tenant after fill.
type belongings struct {
	tenants, connections, keys, unsettled, answers, events, holds, numbers, documents int
}

func left(t *testing.T, s *store.Store, tenantID string) (b belongings) {
	t.Helper()
	ctx, connectionID := t.Context(), "connection-of-"+tenantID
	if _, err := s.TenantByID(ctx, tenantID); err == nil {
		b.tenants = 1
	}
	b.connections = len(got(s.Connections(ctx, tenantID))(t))
	b.keys = len(got(s.Keys(ctx, tenantID))(t))
	for _, i := range got(s.UnsettledIntents(ctx, noon.Add(time.Hour), noon.Add(time.Hour), 100))(t) {
		if i.TenantID == tenantID {
			b.unsettled++
		}
	}
	if _, found, err := s.EventSeen(ctx, tenantID, connectionID, "event"); err != nil || found {
		must(t, err)
		b.events = 1
	}
	b.numbers = len(got(s.Numbers(ctx, tenantID, connectionID))(t))
	b.documents = len(scan(t, s, connectionID, "", ""))
	if b.connections > 0 {
		hold := store.Hold{
			ID: "probe", ConnectionID: connectionID, From: noon, To: noon.Add(time.Hour), Until: noon.Add(time.Minute),
			EventID: "probe",
		}
		if got(s.TakeHolds(ctx, []store.Hold{hold}, nil, noon))(t) != nil {
			b.holds = 1
		}
		must(t, s.DropHoldsOfEvent(ctx, connectionID, "probe"))
	}
	if b.tenants > 0 {
		if _, began, err := s.BeginIntent(ctx, store.Intent{
			TenantID: tenantID, Operation: "book-meeting", Key: "k", CreatedAt: noon,
		}, time.Time{}); !began {
			must(t, err)
			b.answers = 1
		}
	}
	return b
}
