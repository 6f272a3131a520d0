package store_test

import (
	"testing"
	"time"

	"frontdesk/core/store"
)

func TestNumbersOfTickets(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		c1 := connection(t, s, "c1")
		connection(t, s, "c2")
		see := func(connectionID, number, id string, at time.Time) {
			t.Helper()
			must(t, s.SeeTicket(t.Context(), store.TicketSeen{
				TenantID: c1.TenantID, ConnectionID: connectionID, Number: number, TicketID: id, CreatedAt: at,
			}))
		}
		want := func(tenantID, connectionID, number, id string) {
			t.Helper()
			got, found, err := s.TicketSeen(t.Context(), tenantID, connectionID, number)
			must(t, err)
			if got != id || found != (id != "") {
				t.Errorf("%s of %s is %q, %t, want %q", number, connectionID, got, found, id)
			}
		}
		see("c1", "00001001", "500A", noon)
		see("c1", "00001002", "500B", noon.Add(time.Hour))
		see("c2", "00001001", "500C", noon)
		want(c1.TenantID, "c1", "00001001", "500A")
		want(c1.TenantID, "c2", "00001001", "500C")
		want(c1.TenantID, "c1", "1001", "")
		want("other", "c1", "00001001", "")
		see("c1", "00001001", "500D", noon)
		want(c1.TenantID, "c1", "00001001", "500D")

		forgotten, err := s.PurgeTickets(t.Context(), noon.Add(time.Minute), 10)
		must(t, err)
		if forgotten != 2 {
			t.Errorf("%d forgotten, want 2", forgotten)
		}
		want(c1.TenantID, "c1", "00001001", "")
		want(c1.TenantID, "c1", "00001002", "500B")

		must(t, s.DeleteConnection(t.Context(), c1.TenantID, "c1"))
		want(c1.TenantID, "c1", "00001002", "")
	})
}
