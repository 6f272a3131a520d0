package calendar

import (
	"context"
	"errors"
	"time"

	"frontdesk/core/fault"
)

// ErrOnePart is the cause of a fault of [ManyLister] that is about one of the calendars: the others may be read.
var ErrOnePart = errors.New("calendar: one of several calendars cannot be read")

// Reading is what a driver that reads calendars one by one found in one of them: the busy times, or why they
// cannot be read.
type Reading struct {
	CalendarID string
	Busy       []Span
	Err        error
}

// ReadingTime returns the context in which a driver reads so many calendars one by one. Of several, it ends early enough
// that the times of the others can be told where one calendar hangs.
func ReadingTime(ctx context.Context, calendars int) (context.Context, context.CancelFunc) {
	if calendars < 2 {
		return context.WithCancel(ctx)
	}
	return WithShare(ctx, 0.75)
}

// WithShare returns a context that ends after a share, from 0 to 1, of the time that ctx has left, if that is bounded.
func WithShare(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	end, ends := ctx.Deadline()
	if !ends {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(share*float64(time.Until(end))))
}

// BusyTimes returns the result of FreeBusy for readings of the calendars. Where one calendar cannot be read,
// the others are told. Where none can be read, the call fails, so that the guard sees why and may try again;
// calendars that do not exist are told nevertheless. It also fails if the account is disconnected or ctx has
// ended.
func BusyTimes(ctx context.Context, span Span, readings []Reading) ([]Busy, error) {
	var busy []Busy
	var failed error
	isAnyRead := false
	for _, r := range readings {
		switch {
		case r.Err == nil:
			isAnyRead = true
			for _, s := range r.Busy {
				busy = append(busy, Busy{CalendarID: r.CalendarID, Span: s})
			}
			continue
		case ctx.Err() != nil, errors.Is(r.Err, fault.Disconnected):
			return nil, r.Err
		case !errors.Is(r.Err, fault.NotFound):
			failed = r.Err
		}
		busy = append(busy, Busy{CalendarID: r.CalendarID, Span: span, Unknown: r.Err})
	}
	if failed != nil && !isAnyRead {
		return nil, failed
	}
	return busy, nil
}
