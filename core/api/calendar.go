package api

import (
	"context"
	"slices"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/service"
	"frontdesk/core/spelling"
)

// Calendar is what the calendar operations need of core/service.
type Calendar interface {
	Book(
		context.Context, apikey.Caller, service.Write, service.BookMeeting,
	) (service.Answer[record.MeetingAnswer], error)
	Update(
		context.Context, apikey.Caller, service.Write, service.UpdateMeeting,
	) (service.Answer[record.MeetingAnswer], error)
	Cancel(
		context.Context, apikey.Caller, service.Write, service.CancelMeeting,
	) (service.Answer[record.CancelAnswer], error)
	List(context.Context, apikey.Caller, service.ListEvents) (record.EventsAnswer, error)
	Calendars(context.Context, apikey.Caller) (record.CalendarsAnswer, error)
	Verify(context.Context, apikey.Caller) (record.VerifyAnswer, error)
	FindSlots(context.Context, apikey.Caller, service.FindSlots) (record.SlotsAnswer, error)
	Hold(
		context.Context, apikey.Caller, service.Write, service.HoldSlot,
	) (service.Answer[record.HoldAnswer], error)
	ReleaseHold(
		ctx context.Context, c apikey.Caller, w service.Write, holdID string,
	) (service.Answer[record.ReleaseAnswer], error)
	BookSlot(
		context.Context, apikey.Caller, service.Write, service.BookSlot,
	) (service.Answer[record.BookedAnswer], error)
	FindMeetings(context.Context, apikey.Caller, service.FindMeetings) (record.MeetingsAnswer, error)
	MoveMeeting(
		context.Context, apikey.Caller, service.Write, service.MoveMeeting,
	) (service.Answer[record.BookedAnswer], error)
	CancelByReference(
		ctx context.Context, c apikey.Caller, w service.Write, reference string,
	) (service.Answer[record.CancelledAnswer], error)
}

// bookMeetingRequest is the body of book-meeting.
type bookMeetingRequest struct {
	Title               string   `json:"title,omitempty" need:"true" bytes:"1024" doc:"Meeting title shown to attendees." example:"Consultation"`
	Description         string   `json:"description,omitempty" bytes:"8192" doc:"Agenda or body text." example:"First visit"`
	StartTime           string   `json:"start_time,omitempty" need:"true" bytes:"64" doc:"Start: RFC 3339, or a local time without offset. A local time is in timezone, or else in the calendar's own zone." example:"2026-12-01T10:00:00-05:00"`
	EndTime             string   `json:"end_time,omitempty" need:"true" bytes:"64" doc:"End, in the form of start_time. It must be later than the start." example:"2026-12-01T10:30:00-05:00"`
	Timezone            string   `json:"timezone,omitempty" bytes:"64" doc:"IANA time zone name. If the times have an offset, it is only the zone of the times in the answer." example:"America/New_York"`
	AttendeeEmails      []string `json:"attendee_emails,omitempty" nullable:"false" bytes:"320" doc:"E-mail addresses to invite, at most 200. Duplicates are dropped." example:"[\"pat@example.com\"]"`
	SelectedCalendarIDs []string `json:"selected_calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars, at most 50. The event is created in the first. If the tenant prevents double booking, all of them must be free. The default is the connection's default calendar." example:"[\"primary\"]"`
	ConferencingType    string   `json:"conferencing_type,omitempty" bytes:"64" doc:"provider: the provider makes a meeting link. url: location_url is the link. Absent: no link. Configured legacy names mean provider and are deprecated." example:"provider"`
	LocationURL         string   `json:"location_url,omitempty" doc:"Link of the meeting, an absolute http or https URL of at most 2,048 bytes. On its own it implies conferencing_type url. With provider it is ignored." example:"https://meet.example.com/front-office"`
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
	c.endAfterStart(in.Start, in.End, in.Timezone)
	in.Conferencing, in.LocationURL = c.conferencing(r.ConferencingType, r.LocationURL)
	return in
}

