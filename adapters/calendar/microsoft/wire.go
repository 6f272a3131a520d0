package microsoft

import (
	"strings"
	"time"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func is(b *bool) bool { return b != nil && *b }

// toEvent converts an event of Graph.
func toEvent(e *graph.Event, calendarID string) (calendar.Event, error) {
	event := calendar.Event{
		ID: text(e.ID), CalendarID: calendarID, SeriesID: text(e.SeriesMasterID), Version: versionOf(e),
		Title: text(e.Subject), Description: readBody(e), URL: link(e),
		IsCancelled: is(e.IsCancelled), IsFree: isFree(e),
	}
	if text(e.Type) == "seriesMaster" {
		event.SeriesID = event.ID
	}
	if e.ResponseStatus != nil {
		event.OwnerResponse = response(e.ResponseStatus)
	}
	var err error
	if event.Start, err = readTime(e.Start, e.OriginalStartTimeZone, is(e.IsAllDay)); err != nil {
		return event, err
	}
	if event.End, err = readTime(e.End, e.OriginalEndTimeZone, is(e.IsAllDay)); err != nil {
		return event, err
	}
	if e.Organizer != nil {
		event.Organizer = person(e.Organizer.EmailAddress)
	}
	for _, a := range e.Attendees {
		p := person(a.EmailAddress)
		event.Attendees = append(event.Attendees, calendar.Attendee{
			Email: p.Email, Name: p.Name, Type: text(a.Type), Response: response(a.Status),
		})
	}
	return event, nil
}

// isFree reports whether an event leaves its owner's time free: it is shown so, it only tells where its owner
// works (free in getSchedule too, learn.microsoft.com/graph/api/resources/scheduleinformation), or its owner
// declined it. The owner's response is not among those of the attendees
// (microsoftgraph/microsoft-graph-docs-contrib#7956).
func isFree(e *graph.Event) bool {
	switch text(e.ShowAs) {
	case "free", "workingElsewhere":
		return true
	}
	return e.ResponseStatus != nil && text(e.ResponseStatus.Response) == "declined"
}

func person(a *graph.EmailAddress) calendar.Person {
	if a == nil {
		return calendar.Person{}
	}
	return calendar.Person{Email: addressOf(a), Name: text(a.Name)}
}

// addressOf returns the address of a person. That of a guest of Outlook.com may be "Jane Doe <jane@example.com>"
// (microsoftgraph/microsoft-graph-docs-contrib#825).
func addressOf(a *graph.EmailAddress) string {
	address := text(a.Address)
	if i := strings.LastIndexByte(address, '<'); i >= 0 && strings.HasSuffix(address, ">") {
		return address[i+1 : len(address)-1]
	}
	return address
}

// response returns the common name of a response (learn.microsoft.com/graph/api/resources/responsestatus).
func response(s *graph.ResponseStatus) string {
	if s == nil {
		return "needs_action"
	}
	switch given := text(s.Response); given {
	case "", "none", "notResponded":
		return "needs_action"
	case "organizer":
		return "accepted"
	case "tentativelyAccepted":
		return "tentative"
	default:
		return given
	}
}

// versionOf returns the ETag, which contains the change key. The version of an event that somebody else
// organizes has a prefix. Change must refuse such an event, and the prefix saves it from reading every event
// to find that out.
func versionOf(e *graph.Event) string {
	tag := text(e.ETag)
	if tag == "" && text(e.ChangeKey) != "" {
		tag = `W/"` + *e.ChangeKey + `"`
	}
	if e.IsOrganizer != nil && !*e.IsOrganizer {
		return attendeesVersion + tag
	}
	return tag
}

const attendeesVersion = "attendee:"

func isAttendees(version string) bool { return strings.HasPrefix(version, attendeesVersion) }

func joinURL(e *graph.Event) string {
	if e.OnlineMeeting == nil {
		return ""
	}
	return text(e.OnlineMeeting.JoinURL)
}

// link returns where the meeting takes place: its join link or a location that begins with a link, else
// Outlook's page of the event.
func link(e *graph.Event) string {
	if join := joinURL(e); join != "" {
		return join
	}
	if e.Location != nil {
		for _, location := range []string{text(e.Location.DisplayName), text(e.Location.LocationURI)} {
			if address := calendar.WebAddress(location); address != "" {
				return address
			}
		}
	}
	return text(e.WebLink)
}

// The format of a wall clock. Graph returns seven digits of a second
// (learn.microsoft.com/graph/api/resources/datetimetimezone).
const wallClock = "2006-01-02T15:04:05.0000000"

// writeSpan returns a start and an end in the zone, under its Windows name. If a wall clock is ambiguous, or
// the Windows zone would read it differently, both are written in UTC: the instant matters more than the
// displayed zone.
func writeSpan(start, end time.Time, zone string) (from, to *graph.DateTimeTimeZone) {
	windows, location := zoneOf(zone)
	if !unambiguous(location, windows, start) || !unambiguous(location, windows, end) {
		windows, location = "UTC", time.UTC
	}
	write := func(t time.Time) *graph.DateTimeTimeZone {
		return &graph.DateTimeTimeZone{DateTime: new(t.In(location).Format(wallClock)), TimeZone: &windows}
	}
	return write(start), write(end)
}

// zoneOf returns the Windows name of a zone for Graph. All IANA names that Graph also accepts have one.
func zoneOf(name string) (windows string, location *time.Location) {
	windows, known := timezone.ToWindows(name)
	location, err := timezone.Load(name)
	if !known || err != nil {
		return "UTC", time.UTC
	}
	return windows, location
}

// unambiguous reports whether the wall clock that the location shows at t means t, and no other instant, in
// the Windows zone.
func unambiguous(location *time.Location, windows string, t time.Time) bool {
	iana, _ := timezone.FromWindows(windows)
	theirs, err := timezone.Load(iana)
	if err != nil {
		return false
	}
	_, offset := t.In(location).Zone()
	if _, there := t.In(theirs).Zone(); there != offset {
		return false
	}
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, other := t.Add(near).In(theirs).Zone()
		mirrored := t.Add(time.Duration(offset-other) * time.Second)
		if _, there := mirrored.In(theirs).Zone(); other != offset && there == other {
			return false
		}
	}
	return true
}

