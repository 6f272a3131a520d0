package fake

import "net/http"

// faults are what the server was told to do wrong.
type faults struct {
	forbidden, stopped, limited bool
	hang                        chan struct{}
	dropNext                    bool
	instead                     http.Handler
}

// Revoke has the server refuse every token given so far, and give no new ones for them.
func (s *Server) Revoke() { s.OAuth.Revoke() }

// Forbid has the server answer that the user may not do what is asked.
func (s *Server) Forbid() { s.with(func(f *faults) { f.forbidden = true }) }

// Stop has the server answer that it is unavailable.
func (s *Server) Stop() { s.with(func(f *faults) { f.stopped = true }) }

// Limit has the server refuse every call because those of the last 24 hours are too many. It names no wait.
func (s *Server) Limit() { s.with(func(f *faults) { f.limited = true }) }

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

// Instead puts another handler in the place of the API; nil ends that.
func (s *Server) Instead(h http.Handler) { s.with(func(f *faults) { f.instead = h }) }

// Calls counts the calls of the API, whatever became of them.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *Server) with(change func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.faults)
}

// faulty counts a call, and answers in place of the server where it was told to.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.calls++
	f := s.faults
	s.mu.Unlock()
	if f.hang != nil {
		select {
		case <-f.hang:
		case <-r.Context().Done():
			return true
		}
	}
	switch {
	case f.instead != nil:
		f.instead.ServeHTTP(w, r)
	case f.stopped:
		write(w, refuse(http.StatusServiceUnavailable, "SERVER_UNAVAILABLE", "Server unavailable"))
	case f.limited:
		write(w, refuse(http.StatusForbidden, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."))
	case f.forbidden:
		write(w, refuse(http.StatusForbidden, "INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access rights on object"))
	default:
		return false
	}
	return true
}

// drops reports whether this write's answer is the one to lose.
func (s *Server) drops(r *http.Request) bool {
	if r.Method == http.MethodGet {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := s.faults.dropNext
	s.faults.dropNext = false
	return drop
}
