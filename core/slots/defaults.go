package slots

import (
	"fmt"
	"time"
)

// Defaults are the rules that a tenant or a connection keeps as settings.
type Defaults struct {
	OpenHours            map[string]string // see [ParseHours]
	DurationMinutes      *int
	SlotIntervalMinutes  *int
	BufferBeforeMinutes  *int
	BufferAfterMinutes   *int
	MinimumNoticeMinutes *int
	BookingWindowDays    *int
	TentativeAsBusy      *bool
}

// NameTentative is the name of the setting that says whether what was accepted tentatively is busy.
const NameTentative = "tentative_as_busy"

// Limit is what a number among the rules may be, in its own unit.
type Limit struct {
	Name        string
	Least, Most int
}

// The limits of the numbers.
var (
	LimitDuration      = Limit{"duration_minutes", 1, 24 * 60}
	LimitInterval      = Limit{"slot_interval_minutes", 1, 24 * 60}
	LimitBefore        = Limit{"buffer_before_minutes", 0, 24 * 60}
	LimitAfter         = Limit{"buffer_after_minutes", 0, 24 * 60}
	LimitNotice        = Limit{"minimum_notice_minutes", 0, 60 * 24 * 60}
	LimitBookingWindow = Limit{"booking_window_days", 0, 730}
)

// Check returns an error if the number is outside the limit.
func (l Limit) Check(n int) error {
	if n < l.Least || n > l.Most {
		return fmt.Errorf("must be from %d to %d", l.Least, l.Most)
	}
	return nil
}

// Wrong is a setting that cannot be.
type Wrong struct {
	Name string
	Err  error // what it must be, without its subject
}

// Rules returns the rules that the settings mean, or everything that is wrong with them.
func (d Defaults) Rules() (Rules, []Wrong) {
	var r Rules
	var wrong []Wrong
	if len(d.OpenHours) > 0 {
		hours, err := ParseHours(d.OpenHours)
		if err != nil {
			wrong = append(wrong, Wrong{"open_hours", err})
		} else {
			r.Hours = &hours
		}
	}
	for _, n := range []struct {
		given *int
		limit Limit
		into  **time.Duration
	}{
		{d.DurationMinutes, LimitDuration, &r.Duration}, {d.SlotIntervalMinutes, LimitInterval, &r.Interval},
		{d.BufferBeforeMinutes, LimitBefore, &r.Before}, {d.BufferAfterMinutes, LimitAfter, &r.After},
		{d.MinimumNoticeMinutes, LimitNotice, &r.MinimumNotice}, {d.BookingWindowDays, LimitBookingWindow, nil},
	} {
		if n.given == nil {
			continue
		}
		if err := n.limit.Check(*n.given); err != nil {
			wrong = append(wrong, Wrong{n.limit.Name, err})
			continue
		}
		if n.into != nil {
			*n.into = new(time.Duration(*n.given) * time.Minute)
		}
	}
	r.BookingWindowDays, r.TentativeAsBusy = d.BookingWindowDays, d.TentativeAsBusy
	return r, wrong
}
