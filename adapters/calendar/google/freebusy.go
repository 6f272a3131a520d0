package google

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/timezone"
	"frontdesk/core/upstream"
)

// Limits of freeBusy.query: calendars of one request (calendarExpansionMax), and the longest time, which is
// not documented: it answers "The requested time range is too long" beyond about 90 days
// (calcom/cal.com#11962).
const (
	mostCalendars = 50
	longestBusy   = 60 * 24 * time.Hour
)

// FreeBusy implements calendar.FreeBusyer. It needs the scope calendar.freebusy, which older consents lack
// and which customers may untick. Without it, the times follow from the events.
func (d *driver) FreeBusy(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	if !d.noFreeBusy.Load() {
		busy, err := d.askFreeBusy(ctx, calendarIDs, span)
		if !isScopeMissing(err) {
			return busy, err
		}
		d.noFreeBusy.Store(true)
	}
	return d.busyByEvents(ctx, calendarIDs, span)
}

// scopeMissing is the metadata of a fault where the token lacks a scope.
const scopeMissing = "scope_missing"

func isScopeMissing(err error) bool {
	f, is := errors.AsType[*fault.Error](err)
	return is && f.Metadata[scopeMissing] != ""
}

func (d *driver) askFreeBusy(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	var busy []calendar.Busy
	for from := span.From; from.Before(span.To); from = from.Add(longestBusy) {
		part := calendar.Span{From: from, To: from.Add(longestBusy)}
		if part.To.After(span.To) {
			part.To = span.To
		}
		for some := range slices.Chunk(calendarIDs, mostCalendars) {
			told, err := d.freeBusyOf(ctx, some, part)
			if err != nil {
				return nil, err
			}
			busy = append(busy, told...)
		}
	}
	return busy, nil
}

// freeBusyOf asks for up to mostCalendars calendars, for at most longestBusy.
func (d *driver) freeBusyOf(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	type item struct {
		ID string `json:"id"`
	}
	var asked struct {
		TimeMin string `json:"timeMin"`
		TimeMax string `json:"timeMax"`
		Items   []item `json:"items,omitempty"`
	}
	asked.TimeMin = span.From.UTC().Format(time.RFC3339)
	asked.TimeMax = wholeSecond(span.To).UTC().Format(time.RFC3339)
	for _, given := range calendarIDs {
		id, err := d.resolveID(given)
		if err != nil {
			continue // told below as one that the answer lacks
		}
		asked.Items = append(asked.Items, item{id})
	}
	answer, err := ask[gcal.FreeBusyResponse](upstream.ForListing(ctx), d,
		request{http.MethodPost, "freeBusy", "prettyPrint=false&fields=kind,calendars", asked}, nil)
	if err != nil {
		return nil, refusal(err, reading)
	}
	if answer.Kind != "calendar#freeBusy" && answer.Calendars == nil {
		return nil, unreadable(nil, reading)
	}
	var busy []calendar.Busy
	for _, given := range calendarIDs {
		told, err := d.busyIn(answer, given)
		if err != nil {
			told = []calendar.Busy{{Span: span, Unknown: err}}
		}
		for _, b := range told {
			b.CalendarID = given
			busy = append(busy, b)
		}
	}
	return busy, nil
}

