package adaptertest

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Faults injects faults into the server of a fake provider. A fake embeds it, calls [Faults.Inject] before it
// serves a call and [Faults.Drops] before it responds, and writes the errors itself, as its provider does,
// when it is stopped, gets too many calls or forbids something. The zero value injects nothing.
type Faults struct {
	mu                          sync.Mutex
	calls                       int
	forbidden, stopped, limited bool
	wait                        time.Duration
	hang                        chan struct{}
	dropNext                    bool
	instead                     http.Handler
}

// Forbid makes the server respond that the account may not do what is requested.
func (t *Faults) Forbid() { t.with(func() { t.forbidden = true }) }

// Stop makes the server respond that it is unavailable.
func (t *Faults) Stop() { t.with(func() { t.stopped = true }) }

// Limit makes the server refuse every call as one too many, with that wait if its provider reports one.
func (t *Faults) Limit(wait time.Duration) { t.with(func() { t.limited, t.wait = true, wait }) }

// Unlimit undoes Limit.
func (t *Faults) Unlimit() { t.with(func() { t.limited, t.wait = false, 0 }) }

// Hang makes the server accept calls without a response until release is called.
func (t *Faults) Hang() (release func()) {
	hang := make(chan struct{})
	t.with(func() { t.hang = hang })
	return func() {
		t.with(func() { t.hang = nil })
		close(hang)
	}
}

// DropNextReply makes the server carry out the next write and lose the response.
func (t *Faults) DropNextReply() { t.with(func() { t.dropNext = true }) }

// Instead serves the API with h; nil restores the API.
func (t *Faults) Instead(h http.Handler) { t.with(func() { t.instead = h }) }

// Calls returns the number of calls to the API, whatever their result.
func (t *Faults) Calls() (n int) {
	t.with(func() { n = t.calls })
	return n
}

// Injected is what was injected into a call.
type Injected struct {
	Call      int  // its number
	Answered  bool // no response is needed any more
	Stopped   bool
	Limited   bool
	Wait      time.Duration // to report with Limited
	Forbidden bool
}

// Seconds returns the wait as the value of Retry-After (RFC 9110 section 10.2.3).
func (m Injected) Seconds() string { return strconv.Itoa(int(m.Wait / time.Second)) }

// Inject counts a call. If a fault demands it, Inject delays the call or responds to it.
func (t *Faults) Inject(w http.ResponseWriter, r *http.Request) (injected Injected) {
	var hang chan struct{}
	var instead http.Handler
	t.with(func() {
		t.calls++
		hang, instead = t.hang, t.instead
		injected = Injected{
			Call: t.calls, Stopped: t.stopped, Limited: t.limited, Wait: t.wait, Forbidden: t.forbidden,
		}
	})
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
			injected.Answered = true
			return injected
		}
	}
	if instead != nil {
		instead.ServeHTTP(w, r)
		injected.Answered = true
	}
	return injected
}

// Drops reports whether to lose the response to this call: it is the first call since DropNextReply that is
// not a GET.
func (t *Faults) Drops(r *http.Request) (drop bool) {
	if r.Method == http.MethodGet {
		return false
	}
	t.with(func() { drop, t.dropNext = t.dropNext, false })
	return drop
}

func (t *Faults) with(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}
