package calendartest_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
)

// wholeSeries returns the instances of the series that the event belongs to.
func wholeSeries(ctx context.Context, d full, ref EventRef) []EventRef {
	e, err := d.Event(ctx, ref)
	if err != nil || e.SeriesID == "" {
		return []EventRef{ref}
	}
	page, _ := d.Events(ctx, Query{
		CalendarID: ref.CalendarID, From: e.Start.Instant.AddDate(-1, 0, 0), To: e.Start.Instant.AddDate(1, 0, 0),
		Zone: "UTC",
	})
	var all []EventRef
	for _, other := range page.Events {
		if other.SeriesID == e.SeriesID {
			all = append(all, EventRef{CalendarID: other.CalendarID, ID: other.ID})
		}
	}
	return all
}

func seriesMutants() []mutantOf {
	const (
		expanded  = "a series is listed as its instances in the window, each with an id of its own"
		read      = "an instance is read by its id"
		paged     = "paging through a series loses nothing and repeats nothing"
		wallClock = "a series keeps its wall clock when clocks are set"
		neverWas  = "an instance that never was is EVENT_NOT_FOUND"
		changed   = "changing an instance changes that instance alone"
		moved     = "moving an instance moves it alone, even out of the window"
		cancelled = "cancelling an instance cancels that instance alone"
		again     = "cancelling a cancelled instance is EVENT_NOT_FOUND"
	)
	changesAll := mutate(mutation{change: func(
		ctx context.Context, d full, ref EventRef, c Change,
	) (e Event, err error) {
		for _, other := range wholeSeries(ctx, d, ref) {
			if answer, err := d.Change(ctx, other, c); err != nil || other.ID == ref.ID {
				e = answer
			}
		}
		return e, err
	}})
	return []mutantOf{
		{Check: expanded, How: "as it is stored", Mutate: keeping(func(e Event, _ Query) bool {
			return e.SeriesID == "" || strings.HasSuffix(e.ID, "_0")
		})},
		{Check: expanded, How: "one id for all", Mutate: alteringEvents(func(e *Event) {
			if e.SeriesID != "" {
				e.ID = e.SeriesID + "!"
			}
		})},
		{Check: expanded, How: "no series", Mutate: alteringEvents(func(e *Event) { e.SeriesID = "" })},
		{Check: expanded, How: "not those under way",
			Mutate: keeping(func(e Event, q Query) bool { return !e.Start.Instant.Before(q.From) })},
		{Check: expanded, How: "the whole series when any of it fits",
			Mutate: listing(func(ctx context.Context, d full, q Query) (Page, error) {
				page, err := d.Events(ctx, q)
				if err == nil && len(page.Events) > 0 && page.Events[0].SeriesID != "" {
					q.From, q.To = q.From.AddDate(-1, 0, 0), q.To.AddDate(1, 0, 0)
					return d.Events(ctx, q)
				}
				return page, err
			})},
		{Check: read, How: "the first one",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				if series, _, ok := strings.Cut(ref.ID, "_"); ok {
					ref.ID = series + "_0"
				}
				return d.Event(ctx, ref)
			}})},
		{Check: paged, How: "a page ends within the series", Mutate: paging(func(p *Page) { p.Next = "" })},
		{Check: wallClock, How: "every 168 hours", Mutate: mutateAfresh(func() mutation {
			starts := map[string]time.Time{}
			return mutation{everyEvent: func(e *Event) {
				if e.SeriesID == "" {
					return
				}
				number := int(e.ID[len(e.ID)-1] - '0')
				if number == 0 {
					starts[e.SeriesID] = e.Start.Instant
				}
				if start, known := starts[e.SeriesID]; known {
					length := e.End.Instant.Sub(e.Start.Instant)
					e.Start.Instant = start.Add(time.Duration(number) * 168 * time.Hour)
					e.End.Instant = e.Start.Instant.Add(length)
				}
			}}
		})},
		{Check: wallClock, How: "in UTC", Mutate: alteringEvents(func(e *Event) { e.Start.Zone = "UTC" })},
		{Check: neverWas, How: "goes by the beginning of the id",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				if series, _, ok := strings.Cut(ref.ID, "_"); err != nil && ok {
					return d.Event(ctx, EventRef{CalendarID: ref.CalendarID, ID: series + "_0"})
				}
				return e, err
			}})},
		{Check: changed, How: "the whole series", Mutate: changesAll},
		{Check: changed, How: "does nothing",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, _ Change) (Event, error) {
				return d.Event(ctx, ref)
			}})},
		{Check: changed, How: "the old one is listed beside the new one", Mutate: mutateAfresh(func() mutation {
			var old []Event
			return mutation{
				change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
					if before, err := d.Event(ctx, ref); err == nil {
						old = append(old, before)
					}
					return d.Change(ctx, ref, c)
				},
				events: func(ctx context.Context, d full, q Query) (Page, error) {
					page, err := d.Events(ctx, q)
					page.Events = append(page.Events, old...)
					return page, err
				},
			}
		})},
		{Check: moved, How: "the whole series", Mutate: changesAll},
		{Check: moved, How: "found where it was", Mutate: mutateAfresh(func() mutation {
			was := map[string]Event{}
			return mutation{
				change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
					if before, err := d.Event(ctx, ref); err == nil {
						was[ref.ID] = before
					}
					return d.Change(ctx, ref, c)
				},
				events: func(ctx context.Context, d full, q Query) (Page, error) {
					page, err := d.Events(ctx, q)
					for id, before := range was {
						listed := slices.ContainsFunc(page.Events, func(e Event) bool { return e.ID == id })
						if !listed && before.Start.Instant.Before(q.To) && q.From.Before(before.End.Instant) {
							if now, err := d.Event(ctx, EventRef{CalendarID: before.CalendarID, ID: id}); err == nil {
								page.Events = append(page.Events, now)
							}
						}
					}
					return page, err
				},
			}
		})},
		{Check: cancelled, How: "the whole series",
			Mutate: mutate(mutation{cancel: func(ctx context.Context, d full, ref EventRef) error {
				for _, other := range wholeSeries(ctx, d, ref) {
					if err := d.Cancel(ctx, other); err != nil {
						return err
					}
				}
				return nil
			}})},
		{Check: cancelled, How: "says so and does nothing",
			Mutate: mutate(mutation{cancel: func(context.Context, full, EventRef) error {
				return nil
			}})},
		{Check: again, How: "takes it for done",
			Mutate: mutate(mutation{cancel: func(ctx context.Context, d full, ref EventRef) error {
				_ = d.Cancel(ctx, ref)
				return nil
			}})},
	}
}

