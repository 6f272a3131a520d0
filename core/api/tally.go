package api

import (
	"sync"
	"time"
)

// loggedASecond is how many refusals of a tenant are logged in each second.
const loggedASecond = 10

// tally chooses the refusals that are logged: of each tenant, the first few in every second. They cost their callers
// nothing. If all were logged, whoever repeats one as fast as they can would fill the disk, and push the tenant's other
// requests out of the log of requests. The metrics count all of them.
type tally struct {
	mu     sync.Mutex
	second int64          // in Unix time
	logged map[string]int // in that second, by tenant
	since  int64          // how many there were since the last one that was logged
}

// count counts a refusal of a tenant, or of strangers: "". It reports whether to log it, and how many refusals there
// were since the last one that was logged, this one among them.
func (t *tally) count(now time.Time, tenant string) (since int64, log bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if second := now.Unix(); second != t.second {
		t.second, t.logged = second, map[string]int{}
	}
	t.since++
	if t.logged[tenant] == loggedASecond {
		return 0, false
	}
	t.logged[tenant]++
	since, t.since = t.since, 0
	return since, true
}
