// Package budget makes limits hold across replicas. A limit is one row of a ledger, and each replica leases a
// part of it for a second at a time, ahead of use:
//
//	b := budget.New(budget.Options{Ledger: store, Replica: name})
//	defer b.Close()
//	admitted, left := b.Take(ctx, budget.Limit{Name: "key:" + id, Units: 600, Per: time.Minute})
//	release, err := b.Acquire(ctx, budget.Limit{Name: "calls:" + connection, Units: 4})
//
// A limit is a rate (a number of units that come back within a time) or permits (units that come back when
// they are released). A permit can also rest after its use, which makes it a sliding window.
//
// It promises:
//   - While the ledger answers, replicas together never have more than the limit.
//   - While there are units in hand, nobody waits for the ledger. Leases are renewed beside calls, those of
//     all limits in one transaction. Who finds nothing in hand waits for one answer of the ledger.
//   - What one replica does not need, others get within a second. If all want more than there is, each gets
//     an equal part, and what cannot be divided goes round.
//   - The lease of a replica that dies ends within a second, and that of permits that rest after their rest.
//   - While the ledger does not answer, a replica uses an equal part of each limit: the limit divided by the
//     number of replicas that were active last, but at least one permit. One that has used limits for less
//     than a second does not know that number, and uses one permit. No call fails for that reason.
//
// Without a ledger, the process has every limit for itself, and nothing is stored.
//
// A replica that is stopped, not dead, may have calls under way whose permits others have by then.
package budget

import (
	"container/list"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"frontdesk/core/parallel"
)

// Ledger keeps the rows of all replicas; *store.Store implements it.
type Ledger interface {
	// SettleBudgets passes the rows of the names, "" for those that are not there, and the ledger's time to
	// settle, and stores what it returns. Nobody else reads or changes the rows in between. It may call settle
	// more than once.
	SettleBudgets(ctx context.Context, names []string,
		settle func(now time.Time, rows []string) (after []string, until []time.Time)) error
}

// Options configure Budgets.
type Options struct {
	Ledger  Ledger       // nil: this process has every limit for itself
	Replica string       // a name that no other process has
	Log     *slog.Logger // may be nil
}

// Limit is a limit that replicas share.
type Limit struct {
	Name  string
	Units int           // at least 1
	Per   time.Duration // of a rate: the time within which all units come back; 0: permits
	Rest  time.Duration // how long a permit stays in use after its release

	lasting time.Duration // of a lease; 0: a second
}

func (l Limit) lease() time.Duration {
	if l.lasting > 0 {
		return l.lasting
	}
	return leaseFor
}

// held is how long the ledger holds units for a replica that renews nothing: a permit that was used at the end
// of a lease still rests.
func (l Limit) held() time.Duration { return l.lease() + l.Rest }

const (
	leaseFor     = time.Second
	renewAfter   = 400 * time.Millisecond // so that a lease outlasts a ledger that is slow for half a second
	pollEvery    = 50 * time.Millisecond  // while somebody waits for what others hold
	askedFor     = time.Second            // a ledger that takes longer does not answer
	takeWait     = 250 * time.Millisecond // the most that Take waits for the ledger
	tryAgain     = 250 * time.Millisecond // after the ledger did not answer
	idleFor      = 3 * time.Second        // until a replica gives back what nobody uses
	replicasFor  = 15 * time.Second       // how long an active replica is counted
	countEvery   = time.Second            // while a limit is in use
	maxAtOnce    = 500                    // limits in one transaction
	countedLimit = "replicas"             // the name of the limit whose holders are the active replicas
)

// Budgets holds a process's parts of limits. It is safe for concurrent use. Create it with [New].
type Budgets struct {
	opts Options

	mu       sync.Mutex
	hands    map[string]*hand
	counted  *hand // how many replicas are active
	first    bool  // counted once: others that begin at the same moment may be missing
	replicas int   // 0: not known
	away     bool  // the ledger did not answer last time
	running  bool
	closed   bool
	wake     chan struct{} // has an element if an ask is due
	leasing  sync.WaitGroup
	stop     context.CancelFunc
	stopping context.Context
}

// hand is this process's part of one limit. Budgets.mu guards it.
type hand struct {
	limit Limit
	units int       // of a rate: left to spend; of permits: how many may be in use
	until time.Time // of the lease
	inUse int       // permits
	used  time.Time // when somebody last asked for a unit

	due      bool      // an ask is due at once
	asked    time.Time // when the last ask was made
	poll     time.Time // when to ask again although there was nothing; zero: as usual
	asking   bool
	answered chan struct{} // closed by the next answer of the ledger

	spent   int     // of a rate, since the last ask
	granted int     // by the last answer
	recent  int     // how much was spent lately between two asks
	left    float64 // of a rate, in the row, as of the last answer
	dry     time.Time
	alone   *rate.Limiter // of a rate, while the ledger does not answer

	owed    int       // permits to give back when they are released
	waiting bool      // other replicas wait for permits
	queue   list.List // of chan struct{}, each closed when its permit is granted
}

// New returns Budgets, which must be closed.
func New(o Options) *Budgets {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Budgets{opts: o, hands: map[string]*hand{}, wake: make(chan struct{}, 1)}
	b.counted = &hand{
		limit:    Limit{Name: countedLimit, Units: 1 << 20, lasting: replicasFor},
		answered: make(chan struct{}),
	}
	b.stopping, b.stop = context.WithCancel(context.Background())
	return b
}

// hand returns this process's part of a limit. The caller holds b.mu.
func (b *Budgets) hand(l Limit, now time.Time) *hand {
	h, there := b.hands[l.Name]
	if !there {
		h = &hand{answered: make(chan struct{})}
		b.hands[l.Name] = h
	}
	h.limit, h.used = l, now
	return h
}

// kick has the ledger asked at once. The caller holds b.mu.
func (b *Budgets) kick(h *hand) {
	h.due = true
	if b.opts.Ledger == nil {
		return
	}
	if !b.running && !b.closed {
		b.running = true
		b.leasing.Go(func() { parallel.Lasting(b.stopping, b.opts.Log, func(context.Context) { b.lease() }) })
		return
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Close gives back what this process holds, and waits for that, two seconds at most.
func (b *Budgets) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.leasing.Wait()
	b.giveBack()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.hands {
		b.serve(h)
	}
}
