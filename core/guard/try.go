package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// obedience is how long after its deadline a driver may still hand in the answer that says best what happened.
const obedience = 20 * time.Millisecond

type driverCall func(context.Context) (any, error)

// run is one call of Do.
type run struct {
	guard  *Guard
	target Target
	op     Op
	labels telemetry.CallLabels
	call   driverCall

	host, connection *site
	place            *place // nil while a try that was given up holds it
}

// try is one call of the driver. final means that no other try may follow: the caller's time is over, or a write is still
// running.
func (r *run) try(ctx context.Context) (result any, f *fault.Error, final bool) {
	v, f := r.allow()
	if f != nil {
		return nil, f, false
	}
	tryCtx, cancel := r.context(ctx)
	a := &attempt{run: r, place: r.place, cancel: cancel, answered: make(chan struct{}), started: time.Now()}
	r.guard.stay()
	v.watch(r.guard.options.Patience)
	go a.start(tryCtx)

	if !a.wait(ctx, tryCtx, r.op.Read) && a.state.CompareAndSwap(running, givenUp) {
		r.place = nil // the place is the attempt's until it ends
		f = r.givenUp(ctx)
		v.record(judgeSilence(ctx, time.Since(a.started), r.guard.options.Patience))
		return nil, f, !r.op.Read || ctx.Err() != nil
	}
	<-a.answered
	v.record(judge(a.fault, tryCtx.Err() != nil, time.Since(a.started), r.guard.options.Patience))
	return a.result, a.fault, ctx.Err() != nil
}

// context is what the driver gets. A read ends with its try. A write is not told that its caller gave up: cancelling what
// was sent makes an outcome unknown that would be known a moment later.
func (r *run) context(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := r.guard.options.TryTimeout
	if !r.op.Read {
		end, _ := ctx.Deadline() // guarded set one
		timeout = time.Until(end) + r.guard.options.WriteGrace
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	release := context.AfterFunc(r.guard.stopping, cancel)
	return ctx, func() { release(); cancel() }
}

func (r *run) givenUp(ctx context.Context) *fault.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.New(fault.Canceled, fault.ReasonCanceled, "The caller left before the provider answered.").
			With("provider", r.target.Provider)
	}
	return fault.Newf(fault.Timeout, fault.ReasonDeadlineExceeded, "The provider %s did not answer in time.", r.target.Provider).
		With("provider", r.target.Provider)
}

// The states of an attempt. Whoever changes running owns what follows: the attempt its delivery, or the run that gave
// it up the answer to the caller.
const (
	running int32 = iota
	delivered
	givenUp
)

// attempt is one call of the driver in a goroutine of its own, so that a driver that ignores its context does not
// hold the caller.
type attempt struct {
	run     *run
	place   *place
	cancel  context.CancelFunc
	started time.Time

	state    atomic.Int32
	answered chan struct{} // closed by the goroutine once delivered
	result   any
	fault    *fault.Error
}

// wait reports whether the attempt has answered; if not, the time for it is over.
func (a *attempt) wait(ctx, tryCtx context.Context, read bool) bool {
	if !read {
		tryCtx = ctx // a write's own context outlives its caller's
	}
	select {
	case <-a.answered:
		return true
	case <-tryCtx.Done():
	}
	patience := time.NewTimer(obedience)
	defer patience.Stop()
	select {
	case <-a.answered:
		return true
	case <-patience.C:
		return false
	}
}

func (a *attempt) start(ctx context.Context) {
	g := a.run.guard
	defer g.leave()
	defer a.cancel()
	result, err := a.protected(ctx)
	f := fault.From(err)
	if f != nil {
		result = nil
	}
	a.result, a.fault = result, f
	if a.state.CompareAndSwap(running, delivered) {
		close(a.answered)
		return
	}
	a.place.release()
	g.options.Metrics.Late(a.run.labels, outcome(f))
	a.tell(result, f)
}

// protected calls the driver and makes a panic a fault. The stack is logged here, the only place that has it.
func (a *attempt) protected(ctx context.Context) (result any, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		cause := recover() // nil after runtime.Goexit, which takes this goroutine with it
		a.run.guard.options.Log.LogAttrs(ctx, slog.LevelError, "driver panicked",
			telemetry.Provider(a.run.target.Provider), telemetry.Connection(a.run.target.Connection),
			telemetry.Operation(a.run.op.Name), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
		result, err = nil, fault.From(fmt.Errorf("driver panicked: %v", cause))
	}()
	result, err = a.run.call(ctx)
	returned = true
	return result, err
}

// tell hands a late outcome of a write to who asked for it.
func (a *attempt) tell(result any, f *fault.Error) {
	late := a.run.op.Late
	if a.run.op.Read || late == nil {
		return
	}
	if f != nil {
		late(nil, f)
		return
	}
	late(result, nil)
}
