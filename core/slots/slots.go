// Package slots computes when a meeting can take place. It is pure: it asks nobody, and equal questions get
// equal answers.
//
//	all := slots.Find(slots.Question{
//		From: monday, To: friday, Now: now, Duration: 30 * time.Minute, Interval: 15 * time.Minute,
//		Hours: slots.WorkingWeek(), Calendars: []slots.Calendar{{Busy: busy}},
//	})
//	few := slots.Choose(all, slots.Choice{Zone: berlin, Limit: 4, PerDay: 2}) // or at once, by slots.Pick
//
// All stretches of time are half-open: a meeting may begin when another ends. Openings that touch or overlap
// are one opening. Candidates are in steps of wall-clock time from its beginning, so that an office that
// opens at 09:00 offers full hours in summer and in winter. After a day without closing, the steps begin anew
// at midnight. A candidate that clocks skip is left out. One that they show twice is offered for the
// first time only. The same holds for the times at which an office opens and closes: it opens when clocks
// first show that time, or a later one.
package slots

import (
	"cmp"
	"slices"
	"time"
)

// Availability says which of several calendars must be free.
type Availability string

// The kinds of availability.
const (
	Collective Availability = "collective" // all of them
	Any        Availability = "any"        // at least one
)

// Span is a stretch of time, the end exclusive.
type Span struct{ From, To time.Time }

// Calendar is a calendar with its busy times, in any order, overlapping or not.
type Calendar struct {
	ID      string
	Busy    []Span
	Unknown bool // the busy times could not be read, so that all time counts as busy
}

// Question asks for slots.
type Question struct {
	From, To          time.Time // the window that meetings must lie in
	Now               time.Time
	Duration          time.Duration // of a meeting; whole minutes, more than 0
	Interval          time.Duration // from one candidate to the next; whole minutes, more than 0
	Hours             Hours
	Before, After     time.Duration  // what must be free around a meeting
	MinimumNotice     time.Duration  // from now to the beginning of a meeting
	BookingWindowDays int            // meetings begin at most so many of the office's days after today; 0: no limit
	TentativeIsFree   bool           // the busy times of the calendars leave out what was accepted tentatively
	Zone              *time.Location // in which slots are told; the office's days are those of Hours.Zone
	Availability      Availability   // "" is Collective
	Calendars         []Calendar     // none: no time is busy
}

// Slot is a time at which a meeting can take place.
type Slot struct {
	Start, End time.Time
	Free       []int // the indexes of the calendars that are free; not to be changed
}

// Find returns all slots by their start.
func Find(q Question) []Slot { return find(q, func(time.Time) bool { return true }) }

// find returns the slots that are wanted, which is asked of each in the order of time.
func find(q Question, wanted func(start time.Time) bool) []Slot {
	from, to := q.From, q.To
	if earliest := q.Now.Add(q.MinimumNotice); earliest.After(from) {
		from = earliest
	}
	if !to.After(from) {
		return nil
	}
	lastStart := to.Unix()
	if q.BookingWindowDays > 0 {
		zone := cmp.Or(q.Hours.Zone, time.UTC)
		year, month, day := q.Now.In(zone).Date()
		dayAfter := time.Date(year, month, day+q.BookingWindowDays+1, 0, 0, 0, 0, time.UTC).Unix()
		clocks := offsetsOf(zone, q.Now.AddDate(0, 0, -2), q.Now.AddDate(0, 0, q.BookingWindowDays+3))
		end, _ := clocks.first(dayAfter)
		lastStart = min(lastStart, end)
	}
	s := search{
		from: ceilSeconds(from), to: to.Unix(), lastStart: lastStart, duration: seconds(q.Duration),
		interval: seconds(q.Interval), before: seconds(q.Before), after: seconds(q.After),
		any: q.Availability == Any, wanted: wanted,
	}
	for _, c := range q.Calendars {
		s.busy = append(s.busy, timeline{spans: merge(c.Busy), unknown: c.Unknown})
	}
	for _, o := range openings(q.Hours, from, to) {
		s.within(o)
	}
	return s.found
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// ceilSeconds returns the first full second that is not before t.
func ceilSeconds(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// search walks through the candidates in the order of time.
type search struct {
	from, to, lastStart int64
	duration, interval  int64
	before, after       int64
	any                 bool
	wanted              func(start time.Time) bool
	busy                []timeline
	free, lastFree      []int // the calendars that are free; consecutive slots share a slice
	found               []Slot
}

// within adds the slots of an opening.
func (s *search) within(o opening) {
	earliest := o.zone.wall(s.from) - daySeconds // clocks are never turned back by more
	for anchor := o.wall; ; {
		// The steps begin anew at the first midnight that is a day or longer after they began.
		next := anchor + 2*daySeconds - 1
		next -= mod(next, daySeconds)
		wall := anchor
		if earliest > wall {
			wall += (earliest - wall) / s.interval * s.interval
		}
		for ; wall < next; wall += s.interval {
			start, shown := o.zone.first(wall)
			if end := start + s.duration; end > o.to || end > s.to || start >= s.lastStart {
				return
			}
			if shown && start >= s.from {
				s.offer(start)
			}
		}
		anchor = next
	}
}

// offer adds the candidate if its calendars are free.
func (s *search) offer(start int64) {
	end := start + s.duration
	s.free = s.free[:0]
	for i := range s.busy {
		if s.busy[i].isFree(start-s.before, end+s.after) {
			s.free = append(s.free, i)
		} else if !s.any {
			return
		}
	}
	if len(s.busy) > 0 && len(s.free) == 0 {
		return
	}
	at := time.Unix(start, 0).UTC()
	if !s.wanted(at) {
		return
	}
	if !slices.Equal(s.free, s.lastFree) {
		s.lastFree = slices.Clone(s.free)
	}
	s.found = append(s.found, Slot{at, time.Unix(end, 0).UTC(), s.lastFree})
}

// timeline holds the busy times of a calendar, sorted and apart from each other.
type timeline struct {
	spans   []stretch
	unknown bool
	at      int // the spans before it end before the candidates that are still to come
}

// stretch is a Span in seconds since 1970.
type stretch struct{ from, to int64 }

// merge returns busy times sorted and apart from each other. Fractions of seconds make them longer.
func merge(spans []Span) []stretch {
	sorted := make([]stretch, 0, len(spans))
	for _, b := range spans {
		if b.To.After(b.From) {
			sorted = append(sorted, stretch{b.From.Unix(), ceilSeconds(b.To)})
		}
	}
	slices.SortFunc(sorted, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	merged := sorted[:0]
	for _, b := range sorted {
		if last := len(merged) - 1; last >= 0 && b.from <= merged[last].to {
			merged[last].to = max(merged[last].to, b.to)
			continue
		}
		merged = append(merged, b)
	}
	return merged
}

// isFree reports whether nothing overlaps the time. It must be called in the order of time.
func (t *timeline) isFree(from, to int64) bool {
	if t.unknown {
		return false
	}
	for t.at < len(t.spans) && t.spans[t.at].to <= from {
		t.at++
	}
	return t.at == len(t.spans) || to <= t.spans[t.at].from
}
