package guard

import (
	"container/list"
	"context"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// bulkhead bounds the calls at once, and those that wait for a place. Places are given in the order of asking.
type bulkhead struct {
	queue  int
	gauges *telemetry.Bulkhead

	mu      sync.Mutex
	limit   int
	inUse   int
	waiting list.List // of chan struct{}, closed when the place is given
}

// acquire takes a place or waits for one until the context ends.
func (b *bulkhead) acquire(ctx context.Context, limit int) *fault.Error {
	turn, f := b.ask(limit)
	if f != nil || turn == nil {
		return f
	}
	b.gauges.Waiting(1)
	defer b.gauges.Waiting(-1)
	given := turn.Value.(chan struct{})
	select {
	case <-given:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	select {
	case <-given: // meanwhile
		b.mu.Unlock()
		b.release()
	default:
		b.waiting.Remove(turn)
		b.mu.Unlock()
	}
	f = fault.From(ctx.Err())
	f.Unsent = true
	return f
}

// ask takes a place at once, or queues: then it answers the place in the queue.
func (b *bulkhead) ask(limit int) (*list.Element, *fault.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	if b.inUse < b.limit && b.waiting.Len() == 0 {
		b.inUse++
		b.gauges.InUse(1)
		return nil, nil
	}
	if b.waiting.Len() >= b.queue {
		b.gauges.Refused()
		return nil, crowded()
	}
	return b.waiting.PushBack(make(chan struct{})), nil
}

// tryAcquire takes a place only if one is free.
func (b *bulkhead) tryAcquire(limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	if b.inUse >= b.limit || b.waiting.Len() > 0 {
		return false
	}
	b.inUse++
	b.gauges.InUse(1)
	return true
}

// release gives the place to the next in the queue, or back.
func (b *bulkhead) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse--
	b.gauges.InUse(-1)
	for b.inUse < b.limit && b.waiting.Len() > 0 {
		next := b.waiting.Remove(b.waiting.Front()).(chan struct{})
		b.inUse++
		b.gauges.InUse(1)
		close(next)
	}
}

// place is what one call holds: a place of its connection and one of its host. It keeps both from being forgotten.
type place struct {
	guard            *Guard
	connection, host *site
}

// takePlace takes the connection's place first: calls of one connection that is at its limit must not fill the host's. All
// who wait at one host are bounded, whichever place they wait for: however many accounts a provider that hangs has, its
// callers must not be all that the gateway can hold. Who finds both places free does not wait, and is not bounded by those
// who do.
func (r *run) takePlace(ctx context.Context) (*place, *fault.Error) {
	if place := r.takeFreePlace(); place != nil {
		return place, nil
	}
	defer r.host.waiting.Add(-1)
	if r.host.waiting.Add(1) > int64(r.guard.options.HostQueue) {
		r.host.bulkhead.gauges.Refused()
		return nil, crowded()
	}
	if f := r.connection.bulkhead.acquire(ctx, r.limit()); f != nil {
		return nil, f
	}
	if f := r.host.bulkhead.acquire(ctx, r.guard.options.HostConcurrency); f != nil {
		r.connection.bulkhead.release()
		return nil, f
	}
	return r.newPlace(), nil
}

// takeFreePlace does not queue: it answers nil when no place is free.
func (r *run) takeFreePlace() *place {
	if !r.connection.bulkhead.tryAcquire(r.limit()) {
		return nil
	}
	if !r.host.bulkhead.tryAcquire(r.guard.options.HostConcurrency) {
		r.connection.bulkhead.release()
		return nil
	}
	return r.newPlace()
}

// limit is how many calls at once the connection may make.
func (r *run) limit() int {
	if r.target.MaxConcurrent > 0 {
		return r.target.MaxConcurrent
	}
	return r.guard.options.ConnectionConcurrency
}

func (r *run) newPlace() *place {
	r.guard.connections.again(r.connection)
	r.guard.hosts.again(r.host)
	return &place{guard: r.guard, connection: r.connection, host: r.host}
}

func (p *place) release() {
	if p == nil {
		return
	}
	p.host.bulkhead.release()
	p.connection.bulkhead.release()
	p.guard.hosts.unpin(p.host)
	p.guard.connections.unpin(p.connection)
}

func crowded() *fault.Error {
	return unsent(fault.Unavailable, fault.ReasonOverloaded, "Too many calls are waiting for this provider. Try again shortly.", time.Second)
}

// unsent is a fault of our own making: nothing was sent.
func unsent(code fault.Code, reason, detail string, retryAfter time.Duration) *fault.Error {
	f := fault.New(code, reason, detail)
	f.Unsent, f.RetryAfter = true, retryAfter
	return f
}
