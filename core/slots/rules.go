package slots

import "time"

// Rules are what a tenant, a connection or a request says of slots. A nil field says nothing.
type Rules struct {
	Hours             *Hours
	Duration          *time.Duration
	Interval          *time.Duration
	Before, After     *time.Duration
	MinimumNotice     *time.Duration
	BookingWindowDays *int
	TentativeAsBusy   *bool
}

// Or returns the rules, with those of other where they say nothing.
func (r Rules) Or(other Rules) Rules {
	return Rules{
		Hours: or(r.Hours, other.Hours), Duration: or(r.Duration, other.Duration),
		Interval: or(r.Interval, other.Interval),
		Before:   or(r.Before, other.Before), After: or(r.After, other.After),
		MinimumNotice:     or(r.MinimumNotice, other.MinimumNotice),
		BookingWindowDays: or(r.BookingWindowDays, other.BookingWindowDays),
		TentativeAsBusy:   or(r.TentativeAsBusy, other.TentativeAsBusy),
	}
}

func or[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// defaultDuration is the length of a meeting where nobody has set any.
const defaultDuration = 30 * time.Minute

// Question returns a question with the rules. Where they say nothing, hours are the working week, a meeting
// lasts half an hour, the interval is the duration, what was accepted tentatively is busy, and there is no
// other limit.
func (r Rules) Question() Question {
	q := Question{
		Hours: value(r.Hours, WorkingWeek()), Duration: value(r.Duration, defaultDuration),
		Before: value(r.Before, 0), After: value(r.After, 0), MinimumNotice: value(r.MinimumNotice, 0),
		BookingWindowDays: value(r.BookingWindowDays, 0), TentativeIsFree: !value(r.TentativeAsBusy, true),
	}
	q.Interval = value(r.Interval, q.Duration)
	return q
}

// Complete returns the rules with the defaults where they say nothing, so that no others count beside them.
func (r Rules) Complete() Rules {
	q := r.Question()
	return Rules{
		Hours: &q.Hours, Duration: &q.Duration, Interval: &q.Interval, Before: &q.Before, After: &q.After,
		MinimumNotice: &q.MinimumNotice, BookingWindowDays: &q.BookingWindowDays,
		TentativeAsBusy: new(!q.TentativeIsFree),
	}
}

func value[T any](given *T, standard T) T {
	if given == nil {
		return standard
	}
	return *given
}
