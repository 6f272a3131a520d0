package fake

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/emersion/go-ical"
)

// schedule sends the messages that an organizer's change requires (RFC 6638 section 3.2.1). It returns the
// object as it is kept, with a delivery status at each attendee.
func (s *Server) schedule(c *collection, path string, before *stored, after *ical.Calendar, data string) string {
	if !s.options.AutoSchedule {
		return data
	}
	var old *ical.Calendar
	if before != nil {
		old = read(before.data)
	}
	was, now := s.attendees(c, old), s.attendees(c, after)
	for _, email := range slices.Sorted(maps.Keys(was)) {
		if !now[email] {
			s.notices[path] = append(s.notices[path], Notice{email, "cancellation"})
		}
	}
	for _, email := range slices.Sorted(maps.Keys(now)) {
		kind := "invitation"
		if was[email] {
			kind = "update"
		}
		s.notices[path] = append(s.notices[path], Notice{email, kind})
	}
	organizer := s.inviter(old)
	if organizer != "" && (after == nil || countExcluded(after) > countExcluded(old)) {
		// RFC 6638 sections 3.2.2.3 and 3.2.2.4.
		s.notices[path] = append(s.notices[path], Notice{organizer, "reply"})
	}
	if after == nil {
		return data
	}
	for _, event := range after.Children {
		for i := range event.Props["ATTENDEE"] {
			event.Props["ATTENDEE"][i].Params.Set("SCHEDULE-STATUS", "1.2")
		}
	}
	return write(after)
}

// inviter returns the address of the organizer who invited the account, or "" if nobody else did.
func (s *Server) inviter(calendar *ical.Calendar) string {
	if calendar == nil {
		return ""
	}
	for _, event := range calendar.Events() {
		organizer := event.Props.Get("ORGANIZER")
		if organizer == nil || strings.EqualFold(organizer.Value, "mailto:"+s.options.Email) {
			continue
		}
		for _, attendee := range event.Props["ATTENDEE"] {
			if strings.EqualFold(attendee.Value, "mailto:"+s.options.Email) {
				return strings.TrimPrefix(organizer.Value, "mailto:")
			}
		}
	}
	return ""
}

func countExcluded(calendar *ical.Calendar) (n int) {
	for _, event := range calendar.Events() {
		n += len(event.Props["EXDATE"])
	}
	return n
}

var organizersProperties = []string{
	"SUMMARY", "DESCRIPTION", "LOCATION", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "SEQUENCE",
	"ORGANIZER", "ATTENDEE",
}

// exceedsAttendee reports whether an invited account changes more than an attendee may (RFC 6638 section
// 3.2.2.1).
func (s *Server) exceedsAttendee(before *stored, after *ical.Calendar) bool {
	old := read(before.data)
	if !s.options.AutoSchedule || s.inviter(old) == "" {
		return false
	}
	was := map[string]ical.Props{}
	for _, event := range old.Events() {
		was[instanceOf(event.Component)] = event.Props
	}
	for _, event := range after.Events() {
		before := was[instanceOf(event.Component)]
		if before == nil {
			before = was[""]
		}
		for _, name := range organizersProperties {
			if !slices.EqualFunc(before[name], event.Props[name],
				func(a, b ical.Prop) bool { return a.Value == b.Value }) {
				return true
			}
		}
	}
	return false
}

// attendees returns the attendees of the events that the owner of their calendar organizes (RFC 6638 section 3.1).
func (s *Server) attendees(c *collection, calendar *ical.Calendar) map[string]bool {
	emails := map[string]bool{}
	if calendar == nil {
		return emails
	}
	owner := []string{"mailto:" + cmp.Or(s.users[c.owner], s.options.Email)}
	if c.owner == s.principal() {
		owner = append(owner, s.options.Aliases...)
	}
	for _, event := range calendar.Events() {
		organizer := event.Props.Get("ORGANIZER")
		isOwners := func(address string) bool { return strings.EqualFold(organizer.Value, address) }
		if organizer == nil || !slices.ContainsFunc(owner, isOwners) {
			continue
		}
		for _, attendee := range event.Props["ATTENDEE"] {
			email := strings.ToLower(attendee.Value)
			if email != strings.ToLower(organizer.Value) && attendee.Params.Get("SCHEDULE-AGENT") == "" {
				emails[strings.TrimPrefix(email, "mailto:")] = true
			}
		}
	}
	return emails
}

// write encodes the object. go-ical folds no lines, and neither do some servers.
func write(calendar *ical.Calendar) string {
	var b strings.Builder
	if err := ical.NewEncoder(&b).Encode(calendar); err != nil {
		return ""
	}
	return b.String()
}

// read decodes a stored object. It returns nil if it cannot.
func read(data string) (calendar *ical.Calendar) {
	defer func() {
		if recover() != nil { // go-ical panics on some malformed lines
			calendar = nil
		}
	}()
	calendar, err := ical.NewDecoder(strings.NewReader(data)).Decode()
	if err != nil {
		return nil
	}
	return calendar
}
