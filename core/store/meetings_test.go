package store_test

import (
	"testing"
	"time"

	"frontdesk/core/store"
)

func TestMeetingsAreKnownByReferenceAndPerson(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		c1 := connection(t, s, "c1")
		connection(t, s, "c2")
		seen := func(connectionID, reference string, hour int, people ...string) store.Meeting {
			return store.Meeting{
				TenantID: c1.TenantID, ConnectionID: connectionID, Reference: reference, EventID: "event of " + reference,
				CalendarID: "cal", EndsAt: noon.Add(time.Duration(hour) * time.Hour), People: people,
			}
		}
		want := func(tenantID, connectionID, reference string, want store.Meeting) {
			t.Helper()
			m, found, err := s.Meeting(t.Context(), tenantID, connectionID, reference)
			must(t, err)
			want.People = nil
			equal(t, found, want.Reference != "")
			equal(t, m, want)
		}
		with := func(connectionID, person string, most int, want ...string) {
			t.Helper()
			refs := []string{}
			for _, m := range got(s.MeetingsWith(t.Context(), c1.TenantID, connectionID, person, noon, noon, most))(t) {
				refs = append(refs, m.Reference)
			}
			equal(t, refs, append([]string{}, want...))
		}
		must(t, s.SeeMeetings(t.Context(), nil))
		first, second := seen("c1", "first", 1, "pat", "kim", "pat"), seen("c1", "second", 2, "pat")
		must(t, s.SeeMeetings(t.Context(), []store.Meeting{second, first, seen("c1", "ended", 0, "pat"),
			seen("c2", "first", 3, "kim")}))
		want(c1.TenantID, "c1", "first", first)
		want("other", "c1", "first", store.Meeting{})
		want(c1.TenantID, "c2", "second", store.Meeting{})
		with("c1", "pat", 9, "first", "second")
		with("c1", "pat", 1, "first")
		with("c1", "kim", 9, "first")
		with("c1", "", 9)
		refs := []string{}
		for _, m := range got(s.MeetingsWith(t.Context(), c1.TenantID, "c1", "pat", noon.Add(90*time.Minute),
			noon.Add(-time.Minute), 9))(t) {
			refs = append(refs, m.Reference)
		}
		equal(t, refs, []string{"second", "first", "ended"})

		moved := seen("c1", "first", 5) // its people stay
		moved.CalendarID = ""
		must(t, s.SeeMeetings(t.Context(), []store.Meeting{moved}))
		want(c1.TenantID, "c1", "first", moved)
		with("c1", "kim", 9, "first")

		if purged := got(s.PurgeMeetings(t.Context(), noon.Add(90*time.Minute), 100))(t); purged != 2 {
			t.Errorf("%d rows are purged, want the 2 of the meeting that ended", purged)
		}
		with("c1", "kim", 9, "first") // whose row has the end that the meeting had before it moved
		want(c1.TenantID, "c1", "ended", store.Meeting{})
		must(t, s.DeleteConnection(t.Context(), c1.TenantID, "c1"))
		want(c1.TenantID, "c1", "first", store.Meeting{})
		want(c1.TenantID, "c2", "first", seen("c2", "first", 3))
	})
}
