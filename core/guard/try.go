package guard

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// cancelGrace is how long after its deadline a read may still return: its own fault explains best what
// happened.
const cancelGrace = 20 * time.Millisecond

type driverCall func(context.Context) (any, error)

// call is one call of Do.
type call struct {
	guard  *Guard
	target Target
	op     Op
	labels telemetry.CallLabels
	driver driverCall

	host, connection *entry
	permit           *permit // nil while an abandoned attempt holds it
	tries            int     // begun so far
}

// try makes one attempt. final means that no other may follow: the caller's context has ended, or a write is
// still running.
func (c *call) try(ctx context.Context) (result any, f *fault.Error, final bool) {
	if f := c.checkLimit(); f != nil {
		return nil, f, false
	}
	v, f := c.allow()
	if f != nil {
		return nil, f, false
	}
	tryCtx, cancel := c.context(ctx)
	tryCtx, trail := telemetry.Begin(tryCtx, c.labels, c.target.Connection, time.Now())
	c.tries++
	tryCtx, span := telemetry.StartCall(tryCtx, c.labels, c.target.Connection, c.tries)
	defer func() {
		trail.End(outcome(f), reason(f), time.Now())
		span.End(outcome(f), reason(f))
	}()
	a := &attempt{
		call: c, permit: c.permit, cancel: cancel, answered: make(chan struct{}), over: make(chan struct{}),
		started: time.Now(),
	}
	c.guard.retain()
	v.replaces(a)
	v.watch()
	go a.start(tryCtx)

	if !a.wait(ctx, tryCtx, c.op.Read) && a.state.CompareAndSwap(running, givenUp) {
		c.permit = nil // the attempt keeps the permit until it ends
		c.leave(1)
		f = c.givenUp(ctx)
		v.record(judgeSilence(ctx, time.Since(a.started), c.guard.options.Patience))
		return nil, f, !c.op.Read || ctx.Err() != nil
	}
	<-a.answered
	if a.replaced.Load() && a.fault != nil && a.fault.Code == fault.Canceled {
		a.fault = c.givenUp(ctx) // the next probe cancelled it, not its caller
	}
	v.record(judge(a.fault, a.ended, time.Since(a.started), c.guard.options.Patience))
	return a.result, a.fault, ctx.Err() != nil
}

// context returns the driver's context. For a read it ends with the attempt. For a write it does not end when
// the caller gives up, since cancelling a request that was sent would leave its outcome unknown.
func (c *call) context(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := c.guard.options.TryTimeout
	if !c.op.Read {
		end, _ := ctx.Deadline() // callWithPermit set one
		timeout = time.Until(end) + c.guard.options.WriteGrace
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	release := context.AfterFunc(c.guard.stopping, cancel)
	return ctx, func() { release(); cancel() }
}

func (c *call) givenUp(ctx context.Context) *fault.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.New(fault.Canceled, fault.ReasonCanceled, "The caller left before the provider answered.").
			With("provider", c.target.Provider)
	}
	return fault.Newf(fault.Timeout, fault.ReasonDeadlineExceeded, "The provider %s did not answer in time.",
		c.target.Provider).
		With("provider", c.target.Provider)
}

// The states of an attempt. Whichever side changes running decides the result: the attempt delivers its
// outcome, or the call abandons the attempt and returns a fault to the caller.
const (
	running int32 = iota
	delivered
	givenUp
)

// attempt is one call of the driver in its own goroutine, so that a driver that ignores its context does not
// hold up the caller.
type attempt struct {
	call    *call
	permit  *permit
	cancel  context.CancelFunc
	started time.Time

	replaced atomic.Bool // it was a probe, and the next probe cancelled it
	state    atomic.Int32
	answered chan struct{} // closed by the goroutine once delivered
	over     chan struct{} // closed by the goroutine once the driver has returned
	result   any
	fault    *fault.Error
	ended    bool // the context had ended when the driver returned
	returned bool
}

// wait reports whether the attempt returned in time. A read whose context has ended gets cancelGrace to
// return its fault. A write is not cancelled.
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
	moment := time.NewTimer(cancelGrace)
	defer moment.Stop()
	select {
	case <-a.answered:
		return true
	case <-moment.C:
		return false
	}
}

// deepen gives a new goroutine the stack that drivers need, 16 KiB. Go would double it three times, and copy and adjust
// all that is there by then.
//
//go:noinline
func deepen() {
	var room [7 << 10]byte
	runtime.KeepAlive(&room)
}

// start runs to its end whatever the driver does: return, panic, or exit its goroutine.
func (a *attempt) start(ctx context.Context) {
	deepen()
	defer a.call.guard.exit()
	defer a.cancel()
	defer a.deliver()
	defer a.caught(ctx)
	defer close(a.over)
	result, err := a.call.driver(ctx)
	a.returned, a.result, a.fault, a.ended = true, result, fault.From(err), ctx.Err() != nil
	if a.fault != nil {
		a.result = nil
	}
}

// errGone is the cause of the fault when a driver exited its goroutine (runtime.Goexit).
var errGone = errors.New("the driver did not return")

// caught turns a panic and an exit into a fault. It logs the stack, which only exists here.
func (a *attempt) caught(ctx context.Context) {
	cause := recover()
	if cause == nil {
		if !a.returned {
			a.fault = fault.From(errGone)
		}
		return
	}
	a.result, a.fault = nil, fault.From(errors.New("driver panicked: "+telemetry.Panic(cause)))
	a.call.logPanic(ctx, "driver panicked", cause)
}

func (c *call) logPanic(ctx context.Context, what string, cause any) {
	c.guard.options.Log.LogAttrs(ctx, slog.LevelError, what,
		telemetry.Provider(c.target.Provider), telemetry.Connection(c.target.Connection),
		telemetry.Operation(c.op.Name),
		slog.String("panic", telemetry.Panic(cause)), slog.String("stack", string(debug.Stack())))
}

// deliver hands the outcome to try, or to Op.Late if try has given up.
func (a *attempt) deliver() {
	a.call.observeRetryAfter(a.fault)
	if a.state.CompareAndSwap(running, delivered) {
		close(a.answered)
		return
	}
	a.call.leave(-1)
	a.permit.release()
	a.call.guard.options.Metrics.Late(a.call.labels, outcome(a.fault))
	late := a.call.op.Late
	if a.call.op.Read || late == nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			a.call.logPanic(context.Background(), "settling a late result panicked", cause)
		}
	}()
	if a.fault != nil {
		late(nil, a.fault)
		return
	}
	late(a.result, nil)
}
