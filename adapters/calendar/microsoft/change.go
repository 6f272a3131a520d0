package microsoft

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// eventFields are the fields of an event to read.
var eventFields = append([]string{"body", "type"}, listFields...)

// listFields are those in a list. One long body would make the list longer than upstream reads.
var listFields = []string{
	"id", "subject", "start", "end", "originalStartTimeZone", "originalEndTimeZone", "isAllDay",
	"isCancelled", "isOrganizer", "responseRequested", "responseStatus", "showAs", "organizer", "attendees",
	"location", "isOnlineMeeting", "onlineMeeting", "webLink", "seriesMasterId",
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

// read reads fields of an event. It returns noEvent for one that its organizer, the account, cancelled.
func (d *driver) read(
	ctx context.Context, calendarID, id string, fields []string, prefer string,
) (*graph.Event, error) {
	if !segment(id) {
		return nil, noEvent()
	}
	event, err := ask[graph.Event](ctx, d, exchange{missing: noEvent()},
		reading(d.event(calendarID, id), fields, prefer))
	if err != nil {
		return nil, err
	}
	switch {
	case text(event.ID) == "": // no event: "delta" instead of an id names a function
		return nil, noEvent()
	case is(event.IsCancelled) && is(event.IsOrganizer): // among the deleted items; its immutable id finds it
		return nil, noEvent().With(calendar.MetaGone, "true")
	}
	return event, nil
}

// Change changes the given fields. If the caller has a version, one request with If-Match suffices: the
// caller has read the event and knows that it still takes place. A list of attendees or a description is
// written as a whole, based on a fresh read, whose version becomes the condition. Exchange lets attendees
// change their copy without notifying anybody, so Change refuses to change events that somebody else
// organizes.
func (d *driver) Change(
	ctx context.Context, ref calendar.EventRef, c calendar.Change,
) (calendar.Event, error) {
	calendarID, err := d.calendarID(ctx, ref.CalendarID)
	if err != nil {
		return calendar.Event{}, fault.Unacted(eventOf(err))
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
			return calendar.Event{}, fault.Unacted(err)
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
				return calendar.Event{}, fault.Unacted(err)
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
	answer, err := ask[graph.Event](ctx, d, exchange{missing: noEvent(), writes: true}, graph.Request{
		Method: http.MethodPatch, Path: d.event(calendarID, ref.ID), Prefer: preferText, IfMatch: version, Body: patch,
	})
	if err != nil {
		return calendar.Event{}, err
	}
	return readWritten(answer, calendarID)
}

// merge returns the list to write, nil if it is the current one. Attendees who stay are written unchanged, so
// that Exchange keeps their responses (microsoftgraph/msgraph-sdk-java#1898); those left out are uninvited. Who has no
// e-mail address stays: the address may be missing (closeio/sync-engine#431), a name or one within Exchange
// (microsoftgraph/microsoft-graph-docs-contrib#825, microsoftgraph/microsoft-graph-docs#13898), and no list of
// addresses can name them.
func merge(now []*graph.Attendee, want []string) []*graph.Attendee {
	if len(want) == 0 && len(now) > 0 {
		return []*graph.Attendee{}
	}
	invited := map[string]*graph.Attendee{}
	list := make([]*graph.Attendee, 0, len(want))
	for _, a := range now {
		if key := attendeeKey(a); strings.Contains(key, "@") {
			invited[key] = a
		} else {
			list = append(list, a)
		}
	}
	unnamed := len(list)
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
	isNew := func(a *graph.Attendee) bool { return invited[attendeeKey(a)] == nil }
	same := len(list) == unnamed+len(invited) && !slices.ContainsFunc(list[unnamed:], isNew)
	if same {
		return nil
	}
	return list
}

func attendeeKey(a *graph.Attendee) string {
	if a.EmailAddress == nil {
		return ""
	}
	return strings.ToLower(addressOf(a.EmailAddress))
}

// buildBody returns the body for a description, nil if the event's own body has it. The body of an online
// meeting contains how to join; without that, the meeting is no longer online
// (learn.microsoft.com/graph/api/event-update, "update the body property of an event"). So that body is read
// as HTML, and written back with only the description replaced.
func (d *driver) buildBody(
	ctx context.Context, calendarID string, now *graph.Event, description string,
) (*graph.ItemBody, error) {
	if readBody(now) == strings.TrimRight(strings.ReplaceAll(description, "\r\n", "\n"), "\n") {
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
	if !ok { // someone removed the part about joining: there is nothing to keep
		return plainBody(description), nil
	}
	return &graph.ItemBody{ContentType: new("html"), Content: &spliced}, nil
}
