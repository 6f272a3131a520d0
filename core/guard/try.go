package guard

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// obedience is how long after its deadline a read may still hand in the fault that says best what happened.
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
	if f := r.limited(); f != nil {
		return nil, f, false
	}
	v, f := r.allow()
	if f != nil {
		return nil, f, false
	}
	tryCtx, cancel := r.context(ctx)
	a := &attempt{run: r, place: r.place, cancel: cancel, answered: make(chan struct{}), over: make(chan struct{}), started: time.Now()}
	r.guard.stay()
	v.replaces(a)
	v.watch()
	go a.start(tryCtx)

	if !a.wait(ctx, tryCtx, r.op.Read) && a.state.CompareAndSwap(running, givenUp) {
		r.place = nil // the place is the attempt's until it ends
		f = r.givenUp(ctx)
		v.record(judgeSilence(ctx, time.Since(a.started), r.guard.options.Patience))
		return nil, f, !r.op.Read || ctx.Err() != nil
	}
	<-a.answered
	if a.replaced.Load() && a.fault != nil && a.fault.Code == fault.Canceled {
		a.fault = r.givenUp(ctx) // it was not its caller who ended it
	}
	v.record(judge(a.fault, a.ended, time.Since(a.started), r.guard.options.Patience))
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

	replaced atomic.Bool // a probe that was ended for the next one
	state    atomic.Int32
	answered chan struct{} // closed by the goroutine once delivered
	over     chan struct{} // closed by the goroutine once the driver has returned
	result   any
	fault    *fault.Error
	ended    bool // the context had, when the driver answered
}

// wait reports whether the attempt has answered; if not, the time for it is over. A read is told so, and is given a moment
// to say what happened; a write is not told.
func (a *attempt) wait(ctx, tryCtx context.Context, read bool) bool {
	if !read {
		select {
		case <-a.answered:
			return true
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-a.answered:
		return true
	case <-tryCtx.Done():
	}
	moment := time.NewTimer(obedience)
	defer moment.Stop()
	select {
	case <-a.answered:
		return true
	case <-moment.C:
		return false
	}
}

// start runs to its end whatever the driver does: return, panic, or end its goroutine.
func (a *attempt) start(ctx context.Context) {
	defer a.run.guard.leave()
	defer a.cancel()
	defer a.deliver()
	defer a.caught(ctx)
	defer close(a.over)
	a.fault = fault.From(errGone)
	result, err := a.run.call(ctx)
	a.result, a.fault, a.ended = result, fault.From(err), ctx.Err() != nil
	if a.fault != nil {
		a.result = nil
	}
}

// errGone is the cause of a fault when a driver ended its goroutine (runtime.Goexit).
var errGone = errors.New("the driver did not return")

// caught makes a panic a fault. The stack is logged here, the only place that has it.
func (a *attempt) caught(ctx context.Context) {
	cause := recover()
	if cause == nil {
		return
	}
	a.result, a.fault = nil, fault.From(errors.New("driver panicked: "+telemetry.Panic(cause)))
	a.run.logPanic(ctx, "driver panicked", cause)
}

func (r *run) logPanic(ctx context.Context, what string, cause any) {
	r.guard.options.Log.LogAttrs(ctx, slog.LevelError, what,
		telemetry.Provider(r.target.Provider), telemetry.Connection(r.target.Connection), telemetry.Operation(r.op.Name),
		slog.String("panic", telemetry.Panic(cause)), slog.String("stack", string(debug.Stack())))
}

// deliver hands the outcome to the run, or to Op.Late when the run has gone.
func (a *attempt) deliver() {
	a.run.heed(a.fault)
	if a.state.CompareAndSwap(running, delivered) {
		close(a.answered)
		return
	}
	a.place.release()
	a.run.guard.options.Metrics.Late(a.run.labels, outcome(a.fault))
	late := a.run.op.Late
	if a.run.op.Read || late == nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			a.run.logPanic(context.Background(), "settling a late result panicked", cause)
		}
	}()
	if a.fault != nil {
		late(nil, a.fault)
		return
	}
	late(a.result, nil)
}
