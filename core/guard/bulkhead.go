package guard

import (
	"container/list"
	"context"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// bulkhead bounds the concurrent calls and the calls that wait. It grants permits in order of request.
type bulkhead struct {
	queue  int
	gauges telemetry.Bulkhead

	mu      sync.Mutex
	limit   int
	inUse   int
	left    int       // calls in use that their callers have left
	waiting list.List // of chan struct{}, each closed when its permit is granted
}

// acquire takes a permit or waits for one until the context ends.
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
	case <-given: // granted in the meantime
		b.mu.Unlock()
		b.release()
	default:
		b.waiting.Remove(turn)
		b.mu.Unlock()
	}
	return fault.Unacted(ctx.Err())
}

// ask takes a permit at once, or queues and returns the position in the queue.
func (b *bulkhead) ask(limit int) (*list.Element, *fault.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	if b.hasRoom() && b.waiting.Len() == 0 {
		b.inUse++
		b.gauges.InUse(1)
		return nil, nil
	}
	if b.waiting.Len() >= b.queue {
		b.gauges.Refused()
		return nil, queueFull()
	}
	return b.waiting.PushBack(make(chan struct{})), nil
}

// tryAcquire takes a permit only if one is free.
func (b *bulkhead) tryAcquire(limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	if !b.hasRoom() || b.waiting.Len() > 0 {
		return false
	}
	b.inUse++
	b.gauges.InUse(1)
	return true
}

// release returns the permit, or hands it to the next in the queue.
func (b *bulkhead) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse--
	b.gauges.InUse(-1)
	b.grant()
}

// leave counts a call that its caller has left (1), and the end of such a call (-1), in either order.
func (b *bulkhead) leave(by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += by
	b.grant()
}

// hasRoom reports whether a permit is free. As many calls as there are permits may go on, left by their callers,
// beside those that hold one. The caller holds b.mu.
func (b *bulkhead) hasRoom() bool { return b.inUse-min(b.left, b.limit) < b.limit }

// grant hands free permits to the next in the queue. The caller holds b.mu.
func (b *bulkhead) grant() {
	for b.hasRoom() && b.waiting.Len() > 0 {
		next := b.waiting.Remove(b.waiting.Front()).(chan struct{})
		b.inUse++
		b.gauges.InUse(1)
		close(next)
	}
}

// permit holds the permits of a connection and a host for one call, and keeps their entries registered.
type permit struct {
	guard            *Guard
	connection, host *entry
	shared           func() // releases the permit that replicas share
}

// acquire takes the connection's permit first, so that the calls of a connection at its limit hold no permits
// of the host. The one that replicas share comes second, for the same reason. The calls that wait at one host
// are bounded together, whichever permit they wait for: the callers of a provider that hangs must not fill the
// gateway, however many accounts it has. A call that finds all permits free does not wait and is not counted.
func (c *call) acquire(ctx context.Context) (permit *permit, f *fault.Error) {
	if permit := c.tryAcquire(ctx, 0); permit != nil {
		return permit, nil
	}
	ctx, span := telemetry.StartSpan(ctx, "wait for a permit")
	defer func() { span.End("", reason(f)) }()
	defer c.host.waiting.Add(-1)
	if c.host.waiting.Add(1) > int64(c.guard.options.HostQueue) {
		c.host.bulkhead.gauges.Refused()
		return nil, queueFull()
	}
	if f := c.connection.bulkhead.acquire(ctx, c.limit()); f != nil {
		return nil, f
	}
	shared, f := c.share(ctx)
	if f != nil {
		c.connection.bulkhead.release()
		return nil, f
	}
	if f := c.host.bulkhead.acquire(ctx, c.guard.options.HostConcurrency); f != nil {
		shared()
		c.connection.bulkhead.release()
		return nil, f
	}
	return c.newPermit(shared), nil
}

// probeWait is how long a call that does not queue waits for a permit that replicas share. It has time to
// learn that one is free.
const probeWait = 250 * time.Millisecond

// tryAcquire is acquire without queueing. It returns nil if a permit is not free, or not within wait if
// replicas share it.
func (c *call) tryAcquire(ctx context.Context, wait time.Duration) *permit {
	if !c.connection.bulkhead.tryAcquire(c.limit()) {
		return nil
	}
	if !c.host.bulkhead.tryAcquire(c.guard.options.HostConcurrency) {
		c.connection.bulkhead.release()
		return nil
	}
	if shared, taken := c.tryShare(ctx, wait); taken {
		return c.newPermit(shared)
	}
	c.host.bulkhead.release()
	c.connection.bulkhead.release()
	return nil
}

// share takes the permit that replicas share, if the provider allows an account a certain number.
func (c *call) share(ctx context.Context) (release func(), f *fault.Error) {
	if !c.shares() {
		return func() {}, nil
	}
	release, err := c.guard.options.Permits.Acquire(ctx, c.target.Connection, c.target.MaxConcurrent)
	if err != nil {
		return nil, fault.Unacted(err)
	}
	return release, nil
}

// tryShare is share that waits at most for a time.
func (c *call) tryShare(ctx context.Context, wait time.Duration) (release func(), taken bool) {
	if !c.shares() {
		return func() {}, true
	}
	release, taken = c.guard.options.Permits.TryAcquire(c.target.Connection, c.target.MaxConcurrent)
	if taken || wait == 0 {
		return release, taken
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	release, f := c.share(bounded)
	return release, f == nil
}

// shares reports whether replicas share what the provider allows.
func (c *call) shares() bool { return c.guard.options.Permits != nil && c.target.MaxConcurrent > 0 }

// limit returns how many concurrent calls the connection may make.
func (c *call) limit() int {
	if c.target.MaxConcurrent > 0 {
		return c.target.MaxConcurrent
	}
	return c.guard.options.ConnectionConcurrency
}

func (c *call) newPermit(shared func()) *permit {
	c.guard.connections.again(c.connection)
	c.guard.hosts.again(c.host)
	return &permit{guard: c.guard, connection: c.connection, host: c.host, shared: shared}
}

// leave has the connection's next call not wait for a write that its caller has left (1), until it ends (-1). Where
// the provider limits concurrent calls, that write is still one of them.
func (c *call) leave(by int) {
	if !c.op.Read && c.target.MaxConcurrent == 0 {
		c.connection.bulkhead.leave(by)
	}
}

func (p *permit) release() {
	if p == nil {
		return
	}
	p.shared()
	p.host.bulkhead.release()
	p.connection.bulkhead.release()
	p.guard.hosts.unpin(p.host)
	p.guard.connections.unpin(p.connection)
}

func queueFull() *fault.Error {
	return unsent(fault.Unavailable, fault.ReasonOverloaded,
		"Too many calls are waiting for this provider. Try again shortly.", time.Second)
}

// unsent returns a fault that the gateway itself raises before it sends anything.
func unsent(code fault.Code, reason, detail string, retryAfter time.Duration) *fault.Error {
	f := fault.New(code, reason, detail)
	f.Unsent, f.RetryAfter = true, retryAfter
	return f
}
