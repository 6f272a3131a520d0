package journal

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/audit"
	"frontdesk/core/pause"
	"frontdesk/core/store"
)

// Recovery takes up intents that nobody carries any more: the process died, or the provider's answer was
// lost. Every replica does it, since an intent goes to whoever takes it over first. So nothing waits for a
// replica that died.

const (
	recoveryInterval    = 2 * time.Second // between rounds
	recoveryScan        = 1000            // intents looked at in a round,
	recoveryBatch       = 200             // of which so many are taken up
	recoveryConcurrency = 16              // so many at a time,
	recoveryBudget      = 5 * time.Second // and none after that long: slow ones come again later

	maxRetryDelay        = 10 * time.Minute // between tries at an intent that stays unknown,
	maxRetryDelayKeyless = time.Minute      // and at one without a key, while equal calls still count as one

	// PendingInterval is the time between looks at what a provider is known to be working on.
	PendingInterval = 30 * time.Second

	syncInterval = time.Minute
)

// Run recovers what was cut off and renews leases, until ctx ends.
func (j *Journal) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { j.keepLeases(ctx) })
	tick := time.NewTicker(recoveryInterval)
	defer tick.Stop()
	for {
		if err := j.RecoverOnce(ctx); err != nil && ctx.Err() == nil {
			j.opts.Log.WarnContext(ctx, "recovery failed; it will be tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// keepLeases renews the leases of the runs that go on, and keeps their clock with the database's, until ctx
// ends.
func (j *Journal) keepLeases(ctx context.Context) {
	if j.opts.Store.TracksProcesses() {
		return // leases are long, and what counts is whether their process lives
	}
	next := j.opts.Now().Add(syncInterval)
	for pause.For(ctx, j.opts.Lease/leaseRenewals) == nil {
		j.renewLeases(ctx)
		if j.opts.Now().Before(next) {
			continue
		}
		if _, err := j.SyncClock(ctx); err == nil {
			next = j.opts.Now().Add(syncInterval)
		}
	}
}

// SyncClock sets the clock of leases by the database's clock, and returns how far the machine's is
// ahead of that.
func (j *Journal) SyncClock(ctx context.Context) (ahead time.Duration, err error) {
	return j.clock.sync(ctx, j.opts.Store)
}

// RecoverOnce makes one round of recovery: it writes what the store was not there for, and carries on what is
// due.
func (j *Journal) RecoverOnce(ctx context.Context) error {
	began := j.opts.Now()
	if err := j.withdrawRefused(ctx); err != nil {
		return err
	}
	if err := j.writeAnswers(ctx); err != nil {
		return err
	}
	open, err := j.findAbandoned(ctx, recoveryScan)
	if err != nil {
		return err
	}
	j.opts.Metrics.UnsettledIntents(len(open))
	inProgress, err := j.inProgress(ctx)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(i store.Intent) bool {
		return !j.isDue(i, began, slices.Contains(inProgress, i.EffectKey))
	})
	var group errgroup.Group
	group.SetLimit(recoveryConcurrency)
	for _, intent := range open[:min(len(open), recoveryBatch)] {
		if ctx.Err() != nil || j.opts.Now().Sub(began) > recoveryBudget {
			break
		}
		group.Go(func() error {
			j.tryRecover(ctx, intent)
			return nil
		})
	}
	return group.Wait() // never an error: what fails is said where it fails, and tried again
}

// inProgress returns the effect keys of the calls that providers are known to be working on.
func (j *Journal) inProgress(ctx context.Context) (keys []string, err error) {
	for _, op := range j.operations {
		if op.InProgress == nil {
			continue
		}
		more, err := op.InProgress(ctx)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

// isDue spreads the tries at an intent that stays unknown: each waits as long again as the intent has been
// open. What is known to be in progress is looked at more often.
func (j *Journal) isDue(i store.Intent, now time.Time, inProgress bool) bool {
	if i.State == store.IntentRunning {
		return true
	}
	if op := j.operations[i.Operation]; op.GaveUp != nil && op.GaveUp(i.Plan) {
		return false // until somebody asks again
	}
	most := maxRetryDelay
	if !i.Kept {
		most = maxRetryDelayKeyless
	}
	if inProgress {
		most = PendingInterval
	}
	return now.Sub(i.UpdatedAt) >= min(i.UpdatedAt.Sub(i.CreatedAt), most)
}

// tryRecover carries one intent on, unless the gateway ends.
func (j *Journal) tryRecover(ctx context.Context, i store.Intent) {
	if ctx.Err() != nil {
		return
	}
	if err := j.recover(ctx, i); err != nil {
		j.opts.Log.WarnContext(ctx, "an intent could not be recovered; it will be tried again",
			"operation", i.Operation, "tenant", i.TenantID, "connection", i.ConnectionID, "error", err)
	}
}

// recover carries one intent on. What was taken over is not let go of when the gateway ends: cut off in the
// middle, it would be nobody's until its lease has passed.
func (j *Journal) recover(ctx context.Context, i store.Intent) error {
	op, err := j.operation(i.Operation)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.opts.Deadline)
	defer cancel()
	run, err := j.takeOver(ctx, op, i, false)
	if err != nil || run == nil {
		return err
	}
	defer j.local.end(run.intent.Owner)
	if op.Supersede != nil {
		overtaken, err := j.opts.Store.Overtaken(ctx, i)
		if err != nil {
			return err
		}
		if overtaken {
			return run.supersede(ctx, i)
		}
	}
	run.unattended = true
	return op.Resume(ctx, run)
}

// supersede ends the run of an intent that a later call for the same subject has overtaken, or an earlier one
// that was answered since. Nobody asks for this change again, so it must not undo theirs.
func (r *Run) supersede(ctx context.Context, i store.Intent) error {
	if err := r.operation.Supersede(ctx, i); err != nil {
		r.release(ctx, store.IntentUnknown, "")
		return err
	}
	r.release(ctx, "", audit.Failed("OVERTAKEN"))
	return nil
}
