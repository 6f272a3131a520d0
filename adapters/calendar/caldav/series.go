package caldav

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/adapters/calendar/caldav/recur"
)

var errRule = errors.New("caldav: a recurrence rule cannot be understood")

// starts returns the original starts of the series whose wall clocks lie between from and to, in order and
// without duplicates. It includes those that EXDATE excludes, and leaves out those that EXRULE does.
func (o *object) starts(from, to time.Time, budget *recur.Budget) ([]start, error) {
	first := startOf(o.master)
	var all []start
	rules := o.master.All("RRULE")
	if len(rules) == 0 && !first.Wall.Before(from) && !first.Wall.After(to) {
		all = append(all, start{Moment: first})
	}
	for _, property := range rules {
		walls, err := o.expand(property, first, from, to, budget)
		if err != nil {
			return nil, err
		}
		for _, wall := range walls {
			all = append(all, start{Moment: ical.Moment{Wall: wall, Form: first.Form, TZID: first.TZID}})
		}
	}
	for _, property := range o.master.All("RDATE") {
		more, err := o.dates(property)
		if err != nil {
			return nil, err
		}
		for _, s := range more {
			if !s.Wall.Before(from) && !s.Wall.After(to) {
				all = append(all, s)
			}
		}
	}
	seen := o.excludedByRule(first, from, to, budget)
	all = slices.DeleteFunc(all, func(s start) bool {
		at := o.moment(s.Moment)
		double := seen[at]
		seen[at] = true
		return double
	})
	slices.SortStableFunc(all, func(a, b start) int { return a.Wall.Compare(b.Wall) })
	return all, nil
}

// excludedByRule returns the starts of the instances that an EXRULE excludes (RFC 2445 section 4.8.5.2; RFC 5545 has none
// any more). A rule that cannot be understood excludes none, nor does one the start if it may not match it or has ended
// before: the time is busy then.
func (o *object) excludedByRule(first ical.Moment, from, to time.Time, budget *recur.Budget) map[moment]bool {
	excluded := map[moment]bool{}
	for _, property := range o.master.All("EXRULE") {
		rule, err := recur.Parse(property.Value)
		if err != nil {
			continue
		}
		onDay, onClock := rule.Dependent()
		matchesStart := !onDay && !onClock && (rule.Until == nil || !o.isBehind(first.Wall, first, *rule.Until))
		walls, _ := o.expand(property, first, from, to, budget)
		for _, wall := range walls {
			if !wall.Equal(first.Wall) || matchesStart {
				excluded[o.moment(ical.Moment{Wall: wall, Form: first.Form, TZID: first.TZID})] = true
			}
		}
	}
	return excluded
}

// expand returns a rule's wall clocks between from and to, up to its UNTIL. UNTIL never excludes the start.
func (o *object) expand(
	property ical.Property, first ical.Moment, from, to time.Time, budget *recur.Budget,
) ([]time.Time, error) {
	rule, err := recur.Parse(property.Value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRule, err)
	}
	if first.Form == ical.Date { // these parts must be ignored then (RFC 5545 section 3.3.10)
		rule.Hours, rule.Minutes, rule.Seconds = nil, nil, nil
	}
	if rule.Until != nil && rule.Until.Wall.Add(maxOffset).Before(to) {
		to = rule.Until.Wall.Add(maxOffset)
		if to.Before(first.Wall) {
			to = first.Wall
		}
	}
	walls, err := rule.Between(first.Wall, from, to, budget)
	if err != nil || rule.Until == nil {
		return walls, err
	}
	return slices.DeleteFunc(walls, func(wall time.Time) bool {
		return !wall.Equal(first.Wall) && o.isBehind(wall, first, *rule.Until)
	}), nil
}

// isBehind reports whether a wall clock is after UNTIL. UNTIL should have the form of the start, or be in UTC
// for a zoned start, but real objects use any form.
func (o *object) isBehind(wall time.Time, first, until ical.Moment) bool {
	until = o.likeSeries(until)
	switch {
	case until.Form == ical.Date:
		return midnight(wall).After(until.Wall)
	case until.Form == ical.UTC && !o.isLocal(first):
		return o.instant(ical.Moment{Wall: wall, Form: first.Form, TZID: first.TZID}, time.UTC).After(until.Wall)
	}
	return wall.After(until.Wall)
}

// dates reads an RDATE: dates, times or periods. A period that ends before its start (RFC 5545 section 3.3.9
// forbids it) is as long as the other instances.
func (o *object) dates(property ical.Property) ([]start, error) {
	tzid := property.Param("TZID")
	var list []start
	for text := range strings.SplitSeq(property.Value, ",") {
		if strings.TrimSpace(text) == "" { // as in ical.Property.Moments
			continue
		}
		begin, end, isPeriod := strings.Cut(strings.TrimSpace(text), "/")
		m, err := ical.ParseMoment(begin, tzid)
		if err != nil {
			return nil, errRule
		}
		if !isPeriod {
			list = append(list, start{Moment: o.likeSeries(m)})
			continue
		}
		s := start{Moment: m}
		if last, err := ical.ParseMoment(end, tzid); err == nil {
			if !o.instant(last, time.UTC).Before(o.instant(m, time.UTC)) {
				s.end = &last
			}
		} else if d, err := ical.ParseDuration(end); err == nil && d.Days >= 0 && d.Exact >= 0 {
			last := o.after(m, d)
			s.end = &last
		}
		list = append(list, s)
	}
	return list, nil
}

// exclusions returns the moments of all EXDATEs.
func (o *object) exclusions() ([]ical.Moment, error) {
	if o.master == nil {
		return nil, nil
	}
	var list []ical.Moment
	for _, property := range o.master.All("EXDATE") {
		moments, err := property.Moments()
		if err != nil {
			return nil, errRule
		}
		for _, m := range moments {
			list = append(list, o.likeSeries(m))
		}
	}
	return list, nil
}

// reach returns the greatest length of an instance, and the greatest distance by which an override with
// RANGE=THISANDFUTURE moves instances.
func (o *object) reach() (length, shift time.Duration) {
	longest := func(event *ical.Component) time.Duration {
		begin := startOf(event)
		return o.instant(o.end(event, begin), time.UTC).Sub(o.instant(begin, time.UTC))
	}
	length = longest(o.master)
	for _, property := range o.master.All("RDATE") {
		starts, err := o.dates(property)
		if err != nil {
			continue
		}
		for _, s := range starts {
			if s.end != nil {
				length = max(length, o.instant(*s.end, time.UTC).Sub(o.instant(s.Moment, time.UTC)))
			}
		}
	}
	for _, ov := range o.ranged {
		length = max(length, longest(ov.event))
		shift = max(shift, o.instant(startOf(ov.event), time.UTC).Sub(o.instant(ov.of, time.UTC)).Abs())
	}
	return length, shift
}

// emptySteps bounds the search for an instance that is left: a daily series of eighteen years.
const emptySteps = 150_000

// isEmpty reports whether a series has no instance left. A series that is too long to tell is not empty.
func (o *object) isEmpty() bool {
	exceptions, err := o.exdates()
	if err != nil || slices.ContainsFunc(o.overrides, func(ov override) bool { return !exceptions.has(ov.of) }) {
		return false
	}
	last := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	starts, err := o.starts(time.Time{}, last, &recur.Budget{Steps: emptySteps})
	return err == nil && !slices.ContainsFunc(starts, func(s start) bool { return !exceptions.has(s.Moment) })
}
