package api

import (
	"context"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/service"
	"frontdesk/core/tenant"
)

// Calendar is what the calendar operations need of core/service.
type Calendar interface {
	Book(context.Context, tenant.Caller, service.Write, service.BookMeeting) (service.Answer[record.MeetingAnswer], error)
	Update(context.Context, tenant.Caller, service.Write, service.UpdateMeeting) (service.Answer[record.MeetingAnswer], error)
	Cancel(context.Context, tenant.Caller, service.Write, service.CancelMeeting) (service.Answer[record.CancelAnswer], error)
	List(context.Context, tenant.Caller, service.ListEvents) (record.EventsAnswer, error)
	Calendars(context.Context, tenant.Caller) (record.CalendarsAnswer, error)
	Verify(context.Context, tenant.Caller) (record.VerifyAnswer, error)
}

// bookMeetingRequest is the body of book-meeting.
type bookMeetingRequest struct {
	Title               string   `json:"title,omitempty" need:"true" bytes:"1024" doc:"Meeting title shown to attendees." example:"Consultation"`
	Description         string   `json:"description,omitempty" bytes:"8192" doc:"Agenda or body text." example:"First visit"`
	StartTime           string   `json:"start_time,omitempty" need:"true" bytes:"64" doc:"Start: RFC 3339, or a local time without offset, which is read in timezone, else in the calendar's own zone." example:"2026-12-01T10:00:00-05:00"`
	EndTime             string   `json:"end_time,omitempty" need:"true" bytes:"64" doc:"End, written like start_time and after it." example:"2026-12-01T10:30:00-05:00"`
	Timezone            string   `json:"timezone,omitempty" bytes:"64" doc:"IANA time zone name. With an offset in the times it is only the zone to show them in." example:"America/New_York"`
	AttendeeEmails      []string `json:"attendee_emails,omitempty" nullable:"false" bytes:"320" doc:"E-mail addresses to invite, at most 200. Duplicates are dropped." example:"[\"pat@example.com\"]"`
	SelectedCalendarIDs []string `json:"selected_calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars, at most 50. The event is made in the first; when the tenant prevents double booking, all of them must be free. The connection's default calendar when absent." example:"[\"primary\"]"`
	ConferencingType    string   `json:"conferencing_type,omitempty" bytes:"64" doc:"provider: the provider makes a meeting link. url: location_url is the link. No link when absent. Configured legacy names mean provider and are deprecated." example:"provider"`
	LocationURL         string   `json:"location_url,omitempty" doc:"Link of the meeting, an absolute http or https URL of at most 2,048 bytes. Alone it means conferencing_type url; beside provider it is ignored." example:"https://meet.example.com/front-office"`
}

func (r bookMeetingRequest) input(c *checks) service.BookMeeting {
	c.present("title", r.Title)
	in := service.BookMeeting{
		Title:       r.Title,
		Description: r.Description,
		Start:       c.instant("start_time", r.StartTime, normalize.DateTime),
		End:         c.instant("end_time", r.EndTime, normalize.DateTime),
		Timezone:    c.zone("timezone", r.Timezone),
		Attendees:   c.emails("attendee_emails", r.AttendeeEmails),
		CalendarIDs: c.ids("selected_calendar_ids", r.SelectedCalendarIDs),
	}
	c.ordered(in.Start, in.End, in.Timezone)
	in.Conferencing, in.LocationURL = c.conferencing(r.ConferencingType, r.LocationURL)
	return in
}

// updateMeetingRequest is the body of update-meeting.
type updateMeetingRequest struct {
	EventID             string   `json:"event_id,omitempty" need:"true" bytes:"1024" doc:"The event to change." example:"evt_4k1v9s"`
	Title               string   `json:"title,omitempty" bytes:"1024" doc:"New title." example:"Consultation, moved"`
	Description         string   `json:"description,omitempty" bytes:"8192" doc:"New agenda or body text." example:"Second visit"`
	StartTime           string   `json:"start_time,omitempty" bytes:"64" doc:"New start, written as for book-meeting. Without end_time the duration stays." example:"2026-12-01T11:00:00-05:00"`
	EndTime             string   `json:"end_time,omitempty" bytes:"64" doc:"New end." example:"2026-12-01T11:30:00-05:00"`
	Timezone            string   `json:"timezone,omitempty" bytes:"64" doc:"IANA time zone name." example:"America/New_York"`
	AttendeeEmails      []string `json:"attendee_emails,omitempty" nullable:"false" bytes:"320" doc:"The whole new list of attendees, at most 200; those who stay keep their answers." example:"[\"pat@example.com\", \"kim@example.com\"]"`
	SelectedCalendarIDs []string `json:"selected_calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars to look for the event in, at most 50, when the gateway has not seen it yet." example:"[\"primary\"]"`
}

