package adaptertest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// Line is a storage on a line that a test can cut: the provider's side of a sandbox, whose provider is its storage. It
// fails as a provider does, and is the Provider of a conformance harness.
type Line struct {
	adapter.Storage

	mu       sync.Mutex
	calls    int
	refusal  error
	hanging  chan struct{} // nil when calls are answered
	dropNext bool
}

// NewLine puts a storage on a line.
func NewLine(s adapter.Storage) *Line { return &Line{Storage: s} }

// View implements adapter.Storage.
func (l *Line) View(ctx context.Context, read func(adapter.StorageTx) error) error {
	if err := l.call(ctx); err != nil {
		return err
	}
	return l.Storage.View(ctx, read)
}

// Update implements adapter.Storage.
func (l *Line) Update(ctx context.Context, change func(adapter.StorageTx) error) error {
	if err := l.call(ctx); err != nil {
		return err
	}
	if err := l.Storage.Update(ctx, change); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropNext {
		l.dropNext = false
		return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The line was cut before the answer came.")
	}
	return nil
}

func (l *Line) call(ctx context.Context) error {
	l.mu.Lock()
	l.calls++
	refusal, hanging := l.refusal, l.hanging
	l.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return refusal
}

// Calls counts the transactions that were asked for.
func (l *Line) Calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// Revoke has the account refuse its credentials.
func (l *Line) Revoke() {
	l.refuse(fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "The credentials do not count any more."))
}

// Forbid has the account refuse what is asked.
func (l *Line) Forbid() {
	l.refuse(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The account may not do this."))
}

// Stop has the account be out of reach.
func (l *Line) Stop() {
	f := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The account is out of reach.")
	f.Unsent = true
	l.refuse(f)
}

// Limit has the account refuse because of too many calls.
func (l *Line) Limit(wait time.Duration) {
	f := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Too many calls.")
	f.RetryAfter = wait
	l.refuse(f)
}

func (l *Line) refuse(f *fault.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusal = f
}

// Hang has calls wait until release is called or their context ends.
func (l *Line) Hang() (release func()) {
	hanging := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hanging = hanging
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hanging = nil
		close(hanging)
	})
}

// DropNextReply has the next change be made and its success not be told.
func (l *Line) DropNextReply() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropNext = true
}
