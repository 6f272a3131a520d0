package guard

import (
	"context"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/pause"
)

// minAttempt is the time that must be left for a retry to be worthwhile.
const minAttempt = 50 * time.Millisecond

// retrying calls the driver until it succeeds or the rules allow no further attempt.
func (c *call) retrying(ctx context.Context) (any, *fault.Error) {
	var doubt *fault.Error // fault of the first attempt of a write that may have taken effect
	for tries := 1; ; tries++ {
		result, f, final := c.try(ctx)
		if f == nil {
			return result, nil
		}
		if !c.op.Read && doubt == nil && f.MayHaveActed() {
			doubt = f
		}
		if final || !c.again(ctx, f, tries) {
			return nil, truthful(doubt, f)
		}
		c.guard.options.Metrics.Retry(c.labels, string(f.Code))
	}
}

// truthful returns the fault for the caller. That a later attempt was definitely refused does not undo what
// an earlier one may have done.
func truthful(doubt, last *fault.Error) *fault.Error {
	if doubt == nil || last.MayHaveActed() {
		return last
	}
	c := *doubt
	c.RetryAfter = last.RetryAfter
	return &c
}

// again waits until the next attempt is due. It returns false if there is none.
func (c *call) again(ctx context.Context, f *fault.Error, tries int) bool {
	if tries >= c.guard.options.MaxTries || !mayRepeat(f, c.op) {
		return false
	}
	wait := c.wait(f, tries)
	end, _ := ctx.Deadline()
	if time.Until(end) < wait+minAttempt {
		c.guard.options.Metrics.RetryDenied(c.labels, "deadline")
		return false
	}
	if c.permit == nil { // an abandoned read still holds it
		c.permit = c.tryAcquire(ctx, probeWait)
	}
	if c.permit == nil {
		c.guard.options.Metrics.RetryDenied(c.labels, "bulkhead")
		return false
	}
	if !c.host.budget.retry(time.Now()) {
		c.guard.options.Metrics.RetryDenied(c.labels, "budget")
		return false
	}
	return pause.For(ctx, wait) == nil
}

// mayRepeat reports whether a failed call may be repeated, and a repeat can help. A call refused by a rate limit had no
// effect.
func mayRepeat(f *fault.Error, op Op) bool {
	switch f.Code {
	case fault.RateLimited:
		return !f.NoRetry
	case fault.Unavailable, fault.Timeout:
		if f.Reason == fault.ReasonBreakerOpen || f.Reason == fault.ReasonOverloaded {
			return false // our own refusals, which exist to prevent retries
		}
		return f.Unsent || op.Read || op.Repeatable
	}
	return false
}

// wait returns the pause before the next attempt: the provider's Retry-After plus full jitter (AWS
// Architecture Blog, "Exponential Backoff And Jitter"), which is between zero and a bound that doubles.
func (c *call) wait(f *fault.Error, tries int) time.Duration {
	o := c.guard.options
	bound := min(o.BackoffBase<<(tries-1), o.BackoffMax)
	return f.RetryAfter + time.Duration(o.Random()*float64(bound))
}
