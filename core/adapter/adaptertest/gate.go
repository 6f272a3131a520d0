package adaptertest

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/fault"
)

// Gate injects failures into a fake provider: it makes calls fail in every way that a provider fails. It
// implements the failing half of a conformance harness's Provider. The zero value lets all calls through.
//
//	func (p *provider) read(ctx context.Context) error {
//		if err := p.Enter(ctx); err != nil {
//			return err
//		}
type Gate struct {
	mu      sync.Mutex
	calls   int
	refusal error
	hanging chan struct{} // nil if calls do not hang
	drop    bool
}

// Enter begins a call. It returns the error with which the call fails, if any.
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

// Leave ends a call that has written. It fails if the reply is to be lost.
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

// Calls returns the number of calls that reached the gate, including refused ones.
func (g *Gate) Calls() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// Revoke makes calls fail as if the credentials were refused.
func (g *Gate) Revoke() {
	g.refuse(fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
		"The credentials do not count any more."))
}

// Forbid makes calls fail as if the account lacked the permission.
func (g *Gate) Forbid() {
	g.refuse(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The account may not do this."))
}

// Stop makes calls fail as if the provider were unreachable.
func (g *Gate) Stop() {
	g.refuse(fault.Unacted(
		fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider is out of reach.")))
}

// Limit makes calls fail as if there were too many, with wait as RetryAfter.
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

// Hang makes calls wait until release is called or their context ends.
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

// DropNextReply makes the next call that writes take effect and then fail.
func (g *Gate) DropNextReply() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop = true
}
