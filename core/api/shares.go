package api

import "sync"

// shares bounds what tenants hold at one time of something that all need. One alone may hold half of it, two
// may hold a third each: as many as are free (the dynamic thresholds of Choudhury and Hahne, IEEE/ACM
// Transactions on Networking 6(2), 1998). So some is left for whoever comes next, whatever the others do,
// and none of it is set aside.
type shares struct {
	most int

	mu     sync.Mutex
	inUse  int
	tenant map[string]int // only those that hold something
}

func newShares(most int) *shares { return &shares{most: most, tenant: map[string]int{}} }

// take takes one for a tenant, which give gives back, unless it holds its share.
func (s *shares) take(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenant[tenant] >= s.most-s.inUse {
		return false
	}
	s.inUse++
	s.tenant[tenant]++
	return true
}

func (s *shares) give(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inUse--
	if s.tenant[tenant]--; s.tenant[tenant] == 0 {
		delete(s.tenant, tenant)
	}
}
