package sandbox

import (
	"context"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

const (
	defaultPage = 250
	largestPage = 2500
)

// Events implements calendar.Driver.
func (d *driver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	zone, err := loadZone(q.Zone)
	if err != nil {
		return calendar.Page{}, fault.InvalidField("timezone", "must be the IANA name of a time zone.")
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	return read(ctx, d, scenario.Call{Texts: []string{q.CalendarID}}, func(
		tx adapter.StorageTx,
	) (calendar.Page, error) {
		c, err := d.calendar(q.CalendarID)
		if err != nil {
			return calendar.Page{}, err
		}
		list, next, err := eventWindow{tx, c.ID, window{calendar.Span{From: q.From, To: q.To}, zone}}.page(q.Cursor,
			min(limit, largestPage))
		page := calendar.Page{Next: next}
		for _, s := range list {
			page.Events = append(page.Events, s.event())
		}
		return page, err
	})
}

// FreeBusy implements calendar.FreeBusyer. Whole days are read in the zone of their calendar.
func (d *driver) FreeBusy(
	ctx context.Context, calendarIDs []string, span calendar.Span,
) ([]calendar.Busy, error) {
	return read(ctx, d, scenario.Call{Texts: calendarIDs}, func(tx adapter.StorageTx) ([]calendar.Busy, error) {
		var busy []calendar.Busy
		for _, id := range calendarIDs {
			c, err := d.calendar(id)
			if err != nil {
				busy = append(busy, calendar.Busy{CalendarID: id, Span: span, Unknown: err})
				continue
			}
			zone, err := loadZone(c.Zone)
			if err != nil {
				return nil, err
			}
			list, err := eventWindow{tx, c.ID, window{span, zone}}.all()
			if err != nil {
				return nil, err
			}
			for _, s := range list {
				if s.busy(d.settings.Email) {
					busy = append(busy, calendar.Busy{CalendarID: id, Span: s.span(zone)})
				}
			}
		}
		return busy, nil
	})
}
