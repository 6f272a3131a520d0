package fake

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-ical"
)

func (s *Server) get(a *recorded, r *http.Request) {
	_, _, object := s.find(r.URL.Path)
	if object == nil {
		a.status = http.StatusNotFound
		return
	}
	a.header.Set("Content-Type", "text/calendar; charset=utf-8")
	if tag := s.shownTag(object); tag != "" {
		a.header.Set("ETag", tag)
	}
	if s.options.AutoSchedule {
		a.header.Set("Schedule-Tag", object.tag())
	}
	a.body = object.data
}

// matches checks the preconditions (RFC 9110 section 13.1). Weak tags never match in If-Match.
func (s *Server) matches(r *http.Request, object *stored) bool {
	if want := r.Header.Get("If-Match"); want != "" {
		if object == nil || want != "*" && !slices.Contains(strings.Split(want, ", "), object.tag()) {
			return false
		}
	}
	if want := r.Header.Get("If-Schedule-Tag-Match"); want != "" && (object == nil || want != object.tag()) {
		return false
	}
	return r.Header.Get("If-None-Match") != "*" || object == nil
}

func (s *Server) put(a *recorded, r *http.Request) {
	c, segment, object := s.find(r.URL.Path)
	if c == nil || segment == "" {
		a.status = http.StatusConflict // RFC 4918 section 9.7.1: the parent has to exist
		return
	}
	content, err := io.ReadAll(r.Body)
	if err != nil {
		a.status = http.StatusBadRequest
		return
	}
	if c.readOnly {
		a.refuse(`<D:need-privileges/>`)
		return
	}
	data := string(content)
	calendar, wrong := parse(r.Header.Get("Content-Type"), data)
	if wrong != "" {
		s.violate(r, "%s", wrong)
		a.refuse(`<C:valid-calendar-data/>`)
		return
	}
	if !s.matches(r, object) {
		a.status = http.StatusPreconditionFailed
		return
	}
	conditional := r.Header.Get("If-Match") + r.Header.Get("If-None-Match") +
		r.Header.Get("If-Schedule-Tag-Match")
	if conditional == "" && !s.options.NoTags {
		s.violate(r, "writes without a precondition, so changes of others are lost")
	}
	uid := uidOf(data)
	for other, existing := range c.objects {
		if existing.uid == uid && other != segment {
			a.refuse(`<C:no-uid-conflict>` + s.href(parentOf(r.URL.Path)+other) + `</C:no-uid-conflict>`)
			return
		}
	}
	if object != nil && object.uid != uid {
		a.refuse(`<C:no-uid-conflict>` + s.href(r.URL.Path) + `</C:no-uid-conflict>`)
		return
	}
	if object != nil && s.exceedsAttendee(object, calendar) {
		s.violate(r, "changes what only the organizer may")
		a.refuse(`<C:allowed-attendee-scheduling-object-change/>`)
		return
	}
	path := r.URL.Path
	if object == nil && s.options.Rename {
		segment = hash(uid) + ".ics"
		path = parentOf(path) + segment
		a.header.Set("Location", escape(path))
	}
	data = s.schedule(c, path, object, calendar, data)
	frozen := object != nil && len(s.options.Freezes) > 0
	if frozen {
		data = freeze(object.data, data, s.options.Freezes)
	}
	s.versions++
	fresh := &stored{data: data, uid: uid, version: s.versions}
	c.objects[segment] = fresh
	a.status = http.StatusNoContent
	if object == nil {
		a.status = http.StatusCreated
	}
	if tag := s.shownTag(fresh); tag != "" && !s.options.AutoSchedule && !frozen {
		a.header.Set("ETag", tag) // only if the object was stored as sent (RFC 4791 section 5.3.4)
	}
}

