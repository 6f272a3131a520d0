package api

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// gate bounds the requests being answered, so that those let in are answered in time and the others are told
// at once. What reads is refused first: a list can be asked for again, a booking that is refused may be lost
// with the call it came from.
//
// No fixed bound is right: a thousand requests that wait for a slow provider cost nothing, and a hundred that
// want a processor are too many for two. So the bound follows the queues that tell the two apart, those in
// this process: for a processor and for a connection of the store. While one is too long, fewer requests are
// let in, and more as soon as none is. How long providers take does not enter into it; the guard has bounds
// for them.
//
// No tenant can take all of it, see [gate.share].
type gate struct {
	most   int
	fewest int
	queue  func() float64 // the longest queue, as a multiple of what it may be

	mu     sync.Mutex
	inside int
	tenant map[string]*guest // those that have requests inside
	limit  int               // of those inside, between fewest and most
	looked time.Time         // when the queue was looked at

	refused    atomic.Int64 // since the log told of one
	lastLogged atomic.Int64 // the second in which it last did
}

// guest is what a tenant has inside.
type guest struct {
	inside     int
	reads      int       // among them
	readLimit  int       // of them
	lostWrites bool      // a write was refused since the last look
	looked     time.Time // when the limit of reads was adjusted
}

const (
	readsShare = 0.8                   // of the limit, at most; the rest is for writes
	mayQueue   = 32                    // goroutines for each processor: who comes waits for it about 2 ms
	mayWait    = 25 * time.Millisecond // for a connection of the store, of which a booking needs one four times
	lookEvery  = 10 * time.Millisecond // so that a rush is noticed before it has filled the queue

	// How many requests for each processor are let in whatever the queue is. It may be refusals that fill the
	// queue, or other programs: then to let in fewer does not shorten it, and those inside wait for
	// providers.
	fewestEach = 64
)

// newGate makes a gate for so many requests at most. The queue is never asked twice at a time.
func newGate(most int, queue func() float64) *gate {
	fewest := min(most, fewestEach*runtime.GOMAXPROCS(0))
	return &gate{most: most, fewest: fewest, limit: most, queue: queue, tenant: map[string]*guest{}}
}

// readsOf returns how many of a limit reads may take.
func readsOf(limit int) int { return max(1, int(float64(limit)*readsShare)) }

// share returns how many requests a tenant may have inside: as many as are free, as in [shares]. Where the
// limit has sunk beneath what others have inside, that would be none: then it is an equal part of the limit,
// so that who has more waits for its own to end and nobody else does.
func (g *gate) share(others int) int {
	free := g.most - g.inside
	return max(g.limit-g.inside, min(g.limit/(others+2), free))
}

// enter takes a place, which leave gives back, unless there is none for that tenant.
func (g *gate) enter(now time.Time, tenant string, writes bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look(now)
	t, others := g.tenant[tenant], len(g.tenant)
	if t == nil {
		t = &guest{readLimit: readsOf(g.most), looked: now}
	} else {
		others--
	}
	t.look(now, g.limit)
	share := g.share(others)
	switch {
	case writes && t.inside >= share:
		t.lostWrites = true
		return false
	case !writes && (t.reads >= t.readLimit || t.inside >= readsOf(share) || t.inside >= share):
		return false
	}
	g.add(t, tenant, writes)
	return true
}

// back takes a place again that was left for a while, whatever the bound is.
func (g *gate) back(now time.Time, tenant string, writes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenant[tenant]
	if t == nil {
		t = &guest{readLimit: readsOf(g.most), looked: now}
	}
	g.add(t, tenant, writes)
}

func (g *gate) add(t *guest, tenant string, writes bool) {
	g.tenant[tenant] = t
	g.inside++
	t.inside++
	if !writes {
		t.reads++
	}
}

func (g *gate) leave(tenant string, writes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenant[tenant]
	g.inside--
	t.inside--
	if !writes {
		t.reads--
	}
	if t.inside == 0 {
		delete(g.tenant, tenant)
	}
}

// look adjusts the limit when it is time: up by a sixteenth, or down by a fifth of those inside. Requests do
// it in passing: while none come, there is nothing to adjust.
func (g *gate) look(now time.Time) {
	if now.Sub(g.looked) < lookEvery {
		return
	}
	g.looked = now
	limit := g.limit
	if g.queue() > 1 {
		limit = min(limit, g.inside) * 4 / 5
	} else {
		limit += max(1, limit/16)
	}
	g.limit = min(max(limit, g.fewest), g.most)
}

// look adjusts the limit of a tenant's reads: to a half when a write of its own found no place, for then it
// is reads that have to go.
func (t *guest) look(now time.Time, limit int) {
	if now.Sub(t.looked) < lookEvery {
		return
	}
	t.looked = now
	if t.lostWrites {
		t.readLimit /= 2
	} else {
		t.readLimit += max(1, t.readLimit/16)
	}
	t.lostWrites = false
	t.readLimit = min(max(t.readLimit, 1), readsOf(limit))
}

// countRefusal counts a refusal. Once a second it returns how many there were, for the log.
func (g *gate) countRefusal(now time.Time) (refused int64, due bool) {
	g.refused.Add(1)
	last := g.lastLogged.Load()
	if now.Unix() == last || !g.lastLogged.CompareAndSwap(last, now.Unix()) {
		return 0, false
	}
	return g.refused.Swap(0), true
}

// queues measures those of this process. Waited is how many calls have waited for the store, and for how long
// together; nil where that is not known.
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
	samples := []metrics.Sample{
		{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/gomaxprocs:threads"},
	}
	return func() float64 {
		metrics.Read(samples)
		return float64(samples[0].Value.Uint64()) / float64(samples[1].Value.Uint64()) / mayQueue
	}
}
