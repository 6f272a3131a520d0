package oauth

import (
	"context"
	"log/slog"
	"time"

	"frontdesk/core/parallel"
	"frontdesk/core/pause"
	"frontdesk/core/store"
)

// Run renews tokens ahead of time until ctx ends. Redeems under way then are finished and committed within
// twenty seconds.
func (s *TokenSource) Run(ctx context.Context) {
	defer s.finish()
	parallel.Lasting(ctx, s.options.Log, s.renewAhead)
}

func (s *TokenSource) renewAhead(ctx context.Context) {
	for isScheduled := false; ; {
		// The version before gave no time to a token without an end. In a day, no replica of it takes the time away.
		isScheduled = isScheduled || s.options.Store.ScheduleTokens(ctx, s.options.Now().Add(24*time.Hour)) == nil
		s.sweep(ctx)
		s.cache.purge(s.options.Now())
		s.dropBulkheads()
		if pause.For(ctx, jitter(s.limits.Poll)) != nil {
			return
		}
	}
}

// sweep starts the renewals that are due, page by page, so that failing connections do not delay others.
func (s *TokenSource) sweep(ctx context.Context) {
	var last store.Tokens
	for {
		due, err := s.options.Store.DueTokens(ctx, s.options.Now(), last, sweepPage)
		if err != nil {
			if ctx.Err() == nil {
				s.options.Log.LogAttrs(ctx, slog.LevelWarn, "the store does not tell which tokens are due",
					slog.Any("error", err))
			}
			return
		}
		for _, row := range due {
			select {
			case s.workers <- struct{}{}:
			case <-ctx.Done():
				return
			}
			r := &renewal{tenantID: row.TenantID, connectionID: row.ConnectionID, onDone: func() { <-s.workers }}
			if s.begin(ctx, r) != r {
				<-s.workers
			}
			last = row
		}
		if len(due) < sweepPage {
			return
		}
	}
}
