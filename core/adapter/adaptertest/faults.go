package adaptertest

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Faults injects faults into the server of a fake provider. A fake embeds it, asks
// [Faults.Inject] before it serves a call and [Faults.Drops] before it answers one, and says in its
// provider's own shape that it is stopped, that the calls are too many, or that something is forbidden. The
// zero value is no trouble.
type Faults struct {
	mu                          sync.Mutex
	calls                       int
	forbidden, stopped, limited bool
	wait                        time.Duration
	hang                        chan struct{}
	dropNext                    bool
	instead                     http.Handler
}

// Forbid has the server answer that the account may not do what is asked.
func (t *Faults) Forbid() { t.with(func() { t.forbidden = true }) }

// Stop has the server answer that it is unavailable.
func (t *Faults) Stop() { t.with(func() { t.stopped = true }) }

// Limit has the server refuse every call as one too many, and name that wait where its provider names one.
func (t *Faults) Limit(wait time.Duration) { t.with(func() { t.limited, t.wait = true, wait }) }

// Unlimit ends what Limit began.
func (t *Faults) Unlimit() { t.with(func() { t.limited, t.wait = false, 0 }) }

// Hang has the server take calls and answer none, until release is called.
func (t *Faults) Hang() (release func()) {
	hang := make(chan struct{})
	t.with(func() { t.hang = hang })
	return func() {
		t.with(func() { t.hang = nil })
		close(hang)
	}
}

// DropNextReply has the server carry out the next write and lose the answer.
func (t *Faults) DropNextReply() { t.with(func() { t.dropNext = true }) }

// Instead puts another handler in the place of the API; nil ends that.
func (t *Faults) Instead(h http.Handler) { t.with(func() { t.instead = h }) }

// Calls counts the calls of the API, whatever became of them.
func (t *Faults) Calls() (n int) {
	t.with(func() { n = t.calls })
	return n
}

// Injected is what was injected into a call.
type Injected struct {
	Call      int  // its number
	Answered  bool // there is nothing left to answer
	Stopped   bool
	Limited   bool
	Wait      time.Duration // to name beside Limited
	Forbidden bool
}

// Seconds returns the wait as Retry-After has it (RFC 9110 section 10.2.3).
func (m Injected) Seconds() string { return strconv.Itoa(int(m.Wait / time.Second)) }

// Inject counts a call, and delays or answers it in the server's place as the faults demand.
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

// Drops reports whether this call's answer is the one to lose: that of the next one that is no GET.
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
