package oauth

import (
	"sync"
	"sync/atomic"
	"time"
)

// entry is the cached state of a connection: an access token, or an error that calls get without a new try.
type entry struct {
	connectionID string
	access       string
	instance     string // see Tokens.Instance
	err          error
	until        time.Time      // when it expires; zero: never
	checkAt      atomic.Int64   // Unix milliseconds: when to check the store for a newer token; 0: never
	forced       forcedRenewals // the forced renewals that led to this token
}

// forcedRenewals counts the renewals that a provider forced by refusing the token.
type forcedRenewals struct {
	times int
	since time.Time // time of the first one
}

// checkEvery is the time between two checks for a newer token.
const checkEvery = 10 * time.Second

// dueToCheck reports true to one caller every checkEvery.
func (e *entry) dueToCheck(now time.Time) bool {
	at := e.checkAt.Load()
	return at != 0 && now.UnixMilli() >= at && e.checkAt.CompareAndSwap(at, now.Add(checkEvery).UnixMilli())
}

func (e *entry) valid(now time.Time) bool { return e.until.IsZero() || now.Before(e.until) }

// cache holds the entries of this process, by connection.
type cache struct{ entries sync.Map }

func (m *cache) get(connectionID string, now time.Time) *entry {
	there, ok := m.entries.Load(connectionID)
	if !ok || !there.(*entry).valid(now) {
		return nil
	}
	return there.(*entry)
}

func (m *cache) has(connectionID string) bool {
	_, ok := m.entries.Load(connectionID)
	return ok
}

func (m *cache) put(e *entry)               { m.entries.Store(e.connectionID, e) }
func (m *cache) drop(e *entry)              { m.entries.CompareAndDelete(e.connectionID, e) }
func (m *cache) forget(connectionID string) { m.entries.Delete(connectionID) }
func (m *cache) purge(now time.Time) {
	m.entries.Range(func(_, there any) bool {
		if e := there.(*entry); !e.valid(now) {
			m.drop(e)
		}
		return true
	})
}
