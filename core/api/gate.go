package api

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// gate bounds the concurrent requests, so that admitted requests are served in time and the others are
// refused at once. It refuses reads first: a list can be requested again, but a refused booking may be lost
// with the phone call it came from.
//
// No fixed bound is right: a thousand requests that wait for a slow provider cost nothing, and a hundred that
// need a processor are too many for two. The gate tells the two apart by the queues in this process, for a
// processor and for a connection of the store. While a queue is too long, it lowers its limit; otherwise it
// raises the limit. The response times of providers play no role; the guard bounds requests to them.
//
// No tenant can take all of the limit; see [gate.share].
type gate struct {
	most   int
	fewest int
	queue  func() float64 // returns the longest queue, as a multiple of its allowed length

	mu     sync.Mutex
	inside int               // number of admitted requests
	tenant map[string]*guest // the tenants with admitted requests
	limit  int               // of inside, between fewest and most
	looked time.Time         // when limit was last adjusted
}

// guest counts the admitted requests of one tenant.
type guest struct {
	inside     int
	reads      int       // number of reads in inside
	readLimit  int       // limit of reads
	lostWrites bool      // a write was refused since the last look
	looked     time.Time // when readLimit was last adjusted
}

const (
	readsShare = 0.8                   // maximum part of the limit for reads; the rest is for writes
	mayQueue   = 32                    // goroutines per processor: a new one waits about 2 ms
	mayWait    = 25 * time.Millisecond // for a connection of the store, which a booking needs four times
	lookEvery  = 10 * time.Millisecond // short enough to notice a rush before it has filled the queue

	// How many requests per processor are admitted however long the queue is. Refusals or other programs may
	// cause the queue. Then admitting fewer requests does not shorten it, as those inside wait for providers.
	fewestEach = 64
)

// newGate returns a gate for at most the given number of requests. It never calls queue concurrently.
func newGate(most int, queue func() float64) *gate {
	fewest := min(most, fewestEach*runtime.GOMAXPROCS(0))
	return &gate{most: most, fewest: fewest, limit: most, queue: queue, tenant: map[string]*guest{}}
}

// readsOf returns the part of a limit that reads may take.
func readsOf(limit int) int { return max(1, int(float64(limit)*readsShare)) }

// share returns how many requests a tenant may have inside: as many as are free, as in [fair.Shares]. If the limit
// has fallen below the number of requests inside, none are free. Then the share is an equal part of the
// limit, so that only the tenants with more requests than that have to wait for theirs to end.
func (g *gate) share(others int) int {
	free := g.most - g.inside
	return max(g.limit-g.inside, min(g.limit/(others+2), free))
}

// enter reports whether a request of a tenant is admitted. If so, leave must be called when the request ends.
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

// back admits a request again that had left for a while, whatever the limit is.
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

// load returns how many requests are inside, and how many may be.
func (g *gate) load() (inside, limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside, g.limit
}

// look adjusts the limit at most once every lookEvery: up by a sixteenth, or down to four fifths of the
// requests inside. It is called by enter: without requests, there is nothing to adjust.
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

// look adjusts the limit of a tenant's reads: up by a sixteenth, or down to a half if a write of the tenant
// was refused, since reads have to make room for writes.
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

// queues returns the queue function for a gate of this process. The waited function returns how many calls
// have waited for the store, and for how long in total; it may be nil.
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

// queueForProcessor returns a function for the runnable goroutines per processor, as a multiple of mayQueue.
func queueForProcessor() func() float64 {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/gomaxprocs:threads"},
	}
	return func() float64 {
		metrics.Read(samples)
		return float64(samples[0].Value.Uint64()) / float64(samples[1].Value.Uint64()) / mayQueue
	}
}
