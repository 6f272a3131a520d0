package fake

import (
	"time"

	"github.com/teambition/rrule-go"
)

const dateForm = "20060102"

// occurrences returns the occurrences of a series that touch a span, with exceptions at their current times.
func (s *Server) occurrences(master *event, from, to time.Time) []*event {
	zone := zoneOf(master.zone)
	length := master.end.Sub(master.start)
	var found []*event
	for _, wall := range master.rule.Between(from.Add(-length-48*time.Hour).In(zone),
		to.Add(48*time.Hour).In(zone), true) {
		date := wall.Format(dateForm)
		if master.changed[date] != nil || master.cancelled[date] {
			continue
		}
		if o := s.occurrence(master, date); o != nil && s.touches(o, from, to) {
			found = append(found, o)
		}
	}
	for date, o := range master.changed {
		if !master.cancelled[date] && s.touches(o, from, to) {
			found = append(found, o)
		}
	}
	return found
}

// occurrence returns the occurrence of a day; nil if the series has none on that day, or no longer has it.
func (s *Server) occurrence(master *event, date string) *event {
	if master.cancelled[date] {
		return nil
	}
	if o := master.changed[date]; o != nil {
		return o
	}
	zone := zoneOf(master.zone)
	day, err := time.ParseInLocation(dateForm, date, zone)
	if err != nil {
		return nil
	}
	starts := master.rule.Between(day, day.AddDate(0, 0, 1).Add(-time.Second), true)
	if len(starts) == 0 {
		return nil
	}
	o := *master
	o.id, o.master, o.date, o.rule, o.notices = master.id+".OCC"+date, master, date, nil, nil
	o.start = starts[0]
	o.end = o.start.Add(master.end.Sub(master.start))
	return &o
}

// crosses reports whether an occurrence would move onto or past the day of an adjacent one.
func (s *Server) crosses(o *event) bool {
	zone := zoneOf(o.master.zone)
	day, _ := time.ParseInLocation(dateForm, o.date, zone)
	begin := day.AddDate(-1, 0, 0)
	var before, after string
	for _, other := range s.occurrences(o.master, begin, day.AddDate(1, 0, 0)) {
		switch {
		case other.date < o.date && other.date > before:
			before = other.date
		case other.date > o.date && (after == "" || other.date < after):
			after = other.date
		}
	}
	on := o.start.In(zone).Format(dateForm)
	return before != "" && on <= before || after != "" && on >= after
}

func (s *Server) series(start time.Time, zone *time.Location, rule string) (*rrule.RRule, error) {
	option, err := rrule.StrToROptionInLocation(rule, zone)
	if err != nil {
		return nil, err
	}
	option.Dtstart = start.In(zone)
	return rrule.NewRRule(*option)
}
