package apikey

import (
	"sync"
	"time"

	"frontdesk/core/secret"
)

// knownKey is a cached lookup of a key.
type knownKey struct {
	caller   Caller
	platform string // of a voice agent
	signing  []byte // of a voice agent
	valid    bool
	at       time.Time // when the store was queried; zero: not cached
}

// answers caches the results of key lookups. Invalid keys have a separate, smaller map, so that an attacker
// who tries many keys cannot evict the keys in use.
type answers struct {
	mu         sync.RWMutex
	generation uint64 // incremented by forget
	valid      map[secret.Hash]knownKey
	invalid    map[secret.Hash]knownKey
}

// Limits on the number of cached keys.
const (
	maxValid   = 200_000
	maxInvalid = 10_000
)

func newAnswers() *answers {
	return &answers{valid: map[secret.Hash]knownKey{}, invalid: map[secret.Hash]knownKey{}}
}

func (c *answers) find(hash secret.Hash) (knownKey, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if k, ok := c.valid[hash]; ok {
		return k, c.generation
	}
	return c.invalid[hash], c.generation
}

// keep caches the result of a lookup, unless forget was called since the lookup began.
func (c *answers) keep(hash secret.Hash, k knownKey, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	delete(c.valid, hash)
	delete(c.invalid, hash)
	keys, limit := c.valid, maxValid
	if !k.valid {
		keys, limit = c.invalid, maxInvalid
	}
	for victim := range keys {
		if len(keys) < limit {
			break
		}
		delete(keys, victim) // an arbitrary key: a full map is rare, and an evicted key is looked up again
	}
	keys[hash] = k
}

// forget drops all cached keys. It is called after this process has changed data that they depend on.
func (c *answers) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.valid)
	clear(c.invalid)
}

// sweep drops the keys that were looked up before the given time.
func (c *answers) sweep(before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, keys := range []map[secret.Hash]knownKey{c.valid, c.invalid} {
		for hash, k := range keys {
			if k.at.Before(before) {
				delete(keys, hash)
			}
		}
	}
}
