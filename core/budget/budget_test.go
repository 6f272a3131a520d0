package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a ledger without a database. Each answer takes a while.
type memory struct {
	mu    sync.Mutex
	rows  map[string]string
	takes time.Duration
	away  atomic.Bool
	asked atomic.Int64 // transactions
}

func newMemory() *memory { return &memory{rows: map[string]string{}, takes: 3 * time.Millisecond} }

var errAway = errors.New("the ledger is away")

func (m *memory) SettleBudgets(ctx context.Context, names []string,
	settle func(time.Time, []string) ([]string, []time.Time)) error {
	time.Sleep(m.takes)
	if m.away.Load() || ctx.Err() != nil {
		return errAway
	}
	m.asked.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	before := make([]string, len(names))
	for i, name := range names {
		before[i] = m.rows[name]
	}
	after, _ := settle(time.Now(), before)
	for i, name := range names {
		m.rows[name] = after[i]
	}
	return nil
}

// replicas returns Budgets on one ledger.
func replicas(n int, m *memory) []*Budgets {
	all := make([]*Budgets, n)
	for i := range all {
		all[i] = New(Options{Ledger: m, Replica: fmt.Sprint("replica-", i)})
	}
	return all
}

func closeAll(all []*Budgets) {
	for _, b := range all {
		b.Close()
	}
}

var perMinute = Limit{Name: "key:k", Units: 600, Per: time.Minute}

// Three replicas admit what one would, within a tenth: whoever gets the requests, in bursts or evenly, and
// never more.
func TestARateHoldsAcrossReplicas(t *testing.T) {
	for name, target := range map[string]func(i int) int{
		"in turn": func(i int) int { return i % 3 },
		"at one, then at another": func(i int) int {
			return i / 350 % 3
		},
		"at random": func(int) int { return rand.IntN(3) }, // whatever it is, the bounds are the same
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := replicas(3, newMemory())
				defer closeAll(all)
				began := time.Now()
				admitted := 0
				for i := 0; time.Since(began) < 2*time.Minute; i++ {
					if taken, _ := all[target(i)].Take(t.Context(), perMinute); taken {
						admitted++
					}
					time.Sleep(40 * time.Millisecond) // 1,500 a minute, where 600 are allowed
				}
				passed := time.Since(began).Minutes()
				most := float64(perMinute.Units) * (1 + passed) // one quota at once, one for each minute
				if got := float64(admitted); got > most+1 || got < 0.9*most {
					t.Errorf("%v requests were admitted, of at most %v", got, most)
				}
			})
		})
	}
}

// A caller who follows the policy is never refused: the quota at once, at one replica.
func TestAQuotaAtOnceAtOneReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(3, newMemory())
		defer closeAll(all)
		for i := range perMinute.Units {
			taken, left := all[0].Take(t.Context(), perMinute)
			if !taken {
				t.Fatalf("request %d is refused, with %v left", i, left)
			}
		}
		more := 0
		for i := range 30 {
			if taken, _ := all[i%3].Take(t.Context(), perMinute); taken {
				more++
			}
		}
		if more > 10 { // what came back in the second that it took
			t.Errorf("%d more than the quota were admitted", more)
		}
	})
}

// Of two rates, either both are taken from or none.
func TestARequestIsTakenOffEveryRateOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := replicas(1, newMemory())
		defer closeAll(b)
		small := Limit{Name: "key:s", Units: 2, Per: time.Hour}
		large := Limit{Name: "tenant:l", Units: 10, Per: time.Hour}
		for range 5 {
			b[0].Take(t.Context(), small, large)
		}
		if _, left := b[0].Take(t.Context(), small, large); left[0] >= 1 || left[1] < 8 || left[1] > 8.1 {
			t.Errorf("left is %v, want less than 1 and 8", left)
		}
	})
}

// Nobody waits for the ledger while there are units in hand, however slow it is.
func TestNobodyWaitsWithUnitsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		b := New(Options{Ledger: m, Replica: "a"})
		defer b.Close()
		b.Take(t.Context(), perMinute)
		m.takes = 300 * time.Millisecond
		for range 50 {
			time.Sleep(200 * time.Millisecond)
			began := time.Now()
			if taken, _ := b.Take(t.Context(), perMinute); !taken || time.Since(began) != 0 {
				t.Fatalf("taken %v after %v", taken, time.Since(began))
			}
		}
	})
}

