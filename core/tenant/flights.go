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

// flights lets calls that want the same thing wait for one that fetches it. A fetch belongs to the directory, not to
// the call that began it: a caller who leaves does not end it for the others.
type flights struct {
	base context.Context

	mu      sync.Mutex
	running map[string]*flight
	closed  bool
	done    sync.WaitGroup
}

type flight struct {
	landed chan struct{} // closed when value and err are set
	value  any
	err    error
}

// fetchTimeout bounds a fetch; callers have deadlines of their own.
const fetchTimeout = 10 * time.Second

func newFlights(base context.Context) *flights {
	return &flights{base: base, running: map[string]*flight{}}
}

// fly returns what fetch answers, fetching once for all calls that ask under the same key at the same time.
func fly[T any](ctx context.Context, f *flights, key string, fetch func(context.Context) (T, error)) (T, error) {
	var none T
	flight, err := f.board(key, func(ctx context.Context) (any, error) { return fetch(ctx) })
	if err != nil {
		return none, err
	}
	select {
	case <-flight.landed:
	case <-ctx.Done():
		return none, fault.From(ctx.Err())
	}
	if flight.err != nil {
		return none, flight.err
	}
	return flight.value.(T), nil
}

// board returns the flight under way for the key, starting it when there is none.
func (f *flights) board(key string, fetch func(context.Context) (any, error)) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fault.New(fault.Unavailable, fault.ReasonOverloaded, "The gateway is stopping. Try again in a moment.")
	}
	if there, ok := f.running[key]; ok {
		return there, nil
	}
	begun := &flight{landed: make(chan struct{})}
	f.running[key] = begun
	f.done.Go(func() {
		defer close(begun.landed)
		defer f.land(key)
		begun.value, begun.err = f.run(fetch)
	})
	return begun, nil
}

// run calls fetch. A panic in it, such as in an adapter's open, fails this fetch and not the process.
func (f *flights) run(fetch func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.From(fmt.Errorf("panic: %s\n%s", telemetry.Panic(r), debug.Stack()))
		}
	}()
	ctx, cancel := context.WithTimeout(f.base, fetchTimeout)
	defer cancel()
	return fetch(ctx)
}

func (f *flights) land(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, key)
}

// close refuses new flights and waits for those under way, whose context has ended.
func (f *flights) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.done.Wait()
}
