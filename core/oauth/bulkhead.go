package oauth

import (
	"context"
	"net/url"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"frontdesk/core/fault"
)

// bulkhead bounds the redeems at one host, or those of one tenant.
type bulkhead struct {
	key          string
	slots        *semaphore.Weighted
	users        int         // how many hold or want a permit; guarded by TokenSource.mu
	unresponsive atomic.Bool // the last redeem was not answered
}

// Five redeems at a time run at one host, or two while it does not answer. One tenant has six: a host that
// hangs leaves it one, and a tenant all of whose hosts hang leaves turns to the others (store.HoldTurn).
const (
	hostSlots         = 10
	responsiveSlots   = 2 // that a redeem takes at a host,
	unresponsiveSlots = 5 // and at one that did not answer the last redeem
	tenantSlots       = 6
)

// permit allows one redeem.
type permit struct {
	host, tenant *bulkhead
	atHost       int64 // slots that it takes there
}

// acquire returns a permit for a redeem at a token endpoint; release gives it back. A call waits for one. A
// renewal ahead of time waits only for a while, and not at all behind redeems that hang: there are others to
// renew. It fails with errBusy then.
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

// wait takes the slots of a permit. Nobody who waits for the host holds slots of the tenant, nor the other
// way round, so that nobody waits for those who wait.
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

// wait takes slots as soon as there are enough.
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

// release records whether the host answered.
func (p *permit) release(answered bool) {
	p.host.unresponsive.Store(!answered)
	p.tenant.unresponsive.Store(!answered)
}

// bulkhead returns the one of a key, for one more user.
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

// unref drops the bulkheads that nobody uses any more, unless they are known to be unresponsive.
func (s *TokenSource) unref(p *permit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range []*bulkhead{p.host, p.tenant} {
		if b.users--; b.users == 0 && !b.unresponsive.Load() {
			delete(s.bulkheads, b.key)
		}
	}
}

func hostOf(tokenURL string) string {
	if u, err := url.Parse(tokenURL); err == nil {
		return u.Host
	}
	return tokenURL
}
