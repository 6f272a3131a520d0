package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

// What happens where several calls run at one time. Of this package, the gate's race detector watches the tests of
// files that start goroutines: those that try one thing after another are in other files.

func TestBeginIntent(t *testing.T) {
	t.Parallel()
	t.Run("of many at once exactly one begins, and the others get it as it is", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			type answer struct {
				existing store.Intent
				began    bool
				err      error
			}
			winner, owners := "", map[string]int{}
			for i, a := range at(64, func(i int) (a answer) {
				mine := intent(store.Intent{Kept: true, DedupeKey: "same"})
				mine.Owner = fmt.Sprint(i)
				a.existing, a.began, a.err = s.BeginIntent(t.Context(), mine, time.Time{})
				return a
			}) {
				must(t, a.err)
				if a.began {
					winner += fmt.Sprint(i)
					continue
				}
				owners[a.existing.Owner]++
				want := intent(store.Intent{Kept: true, DedupeKey: "same"})
				want.Owner = a.existing.Owner
				equal(t, a.existing, want)
			}
			equal(t, owners, map[string]int{winner: 63})
		})
	})
	t.Run("keys are those of one tenant and operation", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			tenant(t, s, "bolt")
			connectionOf(t, s, "bolt", "c2", "calendar")
			begun(t, s, store.Intent{})
			begun(t, s, store.Intent{TenantID: "bolt", ConnectionID: "c2"})
			other := intent(store.Intent{})
			other.Operation = "cancel-meeting"
			_, began, err := s.BeginIntent(t.Context(), other, time.Time{})
			must(t, err)
			equal(t, began, true)
		})
	})
	t.Run("without its tenant or connection nothing begins", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			_, _, err := s.BeginIntent(t.Context(), intent(store.Intent{}), time.Time{})
			refused(t, err, fault.NotFound, store.ReasonConnectionNotFound)
		})
	})
	t.Run("beginning and releasing at once never fails and never leaves two", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			for _, err := range at(16, func(i int) error {
				mine := intent(store.Intent{})
				mine.Owner = fmt.Sprint(i)
				for range 10 {
					if _, began, err := s.BeginIntent(t.Context(), mine, time.Time{}); err != nil {
						return err
					} else if !began {
						continue
					}
					if err := s.ReleaseIntent(t.Context(), mine, ""); err != nil {
						return err
					}
				}
				return nil
			}) {
				must(t, err)
			}
			begun(t, s, store.Intent{})
		})
	})
}

func TestTakeOverIntent(t *testing.T) {
	t.Parallel()
	over, later := noon.Add(11*time.Second), noon.Add(30*time.Second)
	t.Run("of many at once exactly one takes over", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			begun(t, s, store.Intent{})
			was, won := there(t, s), 0
			for _, took := range at(64, func(i int) bool {
				ours := was
				ours.Owner, ours.LeaseUntil = fmt.Sprint(i), later
				took, err := s.TakeOverIntent(t.Context(), was, ours, over)
				if err != nil {
					t.Error(err)
				}
				return took
			}) {
				if took {
					won++
				}
			}
			equal(t, won, 1)
			now := there(t, s)
			equal(t, []any{now.State, now.LeaseUntil, now.UpdatedAt}, []any{store.IntentRunning, later, over})
		})
	})
	for _, c := range []struct {
		rule    string
		between func(t *testing.T, s *store.Store, mine store.Intent) // after it was read, before it is taken over
		took    bool
	}{
		{"a run is taken over", func(*testing.T, *store.Store, store.Intent) {}, true},
		{"one whose lease is renewed as well: the caller knows that it is over", func(
			t *testing.T, s *store.Store, mine store.Intent,
		) {
			mine.LeaseUntil = later
			must(t, s.ExtendIntent(t.Context(), mine))
		}, true},
		{"one that ends in between is not", func(t *testing.T, s *store.Store, mine store.Intent) {
			must(t, s.ReleaseIntent(t.Context(), mine, store.IntentUnknown))
		}, false},
		{"nor one that another takes over in between", func(t *testing.T, s *store.Store, mine store.Intent) {
			theirs := mine
			theirs.Owner = "three"
			equal(t, got(s.TakeOverIntent(t.Context(), mine, theirs, over))(t), true)
		}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			both(t, func(t *testing.T, s *store.Store) {
				connection(t, s, "c1")
				mine := begun(t, s, store.Intent{})
				was := there(t, s)
				c.between(t, s, mine)
				ours := was
				ours.Owner, ours.LeaseUntil = "two", later
				equal(t, got(s.TakeOverIntent(t.Context(), was, ours, over))(t), c.took)
			})
		})
	}
	t.Run("an unknown outcome is taken over", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.ReleaseIntent(t.Context(), begun(t, s, store.Intent{}), store.IntentUnknown))
			ours := there(t, s)
			ours.Owner, ours.LeaseUntil = "two", later
			equal(t, got(s.TakeOverIntent(t.Context(), there(t, s), ours, over))(t), true)
		})
	})
	t.Run("a finished intent is not taken over", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			finished(t, s, store.Intent{})
			equal(t, got(s.TakeOverIntent(t.Context(), there(t, s), there(t, s), over))(t), false)
		})
	})
}

