package guard

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/sony/gobreaker/v2"
)

// entry is the state of one host or one connection.
type entry struct {
	key      string
	breaker  *breaker
	bulkhead *bulkhead
	budget   budget       // hosts only
	waiting  atomic.Int64 // hosts only: calls that wait for a permit of the host, or of their connection
	throttle throttle     // connections only
	pins     int          // calls that use the entry; guarded by registry.mu
}

// registry keeps the most recently used entries. It never drops an entry in use: its permits would be granted
// twice.
type registry struct {
	level       string
	options     Options
	max         int
	open        *openBreakers
	connections int // how many must fail before a breaker of this level opens
	queue       int

	mu    sync.Mutex
	byKey map[string]*list.Element // of *entry
	order list.List                // the most recently used first
}

func newRegistry(level string, open *openBreakers, o Options, max, connections int) *registry {
	queue := o.HostQueue
	if level == "connection" {
		queue = o.ConnectionQueue
	}
	return &registry{
		level: level, open: open, options: o, max: max, connections: connections, queue: queue,
		byKey: map[string]*list.Element{},
	}
}

// pin returns the entry of a key, creates it if necessary, and keeps it until unpin.
func (s *registry) pin(key, provider string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		s.order.MoveToFront(e)
		found := e.Value.(*entry)
		found.pins++
		return found
	}
	fresh := &entry{
		key:      key,
		breaker:  newBreaker(s.level, key, provider, s.open, s.options, s.connections),
		bulkhead: &bulkhead{queue: s.queue, gauges: s.options.Metrics.Bulkhead(s.level, provider)},
		budget:   budget{ratio: s.options.RetryRatio, minimum: s.options.RetryMinimum},
		pins:     1,
	}
	s.byKey[key] = s.order.PushFront(fresh)
	s.forget()
	return fresh
}

// peek returns the state of a key's breaker: closed if nothing is remembered of it.
func (s *registry) peek(key string) gobreaker.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		return e.Value.(*entry).breaker.peek()
	}
	return gobreaker.StateClosed
}

// again pins an entry that the caller has pinned already.
func (s *registry) again(e *entry) {
	s.mu.Lock()
	e.pins++
	s.mu.Unlock()
}

func (s *registry) unpin(e *entry) {
	s.mu.Lock()
	e.pins--
	s.mu.Unlock()
}

// forget drops the least recently used entries above the limit, except those in use.
func (s *registry) forget() {
	for e := s.order.Back(); e != nil && s.order.Len() > s.max; {
		old, before := e.Value.(*entry), e.Prev()
		if old.pins == 0 {
			s.order.Remove(e)
			delete(s.byKey, old.key)
			old.breaker.forget()
		}
		e = before
	}
}
