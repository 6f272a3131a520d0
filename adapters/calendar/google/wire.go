package google

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

// eventFields are the fields of an event to read, as a partial response
// (developers.google.com/workspace/calendar/api/guides/performance#partial-response).
const eventFields = "id,etag,status,summary,description,location,start,end,recurringEventId," +
	"originalStartTime,transparency," +
	"organizer(email,displayName,self),attendees(email,displayName,optional,resource,responseStatus,self)," +
	"hangoutLink,htmlLink,extendedProperties/private," +
	"conferenceData(entryPoints(entryPointType,uri),createRequest/status)"

// pageFields are the fields of a page of events to read.
const pageFields = "kind,nextPageToken,items(" + eventFields + ")"

// Private properties of events that the gateway booked. They stay on this calendar's copy of the event.
const (
	keyProperty  = "frontdeskKey"
	linkProperty = "frontdeskUrl"
)

// longestProperty is how many characters of a property's value Google keeps
// (developers.google.com/workspace/calendar/api/guides/extended-properties, "Limits"). A longer link is
// stored only as the location.
const longestProperty = 1024

// insertion is an event as it is inserted. Its parts are Google's types without their methods; see [request].
type insertion struct {
	ID                 string               `json:"id"`
	Summary            string               `json:"summary,omitempty"`
	Description        string               `json:"description,omitempty"`
	Location           string               `json:"location,omitempty"`
	Start              *insertedTime        `json:"start"`
	End                *insertedTime        `json:"end"`
	Attendees          []insertedGuest      `json:"attendees,omitempty"`
	ExtendedProperties insertedProperties   `json:"extendedProperties"`
	ConferenceData     *gcal.ConferenceData `json:"conferenceData,omitempty"`
}

type (
	insertedTime       gcal.EventDateTime
	insertedGuest      gcal.EventAttendee
	insertedProperties gcal.EventExtendedProperties
)

// newEvent returns a booking in the form of Google's API. Google's pages show a description as HTML if it
// looks like HTML. The caller's text is written unchanged, since attendees elsewhere see it as plain text.
func newEvent(b calendar.Booking) (*insertion, error) {
	start, err := timeIn(b.Start, b.Zone)
	if err != nil {
		return nil, err
	}
	end, err := timeIn(b.End, b.Zone)
	if err != nil {
		return nil, err
	}
	e := &insertion{
		ID: idOf(b.Key), Summary: b.Title, Description: b.Description,
		Start: (*insertedTime)(start), End: (*insertedTime)(end),
		ExtendedProperties: insertedProperties{Private: map[string]string{keyProperty: b.Key}},
	}
	for _, guest := range mergeAttendees(nil, b.Attendees) {
		e.Attendees = append(e.Attendees, insertedGuest(*guest))
	}
	switch b.Conferencing {
	case calendar.ConferencingProvider:
		e.ConferenceData = &gcal.ConferenceData{CreateRequest: &gcal.CreateConferenceRequest{
			RequestId: e.ID, ConferenceSolutionKey: &gcal.ConferenceSolutionKey{Type: hangoutsMeet},
		}}
	case calendar.ConferencingURL:
		e.Location = b.LocationURL
		if len(b.LocationURL) <= longestProperty {
			e.ExtendedProperties.Private[linkProperty] = b.LocationURL
		}
	}
	return e, nil
}

// timeIn returns an instant with the zone that it is kept in. The offset distinguishes the two passes of an
// hour that the clock repeats.
func timeIn(t time.Time, zone string) (*gcal.EventDateTime, error) {
	location, err := timezone.Load(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, fault.InvalidField("timezone", "is not a known time zone.")
	}
	return &gcal.EventDateTime{DateTime: t.In(location).Format(time.RFC3339), TimeZone: zone}, nil
}

// newPatch returns a change in the form of Google's API, without the attendees; nil if it changes nothing.
func newPatch(c calendar.Change) (*gcal.Event, error) {
	patch := &gcal.Event{}
	if c.Title != nil {
		patch.Summary = *c.Title
		patch.ForceSendFields = append(patch.ForceSendFields, "Summary")
	}
	if c.Description != nil {
		patch.Description = *c.Description
		patch.ForceSendFields = append(patch.ForceSendFields, "Description")
	}
	if c.Attendees != nil {
		patch.ForceSendFields = append(patch.ForceSendFields, "Attendees")
	}
	if c.Start != nil && c.End != nil {
		start, err := timeIn(*c.Start, c.Zone)
		if err != nil {
			return nil, err
		}
		end, err := timeIn(*c.End, c.Zone)
		if err != nil {
			return nil, err
		}
		// The event may have been one of whole days.
		start.NullFields, end.NullFields = []string{"Date"}, []string{"Date"}
		patch.Start, patch.End = start, end
	}
	if patch.Start == nil && len(patch.ForceSendFields) == 0 {
		return nil, nil
	}
	return patch, nil
}

// mergeAttendees returns the list of attendees to write. A patch replaces the whole list, so those who stay
// are written as they were read, with their responses. So is the organizer, who is listed with the guests
// without being one.
func mergeAttendees(before []*gcal.EventAttendee, emails []string) []*gcal.EventAttendee {
	list := []*gcal.EventAttendee{}
	known := map[string]*gcal.EventAttendee{}
	for _, a := range before {
		switch {
		case a == nil:
		case a.Organizer:
			list = append(list, a)
		default:
			known[strings.ToLower(a.Email)] = a
		}
	}
	for _, email := range emails {
		same := func(a *gcal.EventAttendee) bool { return strings.EqualFold(a.Email, email) }
		if slices.ContainsFunc(list, same) {
			continue
		}
		list = append(list, cmp.Or(known[strings.ToLower(email)], &gcal.EventAttendee{Email: email}))
	}
	return list
}

