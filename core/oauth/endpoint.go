package oauth

import (
	"context"
	"net/url"
	"sync/atomic"

	"frontdesk/core/fault"
)

// endpoint is a host that is asked for tokens.
type endpoint struct {
	host  string
	slots chan struct{} // holds one for each redeem that is under way
	users int           // that hold or want a slot; guarded by Keeper.mu
	sick  atomic.Bool   // it did not answer the last time
}

// enter takes a slot at the token endpoint's host. A call waits for one; a renewal ahead of time does not wait where the
// host is sick and every slot may be lost to a redeem that hangs: there are others to renew.
func (k *Keeper) enter(ctx context.Context, tokenURL string, urgent bool) (*endpoint, error) {
	e := k.endpointOf(tokenURL)
	select {
	case e.slots <- struct{}{}:
		return e, nil
	default:
	}
	if !urgent {
		if e.sick.Load() {
			k.forsake(e)
			return nil, errBusy
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.limits.Queue)
		defer cancel()
	}
	select {
	case e.slots <- struct{}{}:
		return e, nil
	case <-ctx.Done():
		k.forsake(e)
		if !urgent {
			return nil, errBusy
		}
		return nil, fault.From(ctx.Err())
	}
}

func (k *Keeper) leave(e *endpoint) {
	<-e.slots
	k.forsake(e)
}

func (k *Keeper) endpointOf(tokenURL string) *endpoint {
	host := tokenURL
	if u, err := url.Parse(tokenURL); err == nil {
		host = u.Host
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.endpoints[host]
	if !ok {
		e = &endpoint{host: host, slots: make(chan struct{}, perEndpoint)}
		k.endpoints[host] = e
	}
	e.users++
	return e
}

// forsake drops an endpoint that nobody uses and of which there is nothing to remember.
func (k *Keeper) forsake(e *endpoint) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.users--; e.users == 0 && !e.sick.Load() {
		delete(k.endpoints, e.host)
	}
}
