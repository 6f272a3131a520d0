package fake

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// faults are the faults that a test has set.
type faults struct {
	status int    // of every response; 0 is none
	policy string // of the rate limit; "" is TEN_SECONDLY_ROLLING
	wait   time.Duration
}

// Revoke has the server refuse every token issued so far and issue no new ones for them.
func (s *Server) Revoke() {
	s.OAuth.Revoke()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

// LimitBy has the server refuse every call by a policy: DAILY, TEN_SECONDLY_ROLLING or SECONDLY. It names no
// wait.
func (s *Server) LimitBy(policy string) {
	s.Limit(0)
	s.with(func(f *faults) { f.policy = policy })
}

// Answer makes the server respond with a bare status, such as 423 or 477, and a wait unless it is zero.
// Status 0 ends that.
func (s *Server) Answer(status int, wait time.Duration) {
	s.with(func(f *faults) { f.status, f.wait = status, wait })
}

// CallLog lists the calls so far, as "GET /path".
func (s *Server) CallLog() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) with(change func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.faults)
}

// faulty counts a call. If a fault is due, it responds in place of the server and returns true.
func (s *Server) faulty(w http.ResponseWriter, r *http.Request) bool {
	met := s.Inject(w, r)
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	f := s.faults
	s.mu.Unlock()
	if met.Wait = max(met.Wait, f.wait); met.Wait >= time.Second {
		w.Header().Set("Retry-After", met.Seconds())
	}
	switch {
	case met.Answered:
	case met.Stopped:
		(&refusal{status: http.StatusServiceUnavailable, message: "Service Unavailable"}).write(w)
	case f.status != 0:
		(&refusal{status: f.status, message: "The server was told to answer this."}).write(w)
	case met.Limited:
		policy := cmp.Or(f.policy, "TEN_SECONDLY_ROLLING")
		tooMany(policy, "You have reached your "+strings.ToLower(policy)+" limit.").write(w)
	case met.Forbidden:
		missingScopes("tickets").write(w)
	default:
		return false
	}
	return true
}

// meter counts a call against the limits and reports in headers what is left of them, except for a search
// (developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines). It reports daily limits only to
// private apps.
func (s *Server) meter(w http.ResponseWriter, r *http.Request, private bool) *refusal {
	now := s.options.Now()
	if strings.HasSuffix(r.URL.Path, "/search") {
		s.searches = append(recentOf(s.searches, now, time.Second), now)
		if len(s.searches) > s.options.SearchesPerSecond {
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
