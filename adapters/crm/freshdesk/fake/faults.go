package fake

import (
	"net/http"
	"strconv"
	"time"
)

// faults are what the server was told to do wrong.
type faults struct {
	revoked, forbidden, stopped, limited bool
	wait                                 time.Duration
	hang                                 chan struct{}
	dropNext                             bool
	instead                              http.Handler
}

// Revoke has the server refuse the key from now on.
func (s *Server) Revoke() { s.with(func(f *faults) { f.revoked = true }) }

// Forbid has the server answer that the agent may not do what is asked.
func (s *Server) Forbid() { s.with(func(f *faults) { f.forbidden = true }) }

// Stop has the server answer that it is unavailable.
func (s *Server) Stop() { s.with(func(f *faults) { f.stopped = true }) }

// Limit has the server refuse every call as one too many.
func (s *Server) Limit(wait time.Duration) {
	s.with(func(f *faults) { f.limited, f.wait = true, wait })
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
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("<html>Service unavailable</html>"))
	case f.limited:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.wait/time.Second)))
		write(w, http.StatusTooManyRequests, map[string]any{"message": "You have exceeded the limit of requests per minute"})
	case f.forbidden:
		forbidden().write(w)
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
