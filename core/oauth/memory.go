package oauth

import (
	"sync"
	"sync/atomic"
	"time"
)

// entry is what is remembered of a connection: an access token, or a failure that calls are told without asking again.
type entry struct {
	connectionID string
	access       string
	instance     string // see Tokens.Instance
	err          error
	until        time.Time    // it counts until then; zero: without end
	look         atomic.Int64 // in milliseconds: when to see whether someone renewed it; 0 is never
	insisted     insistence   // of the provider's refusals that led to it
}

// insistence counts the tokens made because a provider refused the one before.
type insistence struct {
	times int
	since time.Time // the first of them
}

// lookEvery is the time between two looks for a successor.
const lookEvery = 10 * time.Second

// timeToLook answers true to one caller, once in a while.
func (e *entry) timeToLook(now time.Time) bool {
	at := e.look.Load()
	return at != 0 && now.UnixMilli() >= at && e.look.CompareAndSwap(at, now.Add(lookEvery).UnixMilli())
}

func (e *entry) living(now time.Time) bool { return e.until.IsZero() || now.Before(e.until) }

// memory is what this process remembers, by connection.
type memory struct{ entries sync.Map }

func (m *memory) get(connectionID string, now time.Time) *entry {
	there, ok := m.entries.Load(connectionID)
	if !ok || !there.(*entry).living(now) {
		return nil
	}
	return there.(*entry)
}

func (m *memory) has(connectionID string) bool {
	_, ok := m.entries.Load(connectionID)
	return ok
}

func (m *memory) put(e *entry)               { m.entries.Store(e.connectionID, e) }
func (m *memory) drop(e *entry)              { m.entries.CompareAndDelete(e.connectionID, e) }
func (m *memory) forget(connectionID string) { m.entries.Delete(connectionID) }
func (m *memory) purge(now time.Time) {
	m.entries.Range(func(_, there any) bool {
		if e := there.(*entry); !e.living(now) {
			m.drop(e)
		}
		return true
	})
}
