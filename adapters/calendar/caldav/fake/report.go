package fake

import (
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"
)

var (
	calendarQuery    = xml.Name{Space: caldav, Local: "calendar-query"}
	calendarMultiget = xml.Name{Space: caldav, Local: "calendar-multiget"}
	syncCollection   = xml.Name{Space: dav, Local: "sync-collection"}
)

func (s *Server) report(a *recorded, r *http.Request) {
	c := s.collections[r.URL.Path]
	if c == nil {
		a.status = http.StatusNotFound
		return
	}
	asked, ok := s.body(a, r, calendarQuery, calendarMultiget, syncCollection)
	if !ok {
		return
	}
	s.requests[asked.XMLName.Local]++
	switch asked.XMLName {
	case calendarQuery:
		s.query(a, r, c, asked)
	case calendarMultiget:
		s.multiget(a, r, c, asked)
	default:
		s.sync(a, r, c, asked)
	}
}

// multiget responds with the objects that are named (RFC 4791 section 7.9).
func (s *Server) multiget(a *recorded, r *http.Request, c *collection, asked element) {
	wanted, ok := asked.child(dav, "prop")
	var responses []string
	for _, href := range asked.Children {
		if (href.XMLName != xml.Name{Space: dav, Local: "href"}) {
			continue
		}
		path := decode(strings.TrimSpace(href.Text))
		in, _, object := s.find(path)
		if object == nil || in != c {
			responses = append(responses, "<D:response>"+s.href(path)+notFound+"</D:response>")
			continue
		}
		responses = append(responses, s.response(path, s.propertiesOfObject(object), wanted.Children))
	}
	if !ok || len(responses) == 0 {
		s.violate(r, "names no properties, or no objects")
		a.status = http.StatusBadRequest
		return
	}
	s.multistatus(a, r, responses)
}

const notFound = "<D:status>HTTP/1.1 404 Not Found</D:status>"

func (s *Server) syncToken() string { return fmt.Sprintf("data:,%d", s.versions) }

// sync responds with what changed since a token (RFC 6578 section 3.2).
func (s *Server) sync(a *recorded, r *http.Request, c *collection, asked element) {
	if s.options.NoSync {
		a.refuse(`<D:supported-report/>`)
		return
	}
	wanted, ok := asked.child(dav, "prop")
	level, _ := asked.child(dav, "sync-level")
	token, hasToken := asked.child(dav, "sync-token")
	if depth := r.Header.Get("Depth"); !ok || !hasToken || level.Text != "1" || depth != "0" {
		s.violate(r, "synchronizes no properties, without a token or level, or at the depth %q", depth)
		a.status = http.StatusBadRequest
		return
	}
	since, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(token.Text), "data:,"))
	if err != nil || since <= s.forgotten {
		a.refuse(`<D:valid-sync-token/>`)
		return
	}
	responses := []string{"<D:sync-token>" + s.syncToken() + "</D:sync-token>"}
	for _, segment := range slices.Sorted(maps.Keys(c.objects)) {
		object := c.objects[segment]
		if object.version <= since || s.quirks.SilentSync {
			continue
		}
		have := s.propertiesOfObject(object)
		if s.quirks.BareSync {
			delete(have, xml.Name{Space: caldav, Local: "calendar-data"})
		}
		responses = append(responses, s.response(r.URL.Path+segment, have, wanted.Children))
	}
	for _, segment := range slices.Sorted(maps.Keys(c.removed)) {
		if c.removed[segment] > since && c.objects[segment] == nil && !s.quirks.SilentSync {
			responses = append(responses, "<D:response>"+s.href(r.URL.Path+segment)+notFound+"</D:response>")
		}
	}
	s.multistatus(a, r, responses)
}

// query responds to a calendar-query for all events, those in a time range or those with a property (RFC 4791
// section 7.8).
func (s *Server) query(a *recorded, r *http.Request, c *collection, query element) {
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
		matches = func(o *stored) bool { return o.overlaps(from, to, s.quirks) }
	} else if property, ok := filter.child(caldav, "prop-filter"); ok {
		name := property.attr("name")
		if s.quirks.RefusesPropFilter {
			a.refuse(`<C:supported-filter><C:prop-filter name="` + html.EscapeString(name) +
				`"/></C:supported-filter>`)
			return
		}
		matches = func(o *stored) bool {
			return s.quirks.IgnoresRRULEFilter && name == "RRULE" || o.has(name)
		}
	}
	var responses []string
	for _, segment := range slices.Sorted(maps.Keys(c.objects)) {
		object := c.objects[segment]
		if matches(object) || s.quirks.ListsTasks && strings.Contains(object.data, "BEGIN:VTODO") {
			responses = append(responses, s.response(r.URL.Path+segment, s.propertiesOfObject(object),
				wanted.Children))
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

// has reports whether an event of the object has a property. It searches the text of an unreadable object.
func (o *stored) has(name string) bool {
	calendar := read(o.data)
	if calendar == nil {
		return strings.Contains(o.data, "\n"+name)
	}
	return slices.ContainsFunc(calendar.Events(), func(e ical.Event) bool { return e.Props.Get(name) != nil })
}

// overlaps reports whether any instance lies within a time range (RFC 4791 section 9.9). It returns true for
// an object that it cannot read.
func (o *stored) overlaps(from, to time.Time, quirks Quirks) bool {
	calendar := read(o.data)
	if calendar == nil {
		return true
	}
	for _, event := range calendar.Events() {
		start, err1 := event.DateTimeStart(time.UTC)
		end, err2 := event.DateTimeEnd(time.UTC)
		overlooked := quirks.FirstInstanceOnly || quirks.OverlooksRDATE
		if err1 != nil || err2 != nil || event.Props.Get("RDATE") != nil && !overlooked {
			return true
		}
		if start.Before(to) && (end.After(from) || !start.Before(from)) {
			return true
		}
		text := event.Props.Get("RRULE")
		if text == nil || quirks.FirstInstanceOnly {
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
