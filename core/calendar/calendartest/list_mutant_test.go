package calendartest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// listing replaces Events.
func listing(do func(context.Context, full, Query) (Page, error)) func(harness) harness {
	return mutate(mutation{events: do})
}

// asking alters the query of Events.
func asking(alter func(*Query)) func(harness) harness {
	return listing(func(ctx context.Context, d full, q Query) (Page, error) {
		alter(&q)
		return d.Events(ctx, q)
	})
}

// paging alters the result of Events.
func paging(alter func(*Page)) func(harness) harness {
	return listing(func(ctx context.Context, d full, q Query) (Page, error) {
		page, err := d.Events(ctx, q)
		alter(&page)
		return page, err
	})
}

// keeping lists only the events for which keep returns true.
func keeping(keep func(Event, Query) bool) func(harness) harness {
	return listing(func(ctx context.Context, d full, q Query) (Page, error) {
		page, err := d.Events(ctx, q)
		page.Events = slices.DeleteFunc(page.Events, func(e Event) bool { return !keep(e, q) })
		return page, err
	})
}

// checkThenWrite compares versions, and writes a moment later.
func checkThenWrite(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
	before, err := d.Event(ctx, ref)
	if err != nil {
		return before, err
	}
	if c.IfUnchanged != "" && c.IfUnchanged != before.Version {
		return Event{}, changedMeanwhile()
	}
	time.Sleep(time.Millisecond) // on synctest's clock: until all have compared
	c.IfUnchanged = ""
	return d.Change(ctx, ref, c)
}

func listMutants() []mutantOf {
	const (
		window  = "events that overlap the window are listed, and no others"
		read    = "a listed event is as it is read"
		pages   = "paging loses nothing and repeats nothing"
		empty   = "a window without events is empty"
		unknown = "listing an unknown calendar is CALENDAR_NOT_FOUND"
		agree   = "several calendars in one call answer as each alone"
		fails   = "several calendars in one call fail together"
	)
	inList := func(alter func(*Event)) func(harness) harness {
		return paging(func(p *Page) {
			for i := range p.Events {
				alter(&p.Events[i])
			}
		})
	}
	return []mutantOf{
		{Check: window, How: "those that start in it",
			Mutate: keeping(func(e Event, q Query) bool { return !e.Start.Instant.Before(q.From) })},
		{Check: window, How: "those that own in it",
			Mutate: keeping(func(e Event, q Query) bool { return !e.End.Instant.After(q.To) })},
		{Check: window, How: "those that touch its end",
			Mutate: asking(func(q *Query) { q.To = q.To.Add(time.Second) })},
		{Check: window, How: "those that touch its start",
			Mutate: asking(func(q *Query) { q.From = q.From.Add(-time.Second) })},
		{Check: window, How: "whole days", Mutate: asking(func(q *Query) {
			q.From = q.From.Truncate(24 * time.Hour)
			q.To = q.From.Add(24 * time.Hour)
		})},
		{Check: read, How: "no attendees", Mutate: inList(func(e *Event) { e.Attendees = nil })},
		{Check: read, How: "no link", Mutate: inList(func(e *Event) { e.URL = "" })},
		{Check: read, How: "no organizer", Mutate: inList(func(e *Event) { e.Organizer = calendar.Person{} })},
		{Check: read, How: "no calendar", Mutate: inList(func(e *Event) { e.CalendarID = "" })},
		{Check: read, How: "in UTC", Mutate: inList(func(e *Event) { e.Start.Zone = "UTC" })},
		{Check: pages, How: "the first page only", Mutate: paging(func(p *Page) { p.Next = "" })},
		{Check: pages, How: "the limit is not heeded", Mutate: asking(func(q *Query) { q.Limit = 0 })},
		{Check: pages, How: "the last of a page comes again",
			Mutate: listing(func(ctx context.Context, d full, q Query) (Page, error) {
				if q.Limit > 1 {
					q.Limit--
				}
				last, cursor, _ := strings.Cut(q.Cursor, "|")
				q.Cursor = cursor
				page, err := d.Events(ctx, q)
				if last != "" && err == nil {
					if e, err := d.Event(ctx, EventRef{CalendarID: q.CalendarID, ID: last}); err == nil {
						page.Events = append(page.Events, e)
					}
				}
				if page.Next != "" {
					page.Next = page.Events[0].ID + "|" + page.Next
				}
				return page, err
			})},
		{Check: pages, How: "those of the same start are lost", Mutate: paging(func(p *Page) {
			slices.SortFunc(p.Events, func(a, b Event) int { return a.Start.Instant.Compare(b.Start.Instant) })
			p.Events = slices.CompactFunc(p.Events,
				func(a, b Event) bool { return a.Start.Instant.Equal(b.Start.Instant) })
		})},
		{Check: pages, How: "a cursor that does not move",
			Mutate: listing(func(ctx context.Context, d full, q Query) (Page, error) {
				q.Cursor = ""
				return d.Events(ctx, q)
			})},
		{Check: empty, How: "an error", Mutate: listing(func(ctx context.Context, d full, q Query) (Page, error) {
			page, err := d.Events(ctx, q)
			if err == nil && len(page.Events) == 0 {
				err = fault.New(fault.NotFound, fault.ReasonNotFound, "Nothing there.")
			}
			return page, err
		})},
		{Check: empty, How: "something",
			Mutate: paging(func(p *Page) { p.Events = append(p.Events, Event{ID: "holiday"}) })},
		{Check: unknown, How: "an empty list",
			Mutate: listing(func(ctx context.Context, d full, q Query) (Page, error) {
				page, err := d.Events(ctx, q)
				if errors.Is(err, fault.NotFound) {
					err = nil
				}
				return page, err
			})},
		{Check: unknown, How: "the default one", Mutate: asking(func(q *Query) { q.CalendarID = "" })},
		{Check: agree, How: "in the order of arrival",
			Mutate: mutate(mutation{eventsOf: func(ctx context.Context, d full, queries []Query) ([]Page, error) {
				pages, err := d.EventsOf(ctx, queries)
				slices.Reverse(pages)
				return pages, err
			}})},
		{Check: agree, How: "empty ones left out",
			Mutate: mutate(mutation{eventsOf: func(ctx context.Context, d full, queries []Query) ([]Page, error) {
				pages, err := d.EventsOf(ctx, queries)
				return slices.DeleteFunc(pages, func(p Page) bool { return len(p.Events) == 0 }), err
			}})},
		{Check: fails, How: "the good part",
			Mutate: mutate(mutation{eventsOf: func(ctx context.Context, d full, queries []Query) ([]Page, error) {
				pages := make([]Page, len(queries))
				for i, q := range queries {
					if page, err := d.Events(ctx, q); err == nil {
						pages[i] = page
					}
				}
				return pages, nil
			}})},
	}
}