// Replicas never have more permits in use than there are, whatever they do, and leave few unused while
// somebody waits. Each gets a good part.
func TestPermitsHoldAcrossReplicas(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6} {
		lasts := time.Duration(n) * 10 * time.Second
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(uint64(n), 1))
				all := replicas(n, newMemory())
				defer closeAll(all)
				var inUse, peak, together int64
				var mu sync.Mutex
				served := make([]int, n)
				ctx, stop := context.WithTimeout(t.Context(), lasts)
				defer stop()
				var callers sync.WaitGroup
				for i := range 6 * n {
					seed := random.Uint64()
					callers.Go(func() {
						own := rand.New(rand.NewPCG(seed, 2))
						for {
							release, err := all[i%n].Acquire(ctx, permits)
							if err != nil {
								return
							}
							mu.Lock()
							inUse++
							peak = max(peak, inUse)
							served[i%n]++
							mu.Unlock()
							took := time.Duration(20+own.IntN(80)) * time.Millisecond
							time.Sleep(took)
							mu.Lock()
							inUse--
							together += int64(took)
							mu.Unlock()
							release()
						}
					})
				}
				callers.Wait()
				if peak != 4 {
					t.Errorf("%d permits were in use at once, want 4", peak)
				}
				if use := float64(together) / float64(4*lasts); use < 0.75 {
					t.Errorf("permits were in use for %.0f %% of the time", 100*use)
				}
				total := 0
				for _, s := range served {
					total += s
				}
				for i, s := range served {
					// Who gets a permit next is chance: of 400 runs of six replicas, the worst had 31 % of an equal part.
					if s < total/n/5 {
						t.Errorf("replica %d served %d of %d calls", i, s, total)
					}
				}
			})
		})
	}
}

// A permit that is used alone costs its replica nothing but the first answer.
func TestAPermitIsHeldAheadOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := replicas(1, newMemory())
		defer closeAll(b)
		for i := range 20 {
			began := time.Now()
			release, err := b[0].Acquire(t.Context(), permits)
			if err != nil || i > 0 && time.Since(began) != 0 {
				t.Fatalf("call %d waited %v, %v", i, time.Since(began), err)
			}
			time.Sleep(700 * time.Millisecond)
			release()
		}
	})
}

// A replica that dies, and one that only gives back nothing, is not waited for longer than a second.
func TestTheLeaseOfADeadReplicaEndsInASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		all := replicas(2, m)
		defer closeAll(all)
		for range 4 {
			if _, err := all[0].Acquire(t.Context(), permits); err != nil {
				t.Fatal(err)
			}
		}
		all[0].stop() // as a kill does: it asks for nothing more, and gives nothing back
		all[0].mu.Lock()
		all[0].closed = true
		all[0].hands = map[string]*hand{}
		all[0].mu.Unlock()
		began := time.Now()
		if _, err := all[1].Acquire(t.Context(), permits); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("the other replica waited %v", took)
		}
	})
}

// What a replica held when it was closed is there for others at once.
func TestWhatAClosedReplicaHeldIsThereAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := replicas(2, newMemory())
		for range 4 {
			release, err := all[0].Acquire(t.Context(), permits)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
		}
		all[0].Close()
		began := time.Now()
		if _, err := all[1].Acquire(t.Context(), permits); err != nil || time.Since(began) > pollEvery {
			t.Errorf("the other replica waited %v, %v", time.Since(began), err)
		}
		all[1].Close()
	})
}

// While the ledger is away, each of the active replicas uses an equal part of each limit, and no call waits
// for it. When it is back, the limit holds again.
func TestWithoutTheLedgerEachReplicaHasAnEqualPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		all := replicas(3, m)
		defer closeAll(all)
		for range 10 { // until all know of each other
			for _, b := range all {
				b.Take(t.Context(), perMinute)
			}
			time.Sleep(time.Second)
		}
		m.away.Store(true)
		time.Sleep(3 * time.Second)
		began, admitted := time.Now(), 0
		for i := 0; time.Since(began) < time.Minute; i++ {
			if taken, _ := all[i%3].Take(t.Context(), perMinute); taken {
				admitted++
			}
			time.Sleep(20 * time.Millisecond)
		}
		if admitted < 1000 || admitted > 1210 {
			t.Errorf("%d requests were admitted, want about 1,200: the quota and that of a minute", admitted)
		}
		for _, b := range all {
			if release, taken := b.TryAcquire(permits); !taken {
				t.Error("a replica has no permit")
			} else if _, second := b.TryAcquire(permits); second {
				t.Error("a replica has two of four permits, where there are three replicas")
			} else {
				release()
			}
		}
		m.away.Store(false)
		time.Sleep(time.Second)
		admitted = 0
		for i := range 600 {
			if taken, _ := all[i%3].Take(t.Context(), perMinute); taken {
				admitted++
			}
		}
		if admitted > 250 { // what the first to ask was granted before the others told what they had spent
			t.Errorf("%d requests were admitted: what was admitted meanwhile does not count", admitted)
		}
	})
}

