package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestTheFloorFollowsTheMemoryLimit(t *testing.T) {
	for limit, want := range map[int64]uint64{
		math.MaxInt64: 48 << 20, 0: 48 << 20, 1 << 30: 48 << 20, 400 << 20: 48 << 20, 256 << 20: 32 << 20, 64 << 20: 8 << 20,
	} {
		if got := Floor(limit); got != want {
			t.Errorf("with a limit of %d, the floor is %d, want %d", limit, got, want)
		}
	}
}

func TestTheHeapGrowsToTheFloorOrDoubles(t *testing.T) {
	for _, c := range []struct {
		live, floor uint64
		want        int
	}{
		{0, 48 << 20, 1100}, {1 << 20, 48 << 20, 1100}, {12 << 20, 48 << 20, 300}, {16 << 20, 48 << 20, 200},
		{24 << 20, 48 << 20, 100}, {40 << 20, 48 << 20, 100}, {1 << 30, 48 << 20, 100}, {12 << 20, 8 << 20, 100},
	} {
		if got := percentFor(c.live, c.floor); got != c.want {
			t.Errorf("%d in use, floor %d: %d percent, want %d", c.live, c.floor, got, c.want)
		}
	}
}

func percentNow() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

func collections() uint32 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NumGC
}

// A process that keeps little collects once for what it allocates up to the floor. Once it keeps more than
// half of the floor, its heap doubles, as by default.
func TestPace(t *testing.T) {
	const floor = 64 << 20
	before := debug.SetGCPercent(70)
	defer debug.SetGCPercent(before)
	stop := Pace(floor)
	defer stop()
	runtime.GC()
	first := collections()
	var garbage []byte
	for range 256 {
		garbage = make([]byte, 1<<20)
	}
	runtime.KeepAlive(garbage)
	if n := collections() - first; n < 1 || n > 12 {
		t.Errorf("256 MiB take %d collections of a heap of 64 MiB", n)
	}

	kept := make([]byte, floor)
	for percentNow() != usualPercent {
		runtime.GC() // until the runtime has found that what is in use is more
		runtime.Gosched()
	}
	runtime.KeepAlive(kept)

	stop()
	stop()
	runtime.GC()
	if got := percentNow(); got != 70 {
		t.Errorf("after stop, the percentage is %d", got)
	}
}
