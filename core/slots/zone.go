package slots

import (
	"sort"
	"time"
)

// offsets are the periods of constant offset from UTC that a zone has within a range of time.
type offsets []period

type period struct {
	from, to int64 // seconds since 1970
	offset   int64 // seconds east of UTC
}

// offsetsOf returns the zone's periods from one instant to another. The first and the last are without bound.
func offsetsOf(zone *time.Location, from, to time.Time) offsets {
	const always = int64(1) << 60
	var all offsets
	begin := -always
	for t := from.In(zone); ; {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		if !end.IsZero() && !end.After(t) {
			// On the last day of a leap year, ZoneBounds may return an end that has passed (go.dev/issue/81583).
			end = t.Add(24 * time.Hour)
		}
		if end.IsZero() || end.After(to) {
			return append(all, period{begin, always, int64(offset)})
		}
		all = append(all, period{begin, end.Unix(), int64(offset)})
		begin, t = end.Unix(), end.In(zone)
	}
}

// first returns the first instant at which clocks show the wall time or a later one. The wall time is given
// in seconds, as if in UTC. It is shown at that instant unless clocks skip it.
func (o offsets) first(wall int64) (instant int64, shown bool) {
	for _, p := range o {
		if wall < p.from+p.offset {
			return p.from, false
		}
		if wall < p.to+p.offset {
			return wall - p.offset, true
		}
	}
	return 0, false // not reached: the last period has no end
}

// wall returns what clocks show at an instant, as if in UTC.
func (o offsets) wall(instant int64) int64 {
	i := sort.Search(len(o), func(i int) bool { return instant < o[i].to })
	return instant + o[i].offset
}
