package slots

import (
	"cmp"
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

// lookBack is how many days before the window openings are looked for. An opening that began earlier has
// steps from midnight since.
const lookBack = 4

// opening is a stretch of time in which meetings may take place.
type opening struct {
	from, to int64
	wall     int64   // what clocks show at its beginning, or would show if they did not skip it
	zone     offsets // of these clocks
}

// openings returns the openings that overlap the window, by their beginning. They do not touch each other.
func openings(h Hours, from, to time.Time) []opening {
	standard := cmp.Or(h.Zone, time.UTC)
	zones := map[*time.Location]offsets{}
	offsetsIn := func(zone *time.Location) offsets {
		if zones[zone] == nil {
			zones[zone] = offsetsOf(zone, from.AddDate(0, 0, -lookBack-3), to.AddDate(0, 0, lookBack+3))
		}
		return zones[zone]
	}
	var all []opening
	add := func(day time.Time, o Opening, zone *time.Location) {
		wall := day.Unix() + int64(o.Start)*60
		end := day.Unix() + int64(o.End)*60
		if o.End <= o.Start {
			end += daySeconds
		}
		clocks := offsetsIn(zone)
		opens, _ := clocks.first(wall)
		closes, _ := clocks.first(end)
		if opens < closes {
			all = append(all, opening{from: opens, to: closes, wall: wall, zone: clocks})
		}
	}
	// The days of the window in any zone, and those before.
	first := dateOf(from.UTC().AddDate(0, 0, -lookBack)).midnight()
	last := to.UTC().AddDate(0, 0, 1)
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		date := dateOf(day)
		special, replaced := h.Dates[date]
		for _, o := range special {
			add(day, o, standard)
		}
		if replaced {
			continue
		}
		for _, w := range h.Weekly {
			if slices.Contains(w.Days, day.Weekday()) && !slices.Contains(w.Except, date) {
				add(day, w.Opening, cmp.Or(w.Zone, standard))
			}
		}
	}
	return join(all)
}

// join makes one opening of those that touch or overlap. It has the clocks of the first.
func join(all []opening) []opening {
	slices.SortFunc(all, func(a, b opening) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.wall, b.wall))
	})
	joined := all[:0]
	for _, o := range all {
		if last := len(joined) - 1; last >= 0 && o.from <= joined[last].to {
			joined[last].to = max(joined[last].to, o.to)
			continue
		}
		joined = append(joined, o)
	}
	return joined
}

// mod returns the remainder of a division, never negative.
func mod(a, b int64) int64 { return (a%b + b) % b }
