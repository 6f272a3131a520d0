package fair

import "sync"

// Shares bounds how much of a common resource each tenant may hold at a time: as much as is free. One tenant
// alone may hold half of the resource, and two may hold a third each (the dynamic thresholds of Choudhury and
// Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So there is always some left for the next tenant,
// and nothing has to be reserved. Create it with [NewShares].
type Shares struct {
	most int

	mu     sync.Mutex
	inUse  int
	tenant map[string]int // by tenant id; only tenants that hold something
}

// NewShares returns the shares of a resource that has so many units.
func NewShares(most int) *Shares { return &Shares{most: most, tenant: map[string]int{}} }

// Take takes units, which Give returns: all, or none if the tenant holds its share before the last of them. It reports
// which.
func (s *Shares) Take(tenant string, units int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if units > 0 && s.tenant[tenant]+units-1 >= s.most-s.inUse-(units-1) {
		return false
	}
	s.inUse += units
	s.tenant[tenant] += units
	return true
}

// Load returns how many units are taken.
func (s *Shares) Load() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse
}

// Give gives units back.
func (s *Shares) Give(tenant string, units int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse -= units
	if s.tenant[tenant] -= units; s.tenant[tenant] == 0 {
		delete(s.tenant, tenant)
	}
}
