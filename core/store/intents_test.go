package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// intent fills in the fields that a test does not care about.
func intent(i store.Intent) store.Intent {
	if i.TenantID == "" {
		i.TenantID, i.ConnectionID = "acme", "c1"
	}
	if i.Key == "" {
		i.Key = "k"
	}
	if i.CreatedAt.IsZero() {
		i.CreatedAt = noon
	}
	i.Operation, i.EffectKey, i.RequestHash, i.Plan = "book-meeting", "effect", []byte{1},
		json.RawMessage(`{"step":1}`)
	if i.UpdatedAt.IsZero() {
		i.UpdatedAt = i.CreatedAt
	}
	i.State, i.Owner, i.LeaseUntil = store.IntentRunning, "one", noon.Add(10*time.Second)
	return i
}

func begun(t *testing.T, s *store.Store, i store.Intent) store.Intent {
	t.Helper()
	i = intent(i)
	if existing, began, err := s.BeginIntent(t.Context(), i, time.Time{}); !began {
		t.Fatalf("not begun: %+v, %v", existing, err)
	}
	return i
}

func finished(t *testing.T, s *store.Store, i store.Intent) store.Intent {
	t.Helper()
	ref := i.EffectRef
	i = begun(t, s, i)
	i.Answer, i.EffectRef = []byte(`{"ok":true}`), ref
	must(t, s.FinishIntent(t.Context(), i, store.Attached{}))
	i.State = store.IntentDone
	return i
}

// there returns the current intent of key "k".
func there(t *testing.T, s *store.Store) store.Intent {
	t.Helper()
	i, began, err := s.BeginIntent(t.Context(), intent(store.Intent{}), time.Time{})
	must(t, err)
	if began {
		t.Fatal("there was none")
	}
	return i
}

func TestAnIntentBeginsWithItsHoldsOrItsOwnPlan(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		begin := func(name string) (began, holds bool, plan string) {
			i := intent(store.Intent{Key: name, Owner: name})
			i.Plan = json.RawMessage(`{"free":false}`)
			h := store.Hold{
				ID: name, ConnectionID: "c1", CalendarID: "cal", From: noon, To: noon.Add(time.Hour),
				Until: noon.Add(time.Hour),
			}
			with := store.Holding{Holds: []store.Hold{h}, Plan: json.RawMessage(`{"free":true}`)}
			_, began, holds, err := s.BeginIntentHolding(t.Context(), i, with, noon)
			must(t, err)
			there, _ := got2(s.Intent(t.Context(), i.TenantID, i.Operation, i.Key))(t)
			return began, holds, string(there.Plan)
		}
		for _, want := range []struct {
			name         string
			began, holds bool
			plan         string
		}{
			{"first", true, true, `{"free":true}`}, {"second", true, false, `{"free":false}`},
			{"first", false, false, `{"free":true}`},
		} {
			began, holds, plan := begin(want.name)
			if began != want.began || holds != want.holds || plan != want.plan {
				t.Errorf("%s began %v, has holds %v, with the plan %s", want.name, began, holds, plan)
			}
		}
		equal(t, len(got(s.HoldsWithin(t.Context(), "c1", noon, noon.Add(time.Hour), noon))(t)), 1)
	})
}

