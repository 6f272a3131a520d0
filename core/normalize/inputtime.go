package normalize

import "time"

// InputTime is a time as a caller wrote it, not yet placed in a zone. The zero value was not given. Two are
// equal with == when they say the same in the same way.
type InputTime struct {
	wall   int64 // the clock's reading as seconds since 1970, as if it stood in UTC
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

// HasOffset reports whether the time names its instant itself. A local one needs a zone to do so.
func (t InputTime) HasOffset() bool { return t.kind == withOffset }

// In returns the instant meant, shown in the zone. An offset wins: the zone then only shows. A local time is
// read in the zone as RFC 5545 section 3.3.5 says, see place. The zero value gives the zero time; a nil zone
// is UTC.
func (t InputTime) In(zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	switch t.kind {
	case withOffset:
		return time.Unix(t.wall-int64(t.offset), int64(t.nanos)).In(zone)
	case localTime:
		return localize(time.Unix(t.wall, int64(t.nanos)).UTC(), zone)
	}
	return time.Time{}
}
