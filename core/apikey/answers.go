package apikey

import (
	"sync"
	"time"

	"frontdesk/core/secret"
)

// knownKey is what is remembered of a key.
type knownKey struct {
	caller Caller
	valid  bool
	at     time.Time // when the store was asked; zero: not remembered
}

// answers remembers what the store said about keys. Keys that are not valid have a small map of their own,
// so that whoever tries keys cannot push out those in use.
type answers struct {
	mu         sync.RWMutex
	generation uint64 // grows with every change made here
	valid      map[secret.Hash]knownKey
	invalid    map[secret.Hash]knownKey
}

// How many keys are remembered.
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

// keep remembers an answer, unless something changed here since it was asked for.
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
		delete(keys, victim) // any one: a full map is rare, and what is dropped is asked for again
	}
	keys[hash] = k
}

// forget drops everything, since something was changed here that answers may rest on.
func (c *answers) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.valid)
	clear(c.invalid)
}

// sweep drops what was asked before the time given.
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
