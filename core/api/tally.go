package api

import (
	"sync"
	"time"
)

// loggedASecond is how many refusals of a tenant are logged in each second.
const loggedASecond = 10

// tally chooses the refusals that are logged: of each tenant, the first few in every second. They cost their callers
// nothing. If all were logged, whoever repeats one as fast as they can would fill the disk, and push the tenant's other
// requests out of the log of requests. If they were not told apart, a flood would hide who else is refused. The metrics
// count all of them.
type tally struct {
	mu     sync.Mutex
	second int64              // in Unix time
	of     map[string]tallied // by who is refused; only who was in that second, or has some that nobody was told of
}

// tallied counts the refusals of a tenant, or of strangers at one operation.
type tallied struct {
	logged int   // in the second
	since  int64 // how many there were since the last one that was logged
}

// count counts a refusal. It reports whether to log it, and how many refusals of the same there were since the last one
// that was logged, this one among them.
func (t *tally) count(now time.Time, whose string) (since int64, log bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if second := now.Unix(); second != t.second {
		t.second = second
		for who, n := range t.of {
			if t.of[who] = (tallied{since: n.since}); n.since == 0 {
				delete(t.of, who)
			}
		}
	}
	if t.of == nil {
		t.of = map[string]tallied{}
	}
	n := t.of[whose]
	n.since++
	if n.logged < loggedASecond {
		n.logged++
		since, log, n.since = n.since, true, 0
	}
	t.of[whose] = n
	return since, log
}
