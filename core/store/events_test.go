package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func TestEventsSeen(t *testing.T) {
	t.Parallel()
	seen := func(id, calendar string, gone bool, after time.Duration) store.EventSeen {
		return store.EventSeen{
			TenantID: "acme", ConnectionID: "c1", EventID: id, CalendarID: calendar, Gone: gone,
			UpdatedAt: noon.Add(after),
		}
	}
	ask := func(t *testing.T, s *store.Store, id string) store.EventSeen {
		t.Helper()
		e, _, err := s.EventSeen(t.Context(), "acme", "c1", id)
		must(t, err)
		return e
	}
	t.Run("what was seen later wins, in whatever order it is written", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			early, late := seen("e", "cal", false, 0), seen("e", "cal", true, time.Second)
			must(t, s.SeeEvents(t.Context(), []store.EventSeen{late}))
			must(t, s.SeeEvents(t.Context(), []store.EventSeen{early}))
			equal(t, ask(t, s, "e"), late)
			moved := seen("e", "other", false, 2*time.Second)
			must(t, s.SeeEvents(t.Context(), []store.EventSeen{early, moved, late}))
			equal(t, ask(t, s, "e"), moved)
		})
	})
	t.Run("hundreds are written at once, by several at the same time", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			var many []store.EventSeen
			for i := range 300 {
				many = append(many, seen(fmt.Sprint(i), "cal", false, 0))
			}
			for _, err := range at(4, func(i int) error {
				mine := slices.Clone(many)
				if i%2 == 1 {
					slices.Reverse(mine)
				}
				return s.SeeEvents(t.Context(), mine)
			}) {
				must(t, err)
			}
			for _, e := range many {
				equal(t, ask(t, s, e.EventID), e)
			}
		})
	})
	t.Run("nothing seen is nothing written, and an unknown event is not found", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.SeeEvents(t.Context(), nil))
			_, found, err := s.EventSeen(t.Context(), "acme", "c1", "e")
			must(t, err)
			equal(t, found, false)
		})
	})
	t.Run("an event of another tenant's connection is refused", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			tenant(t, s, "bolt")
			foreign := seen("e", "cal", false, 0)
			foreign.TenantID = "bolt"
			refused(t, s.SeeEvents(t.Context(), []store.EventSeen{foreign}), fault.NotFound,
				store.ReasonConnectionNotFound)
		})
	})
}
