// Package recur expands recurrence rules (RFC 5545 section 3.3.10) into wall-clock times. The caller knows
// the time zone and converts them into instants. A wall clock is a time.Time as if in UTC.
//
//	rule, err := recur.Parse("FREQ=MONTHLY;BYDAY=-1FR")
//	walls, err := rule.Between(start, from, to, &recur.Budget{Steps: 100_000})
//
// A Budget bounds the work for any rule: a rule that never matches, or matches every second, ends in
// ErrBudget.
package recur

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
)

// Frequency is the period of a rule.
type Frequency int

// The frequencies, from short to long.
const (
	Secondly Frequency = iota
	Minutely
	Hourly
	Daily
	Weekly
	Monthly
	Yearly
)

var frequencies = map[string]Frequency{
	"SECONDLY": Secondly, "MINUTELY": Minutely, "HOURLY": Hourly, "DAILY": Daily,
	"WEEKLY": Weekly, "MONTHLY": Monthly, "YEARLY": Yearly,
}

// Weekday is a day of the week: every one of the period if N is 0, or else the N-th, counted from the end of
// the period if N is negative.
type Weekday struct {
	N   int
	Day time.Weekday
}

var weekdays = map[string]time.Weekday{
	"SU": time.Sunday, "MO": time.Monday, "TU": time.Tuesday, "WE": time.Wednesday,
	"TH": time.Thursday, "FR": time.Friday, "SA": time.Saturday,
}

// Rule is a parsed rule.
type Rule struct {
	Freq     Frequency
	Interval int
	Count    int          // 0 if the rule has no COUNT
	Until    *ical.Moment // inclusive; nil if none. Between ignores it, because it may be an instant

	Seconds, Minutes, Hours                  []int
	Days                                     []Weekday
	MonthDays, YearDays, WeekNumbers, Months []int
	Positions                                []int
	WeekStart                                time.Weekday
	Skip                                     Skip
}

// Skip is which day stands for one that a month does not have (RFC 7529 section 4.1).
type Skip int

// The ways to skip: the day is left out, or the month's last day or the next month's first stands for it.
const (
	Omit Skip = iota
	Backward
	Forward
)

var skips = map[string]Skip{"OMIT": Omit, "BACKWARD": Backward, "FORWARD": Forward}

// Parse parses the value of an RRULE. An unknown part is an error unless its name begins with X-: without the
// part, the rule would have another meaning.
func Parse(text string) (Rule, error) {
	r := Rule{Freq: -1, Interval: 1, WeekStart: time.Monday}
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if value == "" || strings.HasPrefix(name, "X-") {
			continue // a trailing semicolon, or an empty list, which some programs write
		}
		if err := r.set(name, value); err != nil {
			return Rule{}, fmt.Errorf("recur: the part %.20q: %w", name, err)
		}
	}
	if r.Freq < 0 {
		return Rule{}, errors.New("recur: the rule has no FREQ")
	}
	if r.Skip != Omit && (len(r.YearDays)+len(r.WeekNumbers) > 0 || len(r.MonthDays) > 0 && r.MonthDays[0] < 0) {
		return Rule{}, errors.New("recur: the rule skips days that are counted from elsewhere than a month's first")
	}
	return r, nil
}

var errValue = errors.New("has a value that cannot be used")

func (r *Rule) set(name, value string) (err error) {
	switch name {
	case "FREQ":
		freq, ok := frequencies[value]
		if !ok {
			return errValue
		}
		r.Freq = freq
	case "INTERVAL":
		r.Interval, err = number(value, 0, 1_000_000)
		r.Interval = max(1, r.Interval) // 0 as other programs read it (libical#135, kewisch/ical.js#73)
	case "COUNT":
		// Programs write 0 for no end: macOS (sabre-io/dav#1455), Tasks (tasks/tasks#2158).
		r.Count, err = number(value, 0, 1_000_000_000)
	case "UNTIL":
		until, bad := ical.ParseMoment(value, "")
		if bad != nil {
			return errValue
		}
		r.Until = &until
	case "BYSECOND":
		r.Seconds, err = numbers(value, 0, 60, false)
		for i, s := range r.Seconds {
			r.Seconds[i] = min(s, 59) // a leap second is read as the second before it
		}
		r.Seconds = slices.Compact(r.Seconds)
	case "BYMINUTE":
		r.Minutes, err = numbers(value, 0, 59, false)
	case "BYHOUR":
		r.Hours, err = numbers(value, 0, 23, false)
	case "BYDAY":
		r.Days, err = days(value)
	case "BYMONTHDAY":
		r.MonthDays, err = numbers(value, 1, 31, true)
	case "BYYEARDAY":
		r.YearDays, err = numbers(value, 1, 366, true)
	case "BYWEEKNO":
		r.WeekNumbers, err = numbers(value, 1, 53, true)
	case "BYMONTH":
		r.Months, err = numbers(value, 1, 12, false)
	case "BYSETPOS":
		r.Positions, err = numbers(value, 1, 366, true)
	case "WKST":
		day, ok := weekdays[value]
		if !ok {
			return errValue
		}
		r.WeekStart = day
	case "RSCALE": // RFC 7529
		if value != "GREGORIAN" {
			return errValue
		}
	case "SKIP":
		skip, ok := skips[value]
		if !ok {
			return errValue
		}
		r.Skip = skip
	default:
		return errors.New("is not known")
	}
	return err
}

func number(text string, lowest, highest int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < lowest || n > highest {
		return 0, errValue
	}
	return n, nil
}

// numbers parses a list and returns it sorted and without duplicates. signed allows negative numbers.
func numbers(text string, lowest, highest int, signed bool) ([]int, error) {
	var list []int
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		negative := signed && strings.HasPrefix(item, "-")
		n, err := number(strings.TrimLeft(strings.TrimPrefix(item, "-"), "+"), lowest, highest)
		if err != nil || (strings.HasPrefix(item, "-") && !negative) {
			return nil, errValue
		}
		if negative {
			n = -n
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func days(text string) ([]Weekday, error) {
	var list []Weekday
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if len(item) < 2 {
			return nil, errValue
		}
		day, ok := weekdays[item[len(item)-2:]]
		if !ok {
			return nil, errValue
		}
		w := Weekday{Day: day}
		if ordinal := item[:len(item)-2]; ordinal != "" {
			n, err := numbers(ordinal, 1, 53, true)
			if err != nil {
				return nil, err
			}
			w.N = n[0]
		}
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list, nil
}

// Dependent reports whether the rule itself names days or times of day, so that it would not match a start on
// another day or at another time.
func (r Rule) Dependent() (onDay, onClock bool) {
	onDay = len(r.Days)+len(r.MonthDays)+len(r.YearDays)+len(r.WeekNumbers)+len(r.Months)+len(r.Positions) > 0
	onClock = len(r.Hours)+len(r.Minutes)+len(r.Seconds) > 0
	return onDay, onClock
}
