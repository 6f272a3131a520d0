package guard

import (
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"frontdesk/core/fault"
)

// probeMargin is how long before the end of a try of a read the probe that follows it goes out.
const probeMargin = 500 * time.Millisecond

// report carries one try's verdict to both breakers, once.
type report struct {
	run                      *run
	doneHost, doneConnection func(error)
	probe, probeOfHost       bool

	mu    sync.Mutex
	given bool
	timer *time.Timer
}

// inDoubt is the breaker that makes the call doubtful, or nil: one that is open comes before one that is half open.
func (r *run) inDoubt() (b *breaker, open bool) {
	for _, s := range [...]*site{r.host, r.connection} {
		switch s.breaker.peek() {
		case gobreaker.StateOpen:
			return s.breaker, true
		case gobreaker.StateHalfOpen:
			b = s.breaker
		}
	}
	return b, false
}

// allow asks both breakers for a try.
func (r *run) allow() (*report, *fault.Error) {
	doneConnection, probing, f := r.connection.breaker.allow()
	if f != nil {
		return nil, f
	}
	doneHost, probingHost, f := r.host.breaker.allow()
	if f != nil {
		doneConnection(neither.err())
		return nil, f
	}
	return &report{run: r, doneHost: doneHost, doneConnection: doneConnection, probe: probing || probingHost, probeOfHost: probingHost}, nil
}

// watch bounds how long a probe keeps others waiting for its verdict: a provider that recovers while a probe hangs would
// otherwise be found out only after the probe's own deadline. The probe itself goes on. A read goes on until the next probe
// (see replaces), so its verdict waits until that one is due just before a try of a read would end by itself: a provider that is
// slow, and would be asked in vain for good if its probes were ended sooner, is let back in.
func (v *report) watch() {
	o := v.run.guard.options
	patience := o.Patience
	if v.run.op.Read {
		patience = max(patience, o.TryTimeout-o.BreakerOpenFor-probeMargin)
	}
	if !v.probe {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timer = time.AfterFunc(patience, func() { v.give(sick) })
}

// replaces ends the host's probe before this one, where it still hangs. A write is not cut off: it may be under way.
func (v *report) replaces(a *attempt) {
	if !v.probeOfHost {
		return
	}
	end := func() {}
	if v.run.op.Read {
		end = func() {
			a.replaced.Store(true)
			a.cancel()
			moment := time.NewTimer(obedience)
			defer moment.Stop()
			select {
			case <-a.over:
			case <-moment.C:
			}
		}
	}
	v.run.host.breaker.nextProbe(end)()
}

// record gives the verdict of an answer. A probe that was written off and is answered after all heals.
func (v *report) record(says verdict) {
	if v.give(says) || says != healthy {
		return
	}
	v.run.connection.breaker.heal()
	v.run.host.breaker.heal()
}

// give reports whether this was the first verdict.
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
	if says == sick { // before the breakers are told: it is then that they ask
		v.run.host.breaker.culprits.blame(v.run.target.Connection, time.Now())
	}
	v.doneConnection(says.err())
	v.doneHost(says.err())
	return true
}
