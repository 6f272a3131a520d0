package store_test

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/pause"
	"frontdesk/core/store"
)

// A tenant with a long history is gone at once, for everybody and with its name, whenever its deletion is
// interrupted. The rest of its rows goes later; those that say what was carried out stay until no process knows
// its keys.
func TestADeletionThatIsInterruptedIsCompleted(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		c := connection(t, s, "front")
		fill(t, s, connectionOf(t, s, "acme", "connection-of-acme", "calendar"))
		must(t, store.FillForPlans(ctx, s, 2000))
		must(t, store.FillQueues(ctx, s, 1, 1, 1))
		held, err := add(t, s, store.Number{TenantID: "acme", ConnectionID: c.ID, Ref: "1", E164: "+1", CreatedAt: noon})
		must(t, err)
		if n := len(got(s.DueQueues(ctx, noon, "", 9, 9))(t)); n != 1 {
			t.Fatalf("%d queues are due", n)
		}
		begun := time.Now()
		brief, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		must(t, s.DeleteTenant(brief, "acme", store.AuditRow{UID: "deletion", At: noon, TenantID: "acme", Action: "delete"}))
		if n := got(store.CountRows(ctx, s, "intents", "acme"))(t); n < 2000 && time.Since(begun) < 5*time.Second {
			t.Errorf("%d intents are left at once", n)
		}

		_, err = s.TenantByName(ctx, c.TenantID)
		refused(t, err, fault.NotFound, store.ReasonTenantNotFound)
		_, err = s.TenantByID(ctx, "acme")
		refused(t, err, fault.NotFound, store.ReasonTenantNotFound)
		_, err = s.NumberOnce(ctx, "acme", held.ID) // or a release that it overtook would be answered as done
		refused(t, err, fault.NotFound, fault.ReasonNumberNotFound)
		equal(t, len(got(s.Tenants(ctx))(t)), 0)
		equal(t, len(got(s.AllConnections(ctx))(t)), 0)
		equal(t, len(got(s.DueQueues(ctx, noon, "", 9, 9))(t)), 0)
		refused(t, s.DeleteTenant(ctx, "acme"), fault.NotFound, store.ReasonTenantNotFound)
		refused(t, s.UpdateTenant(ctx, "acme", nil), fault.NotFound, store.ReasonTenantNotFound)
		refused(t, s.CreateConnection(ctx, store.Connection{
			ID: "late", TenantID: "acme", Name: "late", Kind: "crm", Provider: "sandbox", CreatedAt: noon,
		}), fault.NotFound, store.ReasonTenantNotFound)
		_, err = s.KeyOwnerByHash(ctx, []byte("connection-of-acme"))
		refused(t, err, fault.NotFound, store.ReasonKeyNotFound)
		must(t, s.CreateTenant(ctx, store.Tenant{ID: "next", Name: "name of acme", CreatedAt: noon}))

		for deadline := time.Now().Add(time.Minute); got(store.CountRows(ctx, s, "tenants", "acme"))(t) > 0; {
			if time.Now().After(deadline) {
				t.Fatal("it is not completed")
			}
			if got(s.EraseTenants(ctx, 100))(t) == 0 {
				must(t, pause.For(ctx, 50*time.Millisecond))
			}
		}
		if took := time.Since(begun); took < 5*time.Second {
			t.Errorf("the intents were erased after %v", took)
		}
		equal(t, left(t, s, "acme"), belongings{})
		for _, table := range []string{"intents", "slots_offered", "meetings", "connections"} {
			if n := got(store.CountRows(ctx, s, table, "acme"))(t); n > 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
		equal(t, len(got(s.AuditRows(ctx, store.AuditFilter{Action: "delete", Limit: 9}))(t)), 1)
	})
}

// Nobody needs to complete a deletion that is not interrupted.
func TestATenantWithALongHistoryIsDeleted(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "front")
		must(t, store.FillForPlans(t.Context(), s, 2000))
		must(t, s.DeleteTenant(t.Context(), "acme"))
		for _, table := range []string{"tenants", "intents", "slots_offered", "meetings", "connections"} {
			if n := got(store.CountRows(t.Context(), s, table, "acme"))(t); n > 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
	})
}

// Events that wait when a tenant is deleted are not sent, though an attempt that had begun ends before its rows are
// erased.
func TestNothingMoreIsSentOfADeletedTenant(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		connection(t, s, "front")
		must(t, store.FillQueues(ctx, s, 1, 1, 2))
		queue := store.QueueID{WebhookID: "w0", ConnectionID: "c0"}
		first, leased, err := s.LeaseQueue(ctx, queue, "before", noon, noon.Add(time.Minute))
		if must(t, err); !leased {
			t.Fatal("nothing waits")
		}
		// As DeleteTenant leaves it if it is interrupted before the first batch.
		must(t, s.Execute(ctx, "UPDATE tenants SET deleted_at = $1 WHERE id = 'acme'", noon.UnixMilli()))
		must(t, s.Execute(ctx, "UPDATE webhook_queues SET next_at = NULL WHERE tenant_id = 'acme'"))
		first.State, first.EndedAt = store.DeliveryDelivered, noon
		must(t, s.EndAttempt(ctx, first, "before", noon))
		if next, leased, err := s.LeaseQueue(ctx, queue, "after", noon, noon.Add(time.Minute)); leased || err != nil {
			t.Errorf("%s is sent after the tenant is deleted, %v", next.ID, err)
		}
		equal(t, len(got(s.DueQueues(ctx, noon.Add(time.Hour), "", 9, 9))(t)), 0)
	})
}
