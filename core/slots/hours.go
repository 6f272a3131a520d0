package slots

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Clock is a time of day in minutes after midnight: 540 is 09:00, and 1440 is the end of the day.
type Clock int

// EndOfDay is 24:00.
const EndOfDay Clock = 24 * 60

// ParseClock parses "9:00", "09:00" or "24:00".
func ParseClock(text string) (Clock, error) {
	hours, minutes, ok := strings.Cut(text, ":")
	h, errHours := strconv.ParseUint(hours, 10, 8)
	m, errMinutes := strconv.ParseUint(minutes, 10, 8)
	c := Clock(h*60 + m)
	if !ok || errHours != nil || errMinutes != nil || len(hours) > 2 || len(minutes) != 2 || m > 59 ||
		c > EndOfDay {
		return 0, fmt.Errorf("must be a time of day from 00:00 to 24:00, such as 09:00")
	}
	return c, nil
}

// Date is a day of the calendar, whatever the zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate parses "2026-12-24".
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return Date{}, fmt.Errorf("must be a date, such as 2026-12-24")
	}
	return dateOf(t), nil
}

// MarshalText returns the date as ParseDate reads it.
func (d Date) MarshalText() ([]byte, error) {
	return d.midnight().AppendFormat(nil, time.DateOnly), nil
}

// UnmarshalText parses the date.
func (d *Date) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDate(string(text))
	return err
}

func dateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// midnight returns the day's midnight as if in UTC.
func (d Date) midnight() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// Opening is one stretch of a day, from Start to End. If End is not after Start, it ends on the next day.
type Opening struct{ Start, End Clock }

// Check returns an error if the opening has no length or would last longer than a day.
func (o Opening) Check() error {
	switch o.Start {
	case EndOfDay:
		return fmt.Errorf("must start before 24:00")
	case o.End:
		return fmt.Errorf("must not end when it starts; 00:00 to 24:00 is the whole day")
	}
	return nil
}

// Weekly is an opening on days of every week.
type Weekly struct {
	Opening
	Days   []time.Weekday
	Except []Date         // days on which it does not open
	Zone   *time.Location // nil: Hours.Zone
}

// Hours say when meetings may take place.
type Hours struct {
	Weekly []Weekly
	// Dates replace all weekly openings that start on those days. A date without openings is closed.
	Dates map[Date][]Opening
	Zone  *time.Location // nil: UTC
}

// Weekdays are the English names of the days, as open_hours has them.
func Weekdays() []string {
	return []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
}

// ParseWeekday parses an English name of a day in lower case.
func ParseWeekday(name string) (time.Weekday, error) {
	day := slices.Index(Weekdays(), name)
	if day < 0 {
		return 0, fmt.Errorf("must be a day of the week: monday, tuesday, wednesday, thursday, friday, saturday " +
			"or sunday")
	}
	return time.Weekday(day), nil
}

// closed is what a day has in a table of hours when it has no openings.
const closed = "closed"

// ParseHours parses a table of hours: days of the week and dates, each with its openings.
//
//	monday: 09:00-12:30, 14:00-18:00
//	friday: 20:00-02:00
//	2026-12-25: closed
//
// A weekday that is missing is closed. The error names the wrong entry.
func ParseHours(table map[string]string) (Hours, error) {
	h := Hours{Dates: map[Date][]Opening{}}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		openings, err := ParseOpenings(table[key])
		if err != nil {
			return Hours{}, fmt.Errorf("has %q for %q, which %w", table[key], key, err)
		}
		if day, err := ParseWeekday(key); err == nil {
			for _, o := range openings {
				h.Weekly = append(h.Weekly, Weekly{Opening: o, Days: []time.Weekday{day}})
			}
			continue
		}
		date, err := ParseDate(key)
		if err != nil {
			return Hours{}, fmt.Errorf("has %q, which must be a day of the week, such as monday, or a date, such as "+
				"2026-12-24", key)
		}
		h.Dates[date] = openings
	}
	return h, nil
}

// ParseOpenings parses the openings of a day, such as "09:00-12:30, 14:00-18:00", or "closed".
func ParseOpenings(text string) ([]Opening, error) {
	if strings.TrimSpace(text) == closed {
		return nil, nil
	}
	var all []Opening
	for each := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(each, "-")
		start, errStart := ParseClock(strings.TrimSpace(from))
		end, errEnd := ParseClock(strings.TrimSpace(to))
		if !ok || errStart != nil || errEnd != nil {
			return nil, fmt.Errorf("must be %s, or openings such as 09:00-12:30, 14:00-18:00", closed)
		}
		o := Opening{start, end}
		if err := o.Check(); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// WorkingWeek returns the hours that count where nobody has set any: Monday to Friday from 09:00 to 17:00.
func WorkingWeek() Hours {
	return Hours{Weekly: []Weekly{{
		Opening: Opening{9 * 60, 17 * 60},
		Days:    []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
	}}}
}
