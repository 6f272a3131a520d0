package budget

import (
	"context"
	"time"
)

// Acquire takes a permit, or waits for one until the context ends. release gives it back, and may be called
// once.
func (b *Budgets) Acquire(ctx context.Context, l Limit) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	h := b.hand(l, time.Now())
	if h.queue.Len() == 0 && b.enter(h) {
		b.mu.Unlock()
		return b.leave(h), nil
	}
	given := make(chan struct{})
	turn := h.queue.PushBack(given)
	b.kick(h)
	b.mu.Unlock()
	select {
	case <-given:
		return b.leave(h), nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-given: // granted in the meantime
		b.free(h)
	default:
		h.queue.Remove(turn)
	}
	return nil, ctx.Err()
}

// TryAcquire takes a permit only if one is in hand.
func (b *Budgets) TryAcquire(l Limit) (release func(), taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hand(l, time.Now())
	if h.queue.Len() > 0 || !b.enter(h) {
		return nil, false
	}
	return b.leave(h), true
}

// enter takes a permit if one is in hand. The caller holds b.mu.
func (b *Budgets) enter(h *hand) bool {
	if h.inUse >= b.usable(h, time.Now()) {
		return false
	}
	h.inUse++
	if h.inUse == h.units { // ahead of the next call
		b.kick(h)
	}
	return true
}

// usable returns how many permits may be in use. The caller holds b.mu.
func (b *Budgets) usable(h *hand, now time.Time) int {
	switch {
	case b.opts.Ledger == nil:
		return h.limit.Units
	case now.Before(h.until):
		return h.units
	case b.away || b.closed:
		if b.replicas == 0 {
			return 1
		}
		return max(1, h.limit.Units/b.replicas)
	}
	return 0
}

// leave returns the function that releases a permit.
func (b *Budgets) leave(h *hand) func() {
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if h.limit.Rest <= 0 {
			b.free(h)
			return
		}
		time.AfterFunc(h.limit.Rest, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.free(h)
		})
	}
}

// free takes a permit back. The caller holds b.mu.
func (b *Budgets) free(h *hand) {
	h.inUse--
	h.used = time.Now()
	if h.owed > 0 {
		h.owed--
		h.units = max(h.inUse, h.units-1)
		h.poll = time.Time{}
		b.kick(h)
	}
	b.serve(h)
	if b.opts.Ledger == nil && h.inUse == 0 { // with a ledger, lease drops it
		delete(b.hands, h.limit.Name)
	}
}

// serve gives permits in hand to those who wait, in the order in which they came. The caller holds b.mu.
func (b *Budgets) serve(h *hand) {
	for h.queue.Len() > 0 && h.inUse < b.usable(h, time.Now()) {
		next := h.queue.Remove(h.queue.Front()).(chan struct{})
		h.inUse++
		close(next)
	}
	if h.queue.Len() > 0 {
		h.used = time.Now()
	}
}

// wantPermits returns how many permits to ask for, how many of those in hand stay usable meanwhile, and one more
// for the next call. The caller holds b.mu.
func (b *Budgets) wantPermits(h *hand, now time.Time) (want, need, spare int) {
	want = min(h.inUse+h.queue.Len(), h.limit.Units)
	if now.Sub(h.used) <= idleFor && want < h.limit.Units {
		spare = 1
	}
	if h.waiting || !now.Before(h.until) {
		h.units = h.inUse // others decide about the rest
	}
	h.units = max(h.inUse, min(h.units, want+spare))
	return want, h.units, spare
}
