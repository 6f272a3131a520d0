package normalize

import (
	"time"

	"frontdesk/core/timezone"
)

// InputTime is a time as a caller wrote it, not yet placed in a zone. The zero value means that no time was
// given. Two are equal with == if they were written with the same clock time and the same offset.
type InputTime struct {
	wall   int64 // the clock time as seconds since 1970, as if in UTC
	nanos  int32
	offset int32 // seconds east of UTC
	kind   inputKind
}

type inputKind uint8

const (
	notGiven inputKind = iota
	localTime
	withOffset
)

// IsZero reports whether no time was given.
func (t InputTime) IsZero() bool { return t.kind == notGiven }

// HasOffset reports whether the time has an offset. A time without one needs a zone to become an instant.
func (t InputTime) HasOffset() bool { return t.kind == withOffset }

// In returns the instant that the time means, shown in the zone. A time with an offset is only shown in the
// zone. A local time is read in the zone as RFC 5545 section 3.3.5 says, see [timezone.Localize]. In returns the zero
// time for the zero value. A nil zone is UTC.
func (t InputTime) In(zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	switch t.kind {
	case withOffset:
		return time.Unix(t.wall-int64(t.offset), int64(t.nanos)).In(zone)
	case localTime:
		return timezone.Localize(time.Unix(t.wall, int64(t.nanos)).UTC(), zone)
	}
	return time.Time{}
}
