package gateway

import (
	"context"
	"time"
)

// forgetEvery bounds how long deleted data can still be found in the write-ahead log of SQLite.
const forgetEvery = time.Minute

// forget empties the write-ahead log every forgetEvery until ctx ends.
func (g *Gateway) forget(ctx context.Context) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := g.store.Forget(ctx); err != nil && ctx.Err() == nil {
			g.log.WarnContext(ctx, "the database's write-ahead log could not be emptied; the gateway will "+
				"try again", "error", err)
		}
	}
}
