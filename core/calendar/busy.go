package calendar

import (
	"context"
	"errors"

	"frontdesk/core/fault"
)

// Reading is what a driver that reads calendars one by one found in one of them: the busy times, or why they
// cannot be read.
type Reading struct {
	CalendarID string
	Busy       []Span
	Err        error
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
