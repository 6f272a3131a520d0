package caldav

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/calendar"
	"frontdesk/core/timezone"
)

// product is the PRODID of the objects that the driver creates (RFC 5545 section 3.7.3).
const product = "-//Frontdesk//Frontdesk CalDAV//EN"

// seriesSeparator separates a resource's path from the original start of one instance. An escaped path does
// not contain it.
const seriesSeparator = "#"

// An object that shares its resource with others has a name, which begins with a letter, unlike the start of an
// instance. It follows the separator, and may itself be followed by the start of an instance.
const partPrefix, partSeparator = "u", "."

// idIn returns the id of the object in its resource.
func (o *object) idIn(resource string) string {
	if o.part == "" {
		return resource
	}
	return resource + seriesSeparator + o.part
}

// event converts an instance into the contract's event. resource is the id of its resource.
func (o *object) event(i instance, calendarID, resource, version string) calendar.Event {
	return o.placed(described(i.event), i, calendarID, resource, version)
}

// described returns what all instances of an event have in common.
func described(event *ical.Component) calendar.Event {
	e := calendar.Event{
		Title:       event.Text("SUMMARY"),
		Description: event.Text("DESCRIPTION"),
		Attendees:   []calendar.Attendee{},
		URL:         link(event),
		IsCancelled: isCancelled(event),
		IsFree:      isTransparent(event),
	}
	if organizer, ok := event.Get("ORGANIZER"); ok {
		e.Organizer = calendar.Person{Email: addressOf(organizer), Name: organizer.Param("CN")}
	}
	for _, property := range event.All("ATTENDEE") {
		e.Attendees = append(e.Attendees, attendee(property))
	}
	return e
}

// placed returns a described event as one of its instances.
func (o *object) placed(e calendar.Event, i instance, calendarID, resource, version string) calendar.Event {
	e.ID, e.CalendarID, e.Version = o.idIn(resource), calendarID, version
	e.Start, e.End = o.time(i.start), o.time(i.end)
	if e.Start.Zone == "UTC" || e.End.Zone == "UTC" {
		showIn(zoneBehind(i.event, e.Start.Zone, e.End.Zone), &e)
	}
	return e
}

// ownZone is the property with the zone of an event whose times had to be written in UTC; see momentIn.
const ownZone = "X-FRONTDESK-ZONE"

// zoneBehind returns the zone of an event with a time in UTC: the zone it was booked in, or that of its other
// end.
func zoneBehind(event *ical.Component, start, end string) string {
	for _, zone := range []string{event.Text(ownZone), start, end} {
		if zone != "" && zone != "UTC" && loadZone(zone) != nil {
			return zone
		}
	}
	return "UTC"
}

func showIn(zone string, e *calendar.Event) {
	for _, t := range []*calendar.Time{&e.Start, &e.End} {
		if t.Zone == "UTC" {
			t.Zone = zone
		}
	}
}

// setTimes writes the event's start and end. DTSTART and DTEND keep their positions among the properties.
func setTimes(event *ical.Component, begin, end ical.Moment, location *time.Location) {
	event.Remove("DURATION", ownZone)
	// Marks of a whole day, which Zimbra writes (Invite.toVComponent), and by which it and Open-Xchange (Start.java)
	// read an event whatever its times are.
	event.Remove("X-MICROSOFT-CDO-ALLDAYEVENT", "X-MICROSOFT-MSNCALENDAR-ALLDAYEVENT")
	event.Set(begin.Property("DTSTART"))
	if !event.Has("DTEND") {
		at := slices.IndexFunc(event.Properties, func(p ical.Property) bool { return p.Is("DTSTART") })
		event.Properties = slices.Insert(event.Properties, at+1, end.Property("DTEND"))
	}
	event.Set(end.Property("DTEND"))
	if !isUTC(location) && (begin.Form == ical.UTC || end.Form == ical.UTC) {
		event.Add(ical.Text(ownZone, location.String()))
	}
}

// instanceEvent is like event, for an instance of a series.
func (o *object) instanceEvent(i instance, calendarID, resource, version string) calendar.Event {
	return o.inSeries(o.event(i, calendarID, resource, version), i)
}

