package calendartest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func listChecks() []Check {
	return []Check{
		{Name: "events that overlap the window are listed, and no others", Do: with(windowIsHeeded)},
		{Name: "a listed event is as it is read", Do: with(listedIsRead)},
		{Name: "paging loses nothing and repeats nothing", Do: with(pagingIsWhole)},
		{Name: "a window without events is empty", Harmless: true, Do: with(emptyWindow)},
		{Name: "listing an unknown calendar is CALENDAR_NOT_FOUND", Harmless: true, Do: with(listUnknownCalendar)},
		{Name: "several calendars in one call answer as each alone", Bound: both(hasSecond, listsMany),
			Do: with(manyAgree)},
		{Name: "several calendars in one call fail together", Bound: listsMany,
			Do: with(manyFailTogether)},
	}
}

func listsMany(h Harness) bool {
	_, can := h.Open().(calendar.ManyLister)
	return can
}

func windowIsHeeded(ctx context.Context, r *run) error {
	b := r.booking("At the edge", 1) // 15:00 to 16:00
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	minutes := func(n int) time.Time { return b.Start.Add(time.Duration(n) * time.Minute) }
	for _, w := range []struct {
		what     string
		from, to time.Time
		listed   bool
	}{
		{"ends as the event starts", minutes(-60), minutes(0), false},
		{"ends within the event", minutes(-60), minutes(1), true},
		{"is the event", minutes(0), minutes(60), true},
		{"lies within the event", minutes(20), minutes(40), true},
		{"holds the event", minutes(-60), minutes(120), true},
		{"starts within the event", minutes(59), minutes(120), true},
		{"starts as the event ends", minutes(60), minutes(120), false},
		{"is the day before", minutes(-24 * 60), minutes(-23 * 60), false},
		{"is the day after", minutes(24 * 60), minutes(25 * 60), false},
	} {
		q := calendar.Query{CalendarID: r.Calendar, From: w.from, To: w.to, Zone: zoneUsed}
		var want []calendar.Event
		if w.listed {
			want = append(want, booked)
		}
		err := r.seen(ctx, func() error {
			listed, err := r.listTitled(ctx, q, b.Title)
			return errors.Join(err, wantIDs("the window "+w.what, listed, want...))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func listedIsRead(ctx context.Context, r *run) error {
	b := r.booking("Listed; read, compared", 0)
	b.Attendees = guests(2)
	if r.traits.LocationURL {
		b.Conferencing, b.LocationURL = calendar.ConferencingURL, "https://meet.example.com/room/3"
	}
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, r.query(0, 0), b.Title)
		if err != nil {
			return err
		}
		if err := wantIDs("listed", listed, booked); err != nil {
			return err
		}
		return wantSame("the listed event beside the one read", read, listed[0], "Description")
	})
}

func pagingIsWhole(ctx context.Context, r *run) error {
	const events = 7
	b := r.booking("Over pages", 0)
	var booked []calendar.Event
	for i := range events {
		b.Key = newKey()
		if i%2 == 0 { // events start in pairs, so that their start alone does not order them
			b.Start, b.End = b.Start.Add(time.Hour), b.End.Add(time.Hour)
		}
		event, err := r.book(ctx, b)
		if err != nil {
			return err
		}
		booked = append(booked, event)
	}
	for _, limit := range []int{1, 3, events, 0} {
		q := r.query(0, 1)
		q.Limit = limit
		err := r.seen(ctx, func() error {
			listed, err := r.listTitled(ctx, q, b.Title)
			return errors.Join(err, wantIDs(fmt.Sprintf("in pages of %d", limit), listed, booked...))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func emptyWindow(ctx context.Context, r *run) error {
	q := r.query(0, 0)
	q.From, q.To = time.Date(1975, 3, 2, 0, 0, 0, 0, time.UTC), time.Date(1975, 3, 3, 0, 0, 0, 0, time.UTC)
	listed, err := r.list(ctx, q)
	return errors.Join(err, wantIDs("in 1975", listed))
}

func listUnknownCalendar(ctx context.Context, r *run) error {
	q := r.query(0, 0)
	q.CalendarID = r.unknownCalendar()
	_, err := r.driver.Events(ctx, q)
	return conformance.WantFault("Events", err, fault.NotFound, fault.ReasonCalendarNotFound)
}

func manyAgree(ctx context.Context, r *run) error {
	b := r.booking("In each calendar", 0)
	queries := []calendar.Query{r.query(0, 0), r.query(0, 0), r.query(5, 5)}
	queries[1].CalendarID = r.Second
	for _, q := range queries[:2] {
		b.Key, b.CalendarID = newKey(), q.CalendarID
		if _, err := r.book(ctx, b); err != nil {
			return err
		}
	}
	return r.seen(ctx, func() error {
		pages, err := r.driver.(calendar.ManyLister).EventsOf(ctx, queries)
		if err != nil {
			return err
		}
		if len(pages) != len(queries) {
			return fmt.Errorf("EventsOf answered %d pages to %d queries", len(pages), len(queries))
		}
		for i, q := range queries {
			single, err := r.listTitled(ctx, q, b.Title)
			if err != nil {
				return err
			}
			err = wantIDs(fmt.Sprintf("query %d", i), withTitle(pages[i].Events, b.Title), single...)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func manyFailTogether(ctx context.Context, r *run) error {
	queries := []calendar.Query{r.query(0, 0), r.query(0, 0)}
	queries[1].CalendarID = r.unknownCalendar()
	_, err := r.driver.(calendar.ManyLister).EventsOf(ctx, queries)
	return conformance.WantFault("EventsOf", err, fault.NotFound, fault.ReasonCalendarNotFound)
}
