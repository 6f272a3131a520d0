package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
)

const (
	maxEvents       = 2500 // in one response
	listConcurrency = 10   // calendars read at one time; the guard enforces the provider's own limit
	maxEmptyPages   = 100  // consecutive pages without events before paging counts as broken
)

// List returns the events that overlap the window, from the selected calendars or else the default one.
// Series are expanded, every page is read, and events are sorted by start and then id. List never returns a
// partial result.
func (s *Calendar) List(ctx context.Context, c apikey.Caller, in ListEvents) (record.EventsAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.EventsAnswer{}, err
	}
	zone, err := client.zone(ctx, in.Timezone, first(in.CalendarIDs))
	if err != nil {
		return record.EventsAnswer{}, err
	}
	window, err := s.window(in, zone)
	if err != nil {
		return record.EventsAnswer{}, err
	}
	events, err := client.readEvents(ctx, in.CalendarIDs, window, in.Timezone)
	if err != nil {
		return record.EventsAnswer{}, err
	}
	if err := s.rememberLocations(ctx, client, events); err != nil {
		return record.EventsAnswer{}, err
	}
	requested, err := client.requestedZone(in.Timezone)
	if err != nil {
		return record.EventsAnswer{}, err
	}
	return record.EventsAnswer{Events: normalize.Events(events, requested, zone)}, nil
}

// window returns the requested window. It defaults to seven days from now.
func (s *Calendar) window(in ListEvents, zone *time.Location) (calendar.Span, error) {
	w := calendar.Span{From: s.opts.Now()}
	if !in.Start.IsZero() {
		w.From = in.Start.In(zone)
	}
	w.To = w.From.Add(defaultListWindow)
	if !in.End.IsZero() {
		w.To = in.End.In(zone)
	}
	if !w.To.After(w.From) {
		return w, fault.InvalidField("end_time",
			"must be after start_time. Without a start_time, the list starts now.")
	}
	return w, nil
}

// readEvents reads every page of every calendar, several calendars at a time. All-day and floating times lie
// in the requested zone, or else in the zone of their calendar. Start.Zone of each event names it.
func (c calendarClient) readEvents(
	ctx context.Context, calendarIDs []string, w calendar.Span, requested string,
) ([]calendar.Event, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(calendarIDs)))
	if len(ids) == 0 {
		ids = []string{""}
	}
	queries := make([]calendar.Query, len(ids))
	for i, id := range ids {
		zone, err := c.zone(ctx, requested, id)
		if err != nil {
			return nil, err
		}
		queries[i] = calendar.Query{CalendarID: id, From: w.From, To: w.To, Zone: zone.String()}
	}
	pages, err := c.readFirstPages(ctx, queries)
	if err != nil {
		return nil, err
	}
	lists := make([][]calendar.Event, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listConcurrency)
	for i := range queries {
		group.Go(func() (err error) {
			lists[i], err = c.readPages(ctx, queries[i], pages[i])
			for j := range lists[i] {
				start := &lists[i][j].Start
				start.Zone = cmp.Or(start.Zone, queries[i].Zone)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	if len(all) > maxEvents {
		return nil, tooManyEvents()
	}
	return all, nil
}

// readFirstPages reads the first pages of several calendars at once: in one request if the provider supports that,
// or else in one call of the guard's, so that a list of many calendars takes one place among the connection's
// calls. Where the provider limits the concurrent calls itself, and of a single calendar, the pages are nil.
func (c calendarClient) readFirstPages(
	ctx context.Context, queries []calendar.Query,
) ([]*calendar.Page, error) {
	pages := make([]*calendar.Page, len(queries))
	eventsOf := c.eachEvents
	if many, can := c.driver.(calendar.ManyLister); can {
		eventsOf = many.EventsOf
	} else if c.traits.MaxConcurrent > 0 {
		return pages, nil
	}
	if len(queries) < 2 {
		return pages, nil
	}
	op := read("list-events")
	got, err := ask(ctx, c.endpoint, op, func(ctx context.Context) ([]calendar.Page, error) {
		return eventsOf(ctx, queries)
	})
	if err != nil {
		return nil, err
	}
	for i := range got {
		pages[i] = &got[i]
	}
	return pages, nil
}

// eachEvents reads a page for each query, several at a time. It fails if one fails.
func (c calendarClient) eachEvents(ctx context.Context, queries []calendar.Query) ([]calendar.Page, error) {
	pages := make([]calendar.Page, len(queries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listConcurrency)
	for i, q := range queries {
		group.Go(func() (err error) {
			pages[i], err = c.driver.Events(ctx, q)
			return err
		})
	}
	return pages, group.Wait()
}

// readPages reads the pages of one calendar. The first page may be given.
func (c calendarClient) readPages(
	ctx context.Context, q calendar.Query, have *calendar.Page,
) ([]calendar.Event, error) {
	var all []calendar.Event
	op := read("list-events")
	for empty := 0; ; {
		page := have
		if page == nil {
			got, err := ask(ctx, c.endpoint, op, func(ctx context.Context) (calendar.Page, error) {
				return c.driver.Events(ctx, q)
			})
			if err != nil {
				return nil, err
			}
			page = &got
		}
		have = nil
		all = append(all, page.Events...)
		if len(all) > maxEvents {
			return nil, tooManyEvents()
		}
		if empty++; len(page.Events) > 0 {
			empty = 0
		}
		if page.Next == "" {
			return all, nil
		}
		if page.Next == q.Cursor || empty > maxEmptyPages {
			return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
				"The provider's list of events does not end.")
		}
		q.Cursor = page.Next
	}
}

func tooManyEvents() error {
	return fault.New(fault.Exhausted, fault.ReasonTooManyEvents,
		fmt.Sprintf("There are more than %d events in this window. Ask for a narrower one.", maxEvents))
}