// isNameless reports whether Google does not tell the address of a guest ("if available",
// developers.google.com/workspace/calendar/api/v3/reference/events#attendees.email). It cannot be written back: Google
// answers "Missing attendee email." (kewisch/gdata-provider#82).
func isNameless(a *gcal.EventAttendee) bool { return a != nil && a.Email == "" }

// calendarOf converts an entry of the account's list of calendars. standard is the id or the alias of the
// default calendar.
func calendarOf(entry *gcal.CalendarListEntry, standard string) calendar.Calendar {
	writable := entry.AccessRole == "owner" || entry.AccessRole == "writer" ||
		entry.AccessRole == "writerWithoutPrivateAccess"
	listed := calendar.Calendar{
		ID: entry.Id, Name: cmp.Or(entry.SummaryOverride, entry.Summary, entry.Id), Zone: entry.TimeZone,
		ReadOnly:  !writable,
		IsDefault: strings.EqualFold(entry.Id, standard) || entry.Primary && standard == primary,
	}
	if entry.Primary {
		listed.Alias = primary
	}
	return listed
}

// restOfSeries matches what Google adds to the id of a series to name another: somebody changed "this and following
// events", which became a series of its own. It is not documented, but seen where calendars are synchronised
// (odoo/odoo#120798 and #287171).
var restOfSeries = regexp.MustCompile(`_R\d{8}(T\d{6})?$`)

// seriesOf returns the series of an instance as it was named at first. So a meeting that was booked, and is repeated by
// now, still has the instances that somebody changed together.
func seriesOf(e *gcal.Event) string {
	if !strings.Contains(e.RecurringEventId, "_R") {
		return e.RecurringEventId
	}
	return restOfSeries.ReplaceAllString(e.RecurringEventId, "")
}

// eventOf converts an event of the API, without its calendar.
func eventOf(e *gcal.Event) (calendar.Event, error) {
	if e == nil || e.Id == "" {
		return calendar.Event{}, errors.New("an event without an id")
	}
	event := calendar.Event{
		ID: e.Id, SeriesID: seriesOf(e), Version: e.Etag, Title: e.Summary, Description: e.Description,
		URL: linkOf(e), IsCancelled: isCancelled(e), IsFree: e.Transparency == "transparent",
		OwnerResponse: "accepted", // unless the calendar is among those invited
	}
	if len(e.Recurrence) > 0 {
		event.SeriesID = e.Id
	}
	var err1, err2 error
	event.Start, err1 = timeOf(cmp.Or(e.Start, e.OriginalStartTime))
	event.End, err2 = timeOf(cmp.Or(e.End, e.Start, e.OriginalStartTime))
	if !event.IsCancelled && (err1 != nil || err2 != nil) {
		return calendar.Event{}, cmp.Or(err1, err2) // of a deleted event, only the id is certain
	}
	if e.Organizer != nil {
		event.Organizer = calendar.Person{Email: e.Organizer.Email, Name: e.Organizer.DisplayName}
	}
	for _, a := range e.Attendees {
		if a == nil || a.Email == "" {
			continue
		}
		attendee := attendeeOf(a)
		event.Attendees = append(event.Attendees, attendee)
		if a.Self {
			event.OwnerResponse = attendee.Response
		}
	}
	return event, nil
}

func attendeeOf(a *gcal.EventAttendee) calendar.Attendee {
	attendee := calendar.Attendee{
		Email: a.Email, Name: a.DisplayName, Type: "required", Response: a.ResponseStatus,
	}
	switch {
	case a.Resource:
		attendee.Type = "resource"
	case a.Optional:
		attendee.Type = "optional"
	}
	if attendee.Response == "needsAction" {
		attendee.Response = "needs_action"
	}
	return attendee
}

// timeOf parses a date or a time. The time's offset is that of the requested zone; its own zone is in
// TimeZone.
func timeOf(t *gcal.EventDateTime) (calendar.Time, error) {
	switch {
	case t == nil:
		return calendar.Time{}, errors.New("an event without a time")
	case t.Date != "":
		day, err := time.Parse(time.DateOnly, t.Date)
		return calendar.Time{Instant: day, AllDay: true}, err
	}
	at, err := time.Parse(time.RFC3339, t.DateTime)
	return calendar.At(at.UTC(), t.TimeZone), err
}

func isCancelled(e *gcal.Event) bool { return e.Status == "cancelled" }

func private(e *gcal.Event, property string) string {
	if e.ExtendedProperties == nil {
		return ""
	}
	return e.ExtendedProperties.Private[property]
}

// linkOf returns where the event takes place: the link it was booked with, if nobody has put another location in its
// place since, else the link of its video conference, else a location that begins with a link, else Google's page of
// the event.
func linkOf(e *gcal.Event) string {
	booked := private(e, linkProperty)
	if !strings.Contains(e.Location, booked) {
		booked = ""
	}
	return cmp.Or(booked, meetLink(e), calendar.WebAddress(e.Location), e.HtmlLink)
}

func meetLink(e *gcal.Event) string {
	if e.ConferenceData != nil {
		for _, point := range e.ConferenceData.EntryPoints {
			if point != nil && point.EntryPointType == "video" && point.Uri != "" {
				return point.Uri
			}
		}
	}
	return e.HangoutLink
}
