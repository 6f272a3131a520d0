package fake

import "net/http"

// Revoke makes the server refuse the key.
func (s *Server) Revoke() { s.with(func() { s.revoked = true }) }

// Suspend suspends the account, so that every call is refused, or lifts the suspension.
func (s *Server) Suspend(suspended bool) { s.with(func() { s.suspended = suspended }) }

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
		unavailable().write(w)
	case met.Limited:
		// developers.telnyx.com/development/api-fundamentals/reliability/rate-limiting, "Rate Limit Headers"
		w.Header().Set("X-Ratelimit-Limit", "10")
		w.Header().Set("X-Ratelimit-Remaining", "0")
		w.Header().Set("X-Ratelimit-Reset", met.Seconds())
		tooMany().write(w)
	case met.Forbidden:
		forbidden().write(w)
	default:
		return false
	}
	return true
}
