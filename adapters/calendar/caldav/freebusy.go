package caldav

import (
	"context"
	"errors"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
)

// calendarsAtOnce is how many calendars are read at one time: those of an office in one round. Radicale
// serves eight requests and queues five (max_connections; socketserver's request_queue_size).
const calendarsAtOnce = 10

// FreeBusy counts the events of each calendar, several calendars at a time. Whole days and floating times are
// those of the calendar's zone, or else of the tenant's.
//
// The report that is made for this, free-busy-query (RFC 4791 section 7.10), is not used. It does not know
// declined invitations, and sabre/vobject (FreeBusyGenerator), as in Nextcloud, counts them as busy. Radicale
// 3.1.8 names every object and tells no time. Xandikos 0.2.8 counts declined invitations too, overlooks a
// series that began before the span, and fails on a whole day without an end.
//
// Nor are the objects read in part (section 9.6): Radicale and sabre/dav send them whole all the same, and
// the series that are found are kept for the next listing.
func (d *driver) FreeBusy(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	if _, _, err := d.account(ctx); err != nil {
		return nil, err
	}
	readings := make([]calendar.Reading, len(calendarIDs))
	reading, cancel := calendar.ReadingTime(ctx, len(calendarIDs))
	defer cancel()
	group, each := parallel.WithContext(reading)
	group.SetLimit(calendarsAtOnce)
	for i, id := range calendarIDs {
		group.Go(func() error {
			busy, err := d.busyIn(each, id, span)
			if errors.Is(err, fault.Disconnected) {
				return err // a password that is refused again and again may lock the account out
			}
			readings[i] = calendar.Reading{CalendarID: id, Busy: busy, Err: err}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return calendar.BusyTimes(ctx, span, readings)
}

func (d *driver) busyIn(ctx context.Context, calendarID string, span calendar.Span) ([]calendar.Span, error) {
	a, target, err := d.calendar(ctx, calendarID)
	if err != nil {
		return nil, err
	}
	zone := loadZone(target.Zone)
	if zone == nil {
		zone = d.zone
	}
	var busy []calendar.Span
	counts := map[*ical.Component]bool{}
	err = d.eachInstance(ctx, a, target, span, zone, func(r located, i instance) {
		if _, known := counts[i.event]; !known {
			counts[i.event] = !isCancelled(i.event) && !isTransparent(i.event) &&
				a.ownersResponse(target, i.event) != "declined"
		}
		s := calendar.Span{From: r.object.instant(i.start, zone), To: r.object.instant(i.end, zone)}
		if s.From.Before(s.To) && counts[i.event] {
			busy = append(busy, s)
		}
	})
	return busy, err
}

// eachInstance calls use for every event, and every instance of a series, that overlaps the span.
func (d *driver) eachInstance(
	ctx context.Context, a *account, target calendarCollection, span calendar.Span, zone *time.Location,
	use func(located, instance),
) error {
	objects, release, err := d.search(ctx, a, target, span.From, span.To)
	if err != nil {
		return err
	}
	defer release()
	l := newLimits()
	for _, r := range objects {
		if err := ctx.Err(); err != nil {
			return fault.From(err)
		}
		instances, err := r.object.within(span.From, span.To, zone, l)
		if err != nil {
			if l.instances < 0 {
				return tooMany()
			}
			return unreadable(r.id, err)
		}
		for _, i := range instances {
			use(r, i)
		}
		clear(r.object.zones) // those that it defines itself may take more memory than all else
	}
	return nil
}
