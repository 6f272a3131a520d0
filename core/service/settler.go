package service

import (
	"context"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// settler takes up intents that nobody carries any more: the process died, or the provider's answer was lost. One
// replica does it at a time. It also lets answers go that were kept long enough.
type settler struct {
	*room
	resume map[string]resume
}

// resume carries an intent on; what came of it is recorded by the attempt itself.
type resume func(ctx context.Context, a *attempt) error

const (
	settleEvery  = 2 * time.Second
	settleBatch  = 50
	settleLease  = 30 * time.Second
	settleName   = "settler"
	purgeEvery   = 10 * time.Minute
	mostPatience = 10 * time.Minute // between tries at an intent that stays unknown
	keepKeyless  = 24 * time.Hour   // finished calls without a key; longer than any dedupe window of use
)

// Run settles until ctx ends.
func (s *Services) Run(ctx context.Context) {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	var purged time.Time
	for {
		if err := s.settler.round(ctx, &purged); err != nil && ctx.Err() == nil {
			s.settler.Log.WarnContext(ctx, "settling intents failed; it goes on", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round settles what is due.
func (s *settler) round(ctx context.Context, purged *time.Time) error {
	now := s.Now()
	ours, err := s.Store.TryLease(ctx, settleName, s.Owner, now, now.Add(settleLease))
	if err != nil || !ours {
		return err
	}
	open, err := s.Store.UnsettledIntents(ctx, now, settleBatch)
	if err != nil {
		return err
	}
	for _, intent := range open {
		if !due(intent, now) {
			continue
		}
		if err := s.settle(ctx, intent); err != nil {
			s.Log.WarnContext(ctx, "an intent is not settled yet", "operation", intent.Operation, "tenant", intent.TenantID, "connection", intent.ConnectionID, "error", err)
		}
	}
	if now.Sub(*purged) < purgeEvery {
		return nil
	}
	*purged = now
	_, err = s.Store.PurgeIntents(ctx, now.Add(-s.KeepAnswers), now.Add(-keepKeyless))
	return err
}

// due spreads the tries at an intent that stays unknown: each waits as long again as it has been open.
func due(i store.Intent, now time.Time) bool {
	if i.State == store.IntentRunning {
		return true
	}
	return now.Sub(i.UpdatedAt) >= min(i.UpdatedAt.Sub(i.CreatedAt), mostPatience)
}

// settle carries one intent on.
func (s *settler) settle(ctx context.Context, i store.Intent) error {
	resume, known := s.resume[i.Operation]
	if !known {
		return fault.Newf(fault.Internal, fault.ReasonInternal, "No one settles %s.", i.Operation)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Deadline)
	defer cancel()
	a, took, err := s.journal.takeOver(ctx, i)
	if err != nil || !took {
		return err
	}
	if err := resume(ctx, a); err != nil {
		// Where the attempt did not get as far as to close the intent, it is open again when its lease ends.
		return err
	}
	return nil
}
