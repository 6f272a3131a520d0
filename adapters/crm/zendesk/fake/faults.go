package fake

import (
	"net/http"
	"strconv"
	"time"
)

// Revoke has the server refuse all credentials given so far.
func (s *Server) Revoke() {
	s.OAuth.Revoke()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

// Limit has the server refuse every call as one too many.
func (s *Server) Limit(wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited, s.wait = true, wait
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
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("Service unavailable"))
	case limited:
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
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
