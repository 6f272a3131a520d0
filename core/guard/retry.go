package guard

import (
	"context"
	"time"

	"frontdesk/core/fault"
)

// leastTry is the time that must be left for a retry to be worth making.
const leastTry = 50 * time.Millisecond

// retrying calls the driver until it succeeds or the rules end it.
func (r *run) retrying(ctx context.Context) (any, *fault.Error) {
	var doubt *fault.Error // of the first try of a write that may have taken effect
	for tries := 1; ; tries++ {
		result, f, final := r.try(ctx)
		if f == nil {
			return result, nil
		}
		if !r.op.Read && doubt == nil && mayHaveHappened(f) {
			doubt = f
		}
		if final || !r.again(ctx, f, tries) {
			return nil, truthful(doubt, f)
		}
		r.guard.options.Metrics.Retry(r.labels, string(f.Code))
	}
}

// truthful is the fault to answer with: a later try's definite refusal does not undo what an earlier one may have done.
func truthful(doubt, last *fault.Error) *fault.Error {
	if doubt == nil || mayHaveHappened(last) {
		return last
	}
	c := *doubt
	c.RetryAfter = last.RetryAfter
	return &c
}

// mayHaveHappened reports whether a write that failed so can have taken effect.
func mayHaveHappened(f *fault.Error) bool {
	switch f.Code {
	case fault.UnknownOutcome:
		return true
	case fault.Unavailable, fault.Timeout, fault.Canceled, fault.Internal:
		return !f.Unsent
	}
	return false
}

// again waits for the next try, or reports that there is none.
func (r *run) again(ctx context.Context, f *fault.Error, tries int) bool {
	if tries >= r.guard.options.MaxTries || !mayRepeat(f, r.op) {
		return false
	}
	wait := r.wait(f, tries)
	end, _ := ctx.Deadline()
	if time.Until(end) < wait+leastTry {
		r.guard.options.Metrics.RetryDenied(r.labels, "deadline")
		return false
	}
	if r.place == nil { // a read that was given up still holds it
		r.place = r.takeFreePlace()
	}
	if r.place == nil {
		r.guard.options.Metrics.RetryDenied(r.labels, "bulkhead")
		return false
	}
	if !r.host.budget.retry(time.Now()) {
		r.guard.options.Metrics.RetryDenied(r.labels, "budget")
		return false
	}
	return sleep(ctx, wait)
}

// mayRepeat is the rule of what may be tried again. A provider that limits its rate has not done what was asked.
func mayRepeat(f *fault.Error, op Op) bool {
	switch f.Code {
	case fault.RateLimited:
		return true
	case fault.Unavailable, fault.Timeout:
		if f.Reason == fault.ReasonBreakerOpen || f.Reason == fault.ReasonOverloaded {
			return false // ours: to try again at once is what they are there to prevent
		}
		return f.Unsent || op.Read || op.Repeatable
	}
	return false
}

// wait is full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"): between nothing and a bound that doubles,
// on top of what the provider asked for. Never less than that.
func (r *run) wait(f *fault.Error, tries int) time.Duration {
	o := r.guard.options
	bound := min(o.BackoffBase<<(tries-1), o.BackoffMax)
	return f.RetryAfter + time.Duration(o.Random()*float64(bound))
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
