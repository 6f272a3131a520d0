package service

import (
	"context"
	"time"

	"frontdesk/core/pause"
)

// purger deletes what was kept long enough. It works in short batches, with rests that are longer, so that
// callers do not notice. Every replica does it.
type purger struct{ opts *Options }

const (
	purgeEvery  = 10 * time.Minute
	keepKeyless = 24 * time.Hour // finished calls without a key; longer than any dedupe window of use

	purgeTurn = 4 * time.Millisecond // a batch may keep other writers waiting for about that long,
	purgeRest = 5                    // and so many times as long as it took it leaves them alone
	minBatch  = 5                    // rows, or pages of the file
	maxBatch  = 200
)

// run purges until ctx ends.
func (p *purger) run(ctx context.Context) {
	for {
		if err := p.purge(ctx); err != nil && ctx.Err() == nil {
			p.opts.Log.WarnContext(ctx, "old records could not be purged; it will be tried again", "error", err)
		}
		if pause.For(ctx, purgeEvery) != nil {
			return
		}
	}
}

// purge deletes everything that is due, and gives the room back.
func (p *purger) purge(ctx context.Context) error {
	now := p.opts.Now()
	answers := now.Add(-p.opts.KeepAnswers)
	for _, batch := range []func(ctx context.Context, most int) (int64, error){
		func(ctx context.Context, most int) (int64, error) {
			return p.opts.Store.PurgeIntents(ctx, answers, now.Add(-keepKeyless), most)
		},
		func(ctx context.Context, most int) (int64, error) {
			return p.opts.Store.PurgeTickets(ctx, answers, most)
		},
		func(ctx context.Context, most int) (int64, error) {
			return p.opts.Store.PurgePurchases(ctx, now, answers, most)
		},
		p.opts.Store.GiveBack,
	} {
		if err := purgeInBatches(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// purgeInBatches calls batch until it does less than it may. How much that is follows the time that it takes.
func purgeInBatches(ctx context.Context, batch func(ctx context.Context, most int) (int64, error)) error {
	for most := minBatch; ; {
		began := time.Now()
		done, err := batch(ctx, most)
		if err != nil || done < int64(most) {
			return err
		}
		took := time.Since(began)
		if err := pause.For(ctx, purgeRest*took); err != nil {
			return err
		}
		switch {
		case took > purgeTurn:
			most = max(minBatch, most/2)
		case took < purgeTurn/2:
			most = min(maxBatch, 2*most)
		}
	}
}
