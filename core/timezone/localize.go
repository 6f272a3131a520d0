package timezone

import "time"

// farthestOffset is larger than any zone's offset from UTC has ever been. RFC 3339 section 5.6 can express at
// most 23:59, and the largest offset in the time-zone data is Manila's before 1845, at almost 16 hours.
const farthestOffset = 24 * time.Hour

// Localize returns the instant at which a clock in the zone shows the wall time, which is given as if in UTC.
//
// A time that occurs twice, when clocks are turned back, is its first occurrence. A time that never occurs,
// when clocks are turned forward, is read with the offset in force before the gap, so that 02:30 becomes what
// the clock shows as 03:30 (RFC 5545 section 3.3.5). time.Date promises neither.
//
// It walks the zone's periods of constant offset in order and reads the time with the offset of each. It
// stops at the first period for which the result is not behind the period's end. That period either holds the
// time or begins after it.
func Localize(wall time.Time, zone *time.Location) time.Time {
	begin := wall.Add(-farthestOffset).In(zone)
	before := begin
	for {
		_, offset := begin.Zone()
		read := wall.Add(-time.Duration(offset) * time.Second)
		if read.Before(begin) {
			return before.In(zone)
		}
		end, last := endOfPeriod(begin)
		if last || read.Before(end) {
			return read.In(zone)
		}
		before, begin = read, end
	}
}

// Wall returns what a clock in the zone shows at an instant, as if it were UTC.
func Wall(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// endOfPeriod returns when the offset in force at t may change next; last reports that it never does. On the
// last day of a leap year, if a rule of the zone is in force and not its table, the time package returns an
// end that has already passed (go.dev/issue/81583): it forgets that day.
func endOfPeriod(t time.Time) (end time.Time, last bool) {
	_, end = t.ZoneBounds()
	if end.IsZero() {
		return end, true
	}
	if !end.After(t) {
		end = t.Add(24 * time.Hour)
	}
	return end, false
}
