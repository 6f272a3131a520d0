package oauth

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"frontdesk/core/fault"
)

// jitter is d give or take a half, so that replicas and connections do not act in step.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// pause waits and reports whether the wait came to its end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// patient is context.WithTimeout, but of time that the process lived through: where it is stopped and goes on, an answer that
// waits for it is read, while a timer would cut it off at the first moment.
func patient(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	const steps = 20
	go func() {
		for range steps {
			if !pause(ctx, limit/steps) {
				return
			}
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(nil) }
}

// tooLate says of an error in a patient context that ended what it is.
func tooLate(ctx context.Context, err error) error {
	if errors.Is(err, fault.Canceled) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fault.From(context.DeadlineExceeded)
	}
	return err
}
