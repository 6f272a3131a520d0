package journal

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/pause"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
)

// Recovery resumes intents that no process carries on any more: the process died, or the provider's response
// was lost. Every replica runs recovery, and an intent goes to the first replica that takes it over. So no
// intent waits for a replica that died.

const (
	recoveryInterval    = 2 * time.Second // between rounds
	recoveryScan        = 1000            // most intents read in a round
	recoveryBatch       = 200             // most intents resumed in a round
	recoveryConcurrency = 16              // most intents resumed at a time
	recoveryBudget      = 5 * time.Second // no intent is started later than this in a round

	maxRetryDelay        = 10 * time.Minute // between tries of an intent with a key that stays unknown
	maxRetryDelayKeyless = time.Minute      // the same without a key: equal calls may still count as one

	// PendingInterval is the time between tries of a call that its provider is known to be working on.
	PendingInterval = 30 * time.Second

	syncInterval = time.Minute

	reasonOvertaken = "OVERTAKEN" // why recovery dropped a call, as the audit and webhooks tell it
)

// Run recovers interrupted calls and renews leases until ctx ends.
func (j *Journal) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { parallel.Lasting(ctx, j.opts.Log, j.keepLeases) })
	parallel.Lasting(ctx, j.opts.Log, j.recoverOften)
}

func (j *Journal) recoverOften(ctx context.Context) {
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

// keepLeases renews the leases of the runs that still go on, and keeps the lease clock in step with the
// database's clock, until ctx ends.
func (j *Journal) keepLeases(ctx context.Context) {
	if j.opts.Store.TracksProcesses() {
		return // leases are long, and what counts is whether the process is alive
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

// SyncClock sets the lease clock from the database's clock. It returns how far the machine's clock is ahead
// of the database's clock.
func (j *Journal) SyncClock(ctx context.Context) (ahead time.Duration, err error) {
	return j.clock.sync(ctx, j.opts.Store)
}

// RecoverOnce runs one round of recovery. It writes what an outage of the store has held up and resumes the
// intents that are due.
func (j *Journal) RecoverOnce(ctx context.Context) error {
	if err := j.writeHeldUp(ctx, j.opts.Now()); err != nil {
		return err
	}
	began := j.opts.Now()
	open, err := j.findAbandoned(ctx, recoveryScan)
	if err != nil {
		return err
	}
	ended := j.owed.owners() // after the search: a run owes its end before it counts as ended
	j.opts.Metrics.UnsettledIntents(len(open))
	inProgress, err := j.inProgress(ctx)
	if err != nil {
		return err
	}
	for _, i := range open { // an earlier version did not leave these to callers in the store
		if i.State == store.IntentUnknown && j.operations[i.Operation].gaveUp(i.Plan) {
			if err := j.opts.Store.ReleaseIntent(ctx, i, store.IntentLeft); err != nil {
				j.opts.Log.WarnContext(ctx, "an intent could not be left to callers; it will be tried again", "error", err)
				break // the others can be recovered all the same
			}
		}
	}
	open = slices.DeleteFunc(open, func(i store.Intent) bool {
		return ended[i.Owner] || j.isWithdrawn(ctx, i) || !j.isDue(i, began, slices.Contains(inProgress, i.EffectKey))
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
	return group.Wait() // never an error: tryRecover logs failures, and a later round tries again
}

// isWithdrawn reports whether an intent was withdrawn before the store recorded it, and then withdraws it again.
func (j *Journal) isWithdrawn(ctx context.Context, i store.Intent) bool {
	if !j.withdrawn.has(i.Owner) {
		return false
	}
	_ = j.opts.Store.ReleaseIntent(ctx, i, "") // or the next round does
	return true
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

// isDue reports whether an open intent is due for another try. The delay before a try is the time that the
// intent had been open at the last one, up to a maximum. It is shorter for intents known to be in progress. A clock
// may have been set back since: a time to come counts as one that is past.
func (j *Journal) isDue(i store.Intent, now time.Time, inProgress bool) bool {
	if i.State == store.IntentRunning {
		return true
	}
	if j.operations[i.Operation].gaveUp(i.Plan) {
		return false // until a caller repeats the call
	}
	most := maxRetryDelay
	if !i.Kept {
		most = maxRetryDelayKeyless
	}
	if inProgress {
		most = PendingInterval
	}
	return now.Sub(i.UpdatedAt).Abs() >= min(i.UpdatedAt.Sub(i.CreatedAt).Abs(), most)
}

// tryRecover resumes one intent, unless the gateway is shutting down. It logs a failure.
func (j *Journal) tryRecover(ctx context.Context, i store.Intent) {
	if ctx.Err() != nil {
		return
	}
	if err := j.recover(ctx, i); err != nil {
		j.opts.Log.WarnContext(ctx, "an intent could not be recovered; it will be tried again",
			"operation", i.Operation, "tenant_id", i.TenantID, "connection", i.ConnectionID, "error", err)
	}
}

// recover resumes one intent. Once it has taken over the intent, it goes on even if the gateway is shutting
// down. If it stopped in the middle, no process could take over the intent until the lease ends. A panic is an error:
// otherwise one intent would end every process that takes it over, again and again.
func (j *Journal) recover(ctx context.Context, i store.Intent) (err error) {
	ctx, span := telemetry.StartWork(ctx, "recover intent")
	span.Operation(i.Operation)
	defer func() { span.End("", fault.ReasonOf(err)) }()
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
	defer func() {
		if cause := recover(); cause != nil {
			err = fault.From(telemetry.Recovered(cause))
			run.release(ctx, store.IntentUnknown, "") // so that it is tried less and less
		}
	}()
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

// supersede ends the run of an intent that another call for the same subject has overtaken: a later call, or
// an earlier one that was answered since. No caller repeats this change, so it must not undo the other.
func (r *Run) supersede(ctx context.Context, i store.Intent) error {
	if err := r.operation.Supersede(ctx, i); err != nil {
		r.release(ctx, store.IntentUnknown, "")
		return err
	}
	r.unattended = true
	r.release(ctx, "", r.failure(reasonOvertaken))
	return nil
}
