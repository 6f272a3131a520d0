package microsoft

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// Book creates an event in one request. For a link from the provider, another request before it reads which
// kinds of links are available.
//
// The booking's key is sent as transactionId. According to Microsoft, this avoids redundant POST operations
// (learn.microsoft.com/graph/api/resources/event). A repeat was observed to return 201 with the existing
// event (blog.rykoma.net/2020/10/05/1559), and ErrorDuplicateTransactionId if the existing event differs from
// the one in the request. What happens to the id after the event was removed is not documented. So an event
// in the response that is older than this call is read again.
func (d *driver) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	id, err := d.calendarID(ctx, b.CalendarID)
	if err != nil {
		return calendar.Event{}, fault.Unacted(err)
	}
	event, err := d.buildEvent(ctx, id, b)
	if err != nil {
		return calendar.Event{}, fault.Unacted(err)
	}
	began := d.now()
	answer, err := ask[graph.Event](ctx, d, exchange{missing: noCalendar(), writes: true}, graph.Request{
		Method: http.MethodPost, Path: d.calendar(id) + "/events", Prefer: preferText, Body: event,
	})
	if refused, is := errors.AsType[*graph.Error](err); is && refused.Code == duplicateTransaction {
		answer, err = d.lookUp(ctx, id, b, *event.TransactionID)
	} else if err == nil && madeBefore(answer, began) {
		answer, err = d.still(ctx, id, text(answer.ID))
	} else if err != nil {
		return calendar.Event{}, err
	}
	if err != nil {
		return calendar.Event{}, unread(err)
	}
	if text(answer.ID) == "" {
		return calendar.Event{}, unreadable(errNoID, true)
	}
	if b.Conferencing == calendar.ConferencingProvider && !changedSince(answer) {
		if answer, err = d.awaitLink(ctx, id, answer); err != nil {
			return calendar.Event{}, err
		}
	}
	return readWritten(answer, id)
}

var errNoID = &graph.Unreadable{Reason: "an event without an id"}

// readWritten converts the event that a write returned. If it cannot be converted, it was written all the
// same.
func readWritten(e *graph.Event, calendarID string) (calendar.Event, error) {
	event, err := toEvent(e, calendarID)
	if err != nil {
		return calendar.Event{}, unreadable(&graph.Unreadable{Reason: err.Error()}, true)
	}
	return event, nil
}

// maxLocation is how many UTF-16 units of a location Exchange keeps ([MS-OXCICAL], "Property: LOCATION",
// which has longer ones cut). A link that is cut does not work.
const maxLocation = 255

// buildEvent returns the event to create for a booking.
func (d *driver) buildEvent(
	ctx context.Context, calendarID string, b calendar.Booking,
) (*graph.Event, error) {
	event := &graph.Event{
		TransactionID: new(transactionID(calendarID, b.Key)), Subject: &b.Title, Body: plainBody(b.Description),
	}
	event.Start, event.End = writeSpan(b.Start, b.End, b.Zone)
	for _, address := range b.Attendees {
		event.Attendees = append(event.Attendees, invite(address))
	}
	switch b.Conferencing {
	case calendar.ConferencingNone:
	case calendar.ConferencingURL:
		if len(utf16.Encode([]rune(b.LocationURL))) > maxLocation {
			return nil, noLink(fmt.Sprintf("The link is longer than the %d characters that Outlook keeps of "+
				"a location. Send a shorter one.", maxLocation))
		}
		// The link is not added to the body: Outlook shows a link in the location as a link, and the
		// description stays as given.
		event.Location = &graph.Location{DisplayName: &b.LocationURL}
	case calendar.ConferencingProvider:
		provider, err := d.online(ctx, calendarID)
		if err != nil {
			return nil, err
		}
		event.IsOnlineMeeting, event.OnlineMeetingProvider = new(true), &provider
	}
	return event, nil
}

func invite(address string) *graph.Attendee {
	return &graph.Attendee{EmailAddress: &graph.EmailAddress{Address: &address}, Type: new("required")}
}

