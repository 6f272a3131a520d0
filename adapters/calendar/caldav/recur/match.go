package recur

import (
	"slices"
	"time"
)

// matches reports whether the date satisfies every BY part of the rule that is about days. The table of RFC
// 5545 section 3.3.10 separates expanding from limiting parts; over all days of a period, both are filters.
func (r Rule) matches(date time.Time) bool {
	year, month, day := date.Date()
	if len(r.Months) > 0 && !slices.Contains(r.Months, int(month)) {
		return false
	}
	if len(r.MonthDays) > 0 && !contains(r.MonthDays, day, monthLength(year, month)) {
		return false
	}
	if len(r.YearDays) > 0 && !contains(r.YearDays, date.YearDay(), yearLength(year)) {
		return false
	}
	if r.Freq == Yearly && len(r.WeekNumbers) > 0 {
		number, weeks := week(date, r.WeekStart)
		if !contains(r.WeekNumbers, number, weeks) {
			return false
		}
	}
	return r.isOneOf(date)
}

// isOneOf reports whether the date is on one of the rule's weekdays, if it names any.
func (r Rule) isOneOf(date time.Time) bool {
	return len(r.Days) == 0 || slices.ContainsFunc(r.Days, func(w Weekday) bool { return r.isDay(date, w) })
}

// contains reports whether the list names position n in a set of the given size, counted from either end.
func contains(list []int, n, of int) bool {
	return slices.Contains(list, n) || slices.Contains(list, n-of-1)
}

// isDay reports whether the date is the weekday w. A number counts within the month, or within the year in a
// yearly rule without BYMONTH. In other rules a number has no meaning and is ignored.
func (r Rule) isDay(date time.Time, w Weekday) bool {
	if date.Weekday() != w.Day {
		return false
	}
	if w.N == 0 || r.Freq < Monthly || len(r.WeekNumbers) > 0 {
		return true
	}
	n, length := date.Day(), monthLength(date.Year(), date.Month())
	if r.Freq == Yearly && len(r.Months) == 0 {
		n, length = date.YearDay(), yearLength(date.Year())
	}
	if w.N > 0 {
		return (n-1)/7+1 == w.N
	}
	return (length-n)/7+1 == -w.N
}

// week returns the number of the date's week and how many its year has. The first week of a year is the first
// with at least four days in it (RFC 5545 section 3.3.10, BYWEEKNO).
func week(date time.Time, start time.Weekday) (number, weeks int) {
	day := floorDiv(date.Unix(), daySeconds)
	year := date.Year()
	first := firstWeek(year, start)
	if day < first {
		year--
		first = firstWeek(year, start)
	} else if next := firstWeek(year+1, start); day >= next {
		year++
		first = next
	}
	return int(day-first)/7 + 1, int(firstWeek(year+1, start)-first) / 7
}

// firstWeek returns the day number on which the first week of the year starts.
func firstWeek(year int, start time.Weekday) int64 {
	fourth := dayNumber(year, 1, 4) // always in the first week
	return fourth - int64((int(weekday(fourth))-int(start)+7)%7)
}

func dayNumber(year int, month time.Month, day int) int64 {
	return floorDiv(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix(), daySeconds)
}

func weekday(day int64) time.Weekday { return time.Weekday(((day+4)%7 + 7) % 7) } // 1970-01-01 was a Thursday

func monthLength(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func yearLength(year int) int {
	return time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
