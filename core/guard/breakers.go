package guard

import (
	"maps"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// OpenBreaker is a circuit breaker that is not closed.
type OpenBreaker struct {
	Level    string // "host" or "connection"
	Subject  string // the kind, provider and host, as HostOf writes them, or the connection's id
	Provider string
	State    string // "open" or "half_open"
	Since    time.Time
}

// HostOf returns the subject of the breaker of a host.
func HostOf(kind, provider, host string) string { return kind + "/" + provider + "/" + host }

// openBreakers are the breakers that are not closed, and since when.
type openBreakers struct {
	mu  sync.Mutex
	all map[*breaker]time.Time
}

// set records whether a breaker is open. It keeps the time at which it opened first.
func (o *openBreakers) set(b *breaker, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !open {
		delete(o.all, b)
		return
	}
	if o.all == nil {
		o.all = map[*breaker]time.Time{}
	}
	if _, known := o.all[b]; !known {
		o.all[b] = time.Now()
	}
}

// OpenBreakers returns the breakers of this process that are not closed.
func (g *Guard) OpenBreakers() []OpenBreaker {
	g.open.mu.Lock()
	found := maps.Clone(g.open.all)
	g.open.mu.Unlock()
	all := make([]OpenBreaker, 0, len(found))
	for b, since := range found {
		if state := b.peek(); state != gobreaker.StateClosed { // outside the lock, which a change of state takes
			all = append(all, OpenBreaker{
				Level: b.level, Subject: b.subject, Provider: b.provider, State: stateName(state), Since: since,
			})
		}
	}
	return all
}
