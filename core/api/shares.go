package api

import "sync"

// shares bounds how much of a common resource each tenant may hold at a time: as much as is free. One tenant
// alone may hold half of the resource, and two may hold a third each (the dynamic thresholds of Choudhury and
// Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So there is always some left for the next tenant,
// and nothing has to be reserved.
type shares struct {
	most int

	mu     sync.Mutex
	inUse  int
	tenant map[string]int // by tenant id; only tenants that hold something
}

func newShares(most int) *shares { return &shares{most: most, tenant: map[string]int{}} }

// take takes units, which give returns: all, or none if the tenant holds its share before the last of them. It reports
// which.
func (s *shares) take(tenant string, units int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenant[tenant]+units-1 >= s.most-s.inUse-(units-1) {
		return false
	}
	s.inUse += units
	s.tenant[tenant] += units
	return true
}

// load returns how many units are taken.
func (s *shares) load() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse
}

func (s *shares) give(tenant string, units int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse -= units
	if s.tenant[tenant] -= units; s.tenant[tenant] == 0 {
		delete(s.tenant, tenant)
	}
}