// readTime parses a time that was requested in UTC. The zone to show it in is the one it was created in,
// under any of the names that Graph has for it; names such as "tzone://Microsoft/Custom" are ignored. Whole
// days are midnight to midnight in any zone, so that only the date counts
// (microsoftgraph/microsoft-graph-docs#1802).
func readTime(t *graph.DateTimeTimeZone, original *string, allDay bool) (calendar.Time, error) {
	if t == nil {
		return calendar.Time{}, badTime("")
	}
	location := readZone(text(t.TimeZone))
	if location == nil {
		location = time.UTC
	}
	value := text(t.DateTime)
	at, err := time.ParseInLocation("2006-01-02T15:04:05", value, location)
	if err != nil {
		if at, err = time.Parse(time.RFC3339, value); err != nil {
			return calendar.Time{}, badTime(value)
		}
	}
	if allDay {
		return calendar.Day(at.Date()), nil
	}
	shown := ""
	if zone := readZone(text(original)); zone != nil {
		shown = zone.String()
	}
	return calendar.At(at.UTC(), shown), nil
}

// readZone returns the zone with a Windows or IANA name; nil if it is unknown.
func readZone(name string) *time.Location {
	if iana, ok := timezone.FromWindows(name); ok {
		name = iana
	}
	if name == "" || strings.EqualFold(name, "Local") {
		return nil
	}
	location, err := timezone.Load(name)
	if err != nil {
		return nil
	}
	return location
}

func badTime(value string) *fault.Error {
	f := misconfigured("returns an event at a time that cannot be read")
	f.Upstream = value
	return f
}
