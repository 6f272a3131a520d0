package fake

import "net/http"

// Revoke has the server refuse every token given so far, and give no new ones for them.
func (s *Server) Revoke() { s.OAuth.Revoke() }

// Limit has the server refuse every call because those of the last 24 hours are too many. It names no wait.
func (s *Server) Limit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited = true
}

// faulty counts a call, and answers in place of the server where it was told to.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Meet(w, r)
	s.mu.Lock()
	limited := s.limited
	s.mu.Unlock()
	switch {
	case met.Answered:
	case met.Stopped:
		write(w, refuse(http.StatusServiceUnavailable, "SERVER_UNAVAILABLE", "Server unavailable"))
	case limited:
		write(w, refuse(http.StatusForbidden, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."))
	case met.Forbidden:
		write(w, refuse(http.StatusForbidden, "INSUFFICIENT_ACCESS_OR_READONLY", "insufficient access rights on object"))
	default:
		return false
	}
	return true
}