// Whoever does not know how many replicas there are, because the ledger does not answer, does not take itself
// for the only one: nor does the first of several that begin at the same moment.
func TestAReplicaOfAnUnknownNumberUsesOnePermit(t *testing.T) {
	for name, before := range map[string]func(ctx context.Context, all []*Budgets){
		"each was alone, and has been idle since": func(ctx context.Context, all []*Budgets) {
			for _, b := range all {
				b.Take(ctx, perMinute)
				time.Sleep(time.Minute)
			}
		},
		"all have just begun": func(ctx context.Context, all []*Budgets) {
			for _, b := range all {
				b.Take(ctx, perMinute)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				all := replicas(3, m)
				defer closeAll(all)
				before(t.Context(), all)
				m.away.Store(true)
				for i, b := range all {
					release, err := b.Acquire(t.Context(), permits)
					if err != nil {
						t.Fatal(err)
					}
					defer release()
					if _, second := b.TryAcquire(permits); second {
						t.Errorf("replica %d has two of four permits", i)
					}
				}
			})
		})
	}
}

// A permit with a rest is a sliding window: never more than five begin within a second, at any replicas.
func TestAWindowHoldsAcrossReplicas(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := replicas(max(1, n), newMemory())
				if n == 0 { // without a ledger
					all = []*Budgets{New(Options{})}
				}
				searches := Limit{Name: "searches", Units: 5, Rest: time.Second}
				var mu sync.Mutex
				var began []time.Time
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
				defer stop()
				var callers sync.WaitGroup
				for i := range 12 {
					callers.Go(func() {
						for {
							release, err := all[i%len(all)].Acquire(ctx, searches)
							if err != nil {
								return
							}
							mu.Lock()
							began = append(began, time.Now())
							mu.Unlock()
							release()
						}
					})
				}
				callers.Wait()
				for i := range began {
					if i >= 5 && began[i].Sub(began[i-5]) < time.Second {
						t.Fatalf("six within %v", began[i].Sub(began[i-5]))
					}
				}
				if len(began) < 80 {
					t.Errorf("%d of 100 possible", len(began))
				}
				time.Sleep(2 * time.Second)
				closeAll(all)
			})
		})
	}
}

// Who gives up takes nothing with it.
func TestWhoGivesUpTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := replicas(1, newMemory())
		defer closeAll(b)
		var held []func()
		for range 4 {
			release, err := b[0].Acquire(t.Context(), permits)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, release)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer stop()
		if _, err := b[0].Acquire(ctx, permits); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		held[0]()
		if _, taken := b[0].TryAcquire(permits); !taken {
			t.Error("the released permit is gone")
		}
	})
}

// A limit that nobody uses costs nothing after some seconds: no answer of the ledger, and no row's part.
func TestAnIdleReplicaAsksForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		b := replicas(1, m)
		defer closeAll(b)
		b[0].Take(t.Context(), perMinute)
		release, err := b[0].Acquire(t.Context(), permits)
		if err != nil {
			t.Fatal(err)
		}
		release()
		time.Sleep(time.Minute)
		asked := m.asked.Load()
		time.Sleep(time.Minute)
		b[0].mu.Lock()
		remembered := len(b[0].hands)
		b[0].mu.Unlock()
		if now := m.asked.Load(); now != asked || remembered > 0 {
			t.Errorf("the ledger was asked %d times in a minute, and %d limits are remembered", now-asked, remembered)
		}
	})
}

// TestWithoutALedgerNothingIsLeftOfPermits: connections come and go for as long as the process runs.
func TestWithoutALedgerNothingIsLeftOfPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{})
		defer b.Close()
		for i := range 100 {
			l := Limit{Name: fmt.Sprint("calls:", i), Units: 1, Rest: time.Duration(i%2) * time.Second}
			release, err := b.Acquire(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			if _, taken := b.TryAcquire(l); taken {
				t.Fatal("a second permit of one")
			}
			var next sync.WaitGroup
			next.Go(func() {
				release, err := b.Acquire(t.Context(), l)
				if err != nil {
					t.Error(err)
					return
				}
				release()
			})
			synctest.Wait()
			release()
			next.Wait()
		}
		time.Sleep(2 * time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.hands) != 0 {
			t.Errorf("%d limits are kept that nobody uses", len(b.hands))
		}
	})
}

// brokenLedger panics at what it finds in a row.
type brokenLedger struct{}

func (brokenLedger) SettleBudgets(
	context.Context, []string, func(time.Time, []string) ([]string, []time.Time),
) error {
	panic("broken")
}

func TestALedgerThatPanicsIsOneThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Ledger: brokenLedger{}, Replica: "a"})
		defer b.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release, err := b.Acquire(ctx, Limit{Name: "calls", Units: 4})
		if err != nil {
			t.Fatalf("who wants a permit waits in vain: %v", err)
		}
		release()
	})
}
