package gateway

import (
	"context"
	"errors"
	"time"
)

const (
	probeEvery  = 5 * time.Second // while writes succeed
	probeSooner = time.Second     // while they fail
)

var errDraining = errors.New("the gateway is shutting down")

// ready returns an error if the gateway is shutting down, its last probe failed or the store does not
// respond.
func (g *Gateway) ready(ctx context.Context) error {
	if g.draining.Load() {
		return errDraining
	}
	if failed := g.unwritable.Load(); failed != nil {
		return *failed
	}
	return g.store.Ping(ctx)
}

// probeWrites checks regularly whether the store accepts writes, independently of requests, until ctx ends.
func (g *Gateway) probeWrites(ctx context.Context) {
	for {
		wait := probeEvery
		if !g.probe(ctx) {
			wait = probeSooner
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// probe writes once, and reports whether that succeeded.
func (g *Gateway) probe(ctx context.Context) bool {
	err := g.store.Probe(ctx)
	if err == nil {
		if g.unwritable.Swap(nil) != nil {
			g.log.InfoContext(ctx, "the store accepts writes again")
		}
		return true
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return false // the gateway is stopping; the store may be fine
	}
	if g.unwritable.Swap(&err) == nil {
		g.log.ErrorContext(ctx, "the store accepts no writes; the gateway is not ready", "error", err)
	}
	return false
}
