package store_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// newTenant returns a tenant with four connections, of which the first and the third become the defaults of
// their kinds.
func newTenant(name string) store.NewTenant {
	n := store.NewTenant{
		Tenant: store.Tenant{ID: name, Name: name, Settings: json.RawMessage(`{"timezone":"UTC"}`), CreatedAt: noon},
		Audit:  []store.AuditRow{{UID: "made " + name, At: noon, TenantID: name, Changed: []string{}}},
	}
	for i, kind := range []string{"calendar", "crm", "crm", "calendar"} {
		c := store.Connection{
			ID: fmt.Sprint(name, i), TenantID: name, Name: fmt.Sprint("c", i), Kind: kind, Provider: "sandbox",
			IsDefault: i == 2, Settings: json.RawMessage(`{"a":1}`), Credentials: []byte{0, 1, byte(i)}, Status: "ok",
			Email: "a@example.com", CreatedAt: noon,
		}
		if i == 3 {
			c.Status = "reconnect_required"
		}
		n.Connections = append(n.Connections, c)
		n.Audit = append(n.Audit, store.AuditRow{
			UID: "made " + c.ID, At: noon, TenantID: name, ConnectionID: c.ID, Changed: []string{"a"},
		})
	}
	return n
}

// Many tenants at once are stored, audited and told as one after another.
func TestTenantsAtOnceAreAsOneAfterAnother(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		s.PublishWith(publisher(noon))
		ctx := t.Context()
		must(t, s.CreateWebhook(ctx, webhookRow("hook", ""), 9))
		var all []store.NewTenant
		for i := range 60 { // of which some statements add a part
			all = append(all, newTenant(fmt.Sprint("many-", i, "-")))
		}
		must(t, s.CreateTenants(ctx, all))
		single := newTenant("single")
		must(t, s.CreateTenant(ctx, single.Tenant, single.Audit[0]))
		for i, c := range single.Connections {
			must(t, s.CreateConnection(ctx, c, single.Audit[i+1]))
		}

		var ids []string
		for _, n := range all {
			ids = append(ids, n.Tenant.ID)
			equal(t, got(s.TenantByName(ctx, n.Tenant.Name))(t), n.Tenant)
			equal(t, got(s.AuditRows(ctx, store.AuditFilter{TenantID: n.Tenant.ID, Limit: 9}))(t), n.Audit)
		}
		wants := got(s.Connections(ctx, "single"))(t)
		isDefault := []bool{true, false, true, false}
		connections := got(s.ConnectionsOf(ctx, append(ids, "single", "nobody")))(t)
		if len(connections) != 4*61 {
			t.Fatalf("%d connections", len(connections))
		}
		for i, c := range connections {
			want := wants[i%4]
			equal(t, c.IsDefault, isDefault[i%4])
			want.ID, want.TenantID = fmt.Sprint(c.TenantID, i%4), c.TenantID
			if c.TenantID != "single" {
				want.Revision = 1 // at once, none was the default for a while
			}
			equal(t, c, want)
		}
		for _, c := range connections[:12] {
			if told := toldAbout(t, s, c.ID); (told == 1) != (c.Status == "ok") {
				t.Errorf("webhooks were told %d times of %s, which is %s", told, c.ID, c.Status)
			}
		}
		// The first tokens of one that was not connected are told as for any other.
		for _, id := range []string{"single3", "many-7-3"} {
			first := tokens(id)
			first.TenantID = id[:len(id)-1]
			must(t, s.PutTokens(ctx, first))
			equal(t, toldAbout(t, s, id), 1)
		}
	})
}

// toldAbout returns how often the webhook "hook" is told that a connection is there.
func toldAbout(t *testing.T, s *store.Store, connectionID string) (times int) {
	t.Helper()
	for _, d := range got(s.Deliveries(t.Context(), "hook", 1000))(t) {
		if d.Type == store.EventConnected && d.ConnectionID == connectionID {
			times++
		}
	}
	return times
}

func TestTenantsAtOnceAreAllAddedOrNone(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		must(t, s.CreateTenants(t.Context(), nil))
		must(t, s.CreateTenant(t.Context(), store.Tenant{ID: "there", Name: "m", CreatedAt: noon}))
		all := []store.NewTenant{newTenant("z"), newTenant("m"), newTenant("a")}
		refused(t, s.CreateTenants(t.Context(), all), fault.Conflict, store.ReasonAlreadyExists)
		equal(t, len(got(s.Tenants(t.Context()))(t)), 1)
		equal(t, len(got(s.AllConnections(t.Context()))(t)), 0)
		equal(t, len(got(s.AuditRows(t.Context(), store.AuditFilter{Limit: 9}))(t)), 0)
	})
}
