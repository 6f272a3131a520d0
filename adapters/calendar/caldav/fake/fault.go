package fake

import (
	"net/http"
	"strconv"
	"time"
)

// Revoke has the server refuse the credentials.
func (s *Server) Revoke() { s.with(func(f *faults) { f.revoked = true }) }

// Forbid has the server answer that the account may not do what it asks (RFC 3744 section 7.1.1).
func (s *Server) Forbid() { s.with(func(f *faults) { f.forbidden = true }) }

// Stop has the server answer that it is unavailable.
func (s *Server) Stop() { s.with(func(f *faults) { f.stopped = true }) }

// Limit has the server refuse every call and ask for a wait, in whole seconds.
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

func (s *Server) with(change func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.faults)
}

func (s *Server) isRevoked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.revoked
}

// faulty answers in place of the server, where it was told to.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	f := s.faults
	s.mu.Unlock()
	if f.hang != nil {
		select {
		case <-f.hang:
		case <-r.Context().Done():
		}
	}
	switch {
	case f.stopped:
		http.Error(w, "The calendar is being maintained.", http.StatusServiceUnavailable)
	case f.limited:
		if f.wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.wait/time.Second)))
		}
		http.Error(w, "Too many requests.", http.StatusTooManyRequests)
	case f.forbidden:
		a := recorded{header: http.Header{}}
		a.refuse(`<D:need-privileges/>`)
		w.Header().Set("Content-Type", a.header.Get("Content-Type"))
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	default:
		return false
	}
	return true
}

// drops reports whether this write's answer is the one to lose.
func (s *Server) drops(r *http.Request) bool {
	if r.Method != http.MethodPut && r.Method != http.MethodDelete {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := s.faults.dropNext
	s.faults.dropNext = false
	return drop
}
