package guard

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// site is what the guard knows of one host or one connection.
type site struct {
	key      string
	breaker  *breaker
	bulkhead *bulkhead
	budget   budget       // hosts only
	waiting  atomic.Int64 // hosts only: calls that wait for a place of the host, or of their connection
	waits    waits        // connections only
	pins     int          // under sites.mu: calls that are using it
}

// sites keep the most lately used ones. One that is in use is never forgotten: its places would be given twice.
type sites struct {
	level       string
	options     Options
	max         int
	connections int // how many must fail before a breaker of this level opens
	queue       int

	mu    sync.Mutex
	byKey map[string]*list.Element // of *site
	order list.List                // the latest first
}

func newSites(level string, o Options, max, connections int) *sites {
	queue := o.HostQueue
	if level == "connection" {
		queue = o.ConnectionQueue
	}
	return &sites{level: level, options: o, max: max, connections: connections, queue: queue, byKey: map[string]*list.Element{}}
}

// pin finds or makes a site and keeps it until unpin.
func (s *sites) pin(key, provider string) *site {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		s.order.MoveToFront(e)
		found := e.Value.(*site)
		found.pins++
		return found
	}
	fresh := &site{
		key:      key,
		breaker:  newBreaker(s.level, provider, s.options, s.connections),
		bulkhead: &bulkhead{queue: s.queue, gauges: s.options.Metrics.Bulkhead(s.level, provider)},
		budget:   budget{ratio: s.options.RetryRatio, minimum: s.options.RetryMinimum},
		pins:     1,
	}
	s.byKey[key] = s.order.PushFront(fresh)
	s.forget()
	return fresh
}

// again pins a site that the caller has pinned already.
func (s *sites) again(known *site) {
	s.mu.Lock()
	known.pins++
	s.mu.Unlock()
}

func (s *sites) unpin(known *site) {
	s.mu.Lock()
	known.pins--
	s.mu.Unlock()
}

// forget drops the least lately used sites above the limit that nobody uses.
func (s *sites) forget() {
	for e := s.order.Back(); e != nil && s.order.Len() > s.max; {
		old, before := e.Value.(*site), e.Prev()
		if old.pins == 0 {
			s.order.Remove(e)
			delete(s.byKey, old.key)
			old.breaker.forgotten()
		}
		e = before
	}
}
