package apikey

import (
	"context"
	"maps"
	"sync"
	"time"
)

// usePause is how long a key is not used before its next use is one that begins anew.
const usePause = 20 * time.Second

// usage collects the times of use of keys. They are written once a minute, and never while a call waits.
type usage struct {
	mu sync.Mutex
	at map[string]time.Time // by key id, since the last write
}

// touch notes a use, and reports whether the key was not used for a while.
func (u *usage) touch(keyID string, at time.Time) (anew bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.at[keyID] // zero after the last write, which makes little difference
	u.at[keyID] = at
	return at.Sub(before) >= usePause
}

// take returns the collected times and resets the collection.
func (u *usage) take() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.at
	u.at = make(map[string]time.Time, len(taken))
	return taken
}

// putBack adds times that could not be written back to the collection. Later uses win.
func (u *usage) putBack(taken map[string]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.Copy(taken, u.at)
	u.at = taken
}

// writeUsage writes the times of last use of keys to the store.
func (c *Callers) writeUsage(ctx context.Context, taken map[string]time.Time) {
	if len(taken) == 0 {
		return
	}
	if err := c.opts.Store.TouchKeys(ctx, taken); err != nil {
		c.used.putBack(taken)
		c.opts.Log.WarnContext(ctx, "the last uses of API keys could not be stored; the gateway will try again",
			"error", err)
	}
}