func (s *Server) remove(a *recorded, r *http.Request) {
	c, segment, object := s.find(r.URL.Path)
	switch {
	case segment == "":
		s.violate(r, "removes a collection")
		a.status = http.StatusForbidden
	case object == nil:
		a.status = http.StatusNotFound
	case !s.matches(r, object):
		a.status = http.StatusPreconditionFailed
	case c.readOnly:
		a.refuse(`<D:need-privileges/>`)
	default:
		s.schedule(c, r.URL.Path, object, nil, "")
		s.drop(c, segment)
		a.status = http.StatusNoContent
	}
}

// freeze restores the named properties of an object's events to their values before the change.
func freeze(before, after string, names []string) string {
	old, changed := read(before), read(after)
	if old == nil || changed == nil {
		return after
	}
	kept := map[string]ical.Props{}
	for _, event := range old.Events() {
		kept[instanceOf(event.Component)] = event.Props
	}
	for _, event := range changed.Events() {
		if was := kept[instanceOf(event.Component)]; was != nil {
			for _, name := range names {
				event.Props[name] = was[name]
			}
		}
	}
	return write(changed)
}

// instanceOf returns the RECURRENCE-ID of an event, or "" for a series or a single event.
func instanceOf(event *ical.Component) string {
	if id := event.Props.Get("RECURRENCE-ID"); id != nil {
		return id.Value
	}
	return ""
}

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// parse parses an object and checks it against RFC 4791 section 4.1. wrong describes the first error.
func parse(contentType, data string) (calendar *ical.Calendar, wrong string) {
	defer func() {
		if p := recover(); p != nil { // go-ical panics on some malformed lines
			calendar, wrong = nil, fmt.Sprint(p)
		}
	}()
	if !strings.HasPrefix(contentType, "text/calendar") {
		return nil, "the content type is " + contentType
	}
	if !utf8.ValidString(data) || strings.Contains(strings.ReplaceAll(data, "\r\n", ""), "\n") ||
		!strings.HasSuffix(data, "\r\n") {
		return nil, "lines do not end in CR LF, or are not UTF-8"
	}
	for line := range strings.SplitSeq(data, "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) {
			return nil, "a line is longer than 75 octets, or folded within a character: " + line
		}
	}
	calendar, err := ical.NewDecoder(strings.NewReader(data)).Decode()
	if err != nil {
		return nil, err.Error()
	}
	if err := ical.NewEncoder(&bytes.Buffer{}).Encode(calendar); err != nil {
		return nil, err.Error()
	}
	if calendar.Props.Get("METHOD") != nil {
		return nil, "an object with METHOD"
	}
	return calendar, wrongEvents(calendar, data)
}

var tzids = regexp.MustCompile(`;TZID="?([^:;"]+)`)

func wrongEvents(calendar *ical.Calendar, data string) string {
	masters, uids, defined := 0, map[string]bool{}, map[string]bool{}
	for _, child := range calendar.Children {
		switch child.Name {
		case "VTIMEZONE":
			defined[child.Props.Get("TZID").Value] = true
			continue
		case "VEVENT":
		default:
			return "a " + child.Name + " among events"
		}
		uids[child.Props.Get("UID").Value] = true
		if child.Props.Get("RECURRENCE-ID") == nil {
			masters++
		}
		if child.Props.Get("DTSTART") == nil {
			return "an event without DTSTART"
		}
		if len(child.Props["ATTENDEE"]) > 0 && child.Props.Get("ORGANIZER") == nil {
			return "attendees without an organizer"
		}
	}
	if masters > 1 || len(uids) != 1 {
		return fmt.Sprintf("%d events with %d UIDs", masters, len(uids))
	}
	unfolded := strings.ReplaceAll(data, "\r\n ", "")
	for _, match := range tzids.FindAllStringSubmatch(unfolded, -1) {
		if !defined[match[1]] {
			return "a zone that is not defined: " + match[1]
		}
	}
	return ""
}

func uidOf(data string) string {
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r\n ", ""), "\n") {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), "UID:"); ok {
			return value
		}
	}
	return ""
}
