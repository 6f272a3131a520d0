package fake

import "net/http"

// Revoke makes the server refuse all credentials.
func (s *Server) Revoke() { s.with(func() { s.revoked = true }) }

// NamesNoWait marks that Twilio does not say how long to wait.
func (s *Server) NamesNoWait() {}

// IgnoreChanges makes the server accept changes without making them.
func (s *Server) IgnoreChanges() { s.with(func() { s.ignoring = true }) }

func (s *Server) with(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// faulty counts a call. It reports whether it has responded with an injected fault.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Inject(w, r)
	switch {
	case met.Answered:
	case met.Stopped:
		refuse(http.StatusServiceUnavailable, 20503, "Service unavailable").write(w)
	case met.Limited:
		refuse(http.StatusTooManyRequests, 20429, "Too Many Requests").write(w)
	case met.Forbidden:
		refuse(http.StatusForbidden, 20006, "Access Denied").write(w)
	default:
		return false
	}
	return true
}
