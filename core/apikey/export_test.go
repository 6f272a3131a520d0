package apikey

import "time"

// What keys begin with.
const (
	LivePrefix = livePrefix
	TestPrefix = testPrefix
)

// Remembered returns what is remembered of a key, and of when.
func (c *Callers) Remembered(key string) (Caller, time.Time) {
	hash, _ := hashKey(key)
	known, _ := c.answers.find(hash)
	return known.caller, known.at
}
