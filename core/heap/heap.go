// Package heap lets the heap of a small process grow to a floor before its garbage is collected.
//
// Go's collector runs when the heap has doubled since the last run (GOGC=100). A gateway at rest keeps ten
// megabytes, so under load it would collect after every ten megabytes that requests allocate, and spend a
// third of its processor time on that. [Pace] raises the percentage as far as the heap stays below the floor,
// and returns to 100 as soon as what is in use calls for more:
//
//	defer heap.Pace(heap.Floor(debug.SetMemoryLimit(-1)))()
//
// It follows Go's memory limit by itself: the runtime collects earlier near the limit, whatever the
// percentage.
package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	usualPercent = 100
	largestFloor = 48 << 20
	shareOfLimit = 8 // the floor is at most this part of the memory limit

	// The runtime does not collect a smaller heap at 100 percent (Go's "A Guide to the Go Garbage Collector").
	smallestHeap = 4 << 20
)

// Floor returns the size that the heap may grow to before it is collected, given the process's memory limit.
// math.MaxInt64 is no limit.
func Floor(limit int64) uint64 {
	if limit <= 0 || limit == math.MaxInt64 {
		return largestFloor
	}
	return min(largestFloor, uint64(limit)/shareOfLimit)
}

// Pace applies a floor until stop is called.
func Pace(floor uint64) (stop func()) {
	p := &pacer{floor: floor, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	p.percent = usualPercent
	p.before = debug.SetGCPercent(usualPercent)
	p.adjust()
	p.await()
	return p.stop
}

type pacer struct {
	floor  uint64
	before int // the percentage before Pace

	mu      sync.Mutex
	live    []metrics.Sample
	percent int
	stopped bool
}

func (p *pacer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		debug.SetGCPercent(p.before)
	}
}

// await has the runtime call collected after the next collection, which finds that nothing refers to the
// object.
func (p *pacer) await() {
	type unreachable struct{ _ *byte } // a pointer keeps it out of blocks of small objects, which live longer
	runtime.AddCleanup(&unreachable{}, (*pacer).collected, p)
}

func (p *pacer) collected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.adjust()
		p.await()
	}
}

// adjust sets the percentage for what the last collection left. It spares the runtime a change that makes no
// difference, since each stops the process for a moment.
func (p *pacer) adjust() {
	metrics.Read(p.live)
	percent := percentFor(p.live[0].Value.Uint64(), p.floor)
	if off := percent - p.percent; percent == usualPercent && off != 0 || max(off, -off)*10 > p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor returns the percentage by which a heap with that many bytes in use grows to the floor, but not
// less than the usual one. Before the first collection, nothing is known to be in use.
func percentFor(live, floor uint64) int {
	live = max(live, smallestHeap)
	if floor <= 2*live {
		return usualPercent
	}
	return int((floor - live) * 100 / live)
}
