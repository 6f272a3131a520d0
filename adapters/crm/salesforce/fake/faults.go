package fake

import "net/http"

// Revoke has the server refuse every token issued so far and issue no new ones for them.
func (s *Server) Revoke() { s.OAuth.Revoke() }

// NamesNoWait marks that Salesforce does not report how long to wait.
func (s *Server) NamesNoWait() {}

// faulty counts a call. If a fault is due, it responds in place of the server and returns true. The rate
// limit is that of the last 24 hours.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Inject(w, r)
	switch {
	case met.Answered:
	case met.Stopped:
		write(w, refuse(http.StatusServiceUnavailable, "SERVER_UNAVAILABLE", "Server unavailable"))
	case met.Limited:
		write(w, refuse(http.StatusForbidden, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."))
	case met.Forbidden:
		write(w, refuse(http.StatusForbidden, "INSUFFICIENT_ACCESS_OR_READONLY",
			"insufficient access rights on object"))
	default:
		return false
	}
	return true
}