func TestARunThatLostItsIntentWritesNothing(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, s *store.Store) (lost, ours store.Intent) {
		connection(t, s, "c1")
		lost = begun(t, s, store.Intent{})
		ours = there(t, s)
		ours.Owner, ours.LeaseUntil = "two", noon.Add(30*time.Second)
		if !got(s.TakeOverIntent(t.Context(), there(t, s), ours, noon.Add(11*time.Second)))(t) {
			t.Fatal("not taken over")
		}
		return lost, ours
	}
	t.Run("its plan and its lease are refused", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			lost, ours := lose(t, s)
			was := there(t, s)
			lost.Plan = json.RawMessage(`{"lost":1}`)
			refused(t, s.SaveIntentPlan(t.Context(), lost), fault.Conflict, store.ReasonIntentLost)
			refused(t, s.ExtendIntent(t.Context(), lost), fault.Conflict, store.ReasonIntentLost)
			equal(t, there(t, s), was)
			ours.Answer = []byte("{}")
			must(t, s.FinishIntent(t.Context(), ours, store.Attached{}))
		})
	})
	t.Run("its answer is kept, because the effect stands; "+
		"the other run's and its events are refused", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			lost, ours := lose(t, s)
			lost.Answer, ours.Answer = []byte("first"), []byte("second")
			must(t, s.FinishIntent(t.Context(), lost, store.Attached{}))
			refused(t, s.FinishIntent(t.Context(), ours,
				store.Attached{Seen: []store.EventSeen{{TenantID: "acme", ConnectionID: "c1", EventID: "e",
					UpdatedAt: noon}}}), fault.Conflict, store.ReasonIntentLost)
			_, found, err := s.EventSeen(t.Context(), "acme", "c1", "e")
			must(t, err)
			equal(t, found, false)
			equal(t, string(there(t, s).Answer), "first")
		})
	})
	t.Run("an answer of another effect is refused", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			mine := begun(t, s, store.Intent{})
			mine.EffectKey, mine.Answer = "another", []byte("{}")
			refused(t, s.FinishIntent(t.Context(), mine, store.Attached{}), fault.Conflict, store.ReasonIntentLost)
		})
	})
	t.Run("its release changes nothing", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			lost, _ := lose(t, s)
			was := there(t, s)
			must(t, s.ReleaseIntent(t.Context(), lost, ""))
			must(t, s.ReleaseIntent(t.Context(), lost, store.IntentUnknown))
			equal(t, there(t, s), was)
		})
	})
	t.Run("of runs that finish at once exactly one is kept", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			mine := begun(t, s, store.Intent{})
			won := 0
			for _, err := range at(16, func(i int) error {
				mine := mine
				mine.Answer = fmt.Append(nil, i)
				return s.FinishIntent(t.Context(), mine, store.Attached{})
			}) {
				if err == nil {
					won++
					continue
				}
				refused(t, err, fault.Conflict, store.ReasonIntentLost)
			}
			equal(t, won, 1)
		})
	})
}

// Of concurrent claims of one effect, one comes first and the others see it.
func TestClaimsOfOneEffectTakeTurns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		const claims = 8
		var intents []store.Intent
		for i := range claims {
			intents = append(intents, begun(t, s, store.Intent{Key: fmt.Sprint("claim ", i)}))
		}
		var won atomic.Int64
		var all sync.WaitGroup
		for _, i := range intents {
			all.Go(func() {
				err := s.ClaimEffect(t.Context(), i, "ticket", func(others []store.Intent) error {
					if slices.ContainsFunc(others, func(o store.Intent) bool { return o.EffectRef == "ticket" }) {
						return fault.New(fault.Conflict, fault.ReasonProviderConflict, "It is another's.")
					}
					return nil
				})
				if err == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		equal(t, won.Load(), int64(1))
	})
}

