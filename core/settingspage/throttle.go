package settingspage

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Attempts to sign in, from one address and from all together: with links that do not work, and at the OpenID
// provider. Behind a proxy, all people have one address. So a link that works always does, however many others somebody
// tries: it cannot be guessed. At the OpenID provider, only those count for which it is asked: beginning to sign in
// does not, nor does an answer that belongs to no sign-in.
const (
	attemptsPerSecond    = 1
	attemptsAtOnce       = 10
	attemptsPerSecondAll = 20
	attemptsAtOnceAll    = 200
	maxAddresses         = 4096
)

// throttle limits attempts to sign in. It is safe for concurrent use.
type throttle struct {
	now func() time.Time
	all *rate.Limiter

	mu        sync.Mutex
	addresses map[netip.Prefix]*rate.Limiter
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{
		now: now, all: rate.NewLimiter(attemptsPerSecondAll, attemptsAtOnceAll),
		addresses: map[netip.Prefix]*rate.Limiter{},
	}
}

// allow reports whether one more attempt may be made from an address ("192.0.2.1:5060"), and counts it.
func (t *throttle) allow(remote string) bool {
	now := t.now()
	if t.all.TokensAt(now) < 1 { // many addresses would make of look through all it remembers
		return false
	}
	return t.of(network(remote), now).AllowN(now, 1) && t.all.AllowN(now, 1)
}

func (t *throttle) of(n netip.Prefix, now time.Time) *rate.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	limiter := t.addresses[n]
	if limiter != nil {
		return limiter
	}
	if len(t.addresses) >= maxAddresses {
		for known, l := range t.addresses {
			if l.TokensAt(now) >= attemptsAtOnce { // as good as a new one
				delete(t.addresses, known)
			}
		}
	}
	limiter = rate.NewLimiter(attemptsPerSecond, attemptsAtOnce)
	if len(t.addresses) < maxAddresses {
		t.addresses[n] = limiter
	}
	return limiter
}

// network returns the network of one subscriber: an IPv4 address, or the first half of an IPv6 address.
func network(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap(), 32
	if ip.Is6() {
		bits = 64
	}
	n, _ := ip.Prefix(bits) // the bits are valid
	return n
}