// transactionID returns the id of a booking in the mailbox: a UUID of version 8 (RFC 9562 section 5.8).
func transactionID(calendarID, key string) string {
	sum := sha256.Sum256([]byte(calendarID + "\x00" + key))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// apart is how far two times may differ without meaning anything.
const apart = 10 * time.Second

// madeBefore reports whether an event is older than the call that booked it. With a wrong clock, an event is
// read once too often, or that of a repeat within seconds is not read again.
func madeBefore(e *graph.Event, began time.Time) bool {
	made, err := time.Parse(time.RFC3339, text(e.CreatedDateTime))
	return err == nil && made.Before(began.Add(-apart))
}

// changedSince reports whether somebody has changed an event since it was created. If it has no link then, that
// may have been removed.
func changedSince(e *graph.Event) bool {
	made, err := time.Parse(time.RFC3339, text(e.CreatedDateTime))
	changed, err2 := time.Parse(time.RFC3339, text(e.LastModifiedDateTime))
	return err == nil && err2 == nil && changed.After(made.Add(apart))
}

// still reads the current state of an event that an earlier call created.
func (d *driver) still(ctx context.Context, calendarID, id string) (*graph.Event, error) {
	if !segment(id) {
		return nil, unreadable(errNoID, true)
	}
	fields := slices.Concat(eventFields, []string{"createdDateTime", "lastModifiedDateTime"})
	event, err := d.read(ctx, calendarID, id, fields, preferText)
	if errors.Is(err, fault.NotFound) {
		return nil, removedSince()
	}
	return event, err
}

// unread converts the error of reading an event that a booking has made. That nothing was sent, or that the
// reading was refused, does not mean that nothing was booked.
func unread(err error) error {
	f := *fault.From(err)
	switch f.Unsent = false; f.Code {
	case fault.Conflict, fault.Unavailable, fault.Timeout, fault.Canceled:
		return &f
	}
	return f.Restate(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"Microsoft has the event, but it could not be read.").Because(err)
}

// lookUp finds the event of a transaction near the time it was booked for. calendarView and $filter cannot
// search for a transactionId, but return it.
func (d *driver) lookUp(
	ctx context.Context, calendarID string, b calendar.Booking, transaction string,
) (*graph.Event, error) {
	const around = 31 * 24 * time.Hour
	query := graph.Query{
		Select: []string{"id", "transactionId"}, Top: new(int32(maxTop)),
		StartDateTime: instant(b.Start.Add(-around)), EndDateTime: instant(b.End.Add(around)),
	}
	page, err := d.view(ctx, calendarID, query, "")
	for range mostPages {
		if err != nil {
			return nil, err
		}
		for _, e := range page.Value {
			if strings.EqualFold(text(e.TransactionID), transaction) {
				return d.still(ctx, calendarID, text(e.ID))
			}
		}
		if text(page.NextLink) == "" {
			return nil, removedSince()
		}
		page, err = d.view(ctx, calendarID, query, *page.NextLink)
	}
	return nil, endless()
}

// Pauses between reads of a meeting that has no link yet. Usually the link exists at once.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 800 * time.Millisecond

	// How often such a meeting is read: in five and a half seconds where Exchange says that it is online, so that its
	// link is only to come, and in one and a half where Exchange says that it is not (isOnlineMeeting at
	// learn.microsoft.com/graph/api/resources/event).
	readsOnline, readsOffline = 10, 5
)

// awaitLink returns the event with its link. Exchange may create the link a moment after the event. If it
// creates none, awaitLink removes the event.
func (d *driver) awaitLink(ctx context.Context, calendarID string, event *graph.Event) (*graph.Event, error) {
	pause := firstPause
	for reads := 0; reads < readsOffline || reads < readsOnline && is(event.IsOnlineMeeting); reads++ {
		if joinURL(event) != "" {
			return event, nil
		}
		timer := time.NewTimer(pause)
		pause = min(2*pause, longestPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, leftBehind(ctx.Err())
		case <-timer.C:
		}
		var err error
		if event, err = d.read(ctx, calendarID, *event.ID, eventFields, preferText); err != nil {
			return nil, leftBehind(err)
		}
	}
	if joinURL(event) != "" {
		return event, nil
	}
	if err := d.remove(ctx, calendarID, event); err != nil && !errors.Is(err, fault.NotFound) {
		return nil, leftBehind(err)
	}
	return nil, noLink("Microsoft made the meeting without a link, so it was removed again. Book with a " +
		"link of your own, or check the account's licence for Teams.")
}

// leftBehind returns the fault for an event that was created, but may lack its link.
func leftBehind(err error) *fault.Error {
	f := *fault.From(err)
	f.Unsent = false
	return f.Restate(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"Microsoft made the meeting, but its link is not there yet, and Microsoft could not be asked again.").
		Because(err)
}