func TestIntentLife(t *testing.T) {
	t.Parallel()
	t.Run("the plan grows, the lease is lengthened, the answer is kept byte for byte "+
		"with the events", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			mine := begun(t, s, store.Intent{Kept: true, DedupeKey: "same"})
			mine.Plan = json.RawMessage(`{"step": 2}`)
			must(t, s.SaveIntentPlan(t.Context(), mine))
			mine.LeaseUntil = noon.Add(time.Minute)
			must(t, s.ExtendIntent(t.Context(), mine))
			mine.Answer, mine.EffectRef = []byte("{ \"b\":1,\n\"a\":\"\xff\"}"), "event"
			seen := store.EventSeen{
				TenantID: "acme", ConnectionID: "c1", EventID: "event", CalendarID: "cal", UpdatedAt: noon,
			}
			must(t, s.FinishIntent(t.Context(), mine, store.Attached{Seen: []store.EventSeen{seen}}))
			mine.State = store.IntentDone
			equal(t, there(t, s), mine)
			e, found, err := s.EventSeen(t.Context(), "acme", "c1", "event")
			must(t, err)
			equal(t, found, true)
			equal(t, e, seen)
		})
	})
	t.Run("an answer of no bytes is an answer", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.FinishIntent(t.Context(), begun(t, s, store.Intent{}), store.Attached{}))
			equal(t, there(t, s).State, store.IntentDone)
		})
	})
	t.Run("a run without effect leaves nothing", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.ReleaseIntent(t.Context(), begun(t, s, store.Intent{}), ""))
			begun(t, s, store.Intent{})
		})
	})
	t.Run("a finished intent that was read can be let go, and its successor not by mistake", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			finished(t, s, store.Intent{})
			old := there(t, s)
			must(t, s.ReleaseIntent(t.Context(), old, ""))
			begun(t, s, store.Intent{})
			must(t, s.ReleaseIntent(t.Context(), old, ""))
			equal(t, there(t, s).State, store.IntentRunning)
		})
	})
}

func TestNoIntentBeginsBesideARecentEqualOne(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		begun(t, s, store.Intent{Key: "key:a", Kept: true, DedupeKey: "same"})
		begun(t, s, store.Intent{Key: "key:b", Kept: true, DedupeKey: "same", CreatedAt: noon.Add(time.Minute)})
		begin := func(dedupeKey string, since time.Time) (existing string) {
			mine := intent(store.Intent{
				Key: "same:" + dedupeKey, DedupeKey: dedupeKey, CreatedAt: noon.Add(time.Hour),
			})
			there, began, err := s.BeginIntent(t.Context(), mine, since)
			must(t, err)
			equal(t, began, there.Key == "")
			return there.Key
		}
		equal(t, begin("same", noon), "key:b")
		equal(t, begin("same", noon.Add(time.Minute)), "key:b")
		equal(t, begin("other", noon), "")
		equal(t, begin("same", noon.Add(time.Minute+1e6)), "")
		equal(t, begin("same", noon.Add(time.Minute+1e6)), "same:same")
		equal(t, begin("same", noon.Add(2*time.Hour)), "same:same") // too old to count, but its key is taken
	})
}

func TestRecentIntent(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		for minute, key := range []string{"first", "second", "third"} {
			begun(t, s, store.Intent{
				Key: key, DedupeKey: "same", CreatedAt: noon.Add(time.Duration(minute) * time.Minute),
			})
		}
		begun(t, s, store.Intent{Key: "none", CreatedAt: noon.Add(time.Hour)})
		recent := func(dedupeKey string, since time.Time) string {
			i, found, err := s.RecentIntent(t.Context(), "acme", "book-meeting", dedupeKey, since)
			must(t, err)
			equal(t, found, i.Key != "")
			return i.Key
		}
		equal(t, recent("same", noon), "third")
		equal(t, recent("same", noon.Add(2*time.Minute)), "third")
		equal(t, recent("same", noon.Add(2*time.Minute+1e6)), "")
		equal(t, recent("other", noon), "")
		equal(t, recent("", noon), "")
	})
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	at := func(key string, minute int) store.Intent {
		when := noon.Add(time.Duration(minute) * time.Minute)
		return store.Intent{Key: key, DedupeKey: "same", CreatedAt: when, UpdatedAt: when}
	}
	for rule, c := range map[string]struct {
		other store.Intent
		done  bool
		want  bool
	}{
		"by one that began later":       {at("other", 2), false, true},
		"not by one that began earlier": {at("other", 0), false, false},
		"by an earlier one answered since": {store.Intent{Key: "other", DedupeKey: "same", CreatedAt: noon,
			UpdatedAt: noon.Add(time.Hour)}, true, true},
		"not by an earlier one answered before": {at("other", 0), true, false},
		"not by an earlier one in doubt since": {store.Intent{Key: "other", DedupeKey: "same", CreatedAt: noon,
			UpdatedAt: noon.Add(time.Hour)}, false, false},
		"not by a later one for something else": {store.Intent{Key: "other", DedupeKey: "else",
			CreatedAt: noon.Add(time.Hour)}, true, false},
		"not by a later one that knows no thing": {store.Intent{Key: "other", CreatedAt: noon.Add(time.Hour)},
			true, false},
	} {
		t.Run(rule, func(t *testing.T) {
			both(t, func(t *testing.T, s *store.Store) {
				connection(t, s, "c1")
				begun(t, s, at("it", 1))
				if c.done {
					finished(t, s, c.other)
				} else {
					begun(t, s, c.other)
				}
				got, err := s.Overtaken(t.Context(), intent(at("it", 1)))
				must(t, err)
				equal(t, got, c.want)
			})
		})
	}
}

