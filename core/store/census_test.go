package store_test

import (
	"testing"
	"time"

	"frontdesk/core/store"
)

func TestCensus(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		equal(t, got(s.Census(t.Context(), noon))(t), store.Census{
			Connections: []store.ConnectionCount{}, NearEnd: []store.NearEndCount{},
		})

		connection(t, s, "front")
		must(t, store.FillForPlans(t.Context(), s, 5)) // one intent is unknown, one row of the audit not sealed
		must(t, store.FillQueues(t.Context(), s, 2, 3, 7))
		disconnect(t, s, "front")
		for _, id := range []string{"due", "soon", "refused", "failing"} {
			reset(t, s, id)
		}
		row := tokensOf(t, s, "soon")
		row.RefreshAt = noon.Add(time.Hour)
		must(t, s.ResetTokens(t.Context(), row))
		row = tokensOf(t, s, "failing")
		ours := leased(row, "me", noon.Add(time.Hour))
		if !got(s.LeaseTokens(t.Context(), row, ours, noon))(t) {
			t.Fatal("the lease is not free")
		}
		must(t, s.PostponeTokens(t.Context(), ours, noon.Add(2*time.Hour)))
		row = tokensOf(t, s, "refused")
		of := got(s.Connection(t.Context(), "acme", "refused"))(t)
		if !got(s.RefuseTokens(t.Context(), row, row.Version, of.Revision))(t) {
			t.Fatal("the tokens were not refused")
		}

		equal(t, got(s.Census(t.Context(), noon.Add(time.Minute)))(t), store.Census{
			Connections: []store.ConnectionCount{
				{Kind: "calendar", Provider: "p", Status: "ok", Count: 3},
				{Kind: "calendar", Provider: "sandbox", Status: "ok", Count: 3},
				{Kind: "calendar", Provider: "sandbox", Status: "reconnect_required", Count: 2},
			},
			NearEnd: []store.NearEndCount{
				{Provider: "sandbox", Failing: false, Count: 1}, {Provider: "sandbox", Failing: true, Count: 1},
			},
			IntentsUnknown: 1, DeliveriesWaiting: 7, OldestUnsealed: time.UnixMilli(1).UTC(),
		})
	})
}
