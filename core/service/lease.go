package service

import (
	"context"
	"strings"
	"sync"
	"time"

	"frontdesk/core/store"
)

const (
	leaseMargin  = 2 * time.Second  // a lease outlives the deadline of its run by this
	shortLease   = 2 * time.Second  // of a run that another may take over without harm,
	renewals     = 4                // which is renewed so often while it lasts
	peerPatience = 15 * time.Second // see overForPeers
	clockSlack   = time.Second      // two synchronised lease clocks differ by less
)

// leaseClock is the time in which leases are measured. It runs with the machine's monotonic clock, so that a step of
// the wall clock neither ends a lease nor lengthens it, and it is set by the database's clock, which all replicas share.
type leaseClock struct {
	mu   sync.Mutex
	time time.Time // of the database,
	read time.Time // and when it was read, with the monotonic reading
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

// synchronise sets the clock by the database's, and returns how far the machine's wall clock is ahead of that.
func (c *leaseClock) synchronise(ctx context.Context, s *store.Store) (ahead time.Duration, err error) {
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

// ownRuns are the runs of this process that have not ended. What the process knows of its own runs, it does not have
// to conclude from leases.
type ownRuns struct {
	mu   sync.Mutex
	runs map[string]ownRun // by Intent.Owner
}

type ownRun struct {
	intent store.Intent
	renews bool      // its lease is short
	until  time.Time // by time.Now: the run has ended, but its write may be under way until then; zero: it has not
}

func (o *ownRuns) add(i store.Intent, renews bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs == nil {
		o.runs = map[string]ownRun{}
	}
	o.runs[i.Owner] = ownRun{intent: i, renews: renews}
}

// end removes a run, unless something of it goes on; see keep.
func (o *ownRuns) end(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs[owner].until.IsZero() {
		delete(o.runs, owner)
	}
}

// remove ends a run whatever of it went on.
func (o *ownRuns) remove(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.runs, owner)
}

// keep counts a run as one that goes on for a while.
func (o *ownRuns) keep(owner string, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if run, there := o.runs[owner]; there {
		run.until = time.Now().Add(d)
		o.runs[owner] = run
	}
}

func (o *ownRuns) has(owner string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	run, there := o.runs[owner]
	if there && !run.until.IsZero() && !time.Now().Before(run.until) {
		delete(o.runs, owner)
		return false
	}
	return there
}

// renewing returns the runs whose leases are to be renewed.
func (o *ownRuns) renewing() (all []store.Intent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, run := range o.runs {
		if run.renews && run.until.IsZero() {
			all = append(all, run.intent)
		}
	}
	return all
}

// runs reports whether a run of the intent goes on, as far as can be told. Of this process's runs it is known; of
// another's, on SQLite, whether that process lives. Beyond that the lease counts, which cannot end later than a lease
// that begins now: one that does was made by a clock that was wrong.
func (j *journal) runs(i store.Intent) bool {
	if i.State != store.IntentRunning {
		return false
	}
	process := processOf(i.Owner)
	if process == j.owner {
		return j.own.has(i.Owner)
	}
	now := j.leases()
	switch j.store.Process(process) {
	case store.ProcessGone:
		return false
	case store.ProcessAlive:
		return now.Before(i.LeaseUntil)
	}
	return now.Before(i.LeaseUntil) && !i.LeaseUntil.After(now.Add(j.longestLease()))
}

func (j *journal) longestLease() time.Duration {
	return max(j.deadline, j.grace) + leaseMargin + clockSlack
}

// overForPeers reports whether the run of an intent is over for a process that nobody asked to carry it on. The process
// that wrote the row may know that its caller was refused, and takes such rows back as soon as it has the store again
// (see refusedIntents). So its peers leave it that time, unless it is known to be gone. A caller who repeats the call
// does not wait for that.
func (j *journal) overForPeers(i store.Intent) bool {
	if i.State != store.IntentRunning {
		return true
	}
	if j.runs(i) {
		return false
	}
	process := processOf(i.Owner)
	if process == j.owner || j.store.Process(process) == store.ProcessGone {
		return true
	}
	now := j.leases()
	return !now.Before(i.LeaseUntil.Add(peerPatience)) || i.LeaseUntil.After(now.Add(j.longestLease()))
}

func processOf(owner string) string {
	process, _, _ := strings.Cut(owner, "/")
	return process
}

// unsettled lists the intents that nobody carries on.
func (j *journal) unsettled(ctx context.Context, limit int) ([]store.Intent, error) {
	now := j.leases()
	from, to := now, now.Add(j.longestLease())
	if j.store.TracksProcesses() { // a lease tells less than the state of its process
		from = to
	}
	open, err := j.store.UnsettledIntents(ctx, from, to, limit)
	if err != nil {
		return nil, err
	}
	left := open[:0]
	for _, i := range open {
		if j.overForPeers(i) {
			left = append(left, i)
		}
	}
	return left, nil
}

// renewLeases lengthens the short leases of the runs that go on.
func (j *journal) renewLeases(ctx context.Context) {
	for _, i := range j.own.renewing() {
		i.LeaseUntil = j.leases().Add(j.short)
		if err := j.store.ExtendIntent(ctx, i); err != nil && ctx.Err() == nil {
			j.log.DebugContext(ctx, "a lease was not renewed", "operation", i.Operation, "error", err)
		}
	}
}
