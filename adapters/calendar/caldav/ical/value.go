package ical

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Form is how a date or date-time is written (RFC 5545 sections 3.3.4 and 3.3.5).
type Form int

// The forms.
const (
	Floating Form = iota // a local time of no zone
	Zoned                // a local time with TZID
	UTC                  // a time ending in Z
	Date                 // a date alone
)

// Moment is a date or date-time as written.
type Moment struct {
	Wall time.Time // the wall clock, as if UTC
	Form Form
	TZID string // only if Zoned
}

// Equal reports whether both are written alike.
func (m Moment) Equal(other Moment) bool {
	return m.Wall.Equal(other.Wall) && m.Form == other.Form && m.TZID == other.TZID
}

const (
	dateLayout  = "20060102"
	clockLayout = "20060102T150405"
)

// String returns the value without its parameters.
func (m Moment) String() string {
	switch m.Form {
	case Date:
		return m.Wall.Format(dateLayout)
	case UTC:
		return m.Wall.Format(clockLayout) + "Z"
	}
	return m.Wall.Format(clockLayout)
}

// Property returns a property with the moments as its value. All of them must have the same form and zone.
func (m Moment) Property(name string, more ...Moment) Property {
	p := Raw(name, m.String())
	for _, other := range more {
		p.Value += "," + other.String()
	}
	switch m.Form {
	case Date:
		return p.With("VALUE", "DATE")
	case Zoned:
		return p.With("TZID", m.TZID)
	}
	return p
}

// Moments parses the moments of a property such as EXDATE or RDATE. For a period it returns only the start. A
// value that cannot be parsed is an error, but none at all, or a comma behind the last, is not: some programs
// write that.
func (p Property) Moments() ([]Moment, error) {
	var list []Moment
	tzid := p.Param("TZID")
	for text := range strings.SplitSeq(p.Value, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		text, _, _ = strings.Cut(text, "/")
		m, err := ParseMoment(strings.TrimSpace(text), tzid)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// Moment parses the single moment of a property.
func (p Property) Moment() (Moment, error) {
	return ParseMoment(strings.TrimSpace(p.Value), p.Param("TZID"))
}

// ParseMoment parses a date or date-time. The length decides which it is, because VALUE=DATE is often
// missing.
func ParseMoment(text, tzid string) (Moment, error) {
	text = strings.ToUpper(text)
	if len(text) == len(dateLayout) {
		t, err := time.Parse(dateLayout, text)
		if err != nil {
			return Moment{}, errNoMoment
		}
		return Moment{Wall: t, Form: Date}, nil
	}
	form := Floating
	if tzid != "" {
		form = Zoned
	}
	if strings.HasSuffix(text, "Z") {
		text, form, tzid = strings.TrimSuffix(text, "Z"), UTC, ""
	}
	if len(text) != len(clockLayout) {
		return Moment{}, errNoMoment
	}
	if strings.HasSuffix(text, "60") { // a leap second: RFC 5545 section 3.3.12 has it read as 59
		text = strings.TrimSuffix(text, "60") + "59"
	}
	t, err := time.Parse(clockLayout, text)
	if err != nil {
		return Moment{}, errNoMoment
	}
	return Moment{Wall: t, Form: form, TZID: tzid}, nil
}

var errNoMoment = errors.New("ical: a value is neither a date nor a date-time")

// Duration is a duration as written. Days and weeks are nominal: a day has 23 to 25 hours when clocks are set
// (RFC 5545 section 3.3.6).
type Duration struct {
	Days  int
	Exact time.Duration
}

// maxDurationDays bounds a duration to less than three centuries, so that sums of it stay in range.
const maxDurationDays = 100_000

// ParseDuration parses a duration such as P1DT2H or -PT15M.
func ParseDuration(text string) (Duration, error) {
	bad := fmt.Errorf("ical: %s is not a duration", shown(text))
	s, sign := strings.ToUpper(strings.TrimSpace(text)), 1
	switch {
	case strings.HasPrefix(s, "-"):
		s, sign = s[1:], -1
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	s, ok := strings.CutPrefix(s, "P")
	if !ok || s == "" {
		return Duration{}, bad
	}
	var d Duration
	inTime := false
	for s != "" {
		if s[0] == 'T' && !inTime && len(s) > 1 {
			s, inTime = s[1:], true
			continue
		}
		digits := 0
		for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
			digits++
		}
		n, err := strconv.ParseInt(s[:digits], 10, 32)
		if err != nil || digits == len(s) {
			return Duration{}, bad
		}
		unit := s[digits]
		s = s[digits+1:]
		switch {
		case !inTime && unit == 'W':
			d.Days += int(n) * 7
		case !inTime && unit == 'D':
			d.Days += int(n)
		case inTime && unit == 'H':
			d.Exact += time.Duration(n) * time.Hour
		case inTime && unit == 'M':
			d.Exact += time.Duration(n) * time.Minute
		case inTime && unit == 'S':
			d.Exact += time.Duration(n) * time.Second
		default:
			return Duration{}, bad
		}
		if d.Days > maxDurationDays || d.Exact > maxDurationDays*24*time.Hour || d.Days < 0 || d.Exact < 0 {
			return Duration{}, bad
		}
	}
	return Duration{Days: sign * d.Days, Exact: time.Duration(sign) * d.Exact}, nil
}

// ParseOffset parses a UTC offset such as -0500 or +053020 (RFC 5545 section 3.3.14) and returns it in
// seconds.
func ParseOffset(text string) (int, error) {
	text = strings.TrimSpace(text)
	bad := fmt.Errorf("ical: %s is not an offset", shown(text))
	if len(text) != 5 && len(text) != 7 {
		return 0, bad
	}
	sign := 1
	switch text[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, bad
	}
	seconds := 0
	for i, unit := 1, 3600; i < len(text); i, unit = i+2, unit/60 {
		n, err := strconv.ParseUint(text[i:i+2], 10, 8)
		if err != nil || n > 59 {
			return 0, bad
		}
		seconds += int(n) * unit
	}
	if seconds > 24*3600 {
		return 0, bad
	}
	return sign * seconds, nil
}

// FormatOffset formats seconds as a UTC offset.
func FormatOffset(seconds int) string {
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	s := fmt.Sprintf("%c%02d%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		s += fmt.Sprintf("%02d", seconds%60)
	}
	return s
}
