package tenant

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// fetchGroup lets calls that want the same value share one fetch (single flight). A fetch belongs to the
// directory, not to the call that started it: a caller who leaves does not end it for the others, and close
// waits for it. That is what golang.org/x/sync/singleflight does not offer.
type fetchGroup struct {
	base context.Context

	mu      sync.Mutex
	running map[string]*sharedFetch
	closed  bool
	wg      sync.WaitGroup
}

type sharedFetch struct {
	done  chan struct{} // closed when value and err are set
	value any
	err   error
}

// fetchTimeout bounds a fetch; callers have deadlines of their own.
const fetchTimeout = 10 * time.Second

func newFetchGroup(base context.Context) *fetchGroup {
	return &fetchGroup{base: base, running: map[string]*sharedFetch{}}
}

// shared returns the result of fetch, which runs once for all calls with the same key at the same time.
func shared[T any](ctx context.Context, g *fetchGroup, key string, fetch func(context.Context) (T, error)) (T, error) {
	var none T
	running, err := g.start(key, func(ctx context.Context) (any, error) { return fetch(ctx) })
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

// start returns the fetch under way for the key, and starts it if there is none.
func (g *fetchGroup) start(key string, fetch func(context.Context) (any, error)) (*sharedFetch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, fault.New(fault.Unavailable, fault.ReasonOverloaded,
			"The gateway is shutting down. Try again in a moment.")
	}
	if there, ok := g.running[key]; ok {
		return there, nil
	}
	begun := &sharedFetch{done: make(chan struct{})}
	g.running[key] = begun
	g.wg.Go(func() {
		defer close(begun.done)
		defer g.forget(key)
		begun.value, begun.err = g.run(fetch)
	})
	return begun, nil
}

// run calls fetch. A panic in it, such as in an adapter's open, fails this fetch and not the process.
func (g *fetchGroup) run(fetch func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.From(fmt.Errorf("panic: %s\n%s", telemetry.Panic(r), debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(g.base, fetchTimeout)
	defer cancel()
	return fetch(ctx)
}

func (g *fetchGroup) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, key)
}

// close refuses new fetches and waits for those under way, whose context has ended.
func (g *fetchGroup) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wg.Wait()
}
