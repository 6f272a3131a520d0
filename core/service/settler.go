package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// settler takes up intents that nobody carries any more: the process died, or the provider's answer was lost. Every
// replica does it, since an intent goes to whoever takes it over first; so nothing waits for a replica that died.
type settler struct {
	opts      *Options
	journal   *journal
	resume    map[string]resume
	overtaken map[string]writeOver // of operations of which one call must not undo another that overtook it
}

// writeOver sees to it that a call that was overtaken, which may have reached the provider after the one that overtook it,
// leaves nothing there; nil where the provider itself keeps them in order.
type writeOver func(ctx context.Context, i store.Intent) error

// resume carries an intent on; what came of it is recorded by the attempt itself.
type resume func(ctx context.Context, a *attempt) error

const (
	settleEvery = 2 * time.Second

	synchroniseEvery = time.Minute

	settleLook   = 1000             // intents looked at in a round,
	settleBatch  = 200              // of which so many are taken up
	settleAtOnce = 16               // so many at a time,
	settleFor    = 5 * time.Second  // and none after that long: those that a provider keeps waiting come again later
	mostPatience = 10 * time.Minute // between tries at an intent that stays unknown,
	soonEnough   = time.Minute      // and at one without a key, which is settled while equal calls still count as one,
	orderEvery   = 30 * time.Second // and at an order that is known to be under way, which only takes its time
)

// Run settles, and looks after the phone numbers, until ctx ends.
func (s *Services) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.Numbers.keep(ctx) })
	group.Go(func() { s.keepLeases(ctx) })
	group.Go(func() { (&purger{opts: s.settler.opts}).keep(ctx) })
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		if err := s.settler.round(ctx); err != nil && ctx.Err() == nil {
			s.settler.opts.Log.WarnContext(ctx, "settling intents failed; it goes on", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// keepLeases renews the leases of the runs that go on, and keeps their clock with the database's, until ctx ends.
func (s *Services) keepLeases(ctx context.Context) {
	if s.settler.opts.Store.TracksProcesses() {
		return // leases are long, and what counts is whether their process lives
	}
	next := s.settler.opts.Now().Add(synchroniseEvery)
	for pause(ctx, s.settler.journal.short/renewals) == nil {
		s.settler.journal.renewLeases(ctx)
		if s.settler.opts.Now().Before(next) {
			continue
		}
		if _, err := s.Synchronise(ctx); err == nil {
			next = s.settler.opts.Now().Add(synchroniseEvery)
		}
	}
}

// Synchronise sets the clock of leases by the database's clock, and returns how far the machine's is ahead of that.
func (s *Services) Synchronise(ctx context.Context) (ahead time.Duration, err error) {
	return s.clock.synchronise(ctx, s.settler.opts.Store)
}

// round settles what is due.
func (s *settler) round(ctx context.Context) error {
	began := s.opts.Now()
	if err := s.journal.takeBack(ctx); err != nil {
		return err
	}
	if err := s.journal.writeAnswers(ctx); err != nil {
		return err
	}
	open, err := s.journal.unsettled(ctx, settleLook)
	if err != nil {
		return err
	}
	s.opts.Metrics.UnsettledIntents(len(open))
	underWay, err := s.opts.Store.OrderedPurchases(ctx)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(i store.Intent) bool {
		return !due(i, began, slices.Contains(underWay, i.EffectKey))
	})
	var group errgroup.Group
	group.SetLimit(settleAtOnce)
	for _, intent := range open[:min(len(open), settleBatch)] {
		if ctx.Err() != nil || s.opts.Now().Sub(began) > settleFor {
			break
		}
		group.Go(func() error {
			s.carryOn(ctx, intent)
			return nil
		})
	}
	return group.Wait() // never an error: what fails is said where it fails, and tried again
}

// carryOn settles one intent, unless the settler is told to end.
func (s *settler) carryOn(ctx context.Context, i store.Intent) {
	if ctx.Err() != nil {
		return
	}
	if err := s.settle(ctx, i); err != nil {
		s.opts.Log.WarnContext(ctx, "an intent that was taken up is not carried through", "operation", i.Operation, "tenant", i.TenantID, "connection", i.ConnectionID, "error", err)
	}
}

// due spreads the tries at an intent that stays unknown: each waits as long again as it has been open. An
// order that is known to be under way is looked at more often.
func due(i store.Intent, now time.Time, underWay bool) bool {
	if i.State == store.IntentRunning {
		return true
	}
	if i.Operation == opCreate && isUnknowable(i.Plan) {
		return false // until somebody asks again
	}
	patience := mostPatience
	if !i.Kept {
		patience = soonEnough
	}
	if underWay {
		patience = orderEvery
	}
	return now.Sub(i.UpdatedAt) >= min(i.UpdatedAt.Sub(i.CreatedAt), patience)
}

// settle carries one intent on. What was taken over is not let go of when the gateway ends: cut off in the middle, it would
// be nobody's until its lease has passed.
func (s *settler) settle(ctx context.Context, i store.Intent) error {
	resume, known := s.resume[i.Operation]
	if !known {
		return fault.Newf(fault.Internal, fault.ReasonInternal, "No one settles %s.", i.Operation)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Deadline)
	defer cancel()
	a, took, err := s.journal.takeOver(ctx, i, false)
	if err != nil || !took {
		return err
	}
	defer s.journal.own.end(a.intent.Owner)
	overtaken, err := s.isOvertaken(ctx, i)
	if err != nil {
		return err
	}
	if overtaken {
		if over := s.overtaken[i.Operation]; over != nil {
			if err := over(ctx, i); err != nil {
				a.close(ctx, store.IntentUnknown)
				return err
			}
		}
		a.end(ctx, "", audit.Failed("OVERTAKEN"))
		return nil
	}
	a.alone = true
	return resume(ctx, a)
}

// isOvertaken reports whether a later call changes what this one was to change, or an earlier one that was answered since.
// Where nobody asks for this change again, it must not undo theirs.
func (s *settler) isOvertaken(ctx context.Context, i store.Intent) (bool, error) {
	if _, may := s.overtaken[i.Operation]; !may {
		return false, nil
	}
	return s.opts.Store.Overtaken(ctx, i)
}
