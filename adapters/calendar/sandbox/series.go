package sandbox

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"frontdesk/core/calendar"
	"frontdesk/core/timezone"
)

// Layouts of stamps. The stamp of an instance is its original start, which identifies the instance even after
// it was moved.
const (
	stampOfTime = "20060102T150405Z"
	stampOfDay  = "20060102"
)

// horizon bounds how far a series without an end is expanded.
const horizon = 100 * 366 * 24 * time.Hour

func (s stored) stamp(start time.Time) string {
	if s.Form == dayForm {
		return start.UTC().Format(stampOfDay)
	}
	return start.UTC().Format(stampOfTime)
}

// starts returns the original starts of the series, in order. The rule is expanded on the wall clock of the
// series' zone, so that a meeting at nine stays at nine when clocks are set.
func (s stored) starts() (iter.Seq[time.Time], error) {
	zone := time.UTC
	if s.Form == instantForm {
		var err error
		if zone, err = loadZone(s.Zone); err != nil {
			return nil, err
		}
	}
	option, err := rrule.StrToROption(s.Rule)
	if err != nil {
		return nil, fmt.Errorf("rule %q: %w", s.Rule, err)
	}
	first := timezone.Wall(s.Start, zone)
	option.Dtstart = first
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return nil, fmt.Errorf("rule %q: %w", s.Rule, err)
	}
	return func(yield func(time.Time) bool) {
		for next := rule.Iterator(); ; {
			wall, more := next()
			if !more || wall.Sub(first) > horizon || !yield(localize(wall, zone)) {
				return
			}
		}
	}, nil
}

// instance returns the current state of the instance with that original start.
func (s stored) instance(start time.Time) stored {
	stamp := s.stamp(start)
	if differs := s.Instances[stamp]; differs != nil {
		return s.asInstance(*differs, stamp)
	}
	like := s
	like.Start, like.End = start, start.Add(s.End.Sub(s.Start))
	return s.asInstance(like, stamp)
}

func (s stored) asInstance(like stored, stamp string) stored {
	like.ID, like.series, like.Calendar = s.ID+"_"+stamp, s.ID, s.Calendar
	like.Rule, like.Instances = "", nil
	if s.State != stands {
		like.State = s.State
	}
	return like
}

// find returns the instance of that stamp.
func (s stored) find(stamp string) (stored, bool, error) {
	layout := stampOfTime
	if s.Form == dayForm {
		layout = stampOfDay
	}
	wanted, err := time.Parse(layout, stamp)
	if err != nil {
		return stored{}, false, nil
	}
	starts, err := s.starts()
	if err != nil {
		return stored{}, false, err
	}
	for start := range starts {
		if !start.Before(wanted) {
			return s.instance(start), start.Equal(wanted), nil
		}
	}
	return stored{}, false, nil
}

// window is a span of time, and the zone in which whole days and floating times are read.
type window struct {
	calendar.Span
	zone *time.Location
}

func (w window) holds(s stored) bool { return overlaps(s.span(w.zone), w.Span) }

// within returns at most limit instances in the window whose stamp is after the given one, in the order of
// stamps.
func (s stored) within(w window, after string, limit int) ([]stored, error) {
	starts, err := s.starts()
	if err != nil {
		return nil, err
	}
	var list []stored
	for stamp, differs := range s.Instances {
		if i := s.asInstance(*differs, stamp); stamp > after && i.listed() && w.holds(i) {
			list = append(list, i)
		}
	}
	found := 0
	for start := range starts {
		i := stored{Start: start, End: start.Add(s.End.Sub(s.Start)), Form: s.Form}
		if found == limit || !i.span(w.zone).From.Before(w.To) {
			break
		}
		if stamp := s.stamp(start); stamp <= after || s.Instances[stamp] != nil || !w.holds(i) {
			continue
		}
		list = append(list, s.instance(start))
		found++
	}
	slices.SortFunc(list, func(a, b stored) int { return cmp.Compare(a.ID, b.ID) })
	return list[:min(limit, len(list))], nil
}

// change stores an instance that differs from the series.
func (s *stored) change(i stored) {
	differs := maps.Clone(s.Instances)
	if differs == nil {
		differs = map[string]*stored{}
	}
	stamp := strings.TrimPrefix(i.ID, s.ID+"_")
	differs[stamp] = &i
	s.Instances = differs
}

// listed reports whether listings include the event.
func (s stored) listed() bool { return s.State != cancelled }
