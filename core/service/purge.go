package service

import (
	"context"
	"time"

	"frontdesk/core/pause"
)

const (
	purgeEvery     = 10 * time.Minute
	keepDeliveries = 7 * 24 * time.Hour   // of events that were acknowledged or given up
	keepSlots      = 24 * time.Hour       // beyond the answers to calls that name a slot_id or a hold_id
	keepCallNotes  = 12 * time.Hour       // longer than a telephone call
	keepBreakers   = time.Hour            // far beyond the time after which a replica that is not seen is gone
	keepMeetings   = 90 * 24 * time.Hour  // after their end
	keepEvents     = 400 * 24 * time.Hour // where an event is; what is listed again is seen again
	keepChanges    = 24 * time.Hour       // far longer than a process goes without asking for them
	keepKeyless    = 24 * time.Hour       // finished calls without a key; longer than any dedupe window of use
)

// keepPurging deletes records that were kept long enough, until ctx ends. Every replica does this.
func (s *Services) keepPurging(ctx context.Context) {
	for {
		if err := s.purge(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "old records could not be purged; it will be tried again", "error", err)
		}
		if pause.For(ctx, purgeEvery) != nil {
			return
		}
	}
}

// purge deletes everything that is due and returns free space to the disk. It works in short batches with longer
// pauses between them, so that callers are not slowed down.
func (s *Services) purge(ctx context.Context) error {
	now := s.opts.Now()
	answers := now.Add(-s.opts.KeepAnswers)
	type batch = func(ctx context.Context, most int) (int64, error)
	before := func(purge func(context.Context, time.Time, int) (int64, error), end time.Time) batch {
		return func(ctx context.Context, most int) (int64, error) { return purge(ctx, end, most) }
	}
	rows := s.opts.Store
	for _, each := range []batch{
		func(ctx context.Context, most int) (int64, error) {
			return rows.PurgeIntents(ctx, answers, now.Add(-keepKeyless), most)
		},
		before(rows.PurgeCreations, answers),
		before(rows.PurgeTickets, answers),
		before(rows.PurgeSlots, answers.Add(-keepSlots)),
		before(rows.PurgeCallNotes, now.Add(-keepCallNotes)),
		before(rows.PurgeMeetings, now.Add(-keepMeetings)),
		before(rows.PurgeEvents, now.Add(-keepEvents)),
		before(rows.PurgeHolds, now),
		func(ctx context.Context, most int) (int64, error) {
			return rows.PurgePurchases(ctx, now, answers, most)
		},
		before(rows.PurgeDeliveries, now.Add(-keepDeliveries)),
		before(rows.PurgeBudgets, now),
		before(rows.PurgeBreakers, now.Add(-keepBreakers)),
		before(rows.PurgeDirectoryChanges, now.Add(-keepChanges)),
		func(ctx context.Context, _ int) (int64, error) { return 0, rows.PurgeAccess(ctx, now) },
		rows.EraseTenants,
		rows.GiveBack,
	} {
		if err := pause.InBatches(ctx, each); err != nil {
			return err
		}
	}
	return nil
}