// busyIn returns what an answer tells of one calendar.
func (d *driver) busyIn(answer *gcal.FreeBusyResponse, calendarID string) ([]calendar.Busy, error) {
	id, err := d.resolveID(calendarID)
	if err != nil {
		return nil, err
	}
	told, there := answer.Calendars[id]
	if !there {
		return nil, unreadable(errors.New("a calendar is missing in the answer"), reading)
	}
	for _, e := range told.Errors {
		// Reasons: groupTooBig, tooManyCalendarsRequested, notFound, internalError
		// (developers.google.com/workspace/calendar/api/v3/reference/freebusy/query).
		if e != nil && e.Reason == "notFound" {
			return nil, noCalendar()
		}
	}
	if len(told.Errors) > 0 {
		return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Google Calendar cannot tell the busy times of a calendar at the moment. Try again.")
	}
	if told.Busy == nil { // an empty list means free
		return nil, unreadable(errors.New("a calendar has no busy times in the answer"), reading)
	}
	var busy []calendar.Busy
	for _, period := range told.Busy {
		if period == nil {
			return nil, unreadable(errors.New("a busy time is null"), reading)
		}
		from, err1 := time.Parse(time.RFC3339, period.Start)
		to, err2 := time.Parse(time.RFC3339, period.End)
		if err := errors.Join(err1, err2); err != nil {
			return nil, unreadable(err, reading)
		}
		busy = append(busy, calendar.Busy{Span: calendar.Span{From: from, To: to}})
	}
	return busy, nil
}

// busyByEvents reads the events of each calendar, several calendars at a time.
func (d *driver) busyByEvents(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	const atOnce = 10
	readings := make([]calendar.Reading, len(calendarIDs))
	reading, cancel := calendar.ReadingTime(ctx, len(calendarIDs))
	defer cancel()
	group := parallel.New()
	group.SetLimit(atOnce)
	for i, id := range calendarIDs {
		group.Go(func() error {
			busy, err := d.eventsAsBusy(reading, id, span)
			readings[i] = calendar.Reading{CalendarID: id, Busy: busy, Err: err}
			return nil
		})
	}
	_ = group.Wait() // the readings have the errors
	return calendar.BusyTimes(ctx, span, readings)
}

const busyFields = googleapi.Field("kind,nextPageToken,timeZone,items(status,transparency,eventType,start,end," +
	"attendees(self,responseStatus))")

func (d *driver) eventsAsBusy(
	ctx context.Context, calendarID string, span calendar.Span,
) (busy []calendar.Span, err error) {
	id, err := d.resolveID(calendarID)
	if err != nil {
		return nil, err
	}
	call := d.api.Events.List(id).SingleEvents(true).MaxResults(2500).TimeMin(span.From.UTC().Format(time.RFC3339)).
		TimeMax(wholeSecond(span.To).UTC().Format(time.RFC3339)).Fields(busyFields).
		Context(detach(upstream.ForListing(ctx)))
	for range mostPages {
		page, err := present(call.Do())
		if err != nil {
			return nil, calendarMissing(refusal(err, reading))
		}
		if page.Kind != "calendar#events" && page.Items == nil {
			return nil, unreadable(nil, reading)
		}
		zone, err := timezone.Load(page.TimeZone) // of the calendar, in which its whole days are
		if err != nil {
			return nil, unreadable(err, reading)
		}
		for _, e := range page.Items {
			if !takesTime(e) {
				continue
			}
			from, err1 := instantOf(e.Start, zone)
			to, err2 := instantOf(e.End, zone)
			if err := errors.Join(err1, err2); err != nil {
				return nil, unreadable(err, reading)
			}
			busy = append(busy, calendar.Span{From: from, To: to})
		}
		if page.NextPageToken == "" {
			return busy, nil
		}
		call.PageToken(page.NextPageToken)
	}
	return nil, endless()
}

// takesTime reports whether freeBusy counts an event as busy.
func takesTime(e *gcal.Event) bool {
	if e == nil || isCancelled(e) || e.Transparency == "transparent" || e.EventType == "workingLocation" {
		return false
	}
	return !slices.ContainsFunc(e.Attendees, func(a *gcal.EventAttendee) bool {
		return a != nil && a.Self && a.ResponseStatus == "declined"
	})
}

func instantOf(t *gcal.EventDateTime, zone *time.Location) (time.Time, error) {
	switch {
	case t == nil:
		return time.Time{}, errors.New("an event without a time")
	case t.Date != "":
		day, err := time.Parse(time.DateOnly, t.Date)
		return timezone.Localize(day, zone), err
	}
	return time.Parse(time.RFC3339, t.DateTime)
}
