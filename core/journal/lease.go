package journal

import (
	"context"
	"strings"
	"sync"
	"time"

	"frontdesk/core/store"
)

const (
	leaseMargin   = 2 * time.Second  // a lease outlives the deadline of its run by this
	defaultLease  = 2 * time.Second  // length of the lease of a repeatable run
	leaseRenewals = 4                // how often a lease is renewed while it lasts
	peerGrace     = 15 * time.Second // see isOverForPeers
	clockSlack    = time.Second      // two synchronized lease clocks differ by less
)

// leaseClock is the clock by which leases are measured. It runs on the machine's monotonic clock, so a step
// of the wall clock neither ends a lease nor lengthens it. It is set from the database's clock, which all
// replicas share.
type leaseClock struct {
	mu   sync.Mutex
	time time.Time // the database's time at the last sync
	read time.Time // the local time of that sync, with its monotonic reading
}

func newLeaseClock() *leaseClock {
	now := time.Now()
	return &leaseClock{time: now.Round(0), read: now}
}

func (c *leaseClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time.Add(time.Since(c.read))
}

// sync sets the clock from the database's clock. It returns how far the machine's wall clock is ahead of the
// database's clock.
func (c *leaseClock) sync(ctx context.Context, s *store.Store) (ahead time.Duration, err error) {
	asked := time.Now()
	there, err := s.Clock(ctx)
	if err != nil {
		return 0, err
	}
	read := time.Now()
	half := read.Sub(asked) / 2
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time, c.read = there.Add(half), read
	return read.Round(0).Sub(c.time), nil
}

// localRuns are the runs of this process that have not ended. The process knows the state of its own runs and
// need not infer it from leases.
type localRuns struct {
	mu   sync.Mutex
	runs map[string]localRun // by Intent.Owner
}

type localRun struct {
	intent store.Intent
	renews bool // whether the run has a short lease, which is renewed
	// until is when the run of an ended call stops counting as running, by time.Now; zero: it has not ended
	until time.Time
}

func (l *localRuns) add(i store.Intent, renews bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[string]localRun{}
	}
	i.Plan = nil // an outage may keep many, and requests are large
	l.runs[i.Owner] = localRun{intent: i, renews: renews}
}

// end removes a run, unless keep has been called for it.
func (l *localRuns) end(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[owner].until.IsZero() {
		delete(l.runs, owner)
	}
}

// remove removes a run, even if keep has been called for it.
func (l *localRuns) remove(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, owner)
}

// keep makes an ended run count as running for d.
func (l *localRuns) keep(owner string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, there := l.runs[owner]; there {
		run.until = time.Now().Add(d)
		l.runs[owner] = run
	}
}

// reopen takes keep back: the run has something to do again, and end removes it.
func (l *localRuns) reopen(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, there := l.runs[owner]; there {
		run.until = time.Time{}
		l.runs[owner] = run
	}
}

func (l *localRuns) has(owner string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	run, there := l.runs[owner]
	if there && !run.until.IsZero() && !time.Now().Before(run.until) {
		delete(l.runs, owner)
		return false
	}
	return there
}

// renewing returns the intents of the runs whose leases must be renewed.
func (l *localRuns) renewing() (all []store.Intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, run := range l.runs {
		if run.renews && run.until.IsZero() {
			all = append(all, run.intent)
		}
	}
	return all
}

// IsRunning reports whether a run of the intent still goes on, as far as this process can know. The process
// knows its own runs. On SQLite it also knows whether another process is alive, and the runs of a dead one
// are over. Otherwise the lease decides. A lease of a process in unknown state does not count if it ends
// later than one that begins now: it was set by a wrong clock.
func (j *Journal) IsRunning(i store.Intent) bool {
	if i.State != store.IntentRunning {
		return false
	}
	process := processOf(i.Owner)
	if process == j.opts.Owner {
		return j.local.has(i.Owner)
	}
	now := j.opts.LeaseClock()
	switch j.opts.Store.Process(process) {
	case store.ProcessGone:
		return false
	case store.ProcessAlive:
		return now.Before(i.LeaseUntil)
	}
	return now.Before(i.LeaseUntil) && !i.LeaseUntil.After(now.Add(j.longestLease()))
}

func (j *Journal) longestLease() time.Duration {
	return max(j.opts.Deadline, j.opts.WriteGrace) + leaseMargin + clockSlack
}

// isOverForPeers reports whether the run of an intent is over for a process that resumes it without being
// asked by a caller. The process that wrote the row may know that its caller was refused, and withdraws such
// rows as soon as it can reach the store again (see owedWrites). So other processes leave it peerGrace
// after the lease, unless the process is known to be gone. A caller's repeat does not wait for that.
func (j *Journal) isOverForPeers(i store.Intent) bool {
	if i.State != store.IntentRunning {
		return true
	}
	if j.IsRunning(i) {
		return false
	}
	process := processOf(i.Owner)
	if process == j.opts.Owner || j.opts.Store.Process(process) == store.ProcessGone {
		return true
	}
	now := j.opts.LeaseClock()
	return !now.Before(i.LeaseUntil.Add(peerGrace)) || i.LeaseUntil.After(now.Add(j.longestLease()))
}

func processOf(owner string) string {
	process, _, _ := strings.Cut(owner, "/")
	return process
}

// findAbandoned returns at most limit of the intents that no process carries on.
func (j *Journal) findAbandoned(ctx context.Context, limit int) ([]store.Intent, error) {
	now := j.opts.LeaseClock()
	from, to := now, now.Add(j.longestLease())
	if j.opts.Store.TracksProcesses() { // the state of a process says more than its lease
		from = to
	}
	open, err := j.opts.Store.RecoverableIntents(ctx, from, to, limit)
	if err != nil {
		return nil, err
	}
	left := open[:0]
	for _, i := range open {
		if j.isOverForPeers(i) {
			left = append(left, i)
		}
	}
	return left, nil
}

// renewLeases extends the short leases of the runs of this process that still go on.
func (j *Journal) renewLeases(ctx context.Context) {
	for _, i := range j.local.renewing() {
		i.LeaseUntil = j.opts.LeaseClock().Add(j.opts.Lease)
		if err := j.opts.Store.ExtendIntent(ctx, i); err != nil && ctx.Err() == nil {
			j.opts.Log.DebugContext(ctx, "a lease was not renewed", "operation", i.Operation, "error", err)
		}
	}
}
