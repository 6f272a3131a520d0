package guard

import (
	"context"
	"fmt"
	"time"
)

// stopGrace is how long a driver may take to return once its context is cancelled.
const stopGrace = time.Second

// Close refuses new calls and waits for the running ones, including writes that outlived their callers. If
// the context ends first, Close cancels them, and the error reports how many had not ended even then.
func (g *Guard) Close(ctx context.Context) error {
	g.mu.Lock()
	first := !g.closed
	g.closed = true
	if first && g.running == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	defer g.stop()
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
	}
	g.stop()
	last := time.NewTimer(stopGrace)
	defer last.Stop()
	select {
	case <-g.idle:
		return nil
	case <-last.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return fmt.Errorf("%d driver calls have not ended: %w", g.running, context.Cause(ctx))
}

func (g *Guard) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running++
	return true
}

// retain counts an attempt, which may outlive its call. The call is counted, so the guard cannot be idle
// here.
func (g *Guard) retain() {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
}

func (g *Guard) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.closed && g.running == 0 {
		close(g.idle)
	}
}