// inSeries returns an event as an instance of a series.
func (o *object) inSeries(e calendar.Event, i instance) calendar.Event {
	e.SeriesID, e.ID = e.ID, e.ID+seriesSeparator+o.key(i.of)
	if o.part != "" {
		e.ID = e.SeriesID + partSeparator + o.key(i.of)
	}
	return e
}

func (o *object) time(m ical.Moment) calendar.Time {
	switch {
	case m.Form == ical.Date:
		return calendar.Time{Instant: m.Wall, AllDay: true}
	case m.Form == ical.UTC:
		return calendar.At(m.Wall, "UTC")
	case o.isLocal(m):
		return calendar.Time{Instant: m.Wall, Floating: true}
	}
	return calendar.At(o.instant(m, time.UTC), o.zone(m.TZID).name())
}

// attendee reads an ATTENDEE (RFC 5545 section 3.8.4.1).
func attendee(p ical.Property) calendar.Attendee {
	a := calendar.Attendee{Email: addressOf(p), Name: p.Param("CN"), Type: "required"}
	switch role := strings.ToUpper(p.Param("ROLE")); {
	case strings.EqualFold(p.Param("CUTYPE"), "RESOURCE"), strings.EqualFold(p.Param("CUTYPE"), "ROOM"):
		a.Type = "resource"
	case role == "OPT-PARTICIPANT", role == "NON-PARTICIPANT":
		a.Type = "optional"
	}
	switch answer := strings.ToLower(p.Param("PARTSTAT")); answer {
	case "", "needs-action":
		a.Response = "needs_action"
	default:
		a.Response = answer
	}
	return a
}

// addressOf returns the e-mail address of a CAL-ADDRESS, or "" if it has none. Apple's servers write a urn as
// the value and put the address into EMAIL (RFC 7986 section 6.2).
func addressOf(p ical.Property) string {
	const scheme = "mailto:"
	value := strings.TrimSpace(p.Value)
	if len(value) <= len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return p.Param("EMAIL")
	}
	address, _, _ := strings.Cut(value[len(scheme):], "?")
	if plain, err := url.PathUnescape(address); err == nil {
		address = plain
	}
	return strings.ToValidUTF8(address, "\uFFFD")
}

// mailto returns an e-mail address as a URI (RFC 6068). It escapes only what would end or alter the address,
// because few programs undo the escaping.
func mailto(address string) string {
	return "mailto:" + strings.NewReplacer("%", "%25", "?", "%3F", " ", "%20").Replace(address)
}

// meetingLinks are the properties that may hold a meeting's link, the best first: that of RFC 7986 section
// 5.11, then those that Google and Microsoft write, then general ones. URL may be the page of an event that takes place
// elsewhere (RFC 5545 section 3.8.4.6).
var meetingLinks = []string{
	conference, "X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL",
	"X-MICROSOFT-ONLINEMEETINGEXTERNALLINK", "LOCATION", "URL",
}

// A booking's link is a CONFERENCE with this label.
const conference, bookedLabel = "CONFERENCE", "Join the meeting"

// link returns the meeting's link, or "". If several properties hold it, link returns the longest: Radicale's
// library cuts CONFERENCE at the first comma of the address. The link it was booked with counts only while it is
// in the location, the one of its properties that calendar programs let people change.
func link(event *ical.Component) string {
	best, left := "", linkLeft(event)
	for _, name := range meetingLinks {
		for _, property := range event.All(name) {
			value := calendar.WebAddress(property.Text()) // a URI's commas may be escaped by mistake
			if strings.HasPrefix(value, best) && (left == "" || !strings.HasPrefix(value, left)) {
				best = value
			}
		}
	}
	return best
}

// linkLeft returns the link that the event was booked with, if somebody has put another location in its place.
func linkLeft(event *ical.Component) string {
	for _, property := range event.All(conference) {
		booked := calendar.WebAddress(property.Text())
		if property.Param("LABEL") == bookedLabel && !strings.Contains(event.Text("LOCATION"), booked) {
			return booked
		}
	}
	return ""
}

