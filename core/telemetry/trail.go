package telemetry

import (
	"context"
	"sync"
	"time"
)

// Trail collects the calls of providers that one request makes, for the log of requests. A nil Trail collects
// nothing. It is safe for concurrent use.
type Trail struct {
	began time.Time

	mu      sync.Mutex
	tries   []*Try
	dropped int // tries beyond maxTries
}

// Try is one call of a provider's driver. A call that is tried again is another Try.
type Try struct {
	Operation  string        `json:"operation"` // as in the metrics: "book", "events"
	Provider   string        `json:"provider"`
	Connection string        `json:"connection"` // its id
	After      time.Duration `json:"after"`      // since the request began
	Took       time.Duration `json:"took"`
	Outcome    string        `json:"outcome"`          // "ok", or the code of a fault
	Reason     string        `json:"reason,omitempty"` // of the fault
	Exchanges  []Exchange    `json:"exchanges,omitempty"`

	trail *Trail
}

// Exchange is one HTTP request of a try.
type Exchange struct {
	Method string        `json:"method"`
	Status int           `json:"status"`         // 0: there was no response
	Code   string        `json:"code,omitempty"` // of the fault, without a response
	Took   time.Duration `json:"took"`           // until the headers of the response
}

// More than this of one request is only counted.
const (
	maxTries     = 32
	maxExchanges = 32
)

type (
	trailKey struct{}
	tryKey   struct{}
)

// WithTrail returns a context that collects the calls of providers in a new trail.
func WithTrail(ctx context.Context, began time.Time) (context.Context, *Trail) {
	t := &Trail{began: began}
	return context.WithValue(ctx, trailKey{}, t), t
}

// Begin adds a try to the context's trail. The exchanges of the returned context belong to it. Without a
// trail, the context is the same and the try is nil.
func Begin(ctx context.Context, l CallLabels, connection string, now time.Time) (context.Context, *Try) {
	t, _ := ctx.Value(trailKey{}).(*Trail)
	if t == nil {
		return ctx, nil
	}
	try := &Try{
		Operation: l.Operation, Provider: l.Provider, Connection: connection, After: now.Sub(t.began), trail: t,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tries) == maxTries {
		t.dropped++
		return ctx, nil
	}
	t.tries = append(t.tries, try)
	return context.WithValue(ctx, tryKey{}, try), try
}

// End records how a try ended. A nil try records nothing.
func (t *Try) End(outcome, reason string, now time.Time) {
	if t == nil {
		return
	}
	t.trail.mu.Lock()
	defer t.trail.mu.Unlock()
	t.Outcome, t.Reason, t.Took = outcome, reason, now.Sub(t.trail.began)-t.After
}

// Exchanged adds an HTTP request to the context's try, if it has one.
func Exchanged(ctx context.Context, e Exchange) {
	try, _ := ctx.Value(tryKey{}).(*Try)
	if try == nil {
		return
	}
	try.trail.mu.Lock()
	defer try.trail.mu.Unlock()
	if len(try.Exchanges) < maxExchanges {
		try.Exchanges = append(try.Exchanges, e)
	}
}

// Tries returns what the trail has collected so far, and how many more tries there were. What happens later,
// such as the end of a write that outlived its caller, does not change it.
func (t *Trail) Tries() (tries []Try, more int) {
	if t == nil {
		return nil, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, try := range t.tries {
		copied := *try
		copied.trail = nil
		copied.Exchanges = append([]Exchange(nil), try.Exchanges...)
		tries = append(tries, copied)
	}
	return tries, t.dropped
}
