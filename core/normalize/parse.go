package normalize

import (
	"fmt"
	"strings"
	"time"
)

// TimeForm selects the forms of a time that an operation accepts.
type TimeForm uint8

// The forms.
const (
	DateTime       TimeForm = iota // a time of day is required
	DateTimeOrDate                 // a date alone means the start of the day
)

// The earliest and the latest accepted time. They cover the four-digit years of RFC 3339 section 5.6, less a
// day at each end: a zone may be up to a day ahead of or behind UTC, and each time must have a four-digit
// year in every zone. Year 0 is not accepted.
var (
	earliest = time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC).Unix()
	latest   = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC).Unix() - 1
)

// longestTime bounds the length of the input. RFC 3339 has no limit on the fraction of a second.
const longestTime = 64

// ParseTime parses a time of the input: RFC 3339, or an ISO 8601 local time in extended format without an
// offset. Precisely, with RFC 3339's names (section 5.6):
//
//	time   = full-date [ ("T" / "t" / " ") hh ":" mm [ ":" ss [ ("." / ",") 1*DIGIT ] ] [ offset ] ]
//	offset = "Z" / "z" / ("+" / "-") hh [ [ ":" ] mm ]
//
// This is RFC 3339 itself, including its leniency in letter case and the space. It also accepts forms that
// ISO 8601 allows, that callers send and that have only one meaning: no seconds (web forms), a comma, an
// offset without colon (strftime) or without minutes (PostgreSQL). Digits of a fraction beyond nanoseconds
// are dropped. The offset -00:00 is UTC (section 4.3). A date alone is accepted with DateTimeOrDate.
//
// A leap second (section 5.7) is read as the second before it, as RFC 5545 section 3.3.12 specifies for
// implementations without leap seconds. It is accepted only if there can be one, at the end of a month in
// UTC. There is no hour 24: RFC 3339 ends at 23 and ISO 8601 dropped hour 24 in 2019.
//
// The error is a sentence that follows the field's name, see the package.
func ParseTime(s string, form TimeForm) (InputTime, error) {
	if len(s) > longestTime {
		return InputTime{}, formFault(form)
	}
	c, ok := scanClock(s)
	switch {
	case !ok:
		return InputTime{}, misread(s, form)
	case !c.hasTime && form != DateTimeOrDate:
		return InputTime{}, refusal(fmt.Sprintf("must have a time of day, such as %sT10:00:00", s))
	}
	if err := c.check(); err != nil {
		return InputTime{}, err
	}
	t := c.input()
	if instant := t.wall - int64(t.offset); instant < earliest || instant > latest {
		return InputTime{}, refusal("must lie between the years 0001 and 9999, their first and last day excluded")
	}
	return t, nil
}

func formFault(form TimeForm) error {
	const sentence = "must be RFC 3339, such as 2026-12-01T10:00:00-05:00, or a local time without an offset, " +
		"such as 2026-12-01T10:00:00"
	if form == DateTimeOrDate {
		return refusal(sentence + ", or a date, such as 2026-12-01")
	}
	return refusal(sentence)
}

// clock holds the numbers of a time as written, before they are checked.
type clock struct {
	year, month, day       int
	hour, minute, second   int
	nanos                  int
	east                   int // 1, or -1 with an offset west of UTC
	eastHours, eastMinutes int
	hasTime, hasOffset     bool
}

func scanClock(s string) (c clock, ok bool) {
	r := scanner{rest: s, ok: true}
	c.year = r.digits(4)
	r.one("-")
	c.month = r.digits(2)
	r.one("-")
	c.day = r.digits(2)
	if r.rest == "" {
		return c, r.ok
	}
	c.hasTime = true
	r.one("Tt ")
	c.hour = r.digits(2)
	r.one(":")
	c.minute = r.digits(2)
	if r.has(":") {
		c.second = r.digits(2)
		if r.has(".,") {
			c.nanos = r.fraction()
		}
	}
	if r.rest == "" {
		return c, r.ok
	}
	c.hasOffset, c.east = true, 1
	if r.has("Zz") {
		return c, r.ok && r.rest == ""
	}
	if r.one("+-") == '-' {
		c.east = -1
	}
	c.eastHours = r.digits(2)
	if r.has(":") || r.rest != "" {
		c.eastMinutes = r.digits(2)
	}
	return c, r.ok && r.rest == ""
}

