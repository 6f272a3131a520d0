package caldav

import (
	"container/list"
	"sync"
	"time"
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
	sets  map[seriesKey]*list.Element
	order list.List // of *keptSeries, the last used first
	bytes int
	of    map[*seriesCache]int // bytes of each account
}

type seriesKey struct {
	account  *seriesCache
	calendar string // id
}

type keptSeries struct {
	seriesKey
	set   *seriesSet
	bytes int
}

func newSeriesMemory() *seriesMemory {
	return &seriesMemory{sets: map[seriesKey]*list.Element{}, of: map[*seriesCache]int{}}
}

// get returns a set, or nil if there is none that is recent enough.
func (m *seriesMemory) get(k seriesKey, now time.Time) *seriesSet {
	m.mu.Lock()
	defer m.mu.Unlock()
	there, ok := m.sets[k]
	if !ok || there.Value.(*keptSeries).set.isOld(now) {
		return nil
	}
	m.order.MoveToFront(there)
	return there.Value.(*keptSeries).set
}

func (m *seriesMemory) put(k seriesKey, set *seriesSet, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(m.sets[k])
	kept := &keptSeries{k, set, len(k.calendar) + set.bytes()}
	m.sets[k] = m.order.PushFront(kept)
	m.bytes += kept.bytes
	m.of[k.account] += kept.bytes
	m.shrink(k.account, now)
}

func (m *seriesMemory) drop(k seriesKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(m.sets[k])
}

// shrink removes what is too much, of all accounts and of one. The caller holds m.mu.
func (m *seriesMemory) shrink(account *seriesCache, now time.Time) {
	for e := m.order.Back(); e != nil; {
		before, kept := e.Prev(), e.Value.(*keptSeries)
		isGreedy := m.of[account] > maxAccountSeriesBytes
		switch {
		case m.bytes > maxAllSeriesBytes, kept.set.isOld(now), isGreedy && kept.account == account:
			m.remove(e)
		case !isGreedy:
			return
		}
		e = before
	}
}

// remove removes an element, unless it is nil. The caller holds m.mu.
func (m *seriesMemory) remove(e *list.Element) {
	if e == nil {
		return
	}
	kept := m.order.Remove(e).(*keptSeries)
	delete(m.sets, kept.seriesKey)
	m.bytes -= kept.bytes
	if m.of[kept.account] -= kept.bytes; m.of[kept.account] == 0 {
		delete(m.of, kept.account)
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
