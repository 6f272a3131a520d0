package fake

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// faults are what the server was told to do wrong.
type faults struct {
	forbidden, stopped, limited bool
	wait                        time.Duration
	hang                        chan struct{}
	dropNext                    bool
	fails                       []fail
}

type fail struct {
	path string // a part of it
	a    answer
}

// Revoke has every token refused.
func (s *Server) Revoke() { s.oauth.Revoke() }

// Forbid has the server answer that the account may not do what it asks.
func (s *Server) Forbid() { s.with(func(f *faults) { f.forbidden = true }) }

// Stop has the server answer that it is unavailable, and ask for a wait.
func (s *Server) Stop() { s.with(func(f *faults) { f.stopped = true }) }

// Limit has the server refuse every call and ask for a wait, in whole seconds; 0 names none.
func (s *Server) Limit(wait time.Duration) {
	s.with(func(f *faults) { f.limited, f.wait = true, wait.Truncate(time.Second) })
}

// Hang has the server take calls and answer none, until release is called.
func (s *Server) Hang() (release func()) {
	hang := make(chan struct{})
	s.with(func(f *faults) { f.hang = hang })
	return func() {
		s.with(func(f *faults) { f.hang = nil })
		close(hang)
	}
}

// DropNextReply has the server carry out the next write and lose the answer.
func (s *Server) DropNextReply() { s.with(func(f *faults) { f.dropNext = true }) }

// Fail has requests, or parts of batches, whose method and path hold the words answered by an error, until restore is
// called.
func (s *Server) Fail(path string, status int, code string, header http.Header) (restore func()) {
	a := refuse(status, code, "As the test wants it.")
	a.header = header
	return s.fail(path, a)
}

// FailWith has them answered by a page that is not Graph's.
func (s *Server) FailWith(path string, status int, page string) (restore func()) {
	a := answer{status: status, raw: page}
	if page == "" {
		a = answer{status: status}
	}
	return s.fail(path, a)
}

func (s *Server) fail(path string, a answer) (restore func()) {
	s.with(func(f *faults) { f.fails = append(f.fails, fail{path, a}) })
	return func() { s.with(func(f *faults) { f.fails = nil }) }
}

func (s *Server) with(change func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.faults)
}

// held waits while the server hangs; false when who asked has left.
func (s *Server) held(r *http.Request) bool {
	s.mu.Lock()
	hang := s.faults.hang
	s.mu.Unlock()
	if hang == nil {
		return true
	}
	select {
	case <-hang:
		return true
	case <-r.Context().Done():
		return false
	}
}

// faulty answers in place of the server, where it was told to.
func (s *Server) faulty(method, path string) (answer, bool) {
	f := s.faults
	switch {
	case f.stopped:
		a := refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "The service is temporarily unavailable.")
		a.header = http.Header{"Retry-After": {"1"}}
		return a, true
	case f.limited:
		a := refuse(http.StatusTooManyRequests, "TooManyRequests", "Too many requests.")
		if f.wait > 0 {
			a.header = http.Header{"Retry-After": {strconv.Itoa(int(f.wait / time.Second))}}
		}
		return a, true
	case f.forbidden:
		return denied(), true
	}
	for _, one := range f.fails {
		if strings.Contains(method+" "+path, one.path) {
			return one.a, true
		}
	}
	return answer{}, false
}

// drops reports whether this write's answer is the one to lose.
func (s *Server) drops(method string) bool {
	if method == http.MethodGet {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := s.faults.dropNext
	s.faults.dropNext = false
	return drop
}