// updateMeetingRequest is the body of update-meeting.
type updateMeetingRequest struct {
	EventID             string   `json:"event_id,omitempty" need:"true" bytes:"1024" doc:"The event to change." example:"evt_4k1v9s"`
	Title               string   `json:"title,omitempty" bytes:"1024" doc:"New title." example:"Consultation, moved"`
	Description         string   `json:"description,omitempty" bytes:"8192" doc:"New agenda or body text." example:"Second visit"`
	StartTime           string   `json:"start_time,omitempty" bytes:"64" doc:"New start, in the form of book-meeting. Without end_time, the duration stays." example:"2026-12-01T11:00:00-05:00"`
	EndTime             string   `json:"end_time,omitempty" bytes:"64" doc:"New end." example:"2026-12-01T11:30:00-05:00"`
	Timezone            string   `json:"timezone,omitempty" bytes:"64" doc:"IANA time zone name." example:"America/New_York"`
	AttendeeEmails      []string `json:"attendee_emails,omitempty" nullable:"false" bytes:"320" doc:"The complete new list of attendees, at most 200. Those who stay keep their answers." example:"[\"pat@example.com\", \"kim@example.com\"]"`
	SelectedCalendarIDs []string `json:"selected_calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars to search for the event, at most 50, if the gateway has not seen it yet." example:"[\"primary\"]"`
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
	c.endAfterStart(in.Start, in.End, in.Timezone)
	changes := r.Title != "" || r.Description != "" || r.StartTime != "" || r.EndTime != "" ||
		r.AttendeeEmails != nil
	if !changes && len(c.faults) == 0 {
		c.fail(locationBody, "must have at least one change: title, description, start_time, end_time or "+
			"attendee_emails")
	}
	return in
}

// listEventsRequest is the body of list-events.
type listEventsRequest struct {
	StartTime           string   `json:"start_time,omitempty" bytes:"64" doc:"Start of the window: RFC 3339, a local time, or a bare date, which means the start of that day. The default is now." example:"2026-12-01"`
	EndTime             string   `json:"end_time,omitempty" bytes:"64" doc:"End of the window, exclusive. The default is seven days after its start." example:"2026-12-08"`
	Timezone            string   `json:"timezone,omitempty" bytes:"64" doc:"IANA time zone name: the zone of local times in the request, and of the times in the answer." example:"America/New_York"`
	SelectedCalendarIDs []string `json:"selected_calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars to read, at most 50. The default is the connection's default calendar." example:"[\"primary\"]"`
}

func (r listEventsRequest) input(c *checks) service.ListEvents {
	in := service.ListEvents{
		Start:       c.instant("start_time", r.StartTime, normalize.DateTimeOrDate),
		End:         c.instant("end_time", r.EndTime, normalize.DateTimeOrDate),
		Timezone:    c.zone("timezone", r.Timezone),
		CalendarIDs: c.ids("selected_calendar_ids", r.SelectedCalendarIDs),
	}
	c.endAfterStart(in.Start, in.End, in.Timezone)
	return in
}

// cancelMeetingRequest is the body of cancel-meeting.
type cancelMeetingRequest struct {
	EventID    string `json:"event_id,omitempty" need:"true" bytes:"1024" doc:"The event to cancel." example:"evt_4k1v9s"`
	CalendarID string `json:"calendar_id,omitempty" bytes:"1024" doc:"The event's calendar. Needed only if the gateway has not seen the event yet and it is not in the default calendar." example:"primary"`
}

func (r cancelMeetingRequest) input(c *checks) service.CancelMeeting {
	c.present("event_id", r.EventID)
	c.present("calendar_id", r.CalendarID)
	return service.CancelMeeting{EventID: r.EventID, CalendarID: r.CalendarID}
}

// conferencing returns the kind of conferencing and the link that a booking requests. With provider, it
// ignores location_url: backends that mirror a stored setting send both.
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
	if slices.Contains(c.legacy, kind) {
		c.deprecated = true
		return calendar.ConferencingProvider, ""
	}
	known := []string{string(calendar.ConferencingProvider), string(calendar.ConferencingURL)}
	c.add(fault.Field{
		Path: kindPath, Message: "must be provider or url; leave it out for no meeting link",
		Hint: spelling.Nearest(kind, known),
	})
	return calendar.ConferencingNone, ""
}
