package fake

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// report answers a calendar-query for events, all or those of a time (RFC 4791 section 7.8).
func (s *Server) report(a *recorded, r *http.Request) {
	c := s.collections[r.URL.Path]
	if c == nil {
		a.status = http.StatusNotFound
		return
	}
	query, ok := s.body(a, r, caldav, "calendar-query")
	if !ok {
		return
	}
	filter, ok := eventFilter(query)
	wanted, hasProps := query.child(dav, "prop")
	if !ok || !hasProps || r.Header.Get("Depth") != "1" {
		s.violate(r, "is no query for events at depth 1")
		a.refuse(`<C:valid-filter/>`)
		return
	}
	matches := func(*stored) bool { return true }
	if span, ok := filter.child(caldav, "time-range"); ok {
		from, err1 := time.Parse("20060102T150405Z", span.attr("start"))
		to, err2 := time.Parse("20060102T150405Z", span.attr("end"))
		if err1 != nil || err2 != nil || !from.Before(to) {
			s.violate(r, "asks for a time that is none: %v", span.Attrs)
			a.refuse(`<C:valid-filter/>`)
			return
		}
		matches = func(o *stored) bool { return o.overlaps(from, to) }
	} else if property, ok := filter.child(caldav, "prop-filter"); ok {
		matches = func(o *stored) bool { return strings.Contains(o.data, "\n"+property.attr("name")) }
	}
	var responses []string
	for _, segment := range slices.Sorted(maps.Keys(c.objects)) {
		if object := c.objects[segment]; matches(object) {
			responses = append(responses, s.response(r.URL.Path+segment, s.propertiesOfObject(object), wanted.Children))
		}
	}
	s.multistatus(a, r, responses)
}

func eventFilter(query element) (element, bool) {
	filter, ok := query.child(caldav, "filter")
	if !ok {
		return element{}, false
	}
	calendar, ok := filter.child(caldav, "comp-filter")
	if !ok || calendar.attr("name") != "VCALENDAR" {
		return element{}, false
	}
	event, ok := calendar.child(caldav, "comp-filter")
	return event, ok && event.attr("name") == "VEVENT"
}

// overlaps reports whether any instance lies within a time (RFC 4791 section 9.9). What it cannot read, it lists.
func (o *stored) overlaps(from, to time.Time) bool {
	calendar := read(o.data)
	if calendar == nil {
		return true
	}
	for _, event := range calendar.Events() {
		start, err1 := event.DateTimeStart(time.UTC)
		end, err2 := event.DateTimeEnd(time.UTC)
		if err1 != nil || err2 != nil || event.Props.Get("RDATE") != nil {
			return true
		}
		if start.Before(to) && (end.After(from) || !start.Before(from)) {
			return true
		}
		text := event.Props.Get("RRULE")
		if text == nil {
			continue
		}
		option, err := rrule.StrToROption(text.Value)
		if err != nil {
			return true
		}
		option.Dtstart = start
		rule, err := rrule.NewRRule(*option)
		if err != nil || len(rule.Between(from.Add(start.Sub(end)), to, true)) > 0 {
			return true
		}
	}
	return false
}
