package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"frontdesk/core/apikey"
	"frontdesk/core/budget"
	"frontdesk/core/fault"
)

// Header fields of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4.
const (
	headerRatePolicy = "RateLimit-Policy"
	headerRate       = "RateLimit"
)

// rateWindow is the window of the quotas. A bucket holds the quota of a whole window, so that a caller who
// follows the announced policy is never refused, however unevenly the requests come.
const rateWindow = time.Minute

// maxBuckets is the number of buckets in a policy's young generation that starts a new generation. It bounds
// the memory: a policy keeps at most twice as many buckets.
const maxBuckets = 1 << 16

// Budgets shares rates among all replicas; *budget.Budgets implements it.
type Budgets interface {
	// Take takes one unit of each rate if all have one, else none, and returns what is left of each. With
	// units in hand it does not wait.
	Take(ctx context.Context, limits ...budget.Limit) (taken bool, left []float64)
}

// rateLimits holds the policies in force and the callers' remaining quotas. It holds its lock only to look up
// two buckets, so that one tenant's excess does not delay another.
type rateLimits struct {
	budgets  Budgets // nil: the quotas are this process's own, and are never waited for
	mu       sync.Mutex
	policies []*ratePolicy
	policy   string // the RateLimit-Policy header; "": nothing is limited
}

// ratePolicy limits the requests of each API key or of each tenant.
type ratePolicy struct {
	name   string
	quota  int                        // requests in a window
	of     func(apikey.Caller) string // returns the key of a caller's bucket
	detail string                     // of the refusal

	// The buckets, in two generations. A bucket that was not used for a window is full, so it can be dropped.
	young, old map[string]*rate.Limiter
	since      time.Time // when the young generation began
}

// newRateLimits returns the limits for the given numbers of requests per minute; 0 means no limit.
func newRateLimits(perKey, perTenant int) *rateLimits {
	l := &rateLimits{}
	l.add(perKey, ratePolicy{
		// In the place of an id, a person has a name, which those of other tenants may have as well.
		name: "key", of: func(c apikey.Caller) string { return c.Tenant.ID + " " + c.KeyID },
		detail: "The API key made more than %s requests within a minute.",
	})
	l.add(perTenant, ratePolicy{
		name: "tenant", of: func(c apikey.Caller) string { return c.Tenant.ID },
		detail: "The keys of the tenant together made more than %s requests within a minute.",
	})
	return l
}

// sharedBy has replicas share the quotas, unless b is nil.
func (l *rateLimits) sharedBy(b Budgets) *rateLimits {
	l.budgets = b
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

// admit takes one request off every quota of the caller, and sets the headers for what is left. If a quota is
// used up, admit takes nothing off any quota and returns the refusal.
func (l *rateLimits) admit(ctx context.Context, caller apikey.Caller, now time.Time, h http.Header) error {
	if l.policy == "" {
		return nil
	}
	admitted, tokens := l.take(ctx, caller, now)
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

// take takes one request from each of the caller's buckets if all have one left. It returns what is left in
// each bucket.
func (l *rateLimits) take(
	ctx context.Context, caller apikey.Caller, now time.Time,
) (admitted bool, tokens []float64) {
	if l.budgets != nil {
		limits := make([]budget.Limit, len(l.policies))
		for i, p := range l.policies {
			limits[i] = budget.Limit{Name: p.name + ":" + p.of(caller), Units: p.quota, Per: rateWindow}
		}
		return l.budgets.Take(ctx, limits...)
	}
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

// bucket returns the bucket with the given key, or a new, full one if there is none.
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

// refuse returns the refusal of this policy, or the earlier one if its RetryAfter is longer.
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

// describe writes a service limit item (section 4.1): how many requests are left, and the window for them.
// The window is the time in which as many requests are refilled, so that a caller who spreads them over it
// follows the policy (section 8.5). With none left, the window ends when one is refilled, which is also the
// end of Retry-After (section 6).
func (p *ratePolicy) describe(b *strings.Builder, tokens float64) {
	left := math.Floor(tokens)
	window := p.lasting(left)
	if left < 1 {
		left, window = 0, p.lasting(1-tokens)
	}
	fmt.Fprintf(b, "%q;r=%d;t=%d", p.name, int(left), int(window.Seconds()))
}

// lasting returns the time in which the given number of requests is refilled, rounded up to seconds.
func (p *ratePolicy) lasting(requests float64) time.Duration {
	return time.Duration(math.Ceil(requests*rateWindow.Seconds()/float64(p.quota))) * time.Second
}
