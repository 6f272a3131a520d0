package normalize

import "time"

// farthestOffset is more than any zone's clock ever was away from UTC: RFC 3339 section 5.6 cannot write more
// than 23:59, and the farthest in the time-zone data is Manila's before 1845, at almost 16 hours.
const farthestOffset = 24 * time.Hour

// localize finds the instant at which a clock in the zone shows the wall time, which is given as if in UTC.
//
// A time that occurs twice, when clocks are turned back, is its first occurrence. One that never occurs, when
// clocks are turned forward, is read with the offset in force before the gap, so that 02:30 becomes what the
// clock shows as 03:30 (RFC 5545 section 3.3.5). time.Date promises neither.
//
// It walks the zone's periods of constant offset in order. What was read with the offset of an earlier period
// fell behind that period's end; so the first period whose end is not reached either holds the time, or
// begins after it.
func localize(wall time.Time, zone *time.Location) time.Time {
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

// endOfPeriod returns when the offset in force at t may change next; last says that it never does. In the
// last day of a leap year, where a zone's rule and no table is in force, the time package answers an end that
// has passed already (go.dev/issue/81583): it forgets that day.
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
