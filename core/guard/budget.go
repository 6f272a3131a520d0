package guard

import (
	"sync"
	"time"
)

const (
	budgetBuckets = 10
	budgetBucket  = time.Second
)

// budget bounds the retries at one host to a share of its first attempts over a sliding ten seconds: when
// everything fails, retries must not multiply the load (Google SRE book, "Handling Overload"). The minimum
// allows retries at a host with few calls. It is not added to the share, so that the share is exact under
// traffic.
type budget struct {
	ratio   float64
	minimum int

	mu      sync.Mutex
	newest  int64 // number of the newest bucket's second
	firsts  [budgetBuckets]int
	retries [budgetBuckets]int
}

// first counts a first attempt.
func (b *budget) first(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.firsts[b.at(now)]++
}

// retry takes one retry and reports whether one was left.
func (b *budget) retry(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.at(now)
	firsts, retries := 0, 0
	for j := range budgetBuckets {
		firsts += b.firsts[j]
		retries += b.retries[j]
	}
	if retries >= max(b.minimum, int(b.ratio*float64(firsts))) {
		return false
	}
	b.retries[i]++
	return true
}

// at returns the index of the bucket for now, after clearing the buckets that have expired. If the clock was set back,
// all have: otherwise none would until the clock shows that time again.
func (b *budget) at(now time.Time) int {
	second := now.UnixNano() / int64(budgetBucket)
	from := second - budgetBuckets + 1
	if wasSetBack := second < b.newest-1; !wasSetBack {
		from = max(from, b.newest+1)
	}
	for s := from; s <= second; s++ {
		b.newest = s
		b.firsts[s%budgetBuckets], b.retries[s%budgetBuckets] = 0, 0
	}
	return int(b.newest % budgetBuckets)
}