func busyMutants() []mutantOf {
	const (
		tells    = "free/busy tells the booked times"
		free     = "free/busy tells nothing of cancelled and of free events"
		series   = "free/busy tells the instances of a series"
		agrees   = "free/busy agrees with the events"
		declined = "free/busy and the events count alike: what the account declined is free, any other invitation is busy"
		perEach  = "free/busy tells each calendar's times as that calendar's"
		unknown  = "free/busy names a calendar that cannot be read, and tells the others"
	)
	busying := func(do func(context.Context, full, []string, Span) ([]Busy, error)) func(harness) harness {
		return mutate(mutation{freeBusy: do})
	}
	always := busying(func(_ context.Context, _ full, ids []string, span Span) ([]Busy, error) {
		return []Busy{{CalendarID: ids[0], Span: span}}, nil
	})
	never := busying(func(context.Context, full, []string, Span) ([]Busy, error) { return nil, nil })
	return []mutantOf{
		{Check: tells, How: "never busy", Mutate: never},
		{Check: tells, How: "those that start in the span",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				return slices.DeleteFunc(list, func(b Busy) bool { return b.Span.From.Before(span.From) }), err
			})},
		{Check: tells, How: "of a calendar not asked for",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				return append(list, Busy{CalendarID: "another", Span: span}), err
			})},
		{Check: free, How: "always busy", Mutate: always},
		{Check: series, How: "the first one alone", Mutate: never},
		{Check: agrees, How: "in slots of half an hour",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				for i := range list {
					list[i].Span.From = list[i].Span.From.Truncate(time.Hour)
					list[i].Span.To = list[i].Span.To.Truncate(time.Hour)
				}
				return list, err
			})},
		{Check: agrees, How: "always busy", Mutate: always},
		{Check: agrees, How: "the first of those that overlap",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				slices.SortFunc(list, func(a, b Busy) int { return a.Span.From.Compare(b.Span.From) })
				return list[:min(1, len(list))], err
			})},
		{Check: agrees, How: "one stretch from the first to the last",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				slices.SortFunc(list, func(a, b Busy) int { return a.Span.From.Compare(b.Span.From) })
				list[0].Span.To = list[len(list)-1].Span.To
				return list[:1], err
			})},
		{Check: perEach, How: "all as the first one's",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				for i := range list {
					list[i].CalendarID = ids[0]
				}
				return list, err
			})},
		{Check: unknown, How: "the good part",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				return slices.DeleteFunc(list, func(b Busy) bool { return b.Unknown != nil }), err
			})},
		{Check: unknown, How: "nothing at all",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				for _, b := range list {
					err = errors.Join(err, b.Unknown)
				}
				return list, err
			})},
		{Check: unknown, How: "free, with the reason",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				for i, b := range list {
					if b.Unknown != nil {
						list[i].Span.To = b.Span.From
					}
				}
				return list, err
			})},
		{Check: declined, How: "busy all the same",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				page, failed := d.Events(ctx, Query{CalendarID: ids[0], From: span.From, To: span.To})
				for _, e := range page.Events {
					list = append(list, Busy{CalendarID: ids[0], Span: Span{From: e.Start.Instant, To: e.End.Instant}})
				}
				return list, errors.Join(err, failed)
			})},
		{Check: declined, How: "free where the answer is tentative",
			Mutate: busying(func(ctx context.Context, d full, ids []string, span Span) ([]Busy, error) {
				list, err := d.FreeBusy(ctx, ids, span)
				page, failed := d.Events(ctx, Query{CalendarID: ids[0], From: span.From, To: span.To})
				isTentative := slices.ContainsFunc(page.Events, func(e Event) bool {
					return slices.ContainsFunc(e.Attendees, func(a calendar.Attendee) bool {
						return a.Response == "tentative"
					})
				})
				if isTentative {
					list = nil
				}
				return list, errors.Join(err, failed)
			})},
		{Check: declined, How: "and the events forget the answer",
			Mutate: mutate(mutation{everyEvent: func(e *Event) {
				for i := range e.Attendees {
					e.Attendees[i].Response = "needs_action"
				}
			}})},
	}
}
