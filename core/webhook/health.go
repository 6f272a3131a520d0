package webhook

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"frontdesk/core/store"
)

// Health tells webhooks when a connection's provider stops answering, and when it answers again. It learns
// that from this process's circuit breakers (guard.Health). The store keeps one state for all replicas, so
// each change is told once. Create one with [NewHealth].
type Health struct {
	store *store.Store
	log   *slog.Logger
	wake  chan struct{} // has an element if there is something to write

	some    atomic.Bool // whether down is not empty
	mu      sync.Mutex
	down    map[string]bool // connections that were down when last seen, by this process or in the store
	changes map[string]bool // what to write: whether a connection is down
}

// NewHealth returns a new Health.
func NewHealth(s *store.Store, log *slog.Logger) *Health {
	return &Health{
		store: s, log: log, wake: make(chan struct{}, 1), down: map[string]bool{}, changes: map[string]bool{},
	}
}

// Down implements guard.Health.
func (h *Health) Down(connectionID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.down[connectionID] {
		h.down[connectionID] = true
		h.some.Store(true)
		h.change(connectionID, true)
	}
}

// Up implements guard.Health. While no connection is down, it costs one load.
func (h *Health) Up(connectionID string) {
	if !h.some.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[connectionID] {
		delete(h.down, connectionID)
		h.some.Store(len(h.down) > 0)
		h.change(connectionID, false)
	}
}

// change notes what to write. The caller holds h.mu.
func (h *Health) change(connectionID string, down bool) {
	h.changes[connectionID] = down
	select {
	case h.wake <- struct{}{}:
	default: // the next write takes it along
	}
}

// learnEvery is how soon this process learns what others have found to be down. It may be the first whose
// call succeeds again.
const learnEvery = 10 * time.Second

// Run writes changes until ctx ends.
func (h *Health) Run(ctx context.Context) {
	tick := time.NewTicker(learnEvery)
	defer tick.Stop()
	for {
		h.learn(ctx)
		h.write(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.wake:
		}
	}
}

func (h *Health) learn(ctx context.Context) {
	all, err := h.store.DownConnections(ctx)
	if err != nil {
		return // the next tick tries again
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// What others saw come up again is not kept: its next outage is a change, which must be told.
	h.down = map[string]bool{}
	for _, id := range all {
		h.down[id] = true
	}
	for id, down := range h.changes { // what is not stored yet
		if down {
			h.down[id] = true
		} else {
			delete(h.down, id)
		}
	}
	h.some.Store(len(h.down) > 0)
}

// write stores the changes. What cannot be stored is tried again with the next tick.
func (h *Health) write(ctx context.Context) {
	h.mu.Lock()
	changes := h.changes
	h.changes = map[string]bool{}
	h.mu.Unlock()
	for id, down := range changes {
		_, err := h.store.SetProviderHealth(ctx, id, down)
		if err == nil {
			continue
		}
		h.log.WarnContext(ctx, "whether a provider answers could not be recorded; it will be tried again",
			"connection", id, "down", down, "error", err)
		h.mu.Lock()
		if _, newer := h.changes[id]; !newer {
			h.changes[id] = down
		}
		h.mu.Unlock()
	}
}