// newObject builds the iCalendar object of a booking. organizer is who invites the attendees, if there are any.
func newObject(
	b calendar.Booking, uid string, location *time.Location, organizer string, now time.Time,
) *ical.Component {
	stamp := ical.Moment{Wall: now.UTC(), Form: ical.UTC}
	event := ical.New("VEVENT",
		ical.Text("UID", uid),
		stamp.Property("DTSTAMP"), stamp.Property("CREATED"), stamp.Property("LAST-MODIFIED"),
		ical.Raw("SEQUENCE", "0"),
	)
	setTimes(event, momentIn(b.Start, location), momentIn(b.End, location), location)
	event.Add(ical.Text("SUMMARY", b.Title))
	if b.Description != "" {
		event.Add(ical.Text("DESCRIPTION", b.Description))
	}
	event.Add(ical.Raw("STATUS", "CONFIRMED"), ical.Raw("TRANSP", "OPAQUE"))
	if b.Conferencing == calendar.ConferencingURL && b.LocationURL != "" {
		event.Add(ical.Text("LOCATION", b.LocationURL), ical.Raw("URL", b.LocationURL),
			ical.Raw(conference, b.LocationURL).With("VALUE", "URI").With("FEATURE", "VIDEO").
				With("LABEL", bookedLabel))
	}
	setAttendees(event, b.Attendees, organizer)

	object := ical.New("VCALENDAR", ical.Raw("VERSION", "2.0"), ical.Raw("PRODID", product))
	object.Children = []*ical.Component{event}
	withZone(object, location, b.Start, b.End)
	return object
}

// momentIn returns an instant as local time in the location. In the hour that is repeated when clocks are set
// back, the second pass has no local form, so momentIn returns it in UTC.
func momentIn(t time.Time, location *time.Location) ical.Moment {
	t = t.Truncate(time.Second)
	wall := timezone.Wall(t, location)
	if isUTC(location) || !(namedZone{location}).localize(wall).Equal(t) {
		return ical.Moment{Wall: t.UTC(), Form: ical.UTC}
	}
	return ical.Moment{Wall: wall, Form: ical.Zoned, TZID: location.String()}
}

// isUTC reports whether the zone is UTC by one of its usual names. Times in UTC need no VTIMEZONE.
func isUTC(location *time.Location) bool {
	return location.String() == "UTC" || location.String() == "Etc/UTC"
}

// setAttendees replaces the event's attendees; an empty list removes them all. Those who stay keep their
// whole property, including the response, as does an organizer whom a program listed among the attendees. Who has no
// e-mail address, such as a room of Apple's server, stays: no list of addresses can name them.
func setAttendees(event *ical.Component, emails []string, organizer string) {
	if len(emails) == 0 {
		event.Remove("ATTENDEE")
		return
	}
	own, ok := event.Get("ORGANIZER")
	if !ok {
		own = ical.Raw("ORGANIZER", organizer)
		event.Add(own)
	}
	known := map[string]ical.Property{}
	var list []ical.Property
	host := strings.ToLower(addressOf(own))
	for _, property := range event.All("ATTENDEE") {
		email := strings.ToLower(addressOf(property))
		if strings.EqualFold(property.Value, own.Value) || email == "" || email == host {
			list = append(list, property)
			continue
		}
		known[email] = property
	}
	for _, email := range emails {
		if property, stays := known[strings.ToLower(email)]; stays {
			list = append(list, property)
			continue
		}
		if strings.EqualFold(email, host) {
			if slices.ContainsFunc(list, func(p ical.Property) bool { return strings.EqualFold(addressOf(p), host) }) {
				continue
			}
			list = append(list, ical.Raw("ATTENDEE", mailto(email)).With("CUTYPE", "INDIVIDUAL").
				With("ROLE", "CHAIR").With("PARTSTAT", "ACCEPTED"))
			continue
		}
		list = append(list, ical.Raw("ATTENDEE", mailto(email)).With("CUTYPE", "INDIVIDUAL").
			With("ROLE", "REQ-PARTICIPANT").With("PARTSTAT", "NEEDS-ACTION").With("RSVP", "TRUE"))
	}
	event.Set(list...)
}
