package journal

import (
	"context"
	"sync"
	"time"

	"frontdesk/core/pause"
	"frontdesk/core/store"
)

// waiters are the calls of this process that wait for an equal running call. One of the calls that wait for
// the same run reads the store for all of them.
type waiters struct {
	mu     sync.Mutex
	shared map[intentID]*sharedWait
}

type intentID struct{ tenant, operation, key string }

func idOf(i store.Intent) intentID { return intentID{i.TenantID, i.Operation, i.Key} }

// sharedWait is the state that calls share while they wait for the same run.
type sharedWait struct {
	members int
	reader  chan struct{} // a semaphore that the reading call holds
	done    chan struct{} // closed by the reader once the run has ended or cannot be read
	err     error         // set before done is closed
}

// join adds a call to those that wait for an intent. The call must run leave when it stops waiting.
func (w *waiters) join(i store.Intent) (shared *sharedWait, leave func()) {
	name := idOf(i)
	w.mu.Lock()
	defer w.mu.Unlock()
	shared = w.shared[name]
	if shared == nil {
		shared = &sharedWait{reader: make(chan struct{}, 1), done: make(chan struct{})}
		if w.shared == nil {
			w.shared = map[intentID]*sharedWait{}
		}
		w.shared[name] = shared
	}
	shared.members++
	return shared, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if shared.members--; shared.members == 0 && w.shared[name] == shared {
			delete(w.shared, name)
		}
	}
}

// has reports whether calls wait for an intent.
func (w *waiters) has(i store.Intent) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shared[idOf(i)] != nil
}

// finish releases all calls that wait for an intent. A later call starts a new wait.
func (w *waiters) finish(i store.Intent, shared *sharedWait, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	shared.err = err
	delete(w.shared, idOf(i))
	close(shared.done)
}

// wait runs read, which waits for the end of an intent's run, and returns its result. If another call for the
// same intent reads already, wait returns the result of that read. If the reading call has to stop, another
// waiting call reads on.
func (w *waiters) wait(ctx context.Context, i store.Intent, read func() error) error {
	shared, leave := w.join(i)
	defer leave()
	select {
	case <-shared.done:
		return shared.err
	case <-ctx.Done():
		return ctx.Err()
	case shared.reader <- struct{}{}:
	}
	defer func() { <-shared.reader }()
	select {
	case <-shared.done: // while this call became the reader
		return shared.err
	default:
	}
	err := read()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.finish(i, shared, err)
	return err
}

const pollInterval = 40 * time.Millisecond // between the first reads of an equal call that still runs

// await waits until the run of an intent has ended or ctx ends. It only reads, at growing intervals.
func (j *Journal) await(ctx context.Context, i store.Intent) error {
	return j.waiters.wait(ctx, i, func() error {
		for wait := pollInterval; ; wait = min(2*wait, 8*pollInterval) {
			if err := pause.For(ctx, wait); err != nil {
				return err
			}
			now, found, err := j.opts.Store.Intent(ctx, i.TenantID, i.Operation, i.Key)
			if err != nil || !found || !j.IsRunning(now) {
				return err
			}
		}
	})
}
