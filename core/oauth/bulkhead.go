package oauth

import (
	"context"
	"maps"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"frontdesk/core/fault"
)

// bulkhead bounds the concurrent redeems at one host, or those of one tenant.
type bulkhead struct {
	key          string
	slots        *semaphore.Weighted
	unresponsive atomic.Bool // the last redeem got no response

	// Guarded by TokenSource.mu:
	users int       // number of redeems that hold or wait for a permit
	left  time.Time // by the last of them
}

// Five redeems at a time run at one host, or two if it does not respond. A tenant has six at a time: a host
// that hangs leaves the tenant one, and a tenant whose hosts all hang leaves turns to other tenants
// (store.HoldTurn).
const (
	hostSlots         = 10
	responsiveSlots   = 2 // taken by a redeem at a host
	unresponsiveSlots = 5 // taken by a redeem at a host that did not respond to the last redeem
	tenantSlots       = 6
)

// permit allows one redeem.
type permit struct {
	host, tenant *bulkhead
	atHost       int64 // slots taken at the host
}

// acquire returns a permit for a redeem at a token endpoint; release gives it back. An urgent renewal waits
// for one. Any other waits only for a limited time, and not at all if the host or tenant is unresponsive,
// since other connections are due too. Then acquire returns errBusy.
func (s *TokenSource) acquire(ctx context.Context, tenantID, tokenURL string, urgent bool) (*permit, error) {
	p := &permit{
		host: s.bulkhead("host "+hostOf(tokenURL), hostSlots), tenant: s.bulkhead("tenant "+tenantID, tenantSlots),
		atHost: responsiveSlots,
	}
	if p.host.unresponsive.Load() {
		p.atHost = unresponsiveSlots
	}
	if !urgent {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limits.Queue)
		defer cancel()
	}
	if err := p.wait(ctx, urgent); err != nil {
		s.unref(p)
		return nil, err
	}
	return p, nil
}

// wait takes the slots of a permit. A redeem that waits for the host holds no slots of the tenant, and the
// other way round, so that no redeem waits for one that waits itself.
func (p *permit) wait(ctx context.Context, urgent bool) error {
	for {
		if err := p.host.wait(ctx, p.atHost, urgent); err != nil {
			return err
		}
		if p.tenant.slots.TryAcquire(1) {
			return nil
		}
		p.host.slots.Release(p.atHost)
		if err := p.tenant.wait(ctx, 1, urgent); err != nil {
			return err
		}
		if p.host.slots.TryAcquire(p.atHost) {
			return nil
		}
		p.tenant.slots.Release(1)
	}
}

// wait takes slots as soon as enough are free.
func (b *bulkhead) wait(ctx context.Context, slots int64, urgent bool) error {
	if b.slots.TryAcquire(slots) {
		return nil
	}
	if !urgent && b.unresponsive.Load() {
		return errBusy
	}
	switch err := b.slots.Acquire(ctx, slots); {
	case err == nil:
		return nil
	case !urgent:
		return errBusy
	default:
		return fault.From(err)
	}
}

// release gives a permit back.
func (s *TokenSource) release(p *permit) {
	p.host.slots.Release(p.atHost)
	p.tenant.slots.Release(1)
	s.unref(p)
}

// record notes whether the host responded.
func (p *permit) record(responded bool) {
	p.host.unresponsive.Store(!responded)
	p.tenant.unresponsive.Store(!responded)
}

// bulkhead returns the bulkhead with the given key, creating it if needed, and adds a user to it.
func (s *TokenSource) bulkhead(key string, slots int64) *bulkhead {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.bulkheads[key]
	if !ok {
		b = &bulkhead{key: key, slots: semaphore.NewWeighted(slots)}
		s.bulkheads[key] = b
	}
	b.users++
	return b
}

// unref removes a user from a permit's bulkheads, and drops those without users unless they are unresponsive.
func (s *TokenSource) unref(p *permit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range []*bulkhead{p.host, p.tenant} {
		b.left = s.options.Now()
		if b.users--; b.users == 0 && !b.unresponsive.Load() {
			delete(s.bulkheads, b.key)
		}
	}
}

// dropBulkheads drops those that nobody has used for longer than a redeem that is due is put off.
func (s *TokenSource) dropBulkheads() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Now()
	maps.DeleteFunc(s.bulkheads, func(_ string, b *bulkhead) bool {
		return b.users == 0 && now.Sub(b.left) > 2*s.limits.MaxBackoff
	})
}

func hostOf(tokenURL string) string {
	if u, err := url.Parse(tokenURL); err == nil {
		return u.Host
	}
	return tokenURL
}
