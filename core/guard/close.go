package guard

import (
	"context"
	"fmt"
	"time"
)

// stopGrace is how long a driver may take to return once its context is cancelled.
const stopGrace = time.Second

func (g *Guard) waitIdle(ctx context.Context) error {
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
