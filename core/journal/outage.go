package journal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// owedWrites are what the store did not take while it was away. The process writes it as soon as the store is available
// again. That is before the leases of the intents end, unless the outage lasts longer.
//
// Of calls that changed nothing, it is the end of a run, or only its row of the audit. It is also the withdrawal of an
// intent whose caller was told that the store did not record it: the database can commit and its response can be lost.
// Such calls must not be carried out by others. Of the others, it is the answer that the caller received.
type owedWrites struct {
	mu   sync.Mutex
	list []*owedWrite
}

type owedWrite struct {
	list   *owedWrites // that has it
	write  func(context.Context) error
	intent store.Intent  // that is answered; of one that is removed, only the owner
	wait   time.Duration // between tries, once the store has refused it while it took other writes
	next   time.Time     // when it is tried again then
}

const (
	// maxOwed bounds the number of writes kept during an outage, and that of answers. Further ones are dropped: the
	// intents of the first calls were recorded before the outage, and those of later ones hardly were. A call whose
	// answer is dropped leaves its row, which is recovered as after a crash.
	maxOwed = 10_000

	maxOwedWait = 30 * time.Second // between tries of a write that the store refuses
)

// add keeps a write, and reports whether there was room for it.
func (o *owedWrites) add(w *owedWrite) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) >= maxOwed {
		return false
	}
	w.list, o.list = o, append(o.list, w)
	return true
}

// make makes a write, which is then owed no more.
func (w *owedWrite) make(ctx context.Context) error {
	if err := w.write(ctx); err != nil {
		return err
	}
	o := w.list
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.list, w); i >= 0 {
		o.list = slices.Delete(o.list, i, i+1)
	}
	return nil
}

func (o *owedWrites) all() []*owedWrite {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}

// owners returns the owners of the intents that the writes remove or answer.
func (o *owedWrites) owners() map[string]bool {
	owners := map[string]bool{}
	for _, w := range o.all() {
		owners[w.intent.Owner] = true
	}
	return owners
}

// answerOf returns the write of the answer that is owed for the effect of the stored row, if there is one.
func (o *owedWrites) answerOf(there store.Intent) *owedWrite {
	for _, w := range o.all() {
		i := w.intent
		isSame := i.EffectKey == there.EffectKey && string(i.RequestHash) == string(there.RequestHash)
		if isSame && idOf(i) == idOf(there) {
			return w
		}
	}
	return nil
}

// owe makes a write again once the store is available, until the store takes it, has it already, or has removed the
// tenant that it is about. If it removes the intent of a run, ends is its owner, and recovery leaves the intent alone
// until then.
func (j *Journal) owe(ends string, write func(context.Context) error) {
	j.owed.add(&owedWrite{intent: store.Intent{Owner: ends}, write: func(ctx context.Context) error {
		err := write(ctx)
		if errors.Is(err, fault.Conflict) || errors.Is(err, fault.NotFound) {
			return nil
		}
		return err
	}})
}

// withdrawnRuns are the owners of intents that were withdrawn. PostgreSQL may run the statement that begins one, or end
// its commit, after the one that withdraws it: when a network that was cut delivers what it has kept, or a standby
// answers again. Recovery then withdraws the intent once more.
type withdrawnRuns struct {
	mu    sync.Mutex
	until map[string]time.Time // until when each is remembered, by time.Now
}

// withdrawnFor is longer than a network keeps what it could not deliver.
const withdrawnFor = time.Hour

// add remembers a run, unless there are as many as writes may be owed.
func (l *withdrawnRuns) add(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	now := time.Now()
	if len(l.until) >= maxOwed {
		maps.DeleteFunc(l.until, func(_ string, until time.Time) bool { return now.After(until) })
	}
	if len(l.until) < maxOwed {
		l.until[owner] = now.Add(withdrawnFor)
	}
}

func (l *withdrawnRuns) has(owner string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until[owner])
}

// heldUp returns all owed writes: first those that were never refused, and then those that have waited longest.
func (j *Journal) heldUp() []*owedWrite {
	all := append(j.owed.all(), j.answers.all()...)
	slices.SortStableFunc(all, func(a, b *owedWrite) int { return a.next.Compare(b.next) })
	return all
}

// writeHeldUp writes what an outage of the store has held up and is due. It stops with an error if the store is
// unavailable again. A write that the store refuses while it takes others holds up neither these nor recovery: it is
// tried more and more seldom.
func (j *Journal) writeHeldUp(ctx context.Context, now time.Time) error {
	var refused error
	var lost time.Duration // with writes that the store refused
	for _, w := range j.heldUp() {
		if now.Before(w.next) || lost > recoveryBudget {
			break
		}
		began := time.Now()
		err := w.make(ctx)
		if err == nil {
			continue
		}
		if isOutage(err) && j.isAway(ctx) {
			return err
		}
		if w.wait == 0 {
			refused = err
		}
		w.wait = min(max(2*w.wait, recoveryInterval), maxOwedWait)
		w.next = now.Add(w.wait)
		lost += time.Since(began)
	}
	if refused != nil {
		j.opts.Log.ErrorContext(ctx, "the store refuses what ended calls owe it; that is tried again, and not logged again",
			"answers", len(j.answers.all()), "other_writes", len(j.owed.all()), "error", refused)
	}
	return nil
}

// isOutage reports whether the store may be unavailable, and take no other write either.
func isOutage(err error) bool {
	return errors.Is(err, fault.Unavailable) || errors.Is(err, fault.Timeout) || errors.Is(err, fault.Canceled)
}

// isAway reports whether the store takes no write at all: a full disk would have taken one that changes nothing.
func (j *Journal) isAway(ctx context.Context) bool { return j.opts.Store.Probe(ctx) != nil }

// Close writes what an outage of the store has held up: what the store does not take now is lost with the process.
// Runs that still go on may leave more, which is lost too.
func (j *Journal) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), j.opts.RecordTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(recoveryConcurrency) // so that one that hangs leaves time for the others
	for _, w := range j.heldUp() {
		group.Go(func() error { return w.make(ctx) })
	}
	err := group.Wait()
	answers, others := len(j.answers.all()), len(j.owed.all())
	if answers+others > 0 {
		j.opts.Log.ErrorContext(ctx, "what the store did not take is lost; repeats learn from providers what became of "+
			"these calls", "answers", answers, "other_writes", others, "error", err)
	}
}
