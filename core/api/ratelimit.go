package api

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

// The header fields of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4.
const (
	headerRatePolicy = "RateLimit-Policy"
	headerRate       = "RateLimit"
)

// rateWindow is the time that quotas are counted in. A bucket holds a whole window's quota, so that who keeps
// to the announced policy is never refused, however unevenly the requests come.
const rateWindow = time.Minute

// maxBuckets is how many buckets of a policy are made before those not used since are forgotten. It bounds
// the memory: twice as many are kept at most.
const maxBuckets = 1 << 16

// rateLimits are the policies in force and what is left under each. It never waits and its lock is held for
// no longer than the look-up of two buckets, so that one tenant's excess does not delay another.
type rateLimits struct {
	mu       sync.Mutex
	policies []*ratePolicy
	policy   string // RateLimit-Policy; "" when nothing is limited
}

// ratePolicy limits each of many callers.
type ratePolicy struct {
	name   string
	quota  int                        // requests in a window
	of     func(apikey.Caller) string // whose bucket a request is taken from
	detail string                     // of the refusal

	// The buckets in two generations. One that was not used for a window is full, so that forgetting it
	// forgets nothing.
	young, old map[string]*rate.Limiter
	since      time.Time // when the young generation began
}

// newRateLimits makes the policies of so many requests in a minute; 0 is no limit.
func newRateLimits(perKey, perTenant int) *rateLimits {
	l := &rateLimits{}
	l.add(perKey, ratePolicy{
		name: "key", of: func(c apikey.Caller) string { return c.KeyID },
		detail: "The API key made more than %s requests within a minute.",
	})
	l.add(perTenant, ratePolicy{
		name: "tenant", of: func(c apikey.Caller) string { return c.Tenant.ID },
		detail: "The keys of the tenant together made more than %s requests within a minute.",
	})
	return l
}

func (l *rateLimits) add(quota int, p ratePolicy) {
	if quota <= 0 {
		return
	}
	p.quota, p.detail = quota, fmt.Sprintf(p.detail, thousands(quota))
	l.policies = append(l.policies, &p)
	if l.policy != "" {
		l.policy += ", "
	}
	l.policy += fmt.Sprintf("%q;q=%d;w=%d", p.name, quota, int(rateWindow.Seconds()))
}

// admit takes one request off every quota of the caller, or off none when one is used up, and tells in the
// headers what is left.
func (l *rateLimits) admit(caller apikey.Caller, now time.Time, h http.Header) error {
	if l.policy == "" {
		return nil
	}
	admitted, tokens := l.take(caller, now)
	var refusal *fault.Error
	var left strings.Builder
	for i, p := range l.policies {
		if i > 0 {
			left.WriteString(", ")
		}
		p.describe(&left, tokens[i])
		if !admitted && tokens[i] < 1 {
			refusal = p.refuse(refusal, tokens[i])
		}
	}
	h.Set(headerRatePolicy, l.policy)
	h.Set(headerRate, left.String())
	if refusal != nil {
		return refusal
	}
	return nil
}

// take returns what is left in each of the caller's buckets.
func (l *rateLimits) take(caller apikey.Caller, now time.Time) (admitted bool, tokens []float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	admitted, tokens = true, make([]float64, len(l.policies))
	buckets := make([]*rate.Limiter, len(l.policies))
	for i, p := range l.policies {
		buckets[i] = p.bucket(p.of(caller), now)
		tokens[i] = buckets[i].TokensAt(now)
		admitted = admitted && tokens[i] >= 1
	}
	if admitted {
		for i, b := range buckets {
			b.AllowN(now, 1)
			tokens[i]--
		}
	}
	return admitted, tokens
}

// bucket returns the bucket of one caller, a full one when there is none.
func (p *ratePolicy) bucket(of string, now time.Time) *rate.Limiter {
	if now.Sub(p.since) > rateWindow || len(p.young) >= maxBuckets {
		p.old, p.young, p.since = p.young, map[string]*rate.Limiter{}, now
	}
	if b, ok := p.young[of]; ok {
		return b
	}
	b, ok := p.old[of]
	if !ok {
		b = rate.NewLimiter(rate.Limit(float64(p.quota)/rateWindow.Seconds()), p.quota)
	}
	p.young[of] = b
	return b
}

// refuse makes the refusal, unless an earlier one has to be waited for longer.
func (p *ratePolicy) refuse(earlier *fault.Error, tokens float64) *fault.Error {
	wait := p.lasting(1 - tokens)
	if earlier != nil && earlier.RetryAfter > wait {
		return earlier
	}
	return &fault.Error{
		Code: fault.RateLimited, Reason: fault.ReasonRateLimited, Detail: p.detail, RetryAfter: wait,
		Metadata: map[string]string{"policy": p.name, "quota": strconv.Itoa(p.quota)},
	}
}

// describe writes a service limit item (section 4.1): how many requests are left, and the window that they
// are for: as long as so many take to come back, so that who spreads them over it keeps to the policy
// (section 8.5). With none left it ends when there is one, which is when Retry-After ends (section 6).
func (p *ratePolicy) describe(b *strings.Builder, tokens float64) {
	left := math.Floor(tokens)
	window := p.lasting(left)
	if left < 1 {
		left, window = 0, p.lasting(1-tokens)
	}
	fmt.Fprintf(b, "%q;r=%d;t=%d", p.name, int(left), int(window.Seconds()))
}

// lasting returns how long so many requests take to come back, in whole seconds.
func (p *ratePolicy) lasting(requests float64) time.Duration {
	return time.Duration(math.Ceil(requests*rateWindow.Seconds()/float64(p.quota))) * time.Second
}
