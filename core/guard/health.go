package guard

import (
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"frontdesk/core/fault"
)

// probeMargin is how long before the end of a read's attempt the next probe starts.
const probeMargin = 500 * time.Millisecond

// report passes the verdict on one attempt to both breakers, once.
type report struct {
	call                     *call
	doneHost, doneConnection func(error)
	probe, probeOfHost       bool

	mu    sync.Mutex
	given bool
	timer *time.Timer
}

// inDoubt returns a breaker that is not closed, an open one before a half-open one; nil if both are closed.
func (c *call) inDoubt() (b *breaker, open bool) {
	for _, s := range [...]*entry{c.host, c.connection} {
		switch s.breaker.peek() {
		case gobreaker.StateOpen:
			return s.breaker, true
		case gobreaker.StateHalfOpen:
			b = s.breaker
		}
	}
	return b, false
}

// allow requests an attempt from both breakers.
func (c *call) allow() (*report, *fault.Error) {
	doneConnection, probing, f := c.connection.breaker.allow()
	if f != nil {
		return nil, f
	}
	doneHost, probingHost, f := c.host.breaker.allow()
	if f != nil {
		doneConnection(excluded.err())
		return nil, f
	}
	return &report{
		call: c, doneHost: doneHost, doneConnection: doneConnection, probe: probing || probingHost,
		probeOfHost: probingHost,
	}, nil
}

// watch bounds how long other calls wait for a probe's verdict. Without it, a provider that recovers while a
// probe hangs would stay shut out until the probe's own deadline. The probe itself goes on. A read goes on
// until the next probe starts (see replaces), so its verdict is delayed: the next probe then starts just
// before the read's attempt would time out. Otherwise all probes of a slow provider would be cancelled too
// soon.
func (v *report) watch() {
	o := v.call.guard.options
	patience := o.Patience
	if v.call.op.Read {
		patience = max(patience, o.TryTimeout-o.BreakerOpenFor-probeMargin)
	}
	if !v.probe {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(patience, func() { v.give(failure) })
}

// replaces cancels the host's previous probe if it still hangs. A write may be under way, so it goes on.
func (v *report) replaces(a *attempt) {
	if !v.probeOfHost {
		return
	}
	end := func() {}
	if v.call.op.Read {
		end = func() {
			a.replaced.Store(true)
			a.cancel()
			moment := time.NewTimer(cancelGrace)
			defer moment.Stop()
			select {
			case <-a.over:
			case <-moment.C:
			}
		}
	}
	v.call.host.breaker.nextProbe(end)()
}

// record gives the verdict on an outcome. A late success of a probe that counted as failed closes the
// breakers.
func (v *report) record(says verdict) {
	if v.give(says) || says != success {
		return
	}
	v.call.connection.breaker.reset()
	v.call.host.breaker.reset()
}

// give passes the verdict on unless there was one already, and reports whether this was the first.
func (v *report) give(says verdict) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.given {
		return false
	}
	v.given = true
	if v.timer != nil {
		v.timer.Stop()
	}
	if says == failure { // before the breakers get the verdict, since ReadyToTrip reads this
		v.call.host.breaker.failed.add(v.call.target.Connection, time.Now())
	}
	v.doneConnection(says.err())
	v.doneHost(says.err())
	if says == success {
		v.call.report(success)
	} else if _, open := v.call.inDoubt(); says == failure && open {
		v.call.report(failure)
	}
	return true
}

// report tells Options.Health what an attempt showed.
func (c *call) report(says verdict) {
	switch health := c.guard.options.Health; {
	case health == nil:
	case says == success:
		health.Up(c.target.Connection)
	case says == failure:
		health.Down(c.target.Connection)
	}
}
