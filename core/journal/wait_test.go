package journal

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/store"
)

// However many wait for one call, one of them reads, also when the one that does has to go; and all hear of
// the end.
func TestOneOfThoseThatWaitReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w waiters
		var reading, most, reads atomic.Int64
		ended, broken := make(chan struct{}), errors.New("the store")
		results := make(chan error, 100)
		for i := range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
			go func() {
				defer cancel()
				results <- w.wait(ctx, store.Intent{TenantID: "t", Operation: "o", Key: "k"}, func() error {
					most.Store(max(most.Load(), reading.Add(1)))
					reads.Add(1)
					defer reading.Add(-1)
					select {
					case <-ended:
						return broken
					case <-ctx.Done():
						return ctx.Err()
					}
				})
			}()
			synctest.Wait()
		}
		time.Sleep(50*time.Second + time.Millisecond) // half of the waiting calls have given up
		close(ended)
		gone, released := 0, 0
		for range 100 {
			switch err := <-results; {
			case errors.Is(err, context.DeadlineExceeded):
				gone++
			case errors.Is(err, broken):
				released++
			}
		}
		if most.Load() != 1 || gone != 50 || released != 50 || len(w.shared) != 0 {
			t.Errorf("%d read at one time, %d left before the end, %d heard of it, %d are remembered",
				most.Load(), gone, released, len(w.shared))
		}
		if reads.Load() > 51 {
			t.Errorf("%d began to read", reads.Load())
		}
	})
}
