package fake

import "net/http"

// Revoke has the server refuse all credentials given so far.
func (s *Server) Revoke() {
	s.OAuth.Revoke()
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
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("Service unavailable"))
	case met.Limited:
		w.Header().Set("Retry-After", met.Seconds())
		(&refusal{status: 429, body: map[string]any{
			"error": "APIRateLimitExceeded", "description": "Number of allowed API requests per minute exceeded",
		}}).write(w)
	case met.Forbidden:
		forbidden().write(w)
	default:
		return false
	}
	return true
}