func (r updateMeetingRequest) input(c *checks) service.UpdateMeeting {
	c.present("event_id", r.EventID)
	c.present("title", r.Title)
	in := service.UpdateMeeting{
		EventID:     r.EventID,
		Title:       r.Title,
		Description: r.Description,
		Start:       c.instant("start_time", r.StartTime, normalize.DateTime),
		End:         c.instant("end_time", r.EndTime, normalize.DateTime),
		Timezone:    c.zone("timezone", r.Timezone),
		Attendees:   c.emails("attendee_emails", r.AttendeeEmails),
		CalendarIDs: c.ids("selected_calendar_ids", r.SelectedCalendarIDs),
	}
	c.ordered(in.Start, in.End, in.Timezone)
	changes := r.Title != "" || r.Description != "" || r.StartTime != "" || r.EndTime != "" || r.AttendeeEmails != nil
	if !changes && len(c.faults) == 0 {
		c.fail(locationBody, "names no change, give at least one of title, description, start_time, end_time and attendee_emails")
	}
	return in
}

// listEventsRequest is the body of list-events.
type listEventsRequest struct {
	StartTime           string   `json:"start_time,omitempty" bytes:"64" doc:"From when: RFC 3339, a local time, or a bare date, which is the start of that day. Now when absent." example:"2026-12-01"`
	EndTime             string   `json:"end_time,omitempty" bytes:"64" doc:"Until when, exclusive. Seven days after the start when absent." example:"2026-12-08"`
	Timezone            string   `json:"timezone,omitempty" bytes:"64" doc:"IANA time zone name: where local times lie, and the zone to show events in." example:"America/New_York"`
	SelectedCalendarIDs []string `json:"selected_calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars to read, at most 50. The connection's default calendar when absent." example:"[\"primary\"]"`
}

func (r listEventsRequest) input(c *checks) service.ListEvents {
	in := service.ListEvents{
		Start:       c.instant("start_time", r.StartTime, normalize.DateTimeOrDate),
		End:         c.instant("end_time", r.EndTime, normalize.DateTimeOrDate),
		Timezone:    c.zone("timezone", r.Timezone),
		CalendarIDs: c.ids("selected_calendar_ids", r.SelectedCalendarIDs),
	}
	c.ordered(in.Start, in.End, in.Timezone)
	return in
}

// cancelMeetingRequest is the body of cancel-meeting.
type cancelMeetingRequest struct {
	EventID    string `json:"event_id,omitempty" need:"true" bytes:"1024" doc:"The event to cancel." example:"evt_4k1v9s"`
	CalendarID string `json:"calendar_id,omitempty" bytes:"1024" doc:"The calendar it is in; needed only when the gateway has not seen it yet and it is not in the default one." example:"primary"`
}

func (r cancelMeetingRequest) input(c *checks) service.CancelMeeting {
	c.present("event_id", r.EventID)
	c.present("calendar_id", r.CalendarID)
	return service.CancelMeeting{EventID: r.EventID, CalendarID: r.CalendarID}
}

// conferencing reads what link a booking asks for. A location_url beside provider is what backends send that mirror a
// stored setting, so it is not even looked at.
func (c *checks) conferencing(kind, locationURL string) (calendar.Conferencing, string) {
	const kindPath, urlPath = "conferencing_type", "location_url"
	if !c.passed(kindPath) {
		return calendar.ConferencingNone, ""
	}
	if kind == "" && locationURL != "" {
		kind = string(calendar.ConferencingURL)
	}
	switch kind {
	case "":
		return calendar.ConferencingNone, ""
	case string(calendar.ConferencingProvider):
		return calendar.ConferencingProvider, ""
	case string(calendar.ConferencingURL):
		if locationURL == "" && c.passed(urlPath) {
			c.fail(urlPath, "is required when conferencing_type is url")
			return calendar.ConferencingURL, ""
		}
		return calendar.ConferencingURL, c.webAddress(urlPath, locationURL)
	}
	for _, word := range c.legacy {
		if kind == word {
			c.deprecated = true
			return calendar.ConferencingProvider, ""
		}
	}
	known := []string{string(calendar.ConferencingProvider), string(calendar.ConferencingURL)}
	c.add(fault.Field{
		Path: kindPath, Message: "must be provider or url, or absent for no meeting link",
		Hint: normalize.Nearest(kind, known),
	})
	return calendar.ConferencingNone, ""
}
