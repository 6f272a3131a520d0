package fake

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// faults are what the server was told to do wrong.
type faults struct {
	forbidden, stopped bool
	status             int    // answers that
	policy             string // refuses every call by this policy
	wait               time.Duration
	hang               chan struct{}
	dropNext           bool
	instead            http.Handler
}

// Revoke has the server refuse every token given so far, and give no new ones for them.
func (s *Server) Revoke() {
	s.OAuth.Revoke()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

// Forbid has the server answer that a scope is missing, whatever is asked.
func (s *Server) Forbid() { s.with(func(f *faults) { f.forbidden = true }) }

// Stop has the server answer that it is unavailable.
func (s *Server) Stop() { s.with(func(f *faults) { f.stopped = true }) }

// Limit has the server refuse every call as one too many, and name that wait.
func (s *Server) Limit(wait time.Duration) {
	s.with(func(f *faults) { f.policy, f.wait = "TEN_SECONDLY_ROLLING", wait.Truncate(time.Second) })
}

// LimitBy has the server refuse every call by a policy: DAILY, TEN_SECONDLY_ROLLING or SECONDLY. It names no wait.
func (s *Server) LimitBy(policy string) { s.with(func(f *faults) { f.policy, f.wait = policy, 0 }) }

// Answer has the server answer a bare status, such as 423 or 477, and name a wait where it is not zero; 0 ends that.
func (s *Server) Answer(status int, wait time.Duration) {
	s.with(func(f *faults) { f.status, f.wait = status, wait.Truncate(time.Second) })
}

// Hang has the server take calls and answer none, until release is called.
func (s *Server) Hang() (release func()) {
	hang := make(chan struct{})
	s.with(func(f *faults) { f.hang = hang })
	return func() {
		s.with(func(f *faults) { f.hang = nil })
		close(hang)
	}
}

// DropNextReply has the server carry out the next write and lose the answer.
func (s *Server) DropNextReply() { s.with(func(f *faults) { f.dropNext = true }) }

// Instead puts another handler in the place of the API; nil ends that.
func (s *Server) Instead(h http.Handler) { s.with(func(f *faults) { f.instead = h }) }

// Calls counts the calls of the API, whatever became of them.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Asked lists the calls so far, as "GET /path".
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) with(change func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.faults)
}

// faulty counts a call, and answers in place of the server where it was told to.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.calls++
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	f := s.faults
	s.mu.Unlock()
	if f.hang != nil {
		select {
		case <-f.hang:
		case <-r.Context().Done():
			return true
		}
	}
	if f.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.wait/time.Second)))
	}
	switch {
	case f.instead != nil:
		f.instead.ServeHTTP(w, r)
	case f.stopped:
		(&refusal{status: http.StatusServiceUnavailable, message: "Service Unavailable"}).write(w)
	case f.status != 0:
		(&refusal{status: f.status, message: "The server was told to answer this."}).write(w)
	case f.policy != "":
		tooMany(f.policy, "You have reached your "+strings.ToLower(f.policy)+" limit.").write(w)
	case f.forbidden:
		missingScopes("tickets").write(w)
	default:
		return false
	}
	return true
}

// searchesPerSecond is what search allows beside the other limits.
const searchesPerSecond = 5

// metered counts a call against the limits and tells what is left of them, which search does not
// (developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines). Daily limits are told to private apps only.
func (s *Server) metered(w http.ResponseWriter, r *http.Request, private bool) *refusal {
	now := s.options.Now()
	if strings.HasSuffix(r.URL.Path, "/search") {
		s.searches = append(recentOf(s.searches, now, time.Second), now)
		if len(s.searches) > searchesPerSecond {
			return tooMany("SECONDLY", "You have reached your secondly limit.")
		}
		return nil
	}
	day := now.In(s.zone).Format(time.DateOnly)
	s.daily[day]++
	s.recent = append(recentOf(s.recent, now, 10*time.Second), now)
	tell := func(name string, value int) { w.Header().Set("X-HubSpot-RateLimit-"+name, strconv.Itoa(value)) }
	if most := s.options.PerDay; most > 0 {
		if private {
			tell("Daily", most)
			tell("Daily-Remaining", max(0, most-s.daily[day]))
		}
		if s.daily[day] > most {
			return tooMany("DAILY", "You have reached your daily limit.")
		}
	}
	if most := s.options.PerTenSeconds; most > 0 {
		tell("Max", most)
		tell("Remaining", max(0, most-len(s.recent)))
		tell("Interval-Milliseconds", 10_000)
		if len(s.recent) > most {
			return tooMany("TEN_SECONDLY_ROLLING", "You have reached your ten_secondly_rolling limit.")
		}
	}
	return nil
}

func recentOf(list []time.Time, now time.Time, window time.Duration) []time.Time {
	return slices.DeleteFunc(list, func(t time.Time) bool { return !t.After(now.Add(-window)) })
}

// drops reports whether this write's answer is the one to lose.
func (s *Server) drops(r *http.Request) bool {
	if r.Method == http.MethodGet {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := s.faults.dropNext
	s.faults.dropNext = false
	return drop
}
