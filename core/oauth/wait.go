package oauth

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/pause"
)

// jitter returns d plus or minus up to a half, so that replicas and connections do not act in step.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// withLiveTimeout is context.WithTimeout for time that the process runs through. A process that was stopped
// and continues still reads an answer that waits for it, where a timer would cancel at once.
func withLiveTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	const steps = 20
	go func() {
		for range steps {
			if pause.For(ctx, limit/steps) != nil {
				return
			}
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(nil) }
}

// asTimeout returns a timeout for an error that the limit of withLiveTimeout caused.
func asTimeout(ctx context.Context, err error) error {
	if errors.Is(err, fault.Canceled) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fault.From(context.DeadlineExceeded)
	}
	return err
}
