package service

import (
	"sync"
	"time"

	"frontdesk/core/connection"
)

const cacheEntries = 10_000

// cache stores values from a provider for a while, by connection and revision, or by calendar of a connection.
// Its size is bounded; a dropped value is fetched again.
type cache[V any] struct {
	now  func() time.Time
	life time.Duration
	mu   sync.Mutex
	kept map[cacheKey]cached[V]
}

type cacheKey struct {
	connection string
	revision   int64
	calendar   string // "": the value is the connection's
}

func keyOf(c connection.Connection) cacheKey { return cacheKey{connection: c.ID, revision: c.Revision} }

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[V any](now func() time.Time, life time.Duration) *cache[V] {
	return &cache[V]{now: now, life: life, kept: map[cacheKey]cached[V]{}}
}

// get returns the cached value, or calls ask and caches the result.
func (c *cache[V]) get(of connection.Connection, ask func() (V, error)) (V, error) {
	key := keyOf(of)
	if value, ok := c.peek(key); ok {
		return value, nil
	}
	value, err := ask()
	if err == nil {
		c.put(key, value)
	}
	return value, err
}

// peek returns the cached value, if there is one.
func (c *cache[V]) peek(key cacheKey) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.kept[key]
	if !ok || !c.now().Before(have.until) {
		return value, false
	}
	return have.value, true
}

func (c *cache[V]) put(key cacheKey, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= cacheEntries {
		for old := range c.kept { // any entry will do
			delete(c.kept, old)
			break
		}
	}
	c.kept[key] = cached[V]{value, c.now().Add(c.life)}
}

// forget removes a connection's value, so that the next get calls ask.
func (c *cache[V]) forget(of connection.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, keyOf(of))
}
