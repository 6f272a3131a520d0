// Package singleflight lets calls that want the same value share one fetch. A fetch belongs to its group, not
// to the call that started it. If a caller leaves, the fetch goes on for the others. A panic in a fetch
// becomes an error for its callers. Close waits for the fetches. golang.org/x/sync/singleflight offers none
// of this.
package singleflight

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// Group is a set of fetches of one kind. Create one with [NewGroup].
type Group struct {
	base context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	running map[string]*fetch
	closed  bool
	wg      sync.WaitGroup
}

type fetch struct {
	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

// fetchTimeout bounds a fetch; callers have their own deadlines.
const fetchTimeout = 10 * time.Second

// NewGroup returns a group; Close ends it.
func NewGroup() *Group {
	base, stop := context.WithCancel(context.Background())
	return &Group{base: base, stop: stop, running: map[string]*fetch{}}
}

// Do returns the result of get, which runs once for all calls with the same key at the same time.
func Do[T any](ctx context.Context, g *Group, key string, get func(context.Context) (T, error)) (T, error) {
	var none T
	running, err := start(g, key, get)
	if err != nil {
		return none, err
	}
	select {
	case <-running.done:
	case <-ctx.Done():
		return none, fault.From(ctx.Err())
	}
	if running.err != nil {
		return none, running.err
	}
	return running.value.(T), nil
}

// Start runs get as Do does, but does not wait for the result.
func Start[T any](g *Group, key string, get func(context.Context) (T, error)) {
	_, _ = start(g, key, get) // a closed group fetches nothing
}

// start returns the fetch under way for the key, and starts it if there is none.
func start[T any](g *Group, key string, get func(context.Context) (T, error)) (*fetch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fault.New(fault.Unavailable, fault.ReasonOverloaded,
			"The gateway is shutting down. Try again in a moment.")
	}
	if there, ok := g.running[key]; ok {
		return there, nil
	}
	begun := &fetch{done: make(chan struct{})}
	g.running[key] = begun
	g.wg.Go(func() {
		defer close(begun.done)
		defer g.forget(key)
		begun.value, begun.err = run(g.base, get)
	})
	return begun, nil
}

// run calls get. A panic in it, such as in an adapter's open, fails this fetch and not the process.
func run[T any](base context.Context, get func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.From(telemetry.Recovered(r))
		}
	}()
	ctx, cancel := context.WithTimeout(base, fetchTimeout)
	defer cancel()
	return get(ctx)
}

func (g *Group) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, key)
}

// Close refuses new fetches, cancels those under way, and waits for them.
func (g *Group) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.stop()
	g.wg.Wait()
}
