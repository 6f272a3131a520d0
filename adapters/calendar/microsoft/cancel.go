package microsoft

import (
	"context"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

var cancelFields = []string{"id", "isOrganizer", "isCancelled", "responseRequested", "attendees"}

// Cancel removes an event in the way that the account's role in it requires, so it reads the event first.
// Neither action accepts a condition (learn.microsoft.com/graph/api/event-cancel), so a version is compared
// with the one read: a change between the two requests goes unnoticed.
func (d *driver) Cancel(ctx context.Context, ref calendar.EventRef, c calendar.Cancellation) error {
	calendarID, err := d.calendarID(ctx, ref.CalendarID)
	if err != nil {
		return fault.Unacted(eventOf(err))
	}
	event, err := d.read(ctx, calendarID, ref.ID, cancelFields, preferText)
	if err != nil {
		return fault.Unacted(err)
	}
	if c.IfUnchanged != "" && c.IfUnchanged != versionOf(event) {
		return changedMeanwhile()
	}
	return d.remove(ctx, calendarID, event, c.Comment)
}

// remove removes an event from the calendar. If the account organizes the meeting, it cancels it; if the
// account was invited, it declines. An event without attendees is deleted, and so is an invitation that was
// withdrawn or that requests no response.
func (d *driver) remove(ctx context.Context, calendarID string, event *graph.Event, comment string) error {
	at := d.calendar(calendarID).Events().ByEventID(text(event.ID))
	options := graph.Options{Prefer: immutable}
	organizer := event.IsOrganizer == nil || *event.IsOrganizer
	wanted := event.ResponseRequested == nil || *event.ResponseRequested
	return tell(ctx, d, exchange{missing: noEvent(), writes: true}, func(ctx context.Context) error {
		ctx = upstream.ExpectEmpty(ctx)
		switch {
		case organizer && len(event.Attendees) > 0:
			return at.Cancel(ctx, &graph.CancelRequestBody{Comment: &comment}, options)
		case !organizer && wanted && !is(event.IsCancelled):
			return at.Decline(ctx, &graph.DeclineRequestBody{Comment: &comment, SendResponse: new(true)}, options)
		}
		return at.Delete(ctx, options)
	})
}