func TestOneKeyOfManyCreationsAtOnceIsOneRow(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		tenant(t, s, "acme")
		var callers sync.WaitGroup
		start, failures := make(chan struct{}), make(chan error, 16)
		for i := range cap(failures) {
			callers.Go(func() {
				id := fmt.Sprint("hook", i)
				<-start
				failures <- s.CreateWebhook(recording[store.Webhook](t.Context(), "k", noon), webhookRow(id, "acme"), 20)
			})
		}
		close(start)
		callers.Wait()
		close(failures)
		var made int
		for err := range failures {
			if err == nil {
				made++
			} else if !errors.Is(err, fault.Conflict) {
				t.Error(err)
			}
		}
		if all := got(s.Webhooks(t.Context()))(t); made != 1 || len(all) != 1 {
			t.Errorf("%d were told that they created one, and there are %d", made, len(all))
		}
	})
}

// Adoption seals rows from before unchanged, and a rotation seals all rows with the new key, while others
// write.
func TestRowsAreSealedAnewWhileOthersWrite(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		connection(t, s, "c1")
		var all []store.Intent
		for n := range 7 {
			all = append(all, answeredCall(t, s, fmt.Sprint("call ", n)))
		}
		v := sealing(t, s)
		_, _, err := s.Intent(t.Context(), all[0].TenantID, all[0].Operation, all[0].Key)
		refused(t, err, fault.Unavailable, store.ReasonRowUnreadable)
		_, err = document(t, s, "doc call 0")
		refused(t, err, fault.Unavailable, store.ReasonRowUnreadable)
		if rows := got(s.Reseal(t.Context(), store.Rows{}))(t); rows.Plain != 14 || rows.Rewritten != 0 {
			t.Errorf("before %+v", rows)
		}
		if rows := got(s.Reseal(t.Context(), store.Rows{Adopt: true}))(t); rows.Rewritten != 14 || rows.Plain != 0 {
			t.Errorf("adopted %+v", rows)
		}

		running := begun(t, s, store.Intent{Key: "running"})
		stop, written := make(chan struct{}), make(chan struct{})
		var writing sync.WaitGroup
		writing.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case written <- struct{}{}:
				default:
				}
				running.Plan = fmt.Appendf(nil, `{"n":%d}`, n)
				if err := s.SaveIntentPlan(t.Context(), running); err != nil {
					t.Errorf("a writer: %v", err)
				}
			}
		})
		ended := sync.OnceFunc(func() { close(stop); writing.Wait() })
		defer ended() // also after a failure, before the store is closed
		for range 3 {
			<-written // writes sealed before the last rotation are done: only the key before it is kept
			<-written
			if _, err := v.Rotate(); err != nil {
				t.Fatal(err)
			}
			primary := got(v.Primary())(t)
			_, err := s.Reseal(t.Context(),
				store.Rows{Stale: func(sealed []byte) bool { return vault.KeyOf(sealed) != primary }})
			must(t, err)
			if _, err := v.Prune(func(uint32) bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
		ended()
		for _, i := range all {
			there, found, err := s.Intent(t.Context(), i.TenantID, i.Operation, i.Key)
			must(t, err)
			if !found || string(there.Answer) != string(i.Answer) || string(there.Plan) != string(i.Plan) {
				t.Errorf("came back as %+v", there)
			}
		}
		if rows := got(s.Reseal(t.Context(), store.Rows{}))(t); rows != (store.SealedRows{Sealed: 15}) {
			t.Errorf("at the end %+v", rows)
		}
	})
}

// Stores that share a database share one key for their hashes, from the first one on and through rotations.
// Without the key, others cannot guess what was hashed.
func TestDigestsAreOfOneKey(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		v := sealing(t, s)
		var mu sync.Mutex
		found := map[string]bool{}
		var work sync.WaitGroup
		for range 4 {
			replica := storetest.Connect(t, url)
			work.Go(func() {
				defer replica.Close()
				plain, _ := replica.Digest(t.Context(), person)
				replica.SealWith(v)
				hashed, err := replica.Digest(t.Context(), person)
				mu.Lock()
				defer mu.Unlock()
				if found[hashed] = true; err != nil || hashed == plain {
					t.Errorf("%s, %v", hashed, err)
				}
			})
		}
		work.Wait()
		if _, err := v.Rotate(); err != nil {
			t.Fatal(err)
		}
		primary := got(v.Primary())(t)
		rows := got(s.Reseal(t.Context(),
			store.Rows{Stale: func(sealed []byte) bool { return vault.KeyOf(sealed) != primary }}))(t)
		equal(t, rows.Rewritten, 1)
		found[got(s.Digest(t.Context(), person))(t)] = true
		if len(found) != 1 {
			t.Errorf("digests %v", found)
		}
	})
}
