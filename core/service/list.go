package service

import (
	"context"
	"slices"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
)

// List returns the events that overlap the window, from the selected calendars or else the default one.
// Series are expanded, every page is read, and events are sorted by start and then id. List never returns a
// partial result.
func (s *Calendar) List(ctx context.Context, c apikey.Caller, in ListEvents) (record.EventsAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.EventsAnswer{}, err
	}
	type listed struct {
		zone   *time.Location
		events []calendar.Event
	}
	found, client, err := withCalendars(ctx, client, func(
		ctx context.Context, client calendarClient,
	) (listed, error) {
		zone, err := client.zone(ctx, in.Timezone, first(in.CalendarIDs))
		if err != nil {
			return listed{}, err
		}
		window, err := s.window(in, zone)
		if err != nil {
			return listed{}, err
		}
		events, err := client.readEvents(ctx, in.CalendarIDs, window, in.Timezone)
		return listed{zone, events}, err
	})
	if err != nil {
		return record.EventsAnswer{}, err
	}
	if err := client.keepRoom(ctx, found.events); err != nil {
		return record.EventsAnswer{}, err
	}
	if err := s.rememberLocations(ctx, client, found.events); err != nil {
		return record.EventsAnswer{}, err
	}
	requested, err := client.requestedZone(in.Timezone)
	if err != nil {
		return record.EventsAnswer{}, err
	}
	return record.EventsAnswer{Events: normalize.Events(found.events, requested, found.zone)}, nil
}

// window returns the requested window. It defaults to seven days from now.
func (s *Calendar) window(in ListEvents, zone *time.Location) (calendar.Span, error) {
	w := windowOfInput(in.Start, in.End, zone, s.opts.Now(), defaultListDays)
	if !w.To.After(w.From) {
		return w, fault.InvalidField("end_time",
			"must be after start_time. Without a start_time, the list starts now.")
	}
	return w, nil
}

// readEvents reads every page of every calendar. All-day and floating times lie in the requested zone, or else in
// the zone of their calendar. Start.Zone of each event names it.
func (c calendarClient) readEvents(
	ctx context.Context, calendarIDs []string, w calendar.Span, requested string,
) ([]calendar.Event, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(calendarIDs)))
	var err error
	if len(ids) == 0 {
		ids = []string{""}
	}
	if len(ids) > 1 { // of two names of one calendar, its events would be told twice
		if ids, err = c.resolveCalendars(ctx, ids); err != nil {
			return nil, err
		}
	}
	lists, err := c.newLists(ctx, ids, w, requested)
	if err != nil {
		return nil, err
	}
	read := c.readPages
	if len(lists) == 1 && c.isLong(ids[0], w) {
		lists, read = lists[0].inParts(), c.readParts
	}
	err = c.readLists(ctx, lists, func(ctx context.Context, queries []calendar.Query) ([]pageRead, error) {
		if err := tooMuch(lists); err != nil {
			return nil, err
		}
		return read(ctx, queries)
	})
	if err != nil {
		return nil, err
	}
	if len(lists) == 1 {
		c.learn(ids[0], w, lists[0].pages)
	}
	var all []calendar.Event
	for _, l := range lists {
		if l.err != nil {
			return nil, l.err
		}
		all = append(all, l.events...)
	}
	return all, tooMuch(lists)
}

// newLists returns the lists of the calendars' events, of which nothing is read yet.
func (c calendarClient) newLists(
	ctx context.Context, ids []string, w calendar.Span, requested string,
) ([]*eventList, error) {
	lists := make([]*eventList, len(ids))
	for i, id := range ids {
		zone, err := c.zone(ctx, requested, id)
		if err != nil {
			return nil, err
		}
		lists[i] = &eventList{next: calendar.Query{
			CalendarID: c.knownID(id), From: w.From, To: w.To, Zone: zone.String(),
		}}
	}
	return lists, nil
}

// knownID returns the id of the default calendar for "", where it is known. A driver may have to ask for it.
func (c calendarClient) knownID(id string) string {
	if id != "" || c.view == nil {
		return id
	}
	cal, err := c.view.find(id)
	if err != nil { // the provider may know one all the same
		return id
	}
	return cal.ID
}
