package guard

import (
	"context"
	"fmt"
	"time"
)

// obeyTime is how long a driver has to return once its context is cancelled.
const obeyTime = time.Second

func (g *Guard) waitIdle(ctx context.Context) error {
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
	}
	g.stop()
	last := time.NewTimer(obeyTime)
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
