package apikey

import (
	"context"
	"time"
)

// Prefixes of keys.
const (
	LivePrefix = livePrefix
	TestPrefix = testPrefix
)

// Remembered returns the cached caller of a key, and when the store was queried for it.
func (c *Callers) Remembered(key string) (Caller, time.Time) {
	hash, _ := hashKey(key)
	known, _, _ := c.answers.find(hash, c.opts.Now())
	return known.caller, known.at
}

// Look looks for changes once.
func (c *Callers) Look(ctx context.Context) { c.look(ctx) }
