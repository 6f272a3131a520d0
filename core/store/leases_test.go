package store_test

import (
	"fmt"
	"testing"
	"time"

	"frontdesk/core/store"
)

func TestLeases(t *testing.T) {
	try := func(t *testing.T, s *store.Store, owner string, now time.Time) bool {
		t.Helper()
		return got(s.TryLease(t.Context(), "settler", owner, now, now.Add(time.Minute)))(t)
	}
	t.Run("of many at once exactly one has it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			for round := range 3 {
				won := 0
				for _, has := range at(64, func(i int) bool {
					has, err := s.TryLease(t.Context(), "settler", fmt.Sprint(round, i), noon.Add(time.Duration(round)*time.Hour), noon.Add(time.Duration(round)*time.Hour+time.Minute))
					if err != nil {
						t.Error(err)
					}
					return has
				}) {
					if has {
						won++
					}
				}
				equal(t, won, 1)
			}
		})
	})
	t.Run("its owner lengthens it, another waits for its end", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			equal(t, try(t, s, "a", noon), true)
			equal(t, try(t, s, "b", noon.Add(30*time.Second)), false)
			equal(t, try(t, s, "a", noon.Add(30*time.Second)), true)
			equal(t, try(t, s, "b", noon.Add(89*time.Second)), false)
			equal(t, try(t, s, "b", noon.Add(90*time.Second)), true)
			equal(t, try(t, s, "a", noon.Add(90*time.Second)), false)
		})
	})
	t.Run("only its owner drops it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			equal(t, try(t, s, "a", noon), true)
			must(t, s.DropLease(t.Context(), "settler", "b"))
			equal(t, try(t, s, "b", noon), false)
			must(t, s.DropLease(t.Context(), "settler", "a"))
			equal(t, try(t, s, "b", noon), true)
		})
	})
	t.Run("leases of other names do not matter", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			equal(t, try(t, s, "a", noon), true)
			equal(t, got(s.TryLease(t.Context(), "another", "b", noon, noon.Add(time.Minute)))(t), true)
		})
	})
}
