package oauth

import (
	"context"
	"log/slog"

	"frontdesk/core/store"
)

// Run renews tokens ahead of time until ctx ends. Redeems that are under way then are finished and committed, within
// twenty seconds.
func (k *Keeper) Run(ctx context.Context) {
	defer k.finish(k.limits.Drain)
	for {
		k.sweep(ctx)
		k.memory.purge(k.options.Now())
		if !pause(ctx, jitter(k.limits.Poll)) {
			return
		}
	}
}

// sweep begins to renew everything that is due, page by page, so that connections that fail do not stand before others.
func (k *Keeper) sweep(ctx context.Context) {
	var last store.Tokens
	for {
		due, err := k.options.Store.DueTokens(ctx, k.options.Now(), last, sweepPage)
		if err != nil {
			if ctx.Err() == nil {
				k.options.Log.LogAttrs(ctx, slog.LevelWarn, "the store does not say which tokens are due", slog.Any("error", err))
			}
			return
		}
		for _, row := range due {
			select {
			case k.workers <- struct{}{}:
			case <-ctx.Done():
				return
			}
			f := &flight{tenantID: row.TenantID, connectionID: row.ConnectionID, landed: func() { <-k.workers }}
			if k.begin(f) != f {
				<-k.workers
			}
			last = row
		}
		if len(due) < sweepPage {
			return
		}
	}
}
