package caldav

import (
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	maxSeriesBytes        = 8 << 20 // of one calendar
	maxAccountSeriesBytes = 2 * maxSeriesBytes
	maxAllSeriesBytes     = 8 * maxSeriesBytes

	bytesBesideObject = 512 // of memory, roughly
)

// seriesMemory holds the series of all accounts, in bounded memory: a server, which may be a tenant's own, names as
// many calendars as it wants. Those that were not used for the longest time go first, and of an account with more
// than its share its own. They are read again when they are needed.
type seriesMemory struct {
	mu    sync.Mutex
	sets  *simplelru.LRU[seriesKey, keptSeries]
	bytes int
	of    map[*seriesCache]int // bytes of each account
}

type seriesKey struct {
	account  *seriesCache
	calendar string // id
}

type keptSeries struct {
	set   *seriesSet
	bytes int
}

func newSeriesMemory() *seriesMemory {
	m := &seriesMemory{of: map[*seriesCache]int{}}
	var err error
	if m.sets, err = simplelru.NewLRU(math.MaxInt, m.count); err != nil { // bytes bound it, and not a number
		panic(err)
	}
	return m
}

// get returns a set, or nil if there is none that is recent enough.
func (m *seriesMemory) get(k seriesKey, now time.Time) *seriesSet {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ok := m.sets.Get(k)
	if !ok || kept.set.isOld(now) {
		return nil
	}
	return kept.set
}

func (m *seriesMemory) put(k seriesKey, set *seriesSet, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets.Remove(k)
	kept := keptSeries{set, len(k.calendar) + set.bytes()}
	m.sets.Add(k, kept)
	m.bytes += kept.bytes
	m.of[k.account] += kept.bytes
	m.shrink(k.account, now)
}

func (m *seriesMemory) drop(k seriesKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets.Remove(k)
}

// shrink removes what is too much, of all accounts and of one. The caller holds m.mu.
func (m *seriesMemory) shrink(account *seriesCache, now time.Time) {
	for {
		_, oldest, ok := m.sets.GetOldest()
		if !ok || m.bytes <= maxAllSeriesBytes && !oldest.set.isOld(now) {
			break
		}
		m.sets.RemoveOldest()
	}
	if m.of[account] <= maxAccountSeriesBytes {
		return
	}
	for _, k := range m.sets.Keys() { // the last used last
		if k.account == account && m.of[account] > maxAccountSeriesBytes {
			m.sets.Remove(k)
		}
	}
}

// count takes what was removed off the sums.
func (m *seriesMemory) count(k seriesKey, kept keptSeries) {
	m.bytes -= kept.bytes
	if m.of[k.account] -= kept.bytes; m.of[k.account] == 0 {
		delete(m.of, k.account)
	}
}

// bytes returns about how much memory the set takes.
func (s *seriesSet) bytes() int {
	size := bytesBesideObject + len(s.token)
	for _, r := range s.objects {
		size += bytesBesideObject + len(r.data) + len(r.tag) + 3*len(r.id) // its address has it, too
	}
	return size
}

// isOld reports whether the server has to be asked for all series again.
func (s *seriesSet) isOld(now time.Time) bool { return now.Sub(s.examined) >= examineAgain }
