package microsoft

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// Book makes an event in one request; with a link of the provider's own, after one that asks what links there
// are.
//
// The booking's key goes out as transactionId. Of that Microsoft says that it avoids redundant POST
// operations (learn.microsoft.com/graph/api/resources/event); seen was that a repeat answers 201 with the
// event that is there (blog.rykoma.net/2020/10/05/1559), and ErrorDuplicateTransactionId where the event is
// another than the request would make. What becomes of the id after the event was removed nobody tells. So an
// answer with an event from before this call is not believed but read.
func (d *driver) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	id, err := d.calendarID(ctx, b.CalendarID)
	if err != nil {
		return calendar.Event{}, err
	}
	event, err := d.buildEvent(ctx, id, b)
	if err != nil {
		return calendar.Event{}, err
	}
	began := d.now()
	answer, err := ask(ctx, d, exchange{missing: noCalendar(), writes: true}, func(
		ctx context.Context,
	) (*graph.Event, error) {
		return d.calendar(id).Events().Post(ctx, event, graph.Options{Prefer: preferText})
	})
	if refused := new(graph.Error); errors.As(err, &refused) && refused.Code == duplicateTransaction {
		answer, err = d.lookUp(ctx, id, b, *event.TransactionID)
	} else if err == nil && madeBefore(answer, began) {
		answer, err = d.still(ctx, id, text(answer.ID))
	}
	if err != nil {
		return calendar.Event{}, err
	}
	if text(answer.ID) == "" {
		return calendar.Event{}, unreadable(errNoID, true)
	}
	if b.Conferencing == calendar.ConferencingProvider {
		if answer, err = d.awaitLink(ctx, id, answer); err != nil {
			return calendar.Event{}, err
		}
	}
	return readWritten(answer, id)
}

var errNoID = &graph.Unreadable{Reason: "an event without an id"}

// readWritten returns the event as a write answered it. What cannot be read was written all the same.
func readWritten(e *graph.Event, calendarID string) (calendar.Event, error) {
	event, err := toEvent(e, calendarID)
	if err != nil {
		return calendar.Event{}, unreadable(&graph.Unreadable{Reason: err.Error()}, true)
	}
	return event, nil
}

// maxLocation is what Exchange keeps of a location, in UTF-16 units ([MS-OXCICAL], "Property: LOCATION",
// which has longer ones cut): a link that is cut leads nowhere.
const maxLocation = 255

// buildEvent returns the event that a booking asks for.
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
		// The body is left alone: Outlook shows a location's link so that it can be followed, and the
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

// transactionID names a booking within the mailbox: a UUID of version 8 (RFC 9562 section 5.8).
func transactionID(calendarID, key string) string {
	sum := sha256.Sum256([]byte(calendarID + "\x00" + key))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// madeBefore reports whether an event is older than the call that asked for it. A clock that is wrong costs
// one read too many, or lets a repeat within seconds go unread.
func madeBefore(e *graph.Event, began time.Time) bool {
	const apart = 10 * time.Second
	made, err := time.Parse(time.RFC3339, text(e.CreatedDateTime))
	return err == nil && made.Before(began.Add(-apart))
}

// still reads an event that an earlier call made, as it now is.
func (d *driver) still(ctx context.Context, calendarID, id string) (*graph.Event, error) {
	if !segment(id) {
		return nil, unreadable(errNoID, true)
	}
	event, err := d.read(ctx, calendarID, id, eventFields, preferText)
	if errors.Is(err, fault.NotFound) {
		return nil, removedSince()
	}
	return event, err
}

// lookUp finds the event of a transaction near the time it was booked for. calendarView and $filter know no
// transactionId, but show it.
func (d *driver) lookUp(
	ctx context.Context, calendarID string, b calendar.Booking, transaction string,
) (*graph.Event, error) {
	const around = 31 * 24 * time.Hour
	top := int32(maxTop)
	query := graph.PageQuery{
		Select: []string{"id", "transactionId"}, Top: &top,
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

// Pauses between looks at a meeting whose link is not there yet. Mostly it is there at once.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 800 * time.Millisecond
)

// awaitLink returns the event with its link. Exchange may make the link a moment after the event; where it
// makes none, the event goes again.
func (d *driver) awaitLink(ctx context.Context, calendarID string, event *graph.Event) (*graph.Event, error) {
	for pause := firstPause; pause <= longestPause; pause *= 2 {
		if joinURL(event) != "" {
			return event, nil
		}
		timer := time.NewTimer(pause)
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
	if err := d.remove(ctx, calendarID, event, ""); err != nil && !errors.Is(err, fault.NotFound) {
		return nil, leftBehind(err)
	}
	return nil, noLink("Microsoft made the meeting without a link, so it was removed again. Book with a " +
		"link of your own, or check the account's licence for Teams.")
}

// leftBehind says that an event was made, and stands there without the link it should have.
func leftBehind(err error) *fault.Error {
	return fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"Microsoft made the meeting, but its link is not there yet, and Microsoft could not be asked again. "+
			"Repeat the booking with the same key to settle it.").
		With("provider", name).Because(err)
}
