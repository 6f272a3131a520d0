package crm

import (
	"context"
	"sync"
	"time"
)

// LabelsLast is how long a driver may remember labels that it has read. People rename them, and no CRM reports it.
const LabelsLast = 10 * time.Minute

// Somebody on the phone waits for labels to be read anew, though those that are remembered would do. So that takes
// renewWithin at most, and is tried again after renewAgain only.
const (
	renewWithin = 2 * time.Second
	renewAgain  = time.Minute
)

// Remembered is what a driver has read and remembers for a while, such as labels. The zero value is empty. It is safe
// for concurrent use.
type Remembered[T any] struct {
	mu    sync.Mutex
	has   bool
	value T
	until time.Time
}

// Get returns what is remembered, and whether it is recent.
func (r *Remembered[T]) Get(now time.Time) (value T, recent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value, now.Before(r.until)
}

// Put remembers a value. It is recent until then.
func (r *Remembered[T]) Put(value T, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.has, r.value, r.until = true, value, until
}

// Forget drops the value, so that the next use requests it.
func (r *Remembered[T]) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none T
	r.has, r.value, r.until = false, none, time.Time{}
}

// Look returns the remembered value if enough accepts it, or what ask does, which puts it here. A value that is not
// recent is asked for anew by one call, while others go on with it, and serves on where that fails.
func (r *Remembered[T]) Look(
	ctx context.Context, now time.Time, ask func(context.Context) (T, error), enough func(T) bool,
) (T, error) {
	r.mu.Lock()
	known, has := r.value, r.has
	r.mu.Unlock()
	if !has || !enough(known) {
		return ask(ctx)
	}
	if !r.toRenew(now) {
		return known, nil
	}
	soon, cancel := context.WithTimeout(ctx, renewWithin)
	defer cancel()
	if renewed, err := ask(soon); err == nil {
		return renewed, nil
	}
	return known, nil
}

// toRenew reports whether the value is not recent. Until the caller has asked for it anew, it is for others.
func (r *Remembered[T]) toRenew(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.until) {
		return false
	}
	r.until = now.Add(renewAgain)
	return true
}
