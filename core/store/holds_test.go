package store_test

import (
	"fmt"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	hold := func(id, calendar string, from, to time.Duration) store.Hold {
		return store.Hold{
			ID: id, ConnectionID: "c1", CalendarID: calendar, From: noon.Add(from), To: noon.Add(to),
			Until: noon.Add(time.Minute),
		}
	}
	take := func(t *testing.T, s *store.Store, now time.Time, holds ...store.Hold) *store.Hold {
		t.Helper()
		return got(s.TakeHolds(t.Context(), holds, nil, now))(t)
	}
	taken := func(t *testing.T, s *store.Store, holds ...store.Hold) {
		t.Helper()
		if other := take(t, s, noon, holds...); other != nil {
			t.Fatalf("in the way: %+v", other)
		}
	}
	t.Run("of many that overlap exactly one is taken", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			free := 0
			for _, other := range at(100, func(i int) *store.Hold {
				h := hold(fmt.Sprint(i), "cal", time.Duration(i)*time.Second, time.Hour)
				other, err := s.TakeHolds(t.Context(), []store.Hold{h}, nil, noon)
				if err != nil {
					t.Error(err)
				}
				return other
			}) {
				if other == nil {
					free++
				}
			}
			equal(t, free, 1)
		})
	})
	t.Run("many that touch are all taken", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			for _, other := range at(20, func(i int) *store.Hold {
				h := hold(fmt.Sprint(i), "cal", time.Duration(i)*time.Hour, time.Duration(i+1)*time.Hour)
				other, err := s.TakeHolds(t.Context(), []store.Hold{h}, nil, noon)
				if err != nil {
					t.Error(err)
				}
				return other
			}) {
				if other != nil {
					t.Errorf("in the way: %+v", other)
				}
			}
		})
	})
	t.Run("one that lasts less than a millisecond is taken, and in the way", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			short := hold("1", "cal", 100*time.Microsecond, 200*time.Microsecond)
			taken(t, s, short)
			if other := take(t, s, noon, hold("2", "cal", 0, time.Hour)); other == nil {
				t.Error("the first is not in the way of a longer one")
			}
			short.ID = "3"
			if other := take(t, s, noon, short); other == nil {
				t.Error("the first is not in the way of an equal one")
			}
		})
	})
	t.Run("of several calendars all are taken or none", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first := hold("1", "b", 0, time.Hour)
			taken(t, s, first)
			equal(t, take(t, s, noon, hold("2", "a", 0, time.Hour), hold("3", "b", 0, time.Hour)), &first)
			taken(t, s, hold("4", "a", 0, time.Hour))
		})
	})
	t.Run("callers with the same calendars in another order do not wait for "+
		"each other for ever", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			connectionOf(t, s, "acme", "c2", "calendar")
			for _, err := range at(20, func(i int) error {
				a, b := hold(fmt.Sprint("a", i), "cal", 0, time.Hour), hold(fmt.Sprint("b", i), "cal", 0, time.Hour)
				b.ConnectionID = "c2"
				holds := []store.Hold{a, b}
				if i%2 == 1 {
					holds = []store.Hold{b, a}
				}
				_, err := s.TakeHolds(t.Context(), holds, nil, noon)
				return err
			}) {
				must(t, err)
			}
		})
	})
	t.Run("a hold that ended does not count", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			taken(t, s, hold("1", "cal", 0, time.Hour))
			if take(t, s, noon.Add(59*time.Second), hold("2", "cal", 0, time.Hour)) == nil {
				t.Fatal("a hold that counts was passed over")
			}
			if other := take(t, s, noon.Add(time.Minute), hold("2", "cal", 0, time.Hour)); other != nil {
				t.Fatalf("in the way: %+v", other)
			}
		})
	})
	t.Run("a hold that ended is replaced by one of its id, and purged, as one of a clock far ahead is", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			old, lasting := hold("1", "cal", 0, time.Hour), hold("2", "cal", time.Hour, 2*time.Hour)
			ahead := hold("4", "cal", 3*time.Hour, 4*time.Hour)
			lasting.Until, ahead.Until = noon.Add(time.Hour), noon.Add(24*time.Hour)
			taken(t, s, old, hold("3", "cal", 2*time.Hour, 3*time.Hour), lasting, ahead)
			again := old
			again.To, again.Moves, again.Until = again.To.Add(-time.Minute), "event", noon.Add(30*time.Minute)
			if other := take(t, s, noon.Add(time.Minute), again); other != nil {
				t.Fatalf("in the way: %+v", other)
			}
			equal(t, got(s.PurgeHolds(t.Context(), noon.Add(time.Minute), 10))(t), 2)
			left := got(s.HoldsWithin(t.Context(), "c1", noon, noon.Add(24*time.Hour), time.Time{}))(t)
			equal(t, left, []store.Hold{again, lasting})
		})
	})
	t.Run("a kept hold is that of its event, and lasts", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			h := hold("1", "cal", 0, time.Hour)
			taken(t, s, h)
			must(t, s.KeepHolds(t.Context(), store.HoldsKept{
				IDs: []string{"1", "nothing"}, EventID: "event", Until: noon.Add(time.Hour),
			}))
			h.EventID, h.Until = "event", noon.Add(time.Hour)
			equal(t, take(t, s, noon.Add(30*time.Minute), hold("2", "cal", 0, time.Hour)), &h)
			must(t, s.DropHoldsOfEvent(t.Context(), "c1", "event"))
			taken(t, s, hold("2", "cal", 0, time.Hour))
		})
	})
	t.Run("a hold that is left ends at once", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			taken(t, s, hold("1", "cal", 0, time.Hour), hold("2", "cal", time.Hour, 2*time.Hour))
			until := noon.Add(time.Hour).Add(time.Millisecond * (1 << 31)) // more than fits into 32 bits
			must(t, s.KeepHolds(t.Context(), store.HoldsKept{
				IDs: []string{"2"}, EventID: "event", Until: until, Left: []string{"1"},
			}))
			equal(t, idsOf(got(s.HoldsOfEvent(t.Context(), "c1", "event"))(t)), []string{"2"})
			taken(t, s, hold("3", "cal", 0, time.Hour))
			equal(t, take(t, s, noon, hold("4", "cal", time.Hour, 2*time.Hour)).Until, until)
		})
	})
	t.Run("a hold for an event that moves goes with the event", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			h := hold("1", "cal", 0, time.Hour)
			h.Moves = "event"
			taken(t, s, h)
			h.Until = h.Until.Add(time.Hour)
			must(t, s.KeepHolds(t.Context(), store.HoldsKept{IDs: []string{"1"}, Until: h.Until}))
			equal(t, got(s.HoldsOfEvent(t.Context(), "c1", "event"))(t), []store.Hold{h})
			equal(t, got(s.HoldsOfEvent(t.Context(), "c1", ""))(t), []store.Hold{})
			must(t, s.DropHoldsOfEvent(t.Context(), "c1", "event"))
			taken(t, s, hold("2", "cal", 0, time.Hour))
		})
	})
	t.Run("what must be free around a hold is that of who takes it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first := hold("1", "cal", time.Hour, 2*time.Hour)
			first.Before, first.After = time.Hour, time.Hour
			taken(t, s, first)
			first.Before, first.After = 0, 0
			after := hold("2", "cal", 2*time.Hour, 3*time.Hour)
			after.Before = time.Minute
			equal(t, take(t, s, noon, after), &first)
			after.Before = 0
			taken(t, s, after)
			before := hold("3", "cal", 0, time.Hour)
			before.After = time.Minute
			equal(t, take(t, s, noon, before), &first)
			before.After = 0
			taken(t, s, before)
		})
	})
	t.Run("holds that are excepted are not in the way, and stay", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first, second := hold("1", "cal", 0, time.Hour), hold("2", "cal", time.Hour, 2*time.Hour)
			taken(t, s, first, second)
			over := hold("3", "cal", 0, 2*time.Hour)
			other, err := s.TakeHolds(t.Context(), []store.Hold{over}, []string{"1", "nothing"}, noon)
			must(t, err)
			equal(t, other, &second)
			over.To = over.From.Add(time.Hour)
			if other := got(s.TakeHolds(t.Context(), []store.Hold{over}, []string{"1"}, noon))(t); other != nil {
				t.Fatalf("in the way: %+v", other)
			}
			must(t, s.DropHolds(t.Context(), begun(t, s, store.Intent{}), []string{"3"}))
			equal(t, take(t, s, noon, hold("4", "cal", 0, time.Hour)), &first)
		})
	})
	t.Run("a dropped hold is free", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			taken(t, s, hold("1", "cal", 0, time.Hour))
			must(t, s.DropHoldsOfEvent(t.Context(), "c1", "")) // not every hold without an event
			if take(t, s, noon, hold("2", "cal", 0, time.Hour)) == nil {
				t.Fatal("the hold is gone")
			}
			mine := begun(t, s, store.Intent{})
			its := mine
			its.Owner = "another run"
			must(t, s.DropHolds(t.Context(), its, []string{"1"}))
			if take(t, s, noon, hold("2", "cal", 0, time.Hour)) == nil {
				t.Fatal("a run that does not hold the intent dropped its hold")
			}
			must(t, s.DropHolds(t.Context(), mine, []string{"1", "nothing"}))
			must(t, s.DropHolds(t.Context(), mine, nil))
			taken(t, s, hold("2", "cal", 0, time.Hour))
		})
	})
	t.Run("without its connection nothing is held", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			_, err := s.TakeHolds(t.Context(), []store.Hold{hold("1", "cal", 0, time.Hour)}, nil, noon)
			refused(t, err, fault.NotFound, store.ReasonConnectionNotFound)
		})
	})
}

func idsOf(holds []store.Hold) (ids []string) {
	for _, h := range holds {
		ids = append(ids, h.ID)
	}
	return ids
}
