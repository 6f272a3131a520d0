package fake

import "net/http"

// Revoke has the server refuse the key from now on.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

// faulty counts a call. If a fault is due, it responds in place of the server and returns true.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Inject(w, r)
	switch {
	case met.Answered:
	case met.Stopped:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("<html>Service unavailable</html>"))
	case met.Limited:
		w.Header().Set("Retry-After", met.Seconds())
		write(w, http.StatusTooManyRequests,
			map[string]any{"message": "You have exceeded the limit of requests per minute"})
	case met.Forbidden:
		forbidden().write(w)
	default:
		return false
	}
	return true
}
