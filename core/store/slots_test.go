package store_test

import (
	"reflect"
	"testing"
	"time"

	"frontdesk/core/store"
)

func TestSlotsAreKnownByTheirIDs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		c1 := connection(t, s, "c1")
		connection(t, s, "c2")
		offer := func(connectionID, id string, hour int, calendars ...string) store.SlotOffered {
			from := noon.Add(time.Duration(hour) * time.Hour)
			return store.SlotOffered{
				TenantID: c1.TenantID, ConnectionID: connectionID, ID: id, From: from, To: from.Add(30 * time.Minute),
				CalendarIDs: calendars, OfferedAt: from, TimeZone: "Europe/Berlin", Availability: "any",
				Before: time.Minute, After: time.Hour, Rules: `{"interval":1}`,
			}
		}
		want := func(tenantID, connectionID, id string, want store.SlotOffered) {
			t.Helper()
			got, found, err := s.SlotOffered(t.Context(), tenantID, connectionID, id)
			must(t, err)
			if found != (want.ID != "") || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %s is %+v, %t, want %+v", id, connectionID, got, found, want)
			}
		}
		must(t, s.OfferSlots(t.Context(), nil))
		first, second := offer("c1", "a", 0, "x", "y"), offer("c1", "b", 1, "x")
		must(t, s.OfferSlots(t.Context(), []store.SlotOffered{first, second}))
		want(c1.TenantID, "c1", "a", first)
		want(c1.TenantID, "c1", "b", second)
		want(c1.TenantID, "c2", "a", store.SlotOffered{})
		want("other", "c1", "a", store.SlotOffered{})

		second = offer("c1", "b", 2, "z")
		must(t, s.OfferSlots(t.Context(), []store.SlotOffered{second}))
		want(c1.TenantID, "c1", "b", second)

		if purged := got(s.PurgeSlots(t.Context(), noon.Add(time.Hour), 10))(t); purged != 1 {
			t.Errorf("%d purged, want 1", purged)
		}
		want(c1.TenantID, "c1", "a", store.SlotOffered{})
		must(t, s.DeleteConnection(t.Context(), c1.TenantID, "c1"))
		want(c1.TenantID, "c1", "b", store.SlotOffered{})
	})
}

func TestHoldsWithinATime(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		connection(t, s, "c2")
		holds := []store.Hold{hold("before", "c1", 8), hold("within", "c1", 9), hold("after", "c1", 10),
			hold("expired", "c1", 11), hold("elsewhere", "c2", 9)}
		holds[3].From, holds[3].To, holds[3].CalendarID = holds[1].From, holds[1].To, "other"
		holds[3].Until = noon
		got(s.TakeHolds(t.Context(), holds, nil, noon.Add(-time.Hour)))(t)
		found := got(s.HoldsWithin(t.Context(), "c1", holds[1].From, holds[1].To, noon))(t)
		if len(found) != 1 || !reflect.DeepEqual(found[0], holds[1]) {
			t.Errorf("found %+v, want %+v", found, holds[1])
		}
	})
}
