package microsoft

import (
	"context"
	"slices"
	"strings"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
)

// eventFields are what is read of an event.
var eventFields = []string{
	"id", "subject", "body", "start", "end", "originalStartTimeZone", "originalEndTimeZone", "isAllDay",
	"isCancelled", "isOrganizer", "responseRequested", "showAs", "organizer", "attendees", "location",
	"isOnlineMeeting", "onlineMeeting", "webLink", "seriesMasterId",
}

// Event reads one event.
func (d *driver) Event(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	calendarID, err := d.calendarID(ctx, ref.CalendarID)
	if err != nil {
		return calendar.Event{}, eventOf(err)
	}
	event, err := d.read(ctx, calendarID, ref.ID, eventFields, preferText)
	if err != nil {
		return calendar.Event{}, err
	}
	return toEvent(event, calendarID)
}

// read reads fields of an event that is there.
func (d *driver) read(
	ctx context.Context, calendarID, id string, fields []string, prefer string,
) (*graph.Event, error) {
	if !segment(id) {
		return nil, noEvent()
	}
	event, err := ask(ctx, d, exchange{missing: noEvent()}, func(ctx context.Context) (*graph.Event, error) {
		return d.calendar(calendarID).Events().ByEventID(id).Get(ctx, fields, graph.Options{Prefer: prefer})
	})
	if err != nil {
		return nil, err
	}
	// What has no id is no event: "delta" names a function in the place of an id. What its own organizer
	// cancelled lies among the deleted items, where an immutable id still finds it.
	if text(event.ID) == "" || is(event.IsCancelled) && is(event.IsOrganizer) {
		return nil, noEvent()
	}
	return event, nil
}

// Change changes what is named, with If-Match where a version is given: then one request does it, since who
// gives a version has read the event and knows that it still takes place. A list of attendees and a
// description are written whole, on what was just read: there that reading's version is the condition.
// Exchange lets who was invited change the copy they have, and tells nobody; so what somebody else organizes
// is refused here.
func (d *driver) Change(
	ctx context.Context, ref calendar.EventRef, c calendar.Change,
) (calendar.Event, error) {
	calendarID, err := d.calendarID(ctx, ref.CalendarID)
	if err != nil {
		return calendar.Event{}, eventOf(err)
	}
	patch := &graph.Event{Subject: c.Title}
	if c.Start != nil && c.End != nil {
		patch.Start, patch.End = writeSpan(*c.Start, *c.End, c.Zone)
		patch.IsAllDay = new(false)
	}
	changes, version := patch.Subject != nil || patch.Start != nil, c.IfUnchanged
	if c.Description != nil || c.Attendees != nil || !changes || version == "" || isAttendees(version) {
		now, err := d.read(ctx, calendarID, ref.ID, eventFields, preferText)
		if err != nil {
			return calendar.Event{}, err
		}
		switch {
		case is(now.IsCancelled):
			return calendar.Event{}, noEvent()
		case version != "" && version != versionOf(now):
			return calendar.Event{}, changedMeanwhile()
		case isAttendees(versionOf(now)) && (changes || c.Description != nil || c.Attendees != nil):
			return calendar.Event{}, notOrganizer()
		}
		if c.Attendees != nil {
			patch.Attendees = merge(now.Attendees, *c.Attendees)
		}
		if c.Description != nil {
			if patch.Body, err = d.buildBody(ctx, calendarID, now, *c.Description); err != nil {
				return calendar.Event{}, err
			}
		}
		switch whole := patch.Attendees != nil || patch.Body != nil; {
		case whole:
			version = versionOf(now)
		case !changes:
			return toEvent(now, calendarID)
		}
	}
	if !segment(ref.ID) {
		return calendar.Event{}, noEvent()
	}
	answer, err := ask(ctx, d, exchange{missing: noEvent(), writes: true}, func(
		ctx context.Context,
	) (*graph.Event, error) {
		options := graph.Options{Prefer: preferText, IfMatch: version}
		return d.calendar(calendarID).Events().ByEventID(ref.ID).Patch(ctx, patch, options)
	})
	if err != nil {
		return calendar.Event{}, err
	}
	return readWritten(answer, calendarID)
}

// merge returns the list to write, nil where it is the one that is there. Who stays is written as they are,
// by which Exchange keeps their answer (microsoftgraph/msgraph-sdk-java#1898); who is left out is uninvited.
func merge(now []*graph.Attendee, want []string) []*graph.Attendee {
	invited := map[string]*graph.Attendee{}
	for _, a := range now {
		invited[attendeeKey(a)] = a
	}
	list := make([]*graph.Attendee, 0, len(want))
	seen := map[string]bool{}
	for _, address := range want {
		key := strings.ToLower(address)
		if seen[key] {
			continue
		}
		seen[key] = true
		if a := invited[key]; a != nil {
			list = append(list, a)
			continue
		}
		list = append(list, invite(address))
	}
	same := len(list) == len(invited) &&
		!slices.ContainsFunc(list, func(a *graph.Attendee) bool { return invited[attendeeKey(a)] == nil })
	if same {
		return nil
	}
	return list
}

func attendeeKey(a *graph.Attendee) string {
	if a.EmailAddress == nil {
		return ""
	}
	return strings.ToLower(text(a.EmailAddress.Address))
}

// buildBody returns the body that says the description, nil where the event's own does. In the body of an
// online meeting lies how to join; without it the meeting is none any more
// (learn.microsoft.com/graph/api/event-update, "update the body property of an event"), so it is read as the
// page it is, and written back with the rest of it as it was.
func (d *driver) buildBody(
	ctx context.Context, calendarID string, now *graph.Event, description string,
) (*graph.ItemBody, error) {
	if readBody(now) == description {
		return nil, nil
	}
	if joinURL(now) == "" && !is(now.IsOnlineMeeting) {
		return plainBody(description), nil
	}
	page, err := d.read(ctx, calendarID, *now.ID, []string{"id", "body"}, preferPage)
	if err != nil {
		return nil, err
	}
	if versionOf(page) != versionOf(now) {
		return nil, changedMeanwhile()
	}
	spliced, ok := splice(content(page), joinURL(now), description)
	if !ok { // someone removed how to join from the text: there is nothing to keep
		return plainBody(description), nil
	}
	return &graph.ItemBody{ContentType: new("html"), Content: &spliced}, nil
}
