package apikey

import "time"

// Prefixes of keys.
const (
	LivePrefix = livePrefix
	TestPrefix = testPrefix
)

// Remembered returns the cached caller of a key, and when the store was queried for it.
func (c *Callers) Remembered(key string) (Caller, time.Time) {
	hash, _ := hashKey(key)
	known, _ := c.answers.find(hash)
	return known.caller, known.at
}
