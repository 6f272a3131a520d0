package fake

import (
	"net/http"
	"strconv"
	"time"
)

// Revoke has the server refuse every token given so far, and give no new ones for them.
func (s *Server) Revoke() { s.OAuth.Revoke() }

// Limit has the server refuse every call as one too many, in both of Google's ways by turns: 403 with a reason of the
// domain usageLimits, and 429. A wait of whole seconds is named; without one there is no Retry-After, as mostly.
func (s *Server) Limit(wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited, s.wait = true, wait.Truncate(time.Second)
}

// faulty counts a call, and answers in place of the server where it was told to.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Meet(w, r)
	s.mu.Lock()
	limited, wait := s.limited, s.wait
	s.mu.Unlock()
	switch {
	case met.Answered:
	case met.Stopped:
		(&refusal{code: 503, domain: "global", reason: "backendError", message: "Backend Error"}).write(w)
	case limited:
		if wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
		}
		tooMany := &refusal{code: 429, domain: "usageLimits", reason: "rateLimitExceeded", message: "Rate Limit Exceeded"}
		if met.Call%2 == 1 {
			tooMany = &refusal{code: 403, domain: "usageLimits", reason: "userRateLimitExceeded", message: "User Rate Limit Exceeded"}
		}
		tooMany.write(w)
	case met.Forbidden:
		(&refusal{code: 403, domain: "global", reason: "forbidden", message: "Forbidden"}).write(w)
	default:
		return false
	}
	return true
}