func TestClaimEffect(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		finished(t, s, store.Intent{Key: "of the effect", EffectRef: "ticket"})
		finished(t, s, store.Intent{Key: "of another", EffectRef: "ticket 2"})
		begun(t, s, store.Intent{Key: "running"})
		ours := begun(t, s, store.Intent{Key: "ours"})
		var judged []string
		refuses := errors.New("no")
		judge := func(answer error) func([]store.Intent) error {
			return func(others []store.Intent) error {
				judged = nil
				for _, o := range others {
					judged = append(judged, o.Key+" "+o.State+" "+o.EffectRef)
				}
				slices.Sort(judged)
				return answer
			}
		}
		claimed := func() []string {
			all, err := s.EffectsSince(t.Context(), intent(store.Intent{Key: "nobody's"}), noon)
			must(t, err)
			slices.Sort(all)
			return all
		}
		if err := s.ClaimEffect(t.Context(), ours, "ticket", judge(refuses)); err == nil {
			t.Error("what the judge refuses is claimed")
		}
		equal(t, judged, []string{"of the effect done ticket", "running running "})
		equal(t, claimed(), []string{"ticket", "ticket 2"})
		must(t, s.ClaimEffect(t.Context(), ours, "ticket 3", judge(nil)))
		equal(t, claimed(), []string{"ticket", "ticket 2", "ticket 3"})
		lost := ours
		lost.Owner = "somebody else"
		if err := s.ClaimEffect(t.Context(), lost, "ticket 4", judge(nil)); fault.From(err) == nil ||
			fault.From(err).Reason != store.ReasonIntentLost {
			t.Errorf("a run that lost its intent claims: %v", err)
		}
		own, err := s.EffectsSince(t.Context(), ours, noon)
		must(t, err)
		slices.Sort(own)
		equal(t, own, []string{"ticket", "ticket 2"})
		later, err := s.EffectsSince(t.Context(), ours, noon.Add(time.Second))
		must(t, err)
		equal(t, len(later), 0)
	})
}

func TestDropIntentsOfEffect(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		finished(t, s, store.Intent{Key: "with a key", Kept: true, DedupeKey: "same", EffectRef: "event"})
		finished(t, s, store.Intent{Key: "without", DedupeKey: "same", EffectRef: "event"})
		finished(t, s, store.Intent{Key: "another event", DedupeKey: "other", EffectRef: "event 2"})
		must(t, s.DropIntentsOfEffect(t.Context(), "acme", "c1", "book-meeting", "event"))
		_, found, err := s.RecentIntent(t.Context(), "acme", "book-meeting", "same", noon)
		must(t, err)
		equal(t, found, false)
		_, found, err = s.RecentIntent(t.Context(), "acme", "book-meeting", "other", noon)
		must(t, err)
		equal(t, found, true)
		kept, began, err := s.BeginIntent(t.Context(), intent(store.Intent{Key: "with a key"}), time.Time{})
		must(t, err)
		equal(t, []any{began, kept.State, kept.DedupeKey, string(kept.Answer)}, []any{
			false, store.IntentDone, "", `{"ok":true}`,
		})
		begun(t, s, store.Intent{Key: "without"})
	})
}

