package pause

import (
	"context"
	"time"
)

const (
	turn     = 4 * time.Millisecond // a batch may delay other writers for about this long
	rest     = 5                    // a pause lasts this many times as long as the work before
	minBatch = 5                    // rows, or pages of the file
	maxBatch = 200
)

// InBatches calls batch until it returns less than most, and rests in between, so that callers are not slowed
// down. The size of a batch adapts to the time it takes.
func InBatches(ctx context.Context, batch func(ctx context.Context, most int) (int64, error)) error {
	for most := minBatch; ; {
		began := time.Now()
		done, err := batch(ctx, most)
		if err != nil || done < int64(most) {
			return err
		}
		took := time.Since(began)
		if err := AfterWork(ctx, took); err != nil {
			return err
		}
		switch {
		case took > turn:
			most = max(minBatch, most/2)
		case took < turn/2:
			most = min(maxBatch, 2*most)
		}
	}
}

// AfterWork rests after a part of a work that nobody waits for, as InBatches does between two batches.
func AfterWork(ctx context.Context, took time.Duration) error { return For(ctx, rest*took) }
