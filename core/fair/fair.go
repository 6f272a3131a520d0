// Package fair shares among tenants what only one call can use at a time ([Mutex]), or what there is only so much of
// ([Shares]).
package fair

import (
	"context"
	"slices"
	"sync"
	"time"
)

type tenantKey struct{}

// For returns a context of a call for a tenant.
func For(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// Mutex is a lock whose waiters get it in turn by tenant, and within a tenant in the order of arrival. So
// a call waits for at most one other call of each other tenant, however many of them wait. Calls without a
// tenant are those of one more. The zero value is unlocked.
type Mutex struct {
	mu      sync.Mutex
	locked  bool
	waiting map[string][]*waiter // by tenant; none of the lists is empty
	turns   []string             // the tenants of waiting, the next one first
	length  int                  // how many wait

	calls    int64
	together time.Duration
}

type waiter struct {
	since   time.Time
	granted chan struct{} // closed when the lock is the waiter's
}

// Lock takes the lock. If ctx ends first, it returns the context's error, and the lock is not taken.
func (m *Mutex) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tenant, _ := ctx.Value(tenantKey{}).(string)
	m.mu.Lock()
	if !m.locked {
		m.locked = true
		m.mu.Unlock()
		return nil
	}
	w := &waiter{since: time.Now(), granted: make(chan struct{})}
	if m.waiting == nil {
		m.waiting = map[string][]*waiter{}
	}
	if len(m.waiting[tenant]) == 0 {
		m.turns = append(m.turns, tenant)
	}
	m.waiting[tenant] = append(m.waiting[tenant], w)
	m.length++
	m.calls++
	m.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.Index(m.waiting[tenant], w)
	if at < 0 {
		return nil // granted in the meantime
	}
	m.together += time.Since(w.since)
	m.remove(tenant, at)
	return ctx.Err()
}

// remove removes a waiter from its tenant's list.
func (m *Mutex) remove(tenant string, at int) {
	m.waiting[tenant] = slices.Delete(m.waiting[tenant], at, at+1)
	m.length--
	if len(m.waiting[tenant]) == 0 {
		delete(m.waiting, tenant)
		m.turns = slices.DeleteFunc(m.turns, func(t string) bool { return t == tenant })
	}
}

// Unlock hands the lock to the next waiter, or releases it if there is none.
func (m *Mutex) Unlock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked = m.handOver()
}

// HandOver is Unlock if more than so many calls wait. Otherwise it reports false, and the lock stays the caller's.
func (m *Mutex) HandOver(few int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.length > few && m.handOver()
}

func (m *Mutex) handOver() bool {
	if len(m.turns) == 0 {
		return false
	}
	tenant := m.turns[0]
	next := m.waiting[tenant][0]
	m.together += time.Since(next.since)
	m.remove(tenant, 0)
	if len(m.waiting[tenant]) > 0 {
		m.turns = append(m.turns[1:], tenant)
	}
	close(next.granted)
	return true
}

// Waited returns how many calls have begun to wait so far, and how long those waited that do no longer.
func (m *Mutex) Waited() (calls int64, together time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.together
}
