package parallel

import (
	"context"
	"log/slog"
	"time"

	"frontdesk/core/pause"
	"frontdesk/core/telemetry"
)

// beginAnew is how long background work that panicked rests.
const beginAnew = 10 * time.Second

// Try runs a function for which nobody waits, such as an attempt to deliver an event. It logs a panic and returns it
// as an error: what one tenant's data does to the function must not end the calls of all others.
func Try(ctx context.Context, log *slog.Logger, f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = telemetry.Recovered(cause)
			log.ErrorContext(ctx, "background work panicked", "error", err)
		}
	}()
	return f()
}

// Lasting runs background work that ends with its context. Work that panics is begun anew after a while.
func Lasting(ctx context.Context, log *slog.Logger, work func(context.Context)) {
	for {
		err := Try(ctx, log, func() error { work(ctx); return nil })
		if err == nil || pause.For(ctx, beginAnew) != nil {
			return
		}
	}
}
