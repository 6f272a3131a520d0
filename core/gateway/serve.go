package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Addresses are where a gateway listens.
type Addresses struct {
	API string // http://host:port
	Ops string // health and metrics; "" when they are not served apart
}

const shutdownWait = 4 * time.Second // beyond the deadline of a request

// Serve answers requests until ctx ends. Then nothing that was taken is lost: /readyz says 503 while requests
// are still answered, each with word that its connection closes, until a load balancer that follows it has
// gone elsewhere (server.drain); after that the connections that are idle are closed, the requests that run
// are finished, and what works in the background ends with what it has in hand. started is told the addresses
// once requests are answered; it may be nil.
func (g *Gateway) Serve(ctx context.Context, started func(Addresses)) error {
	if err := g.Migrate(ctx); err != nil {
		return err
	}
	if err := g.checkKeys(ctx); err != nil {
		return err
	}
	if err := g.audit.Ready(ctx); err != nil {
		return err
	}
	if _, err := g.store.Digest(ctx, ""); err != nil { // so that no call waits for its key
		return err
	}
	switch ahead, err := g.services.Synchronise(ctx); {
	case err != nil:
		return err
	case ahead.Abs() > mostSkew:
		g.log.WarnContext(ctx, "the clock of this machine differs from the database's; run a time service on both",
			"ahead", ahead.Round(time.Millisecond).String())
	}
	public, err := listen(ctx, "server.listen", g.config.Server.Listen)
	if err != nil {
		return err
	}
	defer public.Close()
	servers := []*http.Server{g.server(g.closing(g.handler))}
	listeners := []net.Listener{public}
	at := Addresses{API: "http://" + public.Addr().String()}
	if g.config.Server.OpsListen != "" {
		ops, err := listen(ctx, "server.ops_listen", g.config.Server.OpsListen)
		if err != nil {
			return err
		}
		defer ops.Close()
		servers, listeners = append(servers, g.server(g.ops())), append(listeners, ops)
		at.Ops = "http://" + ops.Addr().String()
	}

	var work sync.WaitGroup
	defer work.Wait()
	background, stop := context.WithCancel(ctx)
	defer stop()
	work.Go(func() { g.services.Run(background) })
	work.Go(func() { g.tokens.Run(background) })
	work.Go(func() { g.audit.Run(background) })
	work.Go(func() { g.forget(background) })
	work.Go(func() { g.probeWrites(background) })

	failed := make(chan error, len(servers))
	for i := range servers {
		work.Go(func() {
			if err := servers[i].Serve(listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	g.log.InfoContext(ctx, "the gateway is ready", "api", at.API, "ops", at.Ops, "version", Version())
	if started != nil {
		started(at)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		g.draining.Store(true)
		g.log.Info("the gateway is shutting down", "drain", g.config.Server.Drain.String())
		select {
		case err = <-failed:
		case <-time.After(g.config.Server.Drain):
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.config.Resilience.Deadline+shutdownWait)
	defer cancel()
	for _, s := range servers {
		if shut := s.Shutdown(end); shut != nil && err == nil {
			err = fmt.Errorf("requests were still running at shutdown: %w", shut)
		}
	}
	return err
}

// closing tells callers to use no connection again of a gateway that is shutting down (RFC 9112 section 9.6;
// on HTTP/2 net/http makes GOAWAY of it). A connection that is merely closed while it is idle can have a
// request on its way, and no caller knows whether that was taken.
func (g *Gateway) closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

func listen(ctx context.Context, key, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", key, address, err)
	}
	return l, nil
}

// server bounds what a slow or hostile sender can hold: headers within 5 s, all of a request
// within 15 s. The surface gives the bodies of its operations less.
func (g *Gateway) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      g.config.Resilience.Deadline + 10*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
}

// ops serves metrics and health on an address that is not for callers.
func (g *Gateway) ops() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.metrics.Handler())
	mux.Handle("GET /healthz", g.handler)
	mux.Handle("GET /readyz", g.handler)
	return mux
}
