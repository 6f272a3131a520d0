package store_test

import (
	"testing"
	"time"

	"frontdesk/core/store"
)

func TestBreakersAreThoseOfReplicasThatWereSeen(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		open := store.Breaker{
			Replica: "a", Level: "host", Subject: "crm/zendesk/z", Provider: "zendesk", State: "open", Since: noon,
		}
		half := open
		half.Replica, half.State = "b", "half_open"
		must(t, s.SetBreakers(t.Context(), "a", []store.Breaker{open}, noon))
		must(t, s.SetBreakers(t.Context(), "b", []store.Breaker{half}, noon.Add(time.Minute)))
		equal(t, got(s.Breakers(t.Context(), noon.Add(-time.Second)))(t), []store.Breaker{open, half})
		equal(t, got(s.Breakers(t.Context(), noon))(t), []store.Breaker{half})
		must(t, s.SetBreakers(t.Context(), "b", nil, noon.Add(time.Minute)))
		equal(t, got(s.Breakers(t.Context(), noon.Add(-time.Second)))(t), []store.Breaker{open})
		equal(t, got(s.PurgeBreakers(t.Context(), noon, 10))(t), 1)
		equal(t, len(got(s.Breakers(t.Context(), noon.Add(-time.Second)))(t)), 0)
	})
}
