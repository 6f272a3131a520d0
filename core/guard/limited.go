package guard

import (
	"sync"
	"time"

	"frontdesk/core/fault"
)

// waits remember until when a provider that limits its rate asked one connection to leave an operation alone. Providers
// go on counting the calls that they refuse (learn.microsoft.com/graph/throttling, "Best practices to handle
// throttling"), so who calls too early waits longer in the end. It is by operation, since many limits are (Zendesk, "Rate
// limits", "Endpoint-specific"): one that is met must not take the others away. What a 503 asks for is not remembered:
// such a wait is a guess at when the provider is back, and the breaker finds that out sooner.
type waits struct {
	mu    sync.Mutex
	until map[string]time.Time // by operation
}

func (w *waits) remember(operation string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	if until.After(w.until[operation]) {
		w.until[operation] = until
	}
}

// left is how long it is still to be left alone.
func (w *waits) left(operation string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := w.until[operation].Sub(now)
	if left <= 0 {
		delete(w.until, operation)
		return 0
	}
	return left
}

// limited is the fault of a call that would come too early, or nil. A provider within the process is asked always: a
// sandbox limits the one call that is told so.
func (r *run) limited() *fault.Error {
	if r.target.Host == "" {
		return nil
	}
	left := r.connection.waits.left(r.op.Name, time.Now())
	if left == 0 {
		return nil
	}
	return unsent(fault.RateLimited, fault.ReasonProviderRateLimited,
		"The provider "+r.target.Provider+" limits how often it is called, and asked to be left alone for a while. Try again later.", left).
		With("provider", r.target.Provider)
}

// heed remembers what a provider asked for.
func (r *run) heed(f *fault.Error) {
	if f != nil && f.Code == fault.RateLimited && f.RetryAfter > 0 {
		r.connection.waits.remember(r.op.Name, time.Now().Add(f.RetryAfter))
	}
}
