package guard

import (
	"sync"
	"time"

	"frontdesk/core/fault"
)

// throttle holds the times until which a provider's rate limit forbids operations to one connection.
// Providers count the calls that they refuse (learn.microsoft.com/graph/throttling, "Best practices to handle
// throttling"), so calls that come too early prolong the wait. The times are kept per operation, as many
// limits are (Zendesk, "Rate limits", "Endpoint-specific"): one limit must not block the other operations.
// The Retry-After of a 503 is not stored: it only estimates when the provider is back, and the breaker
// detects that sooner.
type throttle struct {
	mu    sync.Mutex
	until map[string]time.Time // key: operation
}

func (w *throttle) remember(operation string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	if until.After(w.until[operation]) {
		w.until[operation] = until
	}
}

// left returns how long the operation is still forbidden.
func (w *throttle) left(operation string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.until[operation].Sub(now)
	if left <= 0 {
		delete(w.until, operation)
		return 0
	}
	return left
}

// checkLimit returns the fault of a call that would come too early, or nil. A provider inside the process is
// always called: a sandbox limits only the one call that asked for it.
func (c *call) checkLimit() *fault.Error {
	if c.target.Host == "" {
		return nil
	}
	left := c.connection.throttle.left(c.op.Name, time.Now())
	if left == 0 {
		return nil
	}
	return unsent(fault.RateLimited, fault.ReasonProviderRateLimited,
		"The provider "+c.target.Provider+" limits how often it is called, and has asked for a pause. Try "+
			"again later.", left).
		With("provider", c.target.Provider)
}

// observeRetryAfter stores the Retry-After of a rate limit, unless it is not the provider's but that of what the call
// needs first: once another replica has the new access token, for example, nothing keeps the call waiting.
func (c *call) observeRetryAfter(f *fault.Error) {
	if f != nil && f.Code == fault.RateLimited && f.RetryAfter > 0 && !f.Prerequisite {
		c.connection.throttle.remember(c.op.Name, time.Now().Add(f.RetryAfter))
	}
}
