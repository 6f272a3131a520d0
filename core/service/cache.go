package service

import (
	"sync"
	"time"

	"frontdesk/core/connection"
)

const cacheEntries = 10_000

// cache remembers what a provider said for a while, by connection and revision. It is bounded; what does not
// fit is asked again.
type cache[V any] struct {
	now  func() time.Time
	life time.Duration
	mu   sync.Mutex
	kept map[cacheKey]cached[V]
}

type cacheKey struct {
	connection string
	revision   int64
}

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[V any](now func() time.Time, life time.Duration) *cache[V] {
	return &cache[V]{now: now, life: life, kept: map[cacheKey]cached[V]{}}
}

// get returns what is remembered, else asks.
func (c *cache[V]) get(of connection.Connection, ask func() (V, error)) (V, error) {
	key := cacheKey{of.ID, of.Revision}
	c.mu.Lock()
	have, ok := c.kept[key]
	c.mu.Unlock()
	if ok && c.now().Before(have.until) {
		return have.value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= cacheEntries {
		for old := range c.kept { // any one: the map's order is as good as another
			delete(c.kept, old)
			break
		}
	}
	c.kept[key] = cached[V]{value, c.now().Add(c.life)}
	return value, nil
}

// forget makes the next get ask.
func (c *cache[V]) forget(of connection.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, cacheKey{of.ID, of.Revision})
}
