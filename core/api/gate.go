package api

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// gate bounds the requests being answered, so that those let in are answered in time and the others are told at once.
// What reads is refused first: a list can be asked for again, a booking that is refused may be lost with the call it
// came from.
//
// No fixed bound is right: a thousand requests that wait for a slow provider cost nothing, and a hundred that want a
// processor are too many for two. So the bound follows the queues that tell the two apart, those in this process: for a
// processor and for a connection of the store. While one is too long, fewer requests are let in, and more as soon as
// none is. How long providers take does not enter into it; the guard has bounds for them.
type gate struct {
	most   int64
	fewest int64
	queue  func() float64 // the longest queue, as a multiple of what it may be

	inside atomic.Int64
	reads  atomic.Int64 // of those inside
	looked atomic.Int64 // when the queue was looked at, in nanoseconds

	limit      atomic.Int64 // of those inside, between fewest and most
	readLimit  atomic.Int64 // of the reads among them
	lostWrites atomic.Bool  // a write was refused since the last look

	refused atomic.Int64 // since the log told of one
	told    atomic.Int64 // the second in which it last did
}

const (
	readsShare = 0.8                   // of the limit, at most; the rest is for writes
	mayQueue   = 32                    // goroutines for each processor: who comes waits for it about 2 ms
	mayWait    = 25 * time.Millisecond // for a connection of the store, of which a booking needs one four times
	lookEvery  = 10 * time.Millisecond // so that a rush is noticed before it has filled the queue

	// How many requests for each processor are let in whatever the queue is. It may be refusals that fill the queue, or
	// other programs: then to let in fewer does not shorten it, and those inside wait for providers.
	fewestEach = 64
)

// newGate makes a gate for so many requests at most. The queue is never asked twice at a time.
func newGate(most int, queue func() float64) *gate {
	g := &gate{most: int64(most), fewest: min(int64(most), fewestEach*int64(runtime.GOMAXPROCS(0))), queue: queue}
	g.limit.Store(g.most)
	g.readLimit.Store(readsOf(g.most))
	return g
}

// readsOf is how many of a limit reads may take.
func readsOf(limit int64) int64 { return max(1, int64(float64(limit)*readsShare)) }

// enter takes a place, which leave gives back, unless there is none.
func (g *gate) enter(now time.Time, writes bool) bool {
	g.look(now)
	limit := g.limit.Load()
	if !writes {
		limit = min(limit, readsOf(limit))
		if g.reads.Add(1) > g.readLimit.Load() {
			g.reads.Add(-1)
			return false
		}
	}
	if g.inside.Add(1) > limit {
		g.leave(writes)
		if writes {
			g.lostWrites.Store(true)
		}
		return false
	}
	return true
}

func (g *gate) leave(writes bool) {
	if !writes {
		g.reads.Add(-1)
	}
	g.inside.Add(-1)
}

// look adjusts the limits when it is time: that of all up by a sixteenth, or down by a fifth of those inside; that of
// reads to a half when a write found no place, for then it is reads that have to go. Requests do it in passing: while
// none come, there is nothing to adjust.
func (g *gate) look(now time.Time) {
	last, at := g.looked.Load(), now.UnixNano()
	if at-last < int64(lookEvery) || !g.looked.CompareAndSwap(last, at) {
		return
	}
	limit := g.limit.Load()
	if g.queue() > 1 {
		limit = min(limit, g.inside.Load()) * 4 / 5
	} else {
		limit += max(1, limit/16)
	}
	limit = min(max(limit, g.fewest), g.most)
	g.limit.Store(limit)

	reads := g.readLimit.Load()
	if g.lostWrites.Swap(false) {
		reads /= 2
	} else {
		reads += max(1, reads/16)
	}
	g.readLimit.Store(min(max(reads, 1), readsOf(limit)))
}

// tell counts a refusal. Once a second it answers how many there were, for the log to tell.
func (g *gate) tell(now time.Time) (refused int64, due bool) {
	g.refused.Add(1)
	last := g.told.Load()
	if now.Unix() == last || !g.told.CompareAndSwap(last, now.Unix()) {
		return 0, false
	}
	return g.refused.Swap(0), true
}

// queues measures those of this process. Waited is how many calls have waited for the store, and for how long together;
// nil where that is not known.
func queues(waited func() (calls int64, together time.Duration)) func() float64 {
	processors := queueForProcessor()
	if waited == nil {
		return processors
	}
	calls, together := waited()
	return func() float64 {
		callsBefore, before := calls, together
		calls, together = waited()
		each := (together - before) / time.Duration(max(1, calls-callsBefore))
		return max(processors(), float64(each)/float64(mayWait))
	}
}

// queueForProcessor counts the goroutines of the process that could run, for each processor they may run on.
func queueForProcessor() func() float64 {
	samples := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/gomaxprocs:threads"}}
	return func() float64 {
		metrics.Read(samples)
		return float64(samples[0].Value.Uint64()) / float64(samples[1].Value.Uint64()) / mayQueue
	}
}
