package slots

import (
	"cmp"
	"slices"
	"time"
)

const partsOfDay = 4

// partOf returns the part of the day at the time's own clock: morning, midday, afternoon or evening.
func partOf(t time.Time) int {
	switch hour := t.Hour(); {
	case hour < 11:
		return 0
	case hour < 14:
		return 1
	case hour < 17:
		return 2
	}
	return partsOfDay - 1
}

// Choice says how few slots are wanted.
type Choice struct {
	Zone   *time.Location // of the person who chooses
	Limit  int            // how many slots
	PerDay int            // how many of them on one day; 0: no limit
}

// Pick returns what [Choose] would of all slots. It keeps no more of them than that could take, which are the earliest
// of each part of a day: of all minutes of two months, there are 86,400.
func Pick(q Question, c Choice) []Slot {
	zone := cmp.Or(c.Zone, time.UTC)
	var day Date
	part, kept := 0, 0
	return Choose(find(q, func(start time.Time) bool {
		local := start.In(zone)
		if d, p := dateOf(local), partOf(local); d != day || p != part {
			day, part, kept = d, p, 0
		}
		kept++
		return kept <= c.Limit
	}), c)
}

// Choose returns a few of the slots, spread over days and parts of the day, by their start. The slots must be
// sorted. Each pick is on a day with the fewest picks so far, then in the part of the day with the fewest,
// and among those the earliest. So the first slot of all is always chosen.
func Choose(all []Slot, c Choice) []Slot {
	zone := cmp.Or(c.Zone, time.UTC)
	type bucket struct { // the slots of one part of one day that are left
		day, part int
		slots     []Slot
	}
	var buckets []bucket
	var days []Date
	for i, s := range all {
		local := s.Start.In(zone)
		if date := dateOf(local); len(days) == 0 || days[len(days)-1] != date {
			days = append(days, date)
		}
		day, part := len(days)-1, partOf(local)
		if last := len(buckets) - 1; last < 0 || buckets[last].day != day || buckets[last].part != part {
			buckets = append(buckets, bucket{day: day, part: part, slots: all[i:i]})
		}
		last := &buckets[len(buckets)-1]
		last.slots = last.slots[:len(last.slots)+1]
	}
	onDay, inPart, inBucket := make([]int, len(days)), make([]int, partsOfDay), make([]int, len(buckets))
	var chosen []Slot
	for len(chosen) < c.Limit {
		best := -1
		for i, b := range buckets {
			if len(b.slots) == 0 || c.PerDay > 0 && onDay[b.day] >= c.PerDay {
				continue
			}
			if best < 0 || cmp.Or(
				cmp.Compare(onDay[b.day], onDay[buckets[best].day]),
				cmp.Compare(inBucket[i], inBucket[best]),
				cmp.Compare(inPart[b.part], inPart[buckets[best].part]),
			) < 0 {
				best = i
			}
		}
		if best < 0 {
			break
		}
		b := &buckets[best]
		chosen = append(chosen, b.slots[0])
		b.slots = b.slots[1:]
		onDay[b.day]++
		inPart[b.part]++
		inBucket[best]++
	}
	slices.SortFunc(chosen, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	return chosen
}
