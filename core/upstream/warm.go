package upstream

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"frontdesk/core/fault"
)

// A call should not wait for a name, a TCP connection and a TLS handshake. So the pool keeps a connection open to
// each server that was asked lately, by a request without effect and without credentials, before the connection
// would be closed for idleness. A server that fails is left alone until a call has reached it again.
const (
	warmFor    = 30 * time.Minute // after the last call
	warmAfter  = 35 * time.Second // without a request; shorter than idleTimeout by more than warmEvery
	warmEvery  = 5 * time.Second
	warmWithin = 5 * time.Second // of one such request
	restAfter  = time.Minute     // after a failure, until Prepare may ask again
	maxOrigins = 512
	warmAtOnce = 16
)

// origin is a server, as seen through one of the pool's transports. So the egress rules of a tenant's connection
// apply to what keeps it open.
type origin struct {
	base         *http.Transport
	scheme, host string
}

// warmth is what the pool knows of the connections to a server.
type warmth struct {
	called  time.Time // when a call last needed the server
	touched time.Time // when the server last got a request
	failed  time.Time // when it last failed; zero if it has answered since
	closes  bool      // it closes the connection after such a request
}

// warmer keeps connections open. Its own requests end with the pool.
type warmer struct {
	now   func() time.Time
	agent string

	base context.Context
	end  context.CancelFunc
	slot chan struct{}
	work sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	origins map[origin]*warmth
}

func newWarmer(o PoolOptions) *warmer {
	w := &warmer{
		now: time.Now, agent: o.UserAgent, slot: make(chan struct{}, warmAtOnce), origins: map[origin]*warmth{},
	}
	w.base, w.end = context.WithCancel(context.Background())
	return w
}

// close ends the requests under way and waits for them.
func (w *warmer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.work.Wait()
}

// asked notes that a call has asked a server. A request that was given up shows nothing of the server, nor does the end
// of its time, which may have been short: the next request that keeps the connection open does.
func (w *warmer) asked(base *http.Transport, at *url.URL, f *fault.Error) {
	if base.DisableKeepAlives {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	of, now := w.find(base, at), w.now()
	of.called = now
	if f != nil && (f.Code == fault.Canceled || f.Code == fault.Timeout) {
		return
	}
	of.touched, of.failed = now, time.Time{}
	if f != nil {
		of.failed = now
	}
}

// find returns what is known of a server, and begins to know it. The caller holds the lock.
func (w *warmer) find(base *http.Transport, at *url.URL) *warmth {
	key := origin{base, at.Scheme, at.Host}
	there, ok := w.origins[key]
	if ok {
		return there
	}
	if len(w.origins) >= maxOrigins {
		var oldest origin
		for o, of := range w.origins {
			if oldest.base == nil || of.called.Before(w.origins[oldest].called) {
				oldest = o
			}
		}
		delete(w.origins, oldest)
	}
	there = &warmth{}
	w.origins[key] = there
	return there
}

// Prepare opens a connection to the server of a client's credentials, if none can be open and the server has not
// failed lately. It does not wait: calls are expected soon.
func (p *Pool) Prepare(o ClientOptions) {
	if home := o.AuthorizeFor; home != nil && home.Host != "" && (home.Scheme == "https" || home.Scheme == "http") {
		p.warm.prepare(p.baseOf(o, home), home)
	}
}

func (w *warmer) prepare(base *http.Transport, at *url.URL) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of, now := w.find(base, at), w.now()
	of.called = now
	if now.Sub(of.touched) >= idleTimeout && now.Sub(of.failed) >= restAfter && !of.closes {
		w.start(origin{base, at.Scheme, at.Host}, of)
	}
}

// KeepWarm keeps connections open until ctx ends.
func (p *Pool) KeepWarm(ctx context.Context) {
	tick := time.NewTicker(warmEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.warm.sweep()
		case <-ctx.Done():
			return
		}
	}
}

// sweep touches the connections that would soon be closed, and forgets the servers that nobody asks.
func (w *warmer) sweep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for o, of := range w.origins {
		switch {
		case now.Sub(of.called) >= warmFor:
			delete(w.origins, o)
		case of.failed.IsZero() && !of.closes && now.Sub(of.touched) >= warmAfter:
			w.start(o, of)
		}
	}
}

// start begins a request, unless too many are under way. The caller holds the lock.
func (w *warmer) start(o origin, of *warmth) {
	if w.closed {
		return
	}
	select {
	case w.slot <- struct{}{}:
	default:
		return
	}
	of.touched = w.now()
	w.work.Go(func() {
		defer func() { <-w.slot }()
		closes, err := w.touch(o)
		w.mu.Lock()
		defer w.mu.Unlock()
		of.closes = closes
		if err != nil {
			of.failed = w.now()
		}
	})
}

// touch asks the server for nothing, and reports whether it closes the connection. Any answer will do.
func (w *warmer) touch(o origin) (closes bool, err error) {
	ctx, cancel := context.WithTimeout(w.base, warmWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, o.scheme+"://"+o.host+"/", nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("User-Agent", w.agent)
	resp, err := o.base.RoundTrip(req) //nolint:bodyclose // drain closes it
	if err != nil {
		return false, err
	}
	drain(resp.Body)
	return resp.Close, nil
}