// scanner consumes a text from its front. After unexpected input, ok stays false.
type scanner struct {
	rest string
	ok   bool
}

// one consumes one byte, which must be in the set, and returns it.
func (r *scanner) one(set string) byte {
	before := r.rest
	if !r.has(set) {
		r.ok = false
		return 0
	}
	return before[0]
}

// has consumes the next byte if it is in the set, and reports whether it did.
func (r *scanner) has(set string) bool {
	if !r.next(set) {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// next reports whether the next byte is in the set.
func (r *scanner) next(set string) bool {
	return r.ok && r.rest != "" && strings.IndexByte(set, r.rest[0]) >= 0
}

// digits consumes exactly n digits and returns their value.
func (r *scanner) digits(n int) (value int) {
	for range n {
		value = value*10 + int(r.one("0123456789")) - '0'
	}
	return value
}

// fraction consumes one or more digits after the point and returns nanoseconds.
func (r *scanner) fraction() (nanos int) {
	nanos = r.digits(1)
	for taken := 1; ; taken++ {
		more := r.next("0123456789")
		switch {
		case more && taken < 9:
			nanos = nanos*10 + r.digits(1)
		case more:
			r.digits(1)
		case taken < 9:
			nanos *= 10
		default:
			return nanos
		}
	}
}

// check checks that the numbers are in their ranges (RFC 3339 section 5.7).
func (c clock) check() error {
	switch {
	case c.month < 1 || c.month > 12:
		return refusal(fmt.Sprintf("has month %02d; months run from 01 to 12", c.month))
	case c.day < 1 || c.day > daysOf(c.year, c.month):
		return refusal(fmt.Sprintf("has day %02d; %s %04d has %d days", c.day, time.Month(c.month), c.year,
			daysOf(c.year, c.month)))
	case c.hour == 24 && c.minute == 0 && c.second == 0:
		next := time.Date(c.year, time.Month(c.month), c.day+1, 0, 0, 0, 0, time.UTC)
		return refusal("has hour 24; the end of that day is " + next.Format("2006-01-02T15:04:05"))
	case c.hour > 23:
		return refusal(fmt.Sprintf("has hour %02d; hours run from 00 to 23", c.hour))
	case c.minute > 59:
		return refusal(fmt.Sprintf("has minute %02d; minutes run from 00 to 59", c.minute))
	case c.second > 60:
		return refusal(fmt.Sprintf("has second %02d; seconds run from 00 to 59", c.second))
	case c.eastHours > 23 || c.eastMinutes > 59:
		return refusal(fmt.Sprintf("has the offset %02d:%02d; offsets run from -23:59 to +23:59",
			c.eastHours, c.eastMinutes))
	case c.second == 60 && !c.mayLeap():
		return refusal(
			"has second 60; only the last minute of a month in UTC, such as 2016-12-31T23:59:60Z, can have a " +
				"leap second")
	}
	return nil
}

// mayLeap reports whether the minute is the last of a month in UTC, which is where a leap second is inserted
// (ITU-R TF.460; RFC 3339 appendix D). It is false for a local time, whose offset from UTC is not known.
func (c clock) mayLeap() bool {
	if !c.hasOffset {
		return false
	}
	c.second = 0
	t := c.input()
	next := time.Unix(t.wall-int64(t.offset), 0).UTC().Add(time.Minute)
	return next.Day() == 1 && next.Hour() == 0 && next.Minute() == 0
}

func (c clock) input() InputTime {
	t := InputTime{kind: localTime, nanos: int32(c.nanos)}
	if c.hasOffset {
		t.kind, t.offset = withOffset, int32(c.east*(c.eastHours*3600+c.eastMinutes*60))
	}
	if c.second == 60 {
		c.second = 59
	}
	t.wall = time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, 0, time.UTC).Unix()
	return t
}

func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
