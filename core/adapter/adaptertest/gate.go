package adaptertest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/fault"
)

// Gate is what a test does to a fake provider: it can be shut in every way that a provider fails, and is
// the failing half of a conformance harness's Provider. The zero value is open.
//
//	func (p *provider) read(ctx context.Context) error {
//		if err := p.Enter(ctx); err != nil {
//			return err
//		}
type Gate struct {
	mu      sync.Mutex
	calls   int
	refusal error
	hanging chan struct{} // nil when calls are answered
	drop    bool
}

// Enter begins a call: it answers how the call fails, if it does.
func (g *Gate) Enter(ctx context.Context) error {
	g.mu.Lock()
	g.calls++
	refusal, hanging := g.refusal, g.hanging
	g.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return refusal
}

// Leave ends a call that has written: it fails when the reply is to be lost.
func (g *Gate) Leave() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.drop {
		return nil
	}
	g.drop = false
	return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
		"The line was cut before the answer came.")
}

// Calls counts the calls that reached the gate, those that it refused among them.
func (g *Gate) Calls() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// Revoke has the credentials refused.
func (g *Gate) Revoke() {
	g.refuse(fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
		"The credentials do not count any more."))
}

// Forbid has what is asked refused to the account.
func (g *Gate) Forbid() {
	g.refuse(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The account may not do this."))
}

// Stop puts the provider out of reach.
func (g *Gate) Stop() {
	f := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider is out of reach.")
	f.Unsent = true
	g.refuse(f)
}

// Limit has calls refused because there were too many.
func (g *Gate) Limit(wait time.Duration) {
	f := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Too many calls.")
	f.RetryAfter = wait
	g.refuse(f)
}

func (g *Gate) refuse(f *fault.Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusal = f
}

// Hang has calls wait until release is called or their context ends.
func (g *Gate) Hang() (release func()) {
	hanging := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hanging = hanging
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.hanging = nil
		close(hanging)
	})
}

// DropNextReply has the next call that writes do so, and fail.
func (g *Gate) DropNextReply() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop = true
}
