package oauth

import (
	"context"
	"net/url"
	"sync/atomic"

	"frontdesk/core/fault"
)

// endpoint is the host of a token endpoint.
type endpoint struct {
	host         string
	slots        chan struct{} // holds one value for each redeem under way
	users        int           // how many hold or want a slot; guarded by TokenSource.mu
	unresponsive atomic.Bool   // it did not answer the last time
}

// acquire takes a slot at the token endpoint's host. A call waits for one. A renewal ahead of time does not
// wait at an unresponsive host, where redeems that hang may hold every slot: there are others to renew.
func (s *TokenSource) acquire(ctx context.Context, tokenURL string, urgent bool) (*endpoint, error) {
	e := s.endpointOf(tokenURL)
	select {
	case e.slots <- struct{}{}:
		return e, nil
	default:
	}
	if !urgent {
		if e.unresponsive.Load() {
			s.unref(e)
			return nil, errBusy
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limits.Queue)
		defer cancel()
	}
	select {
	case e.slots <- struct{}{}:
		return e, nil
	case <-ctx.Done():
		s.unref(e)
		if !urgent {
			return nil, errBusy
		}
		return nil, fault.From(ctx.Err())
	}
}

func (s *TokenSource) release(e *endpoint) {
	<-e.slots
	s.unref(e)
}

func (s *TokenSource) endpointOf(tokenURL string) *endpoint {
	host := tokenURL
	if u, err := url.Parse(tokenURL); err == nil {
		host = u.Host
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.endpoints[host]
	if !ok {
		e = &endpoint{host: host, slots: make(chan struct{}, perEndpoint)}
		s.endpoints[host] = e
	}
	e.users++
	return e
}

// unref drops an endpoint that nobody uses any more, unless it is known to be unresponsive.
func (s *TokenSource) unref(e *endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.users--; e.users == 0 && !e.unresponsive.Load() {
		delete(s.endpoints, e.host)
	}
}
