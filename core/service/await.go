package service

import (
	"context"
	"sync"

	"frontdesk/core/store"
)

// waiters are the calls of this process that wait for an equal one that runs. Of those that wait for the
// same one, one reads the store for all.
type waiters struct {
	mu   sync.Mutex
	runs map[waitedFor]*waitedRun
}

// waitedFor names an intent.
type waitedFor struct{ tenant, operation, key string }

func intentName(i store.Intent) waitedFor { return waitedFor{i.TenantID, i.Operation, i.Key} }

// waitedRun is one that calls wait for.
type waitedRun struct {
	waiting int
	reader  chan struct{} // holds what the one who reads puts in
	over    chan struct{} // closed by the reader once the run has ended, or cannot be read
	err     error         // set before over is closed
}

// join counts a call among those that wait for an intent. It must leave.
func (w *waiters) join(i store.Intent) (run *waitedRun, leave func()) {
	name := intentName(i)
	w.mu.Lock()
	defer w.mu.Unlock()
	run = w.runs[name]
	if run == nil {
		run = &waitedRun{reader: make(chan struct{}, 1), over: make(chan struct{})}
		if w.runs == nil {
			w.runs = map[waitedFor]*waitedRun{}
		}
		w.runs[name] = run
	}
	run.waiting++
	return run, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if run.waiting--; run.waiting == 0 && w.runs[name] == run {
			delete(w.runs, name)
		}
	}
}

// has reports whether calls wait for an intent.
func (w *waiters) has(i store.Intent) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[intentName(i)] != nil
}

// ended tells the others. Who comes after that begins to wait anew.
func (w *waiters) ended(i store.Intent, run *waitedRun, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run.err = err
	delete(w.runs, intentName(i))
	close(run.over)
}

// wait returns what read does, which waits for the end of an intent's run: that of another call for the same
// intent, or its own. Where the call that reads has to go, another reads on.
func (w *waiters) wait(ctx context.Context, i store.Intent, read func() error) error {
	run, leave := w.join(i)
	defer leave()
	select {
	case <-run.over:
		return run.err
	case <-ctx.Done():
		return ctx.Err()
	case run.reader <- struct{}{}:
	}
	defer func() { <-run.reader }()
	select {
	case <-run.over: // while this one became the reader
		return run.err
	default:
	}
	err := read()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.ended(i, run, err)
	return err
}

// await waits until the run of an intent has ended, or until ctx ends. It only reads, and less often the
// longer it takes.
func (j *journal) await(ctx context.Context, i store.Intent) error {
	return j.waiters.wait(ctx, i, func() error {
		for wait := pollEvery; ; wait = min(2*wait, 8*pollEvery) {
			if err := pause(ctx, wait); err != nil {
				return err
			}
			now, found, err := j.store.Intent(ctx, i.TenantID, i.Operation, i.Key)
			if err != nil || !found || !j.runs(now) {
				return err
			}
		}
	})
}
