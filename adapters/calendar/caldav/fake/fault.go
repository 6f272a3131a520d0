package fake

import (
	"net/http"
	"time"
)

// Revoke makes the server reject the credentials.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

func (s *Server) isRevoked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revoked
}

// faulty counts a call and injects the fault that is set, if any. It reports whether it handled the call.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Inject(w, r)
	switch {
	case met.Answered:
	case met.Stopped:
		http.Error(w, "The calendar is being maintained.", http.StatusServiceUnavailable)
	case met.Limited:
		if met.Wait >= time.Second {
			w.Header().Set("Retry-After", met.Seconds())
		}
		http.Error(w, "Too many requests.", http.StatusTooManyRequests)
	case met.Forbidden: // RFC 3744 section 7.1.1
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