func formMutants() []mutantOf {
	const (
		dayReported   = "a whole day is reported as a day, its end exclusive"
		dayZone       = "a whole day lies in the zone of the query"
		dayStays      = "a whole day stays one when its title changes"
		dayTime       = "a whole day that is moved to a time becomes an event of that time"
		floatReported = "a floating time is reported as one"
		floatZone     = "a floating time lies in the zone of the query"
	)
	converted := func(t *calendar.Time) {
		berlin, _ := time.LoadLocation("Europe/Berlin")
		u := t.Instant
		*t = calendar.At(time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), 0, 0, berlin),
			"Europe/Berlin")
	}
	inUTC := asking(func(q *Query) { q.Zone = "UTC" })
	return []mutantOf{
		{Check: dayReported, How: "midnights of a zone", Mutate: alteringEvents(func(e *Event) {
			if e.Start.AllDay {
				converted(&e.Start)
				converted(&e.End)
			}
		})},
		{Check: dayReported, How: "the end inclusive", Mutate: alteringEvents(func(e *Event) {
			if e.End.AllDay {
				e.End.Instant = e.End.Instant.AddDate(0, 0, -1)
			}
		})},
		{Check: dayZone, How: "in UTC", Mutate: inUTC},
		{Check: dayZone, How: "in the calendar's", Mutate: asking(func(q *Query) { q.Zone = "Europe/Berlin" })},
		{Check: dayStays, How: "becomes midnights",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if before, err := d.Event(ctx, ref); err == nil && c.Start == nil {
					c.Start, c.End, c.Zone = &before.Start.Instant, &before.End.Instant, "UTC"
				}
				return d.Change(ctx, ref, c)
			}})},
		{Check: dayTime, How: "stays a day",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				c.Start, c.End = nil, nil
				return d.Change(ctx, ref, c)
			}})},
		{Check: floatReported, How: "in a zone", Mutate: alteringEvents(func(e *Event) {
			if e.Start.Floating {
				converted(&e.Start)
				converted(&e.End)
			}
		})},
		{Check: floatZone, How: "in UTC", Mutate: inUTC},
		{Check: "an event that leaves its owner free is reported as such", How: "all are busy",
			Mutate: alteringEvents(func(e *Event) { e.IsFree = false })},
	}
}
