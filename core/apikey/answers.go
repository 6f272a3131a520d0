package apikey

import (
	"maps"
	"sync"
	"time"

	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// knownKey is a cached lookup of a key.
type knownKey struct {
	caller   Caller
	platform string    // of a voice agent
	signing  []byte    // of a voice agent
	invalid  error     // why the key is not valid; nil: it is
	ends     time.Time // when the key ends; zero: it does not
	at       time.Time // when the store was queried; zero: not cached
	server   int64     // and which server
}

// answers caches the results of key lookups. Invalid keys have a separate, smaller map, so that an attacker
// who tries many keys cannot evict the keys in use.
type answers struct {
	mu         sync.RWMutex
	generation uint64 // incremented by forget, and with each change
	valid      map[secret.Hash]knownKey
	invalid    map[secret.Hash]knownKey

	mark    store.Mark           // of the last look for changes
	looked  time.Time            // when it began; zero: there was none
	since   time.Time            // what was changed in the store since then is known
	changed map[string]time.Time // when a change was found, by the tenant's id
}

const (
	answerLife   = 2 * time.Second  // how long a cached key may be used, and how soon a change must be known
	followedLife = 10 * time.Minute // how long if changes are known
	idleLife     = 30 * time.Second // how long it is kept without being used; a call on the phone pauses for less
)

// Limits on the number of cached keys.
const (
	maxValid   = 200_000
	maxInvalid = 10_000
)

func newAnswers() *answers {
	return &answers{
		valid: map[secret.Hash]knownKey{}, invalid: map[secret.Hash]knownKey{}, changed: map[string]time.Time{},
	}
}

// find returns what is cached of a key, and how long after its query that may be used.
func (c *answers) find(hash secret.Hash, now time.Time) (k knownKey, life time.Duration, generation uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.valid[hash]
	if !ok {
		return c.invalid[hash], answerLife, c.generation
	}
	return k, c.life(k, now), c.generation
}

func (c *answers) life(k knownKey, now time.Time) time.Duration {
	changed, is := c.changed[k.caller.Tenant.ID]
	switch {
	case is && !k.at.After(changed), !k.ends.IsZero() && !now.Before(k.ends):
		return 0
	case within(now.Sub(c.looked), answerLife) && k.at.After(c.since) && k.server == c.mark.Server:
		return followedLife
	}
	return answerLife
}

// within reports whether something is less than a time ago, by a clock that was not set back since.
func within(ago, life time.Duration) bool { return ago >= 0 && ago < life }

// place returns the mark to look for changes from, and whether that is worth while: no key is cached otherwise.
func (c *answers) place() (from store.Mark, needed bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.mark, len(c.valid) > 0
}

// learn takes the result of a look for changes, which began and ended at these times.
func (c *answers) learn(began, ended time.Time, changed []string, now store.Mark, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !whole {
		c.since = ended // a query that began before then may not show what the look was not told of
	}
	c.mark, c.looked = now, began
	for _, tenantID := range changed {
		c.changed[tenantID] = ended
	}
	if len(changed) > 0 {
		c.generation++
	}
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
	if k.invalid != nil {
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

// sweep drops the keys whose time is over, and those that were looked up a while ago and not used since.
func (c *answers) sweep(now time.Time, used map[string]time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, keys := range []map[secret.Hash]knownKey{c.valid, c.invalid} {
		for hash, k := range keys {
			life := answerLife
			if within(now.Sub(used[k.caller.KeyID]), idleLife) {
				life = followedLife
			}
			if !within(now.Sub(k.at), life) {
				delete(keys, hash)
			}
		}
	}
	maps.DeleteFunc(c.changed, func(_ string, found time.Time) bool { return !within(now.Sub(found), followedLife) })
}
