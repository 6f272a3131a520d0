package microsoft

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

var cancelFields = []string{
	"id", "isOrganizer", "isCancelled", "responseRequested", "attendees", "start", "end", "isAllDay", "type",
	"seriesMasterId",
}

// Cancel removes an event in the way that the account's role in it requires, so it reads the event first.
func (d *driver) Cancel(ctx context.Context, ref calendar.EventRef) error {
	calendarID, err := d.calendarID(ctx, ref.CalendarID)
	if err != nil {
		return fault.Unacted(eventOf(err))
	}
	event, err := d.read(ctx, calendarID, ref.ID, cancelFields, preferText)
	if err != nil {
		return fault.Unacted(err)
	}
	return d.remove(ctx, calendarID, event)
}

// remove removes an event from the calendar. If the account organizes the meeting, it cancels it; if the
// account was invited, it declines. An event without attendees is deleted, and so is an invitation that was
// withdrawn or that requests no response.
func (d *driver) remove(ctx context.Context, calendarID string, event *graph.Event) error {
	at := d.event(calendarID, text(event.ID))
	request := graph.Request{Method: http.MethodDelete, Path: at, Prefer: immutable}
	organizer := event.IsOrganizer == nil || *event.IsOrganizer
	wanted := event.ResponseRequested == nil || *event.ResponseRequested
	switch {
	case organizer && len(event.Attendees) > 0:
		request.Method, request.Path = http.MethodPost, at+"/cancel"
		request.Body = graph.CancelRequestBody{}
	case !organizer && wanted && !is(event.IsCancelled):
		request.Method, request.Path = http.MethodPost, at+"/decline"
		request.Body = graph.DeclineRequestBody{SendResponse: true}
	}
	about := exchange{missing: noEvent(), writes: true}
	_, err := ask[graph.Nothing](upstream.ExpectEmpty(ctx), d, about, request)
	if refused, is := errors.AsType[*graph.Error](err); is && refused.Code == cannotDelete &&
		d.isGone(ctx, calendarID, event) {
		return noEvent().With(calendar.MetaGone, "true")
	}
	return err
}

// isGone reports whether an event that cannot be deleted is among the deleted items, where its immutable id still
// finds it (microsoftgraph/msgraph-sdk-dotnet#3047): no calendar shows it there. Otherwise the account may not delete
// it, such as a delegate in a calendar of another mailbox ("DeleteItem operation", EWS reference for Exchange). A
// series need not be shown at the time of its first instance.
func (d *driver) isGone(ctx context.Context, calendarID string, e *graph.Event) bool {
	event, err := toEvent(e, calendarID)
	if err != nil || event.SeriesID != "" {
		return false
	}
	page, err := d.Events(ctx, calendar.Query{
		CalendarID: calendarID, From: event.Start.Instant, To: event.End.Instant.Add(time.Minute),
	})
	return err == nil && page.Next == "" &&
		!slices.ContainsFunc(page.Events, func(listed calendar.Event) bool { return listed.ID == event.ID })
}
