package microsoft

import (
	"context"
	"errors"
	"slices"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// busyFields are the fields that tell whether an event takes time, and when.
var busyFields = []string{
	"start", "end", "isAllDay", "isCancelled", "responseStatus", "showAs", "originalStartTimeZone",
	"originalEndTimeZone",
}

const preferTimes = immutable + ", " + inUTC

// busyView is a calendar whose events are read for their times.
type busyView struct {
	given   string // the calendar, as it was asked for
	id      string // the calendar's id
	address string // of the next page, relative to the API's; "" if all are read
	busy    []calendar.Busy
	err     error // why the times cannot be read
}

// FreeBusy reads the views of the calendars in batches, each with the few fields that count. Whole days are
// those of the tenant's zone, as in Events.
//
// getSchedule is not used. It takes the addresses of users, not calendars; tells the default calendar of each
// alone (microsoftgraph/microsoft-graph-docs#14358), for less than 62 days; and does not serve personal accounts
// (learn.microsoft.com/graph/api/calendar-getschedule, and its "Limits" at outlook-get-free-busy-schedule).
// The other calendars would need a batch all the same.
func (d *driver) FreeBusy(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	views := make([]*busyView, len(calendarIDs))
	for i, id := range calendarIDs {
		views[i] = &busyView{given: id}
		views[i].err = d.begin(ctx, views[i], span)
	}
	for range mostPages {
		unread := slices.DeleteFunc(slices.Clone(views), func(v *busyView) bool { return v.address == "" })
		if len(unread) == 0 {
			break
		}
		for some := range slices.Chunk(unread, graph.MaxBatchParts) {
			d.readPages(ctx, some, span)
		}
	}
	return told(ctx, views, span)
}

// begin finds the address of the first page.
func (d *driver) begin(ctx context.Context, v *busyView, span calendar.Span) (err error) {
	if v.id, err = d.calendarID(ctx, v.given); err != nil {
		return err
	}
	query, err := viewOf(calendar.Query{From: span.From, To: span.To, Limit: maxTop})
	if err != nil {
		return err
	}
	query.Select, query.OrderBy = busyFields, nil
	if v.address, err = d.calendar(v.id).CalendarView().Address(ctx, query); err != nil {
		return fault.From(err)
	}
	return nil
}

// readPages reads the next page of each view in one request. A view that cannot be read gets the error.
func (d *driver) readPages(ctx context.Context, views []*busyView, span calendar.Span) {
	addresses := make([]string, len(views))
	for i, v := range views {
		addresses[i], v.address = v.address, ""
	}
	parts, err := d.postBatch(ctx, addresses, preferTimes)
	for i, v := range views {
		if err != nil {
			v.err = err
			continue
		}
		page, err := d.part(parts[i])
		if err == nil {
			err = d.addPage(v, page, span)
		}
		v.err = err
	}
}

// addPage adds the busy times of a page to the view, and finds the address of the next one.
func (d *driver) addPage(v *busyView, page *graph.EventCollectionResponse, span calendar.Span) (err error) {
	if page.Value == nil {
		return noList()
	}
	for _, e := range page.Value {
		if is(e.IsCancelled) || isFree(e) {
			continue
		}
		start, err := readTime(e.Start, e.OriginalStartTimeZone, is(e.IsAllDay))
		if err != nil {
			return err
		}
		end, err := readTime(e.End, e.OriginalEndTimeZone, is(e.IsAllDay))
		if err != nil {
			return err
		}
		from, to := instantOf(start, d.zone), instantOf(end, d.zone)
		if from.Before(to) && from.Before(span.To) && to.After(span.From) {
			v.busy = append(v.busy, calendar.Busy{CalendarID: v.given, Span: calendar.Span{From: from, To: to}})
		}
	}
	if next := text(page.NextLink); next != "" {
		v.address, err = d.follow(next)
	}
	return err
}

// told returns the busy times of the views. A calendar that cannot be read is busy for the whole span. If none
// could be read, the call fails, so that the guard sees why and may try again.
func told(ctx context.Context, views []*busyView, span calendar.Span) ([]calendar.Busy, error) {
	var busy []calendar.Busy
	var failed error
	isRead := false
	for _, v := range views {
		switch {
		case v.err == nil && v.address != "":
			v.err = endless()
		case errors.Is(v.err, fault.Disconnected), v.err != nil && ctx.Err() != nil:
			return nil, v.err
		}
		if v.err == nil {
			isRead = true
			busy = append(busy, v.busy...)
			continue
		}
		busy = append(busy, calendar.Busy{CalendarID: v.given, Span: span, Unknown: v.err})
		if !errors.Is(v.err, fault.NotFound) {
			failed = v.err
		}
	}
	if failed != nil && !isRead {
		return nil, failed
	}
	return busy, nil
}
