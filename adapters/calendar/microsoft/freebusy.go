package microsoft

import (
	"context"
	"slices"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/parallel"
)

// busyFields are the fields that tell whether an event takes time, and when.
var busyFields = []string{"start", "end", "isAllDay", "isCancelled", "responseStatus", "showAs"}

// mostTimes is how many events a batch may tell the times of: of more, its answer could be longer than upstream
// reads.
const mostTimes = 8000

const preferTimes = immutable + ", " + inUTC

// busyView is a calendar whose events are read for their times.
type busyView struct {
	calendar.Reading
	address string // of the next page, relative to the API's; "" if there is none
	alone   bool   // a batch that it was in was not answered in time
}

// FreeBusy reads the views of the calendars in batches, each with the few fields that count. Whole days are
// those of the tenant's zone, as in Events.
//
// getSchedule is not used. It takes the addresses of users, not calendars; tells the default calendar of each
// alone (microsoftgraph/microsoft-graph-docs#14358), for less than 62 days; and does not serve personal
// accounts (learn.microsoft.com/graph/api/calendar-getschedule, and its "Limits" at
// outlook-get-free-busy-schedule). The other calendars would need a batch all the same.
func (d *driver) FreeBusy(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	views := make([]busyView, len(calendarIDs))
	top := min(maxTop, mostTimes/max(1, min(len(calendarIDs), graph.MaxBatchParts)))
	for i, id := range calendarIDs {
		views[i].CalendarID = id
		views[i].address, views[i].Err = d.busyAddress(ctx, id, span, top)
	}
	reading, cancel := calendar.ReadingTime(ctx, len(views))
	defer cancel()
	for range mostPages {
		inBatches := slices.DeleteFunc(withPages(views), func(v *busyView) bool { return v.alone })
		if len(inBatches) < 2 {
			break
		}
		d.readTogether(reading, inBatches, span)
	}
	if left := withPages(views); len(left) > atOnce { // as many that hang would take all the time
		d.readEach(reading, left, span, 0.5)
	}
	left := withPages(views)
	slices.Reverse(left) // those whose turns were the shortest are the first now
	d.readEach(reading, left, span, 1)
	readings := make([]calendar.Reading, len(views))
	for i, v := range views {
		if v.address != "" {
			v.Err = endless()
		}
		readings[i] = v.Reading
	}
	return calendar.BusyTimes(ctx, span, readings)
}

// busyAddress returns the address of the first page, of at most top events.
func (d *driver) busyAddress(
	ctx context.Context, calendarID string, span calendar.Span, top int,
) (string, error) {
	id, err := d.calendarID(ctx, calendarID)
	if err != nil {
		return "", err
	}
	query, err := viewOf(calendar.Query{From: span.From, To: span.To, Zone: d.zone.String()}, top)
	if err != nil {
		return "", err
	}
	query.Select, query.OrderBy = busyFields, nil
	return d.firstPage(id, query).Address()
}

// withPages returns the views that have pages left.
func withPages(views []busyView) (left []*busyView) {
	for i := range views {
		if views[i].address != "" {
			left = append(left, &views[i])
		}
	}
	return left
}

// readTogether reads the next page of each view, in batches. The answer to a batch waits for the slowest part: where
// one hangs, each of these views is read alone once the others were read to their end, in the time that they leave.
func (d *driver) readTogether(ctx context.Context, views []*busyView, span calendar.Span) {
	batches := slices.Collect(slices.Chunk(views, graph.MaxBatchParts))
	for i, some := range batches {
		batch, cancel := calendar.WithShare(ctx, 0.75/float64(len(batches)-i))
		err := d.readPages(batch, some, span)
		for _, v := range some {
			if v.alone = err != nil && batch.Err() != nil; !v.alone {
				v.fail(err)
			}
		}
		cancel()
	}
}

// readEach reads the pages that are left of each view by requests of its own, of several views at a time. Each has
// that share of the time that is left when its turn comes; if it is not all, it may be read again.
func (d *driver) readEach(ctx context.Context, views []*busyView, span calendar.Span, share float64) {
	group := parallel.New()
	group.SetLimit(atOnce)
	for _, v := range views {
		group.Go(func() error {
			turn, cancel := calendar.WithShare(ctx, share)
			defer cancel()
			for page := 0; page < mostPages && v.address != ""; page++ {
				err := d.readPages(turn, []*busyView{v}, span)
				if err != nil && turn.Err() != nil && share < 1 {
					break
				}
				v.fail(err)
			}
			return nil
		})
	}
	_ = group.Wait() // no function fails
}

// fail ends the reading of a view whose request has failed, if it has.
func (v *busyView) fail(err error) {
	if err != nil {
		v.Err, v.address = err, ""
	}
}

// readPages reads the next page of each view, in one request.
func (d *driver) readPages(ctx context.Context, views []*busyView, span calendar.Span) error {
	addresses := make([]string, len(views))
	for i, v := range views {
		addresses[i] = v.address
	}
	parts, err := d.postBatch(ctx, addresses, preferTimes)
	if err != nil {
		return err
	}
	for i, v := range views {
		v.address = ""
		v.Err = d.readPart(v, parts[i], span)
	}
	return nil
}

// readPart adds the busy times of a page to the view, and the address of the next one.
func (d *driver) readPart(v *busyView, part *graph.BatchAnswer, span calendar.Span) error {
	page, err := d.part(part)
	if err != nil {
		return err
	}
	if page.Value == nil {
		return noList()
	}
	for _, e := range page.Value {
		if is(e.IsCancelled) || isFree(e) {
			continue
		}
		start, err := readTime(e.Start, nil, is(e.IsAllDay))
		if err != nil {
			return err
		}
		end, err := readTime(e.End, nil, is(e.IsAllDay))
		if err != nil {
			return err
		}
		from, to := instantOf(start, d.zone), instantOf(end, d.zone)
		if from.Before(to) && from.Before(span.To) && to.After(span.From) {
			v.Busy = append(v.Busy, calendar.Span{From: from, To: to})
		}
	}
	if next := text(page.NextLink); next != "" {
		v.address, err = d.follow(next)
	}
	return err
}
