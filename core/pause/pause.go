// Package pause waits, as long as somebody wants it to.
package pause

import (
	"context"
	"time"
)

// For waits for d, or until ctx ends, whose error it then returns. Nothing is waited for a d of zero or less,
// so that ctx alone says what it returns.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