func TestUnsettledIntents(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		unknown := func(key string, age time.Duration) {
			must(t, s.ReleaseIntent(t.Context(), begun(t, s, store.Intent{Key: key, CreatedAt: noon.Add(-age)}),
				store.IntentUnknown))
		}
		unknown("unknown, young", time.Minute)
		unknown("unknown, old", time.Hour)
		begun(t, s, store.Intent{Key: "running"})
		finished(t, s, store.Intent{Key: "done"})
		keys := func(now time.Time, limit int) (keys []string) {
			for _, i := range got(s.UnsettledIntents(t.Context(), now, noon.Add(time.Hour), limit))(t) {
				keys = append(keys, i.Key)
			}
			return keys
		}
		equal(t, keys(noon, 10), []string{"unknown, old", "unknown, young"})
		equal(t, keys(noon.Add(10*time.Second), 10), []string{"running", "unknown, old", "unknown, young"})
		equal(t, keys(noon.Add(10*time.Second), 2), []string{"running", "unknown, old"})
		far := begun(t, s, store.Intent{Key: "running, far ahead"})
		far.LeaseUntil = noon.Add(2 * time.Hour)
		must(t, s.ExtendIntent(t.Context(), far))
		equal(t, keys(noon, 10), []string{"running, far ahead", "unknown, old", "unknown, young"})

		left := begun(t, s, store.Intent{Key: "left", CreatedAt: noon.Add(-2 * time.Hour)})
		must(t, s.ReleaseIntent(t.Context(), left, store.IntentLeft))
		equal(t, keys(noon, 1+1), []string{"running, far ahead", "left"})
		var recoverable []string
		for _, i := range got(s.RecoverableIntents(t.Context(), noon, noon.Add(time.Hour), 2))(t) {
			recoverable = append(recoverable, i.Key)
		}
		equal(t, recoverable, []string{"running, far ahead", "unknown, old"})
		there, _, err := s.Intent(t.Context(), left.TenantID, left.Operation, left.Key)
		must(t, err)
		ours := there
		ours.Owner, ours.LeaseUntil = "another", noon.Add(time.Minute)
		equal(t, got(s.TakeOverIntent(t.Context(), there, ours, noon))(t), true)
	})
}

func TestPurgeIntents(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		day := 24 * time.Hour
		for _, i := range []store.Intent{
			{Key: "kept, 4 days", Kept: true, CreatedAt: noon.Add(-4 * day)},
			{Key: "kept, 2 days", Kept: true, CreatedAt: noon.Add(-2 * day)},
			{Key: "not kept, 2 days", CreatedAt: noon.Add(-2 * day)},
			{Key: "not kept, new", CreatedAt: noon},
		} {
			finished(t, s, i)
		}
		for age, key := range map[time.Duration]string{2 * day: "unknown, 2 days", 4 * day: "unknown, 4 days"} {
			must(t, s.ReleaseIntent(t.Context(), begun(t, s, store.Intent{Key: key, CreatedAt: noon.Add(-age)}),
				store.IntentUnknown))
		}
		begun(t, s, store.Intent{Key: "running, 4 days", CreatedAt: noon.Add(-4 * day)}) // its lease was renewed
		equal(t, got(s.PurgeIntents(t.Context(), noon.Add(-3*day), noon.Add(-day), 10))(t), 3)
		for key, there := range map[string]bool{
			"kept, 4 days": false, "kept, 2 days": true, "not kept, 2 days": false, "not kept, new": true,
			"unknown, 2 days": true, "unknown, 4 days": false, "running, 4 days": true,
		} {
			_, began, err := s.BeginIntent(t.Context(), intent(store.Intent{Key: key}), time.Time{})
			must(t, err)
			if began == there {
				t.Errorf("%s: there %v, want %v", key, !began, there)
			}
		}
	})
}

func TestPurgeIntentsTakesOneBatchAtATime(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		const many = 12
		for i := range many {
			must(t, s.ReleaseIntent(t.Context(), begun(t, s, store.Intent{Key: fmt.Sprint(i)}), store.IntentUnknown))
		}
		for _, want := range []int64{5, 5, 2, 0} {
			equal(t, got(s.PurgeIntents(t.Context(), noon.Add(time.Hour), noon.Add(time.Hour), 5))(t), want)
		}
	})
}
