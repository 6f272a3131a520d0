package fake

import (
	"net/http"
	"time"
)

// Revoke makes the server refuse every token issued so far, and issue no new ones for them.
func (s *Server) Revoke() { s.OAuth.Revoke() }

// faulty counts a call, and responds to it if a fault was injected. It refuses too many calls in Google's two
// ways by turns: 403 with a reason of the domain usageLimits, and 429. It sends Retry-After only for a wait
// of at least a second, since Google mostly sends none.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Inject(w, r)
	switch {
	case met.Answered:
	case met.Stopped:
		(&refusal{code: 503, domain: "global", reason: "backendError", message: "Backend Error"}).write(w)
	case met.Limited:
		if met.Wait >= time.Second {
			w.Header().Set("Retry-After", met.Seconds())
		}
		tooMany := &refusal{
			code: 429, domain: "usageLimits", reason: "rateLimitExceeded", message: "Rate Limit Exceeded",
		}
		if met.Call%2 == 1 {
			tooMany = &refusal{
				code: 403, domain: "usageLimits", reason: "userRateLimitExceeded", message: "User Rate Limit Exceeded",
			}
		}
		tooMany.write(w)
	case met.Forbidden:
		(&refusal{code: 403, domain: "global", reason: "forbidden", message: "Forbidden"}).write(w)
	default:
		return false
	}
	return true
}
