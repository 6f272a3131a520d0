package fake

import (
	"net/http"
	"strings"
	"time"

	"frontdesk/core/adapter/adaptertest"
)

// fail is the injected response to requests with a path.
type fail struct {
	path string // a part of the method and path
	a    answer
}

// Revoke makes the server refuse every token.
func (s *Server) Revoke() { s.oauth.Revoke() }

// Fail makes requests and parts of batches whose method and path contain the given text fail with an error,
// until restore is called.
func (s *Server) Fail(path string, status int, code string, header http.Header) (restore func()) {
	a := refuse(status, code, "As the test wants it.")
	a.header = header
	return s.fail(path, a)
}

// FailWith is like Fail, with a page that is not Graph's as the response.
func (s *Server) FailWith(path string, status int, page string) (restore func()) {
	a := answer{status: status, raw: page}
	if page == "" {
		a = answer{status: status}
	}
	return s.fail(path, a)
}

func (s *Server) fail(path string, a answer) (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = append(s.fails, fail{path, a})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fails = nil
	}
}

// faulty returns the response of an injected fault, if there is one for the request.
func (s *Server) faulty(met adaptertest.Injected, method, path string) (answer, bool) {
	switch {
	case met.Stopped:
		a := refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "The service is temporarily unavailable.")
		a.header = http.Header{"Retry-After": {"1"}}
		return a, true
	case met.Limited:
		a := refuse(http.StatusTooManyRequests, "TooManyRequests", "Too many requests.")
		if met.Wait >= time.Second {
			a.header = http.Header{"Retry-After": {met.Seconds()}}
		}
		return a, true
	case met.Forbidden:
		return denied(), true
	}
	for _, one := range s.fails {
		if strings.Contains(method+" "+path, one.path) {
			return one.a, true
		}
	}
	return answer{}, false
}
