package api

import (
	"sync/atomic"

	"frontdesk/core/fault"
)

// gate bounds the requests being answered. What reads is refused first: a list can be asked for again, a booking that
// is refused may be lost with the call it came from.
type gate struct {
	inside atomic.Int64
	reads  int64 // reads enter while fewer than this are inside
	writes int64
}

func newGate(most int) *gate {
	const readsShare = 0.8
	return &gate{reads: max(1, int64(float64(most)*readsShare)), writes: int64(most)}
}

// enter takes a place; leave gives it back.
func (g *gate) enter(writes bool) (leave func(), err error) {
	limit := g.reads
	if writes {
		limit = g.writes
	}
	if g.inside.Add(1) > limit {
		g.inside.Add(-1)
		return nil, fault.New(fault.Unavailable, fault.ReasonOverloaded, "The gateway has more requests than it can answer in time.")
	}
	return func() { g.inside.Add(-1) }, nil
}
