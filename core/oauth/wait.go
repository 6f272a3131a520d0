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

// withLiveTimeout is like context.WithTimeout, but counts only the time in which the process runs. After a
// process was stopped and continues, it can still read a response that has arrived; a timer would cancel the
// request at once.
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

// asTimeout returns a timeout error if the limit of withLiveTimeout caused err, and err otherwise.
func asTimeout(ctx context.Context, err error) error {
	if errors.Is(err, fault.Canceled) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fault.From(context.DeadlineExceeded)
	}
	return err
}
