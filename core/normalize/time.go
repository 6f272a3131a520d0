package normalize

import (
	"errors"
	"regexp"
	"time"
)

// TimeForm says which forms of time an input takes.
type TimeForm int

// The forms.
const (
	DateTime       TimeForm = iota // a date with a time
	DateTimeOrDate                 // or a bare date, which is the start of that day
)

// InputTime is a time as a caller gave it: an instant where it carries an offset, else a wall clock that a zone places.
// The zero value is not given. It is comparable.
type InputTime struct {
	at     time.Time // UTC; the wall clock as if it were UTC unless offset
	given  bool
	offset bool
}

// inputForm is the profile of ISO 8601 that RFC 3339 section 5.6 defines, with the offset optional and seconds too,
// as many clients leave them out.
var inputForm = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d{2}:?\d{2})?)?$`)

// ParseTime reads a time. The error is a sentence for the caller without the field's name.
func ParseTime(s string, form TimeForm) (InputTime, error) {
	says := errors.New(`must be a date and time of RFC 3339, such as 2026-12-01T10:00:00-05:00, or a local time without offset, such as 2026-12-01T10:00:00`)
	parts := inputForm.FindStringSubmatch(s)
	if parts == nil {
		return InputTime{}, says
	}
	date, clock, seconds, fraction, offset := parts[1], parts[2], parts[3], parts[4], parts[5]
	if clock == "" {
		if form != DateTimeOrDate {
			return InputTime{}, errors.New("needs a time of day too, such as " + date + "T10:00:00")
		}
		clock = "00:00"
	}
	if seconds == "" {
		seconds = ":00"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	switch {
	case offset == "" || offset == "z":
		offset = map[bool]string{true: "", false: "Z"}[offset == ""]
	case len(offset) == 5:
		offset = offset[:3] + ":" + offset[3:]
	}
	zoned := offset
	if zoned == "" {
		zoned = "Z"
	}
	at, err := time.Parse(time.RFC3339Nano, date+"T"+clock+seconds+fraction+zoned)
	if err != nil || at.Year() < 1 {
		return InputTime{}, errors.New("is not a day or time that exists; check the month, day, hour and minute")
	}
	return InputTime{at: at.UTC(), given: true, offset: offset != ""}, nil
}

// IsZero reports whether no time was given.
func (t InputTime) IsZero() bool { return !t.given }

// HasOffset reports whether the time is an instant whatever the zone.
func (t InputTime) HasOffset() bool { return t.offset }

// In answers the instant, shown in the zone: an offset wins, a local time lies in the zone.
func (t InputTime) In(zone *time.Location) time.Time {
	if t.offset {
		return t.at.In(zone)
	}
	return place(t.at, zone)
}
