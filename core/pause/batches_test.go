package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A purge goes on until everything is done, pauses longer than it works, and uses smaller batches if they are
// slow.
func TestAPurgeRestsLongerThanItWorks(t *testing.T) {
	for name, perRow := range map[string]time.Duration{
		"quick": 10 * time.Microsecond, "slow": 3 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left, largest := int64(20_000), 0
				var worked time.Duration
				began := time.Now()
				err := InBatches(t.Context(), func(_ context.Context, most int) (int64, error) {
					done := min(left, int64(most))
					took := time.Duration(done) * perRow
					time.Sleep(took)
					worked, largest, left = worked+took, max(largest, most), left-done
					return done, nil
				})
				if err != nil || left != 0 {
					t.Errorf("%d are left, %v", left, err)
				}
				if rested := time.Since(began) - worked; rested < (rest-1)*worked {
					t.Errorf("it rested for %v and worked for %v", rested, worked)
				}
				if want := map[string]int{"quick": maxBatch, "slow": minBatch}[name]; largest != want {
					t.Errorf("the largest batch had %d, want %d", largest, want)
				}
			})
		})
	}
}

func TestAPurgeEndsWithItsGatewayAndWithAnError(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	err := InBatches(ctx, func(_ context.Context, most int) (int64, error) {
		end()
		return int64(most), nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	broken := errors.New("broken")
	err = InBatches(t.Context(), func(context.Context, int) (int64, error) { return 0, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
