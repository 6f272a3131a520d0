package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
)

const (
	maxEvents       = 2500     // in one response
	maxEventBytes   = 16 << 20 // of what one response tells of them: each may have a long title and many attendees
	maxListUnits    = 384      // of what all lists tell at once: 48 MiB, and four times that with records and bodies
	unitBytes       = 128 << 10
	listConcurrency = 10  // calendars read at one time; the guard enforces the provider's own limit
	maxEmptyPages   = 100 // consecutive pages without events before paging counts as broken
)

// eventList is the events of one calendar, of which pages are being read.
type eventList struct {
	next     calendar.Query // for the next page
	from     time.Time      // events that start before are in another part of the list; zero: there is none
	pages    int
	cursors  []string // of the pages so far, except the first; one that comes again leads in a circle
	events   []calendar.Event
	bytes    int // of what is told of them
	empty    int // consecutive pages without events
	repeated int // events that a page has told once more
	complete bool
	err      error // why it cannot be read
}

// add adds a page.
func (l *eventList) add(p calendar.Page) {
	for i := range p.Events {
		start := &p.Events[i].Start
		start.Zone = cmp.Or(start.Zone, l.next.Zone)
	}
	if !l.from.IsZero() {
		p.Events = slices.DeleteFunc(p.Events, func(e calendar.Event) bool { return spanOf(e).From.Before(l.from) })
	}
	for i := range p.Events {
		l.bytes += bytesOf(&p.Events[i])
	}
	l.dropRepeated(p.Events)
	l.events = append(l.events, p.Events...)
	l.pages++
	if l.empty++; len(p.Events) > 0 {
		l.empty = 0
	}
	l.complete = p.Next == ""
	switch over := tooMuch([]*eventList{l}); {
	case over != nil:
		l.err = over
	case !l.complete && (slices.Contains(l.cursors, p.Next) || l.empty > maxEmptyPages || l.repeated > maxEvents):
		l.err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The provider's list of events does not end.")
	}
	l.next.Cursor, l.cursors = p.Next, append(l.cursors, p.Next)
}

// dropRepeated drops the events of earlier pages that a page repeats: it tells them as they are now. Graph counts
// pages from the start of the list ($skip), so that an event booked meanwhile moves others to the next page.
func (l *eventList) dropRepeated(page []calendar.Event) {
	if l.pages == 0 {
		return
	}
	repeated := make(map[string]bool, len(page))
	for i := range page {
		repeated[page[i].ID] = true
	}
	before := len(l.events)
	l.events = slices.DeleteFunc(l.events, func(e calendar.Event) bool { return e.ID != "" && repeated[e.ID] })
	l.repeated += before - len(l.events)
}

const (
	// listParts is how many parts of a window are read side by side. Microsoft runs four requests of a mailbox at
	// a time.
	listParts    = 4
	rememberLong = 24 * time.Hour
)

// isLong reports whether the list probably takes several pages: one of the calendar, in a window that was no longer,
// did.
func (c calendarClient) isLong(calendarID string, w calendar.Span) bool {
	shortest, ok := c.long.peek(c.calendarKey(calendarID))
	return ok && w.To.Sub(w.From) >= shortest
}

// learn remembers a list that took so many pages.
func (c calendarClient) learn(calendarID string, w calendar.Span, pages int) {
	if pages > 1 && !c.isLong(calendarID, w) {
		c.long.put(c.calendarKey(calendarID), w.To.Sub(w.From))
	}
}

// calendarKey returns the key in the cache of a calendar as callers name it: the default one is "", since a first
// call does not know its id.
func (c calendarClient) calendarKey(id string) cacheKey {
	key := keyOf(c.connection)
	key.calendar = id
	return key
}

// inParts returns lists of equal parts of the window. Each event is in one of them: the one that it starts in, or
// the first. A part is asked for a little more, since providers differ on an event without length at the start of
// a window.
func (l *eventList) inParts() []*eventList {
	step := l.next.To.Sub(l.next.From) / listParts
	parts := make([]*eventList, listParts)
	for i := range parts {
		part := &eventList{next: l.next}
		if i > 0 {
			part.from = l.next.From.Add(step * time.Duration(i))
			part.next.From, parts[i-1].next.To = part.from.Add(-time.Minute), part.from
		}
		parts[i] = part
	}
	return parts
}

// readParts is a pageReader for parts of one list. Each is a request of its own, and all are one call of the
// guard's: a response that held them all could be longer than is read. If one fails, the others are not cut off: the
// provider would go on with them, and count the next try beside them.
func (c calendarClient) readParts(ctx context.Context, queries []calendar.Query) ([]pageRead, error) {
	if c.isCountedApart() {
		return c.readPages(ctx, queries)
	}
	got, err := ask(ctx, c.endpoint, listEvents, func(ctx context.Context) ([]pageRead, error) {
		got, err := c.sideBySide(ctx, queries)
		for _, part := range got {
			if part.err != nil && !mayWorkAgain(part.err) { // the guard has to know, for example of a pause
				return nil, part.err
			}
		}
		return got, err
	})
	if err != nil {
		return nil, err
	}
	c.readAgain(ctx, queries, got)
	for _, part := range got {
		if part.err != nil {
			return nil, part.err
		}
	}
	return got, nil
}

const bytesBesideTexts = 64 // of an attendee

// bytesOf returns about how much memory an answer takes for an event.
func bytesOf(e *calendar.Event) int {
	size := len(e.Title) + len(e.URL) + len(e.Organizer.Email)
	for _, a := range e.Attendees {
		size += bytesBesideTexts + len(a.Email) + len(a.Name)
	}
	return size
}

// toldBy returns how many bytes lists tell.
func toldBy(lists []*eventList) (bytes int) {
	for _, l := range lists {
		bytes += l.bytes
	}
	return bytes
}

// tooMuch returns an error if lists have more than one response may.
func tooMuch(lists []*eventList) error {
	events := 0
	for _, l := range lists {
		events += len(l.events)
	}
	switch {
	case events > maxEvents:
		return tooManyEvents()
	case toldBy(lists) > maxEventBytes:
		return fault.New(fault.Exhausted, fault.ReasonTooManyEvents, "The events in this window have more attendees, "+
			"or longer titles, than one answer can hold. Ask for a narrower one.")
	}
	return nil
}

func tooManyEvents() error {
	return fault.New(fault.Exhausted, fault.ReasonTooManyEvents,
		fmt.Sprintf("There are more than %d events in this window. Ask for a narrower one.", maxEvents))
}

// pageRead is a page, or why it cannot be read.
type pageRead struct {
	page calendar.Page
	err  error
}

// pageReader reads a page for each query. Its own error ends the reading of all lists.
type pageReader func(context.Context, []calendar.Query) ([]pageRead, error)

// readLists reads the next page of each list at the same time, until every list is complete or has an error. So
// however many calendars a caller lists, the caller has one call of the guard's at a time.
func readLists(ctx context.Context, lists []*eventList, read pageReader) error {
	for {
		var open []*eventList
		var queries []calendar.Query
		for _, l := range lists {
			if !l.complete && l.err == nil {
				open, queries = append(open, l), append(queries, l.next)
			}
		}
		if len(open) == 0 {
			return nil
		}
		got, err := read(ctx, queries)
		if err != nil {
			return err
		}
		for i, l := range open {
			if l.err = got[i].err; l.err == nil {
				l.add(got[i].page)
			}
		}
	}
}

// readLists reads lists as the function of this name does. Meanwhile they take room, the more the more they tell.
func (c calendarClient) readLists(ctx context.Context, lists []*eventList, read pageReader) error {
	taken := 0
	defer func() { c.room.Give(c.tenant.ID, taken) }()
	take := func() error {
		more := max(0, toldBy(lists)/unitBytes-taken)
		if !c.room.Take(c.tenant.ID, more) {
			return errNoRoom
		}
		taken += more
		return nil
	}
	err := readLists(ctx, lists, func(ctx context.Context, queries []calendar.Query) ([]pageRead, error) {
		if err := take(); err != nil {
			return nil, err
		}
		return read(ctx, queries)
	})
	return cmp.Or(err, take())
}

// keepRoom takes room for events until ctx ends: their records and the body of the answer need several times as much.
func (c calendarClient) keepRoom(ctx context.Context, events []calendar.Event) error {
	bytes := 0
	for i := range events {
		bytes += bytesOf(&events[i])
	}
	units := bytes / unitBytes
	if !c.room.Take(c.tenant.ID, units) {
		return errNoRoom
	}
	context.AfterFunc(ctx, func() { c.room.Give(c.tenant.ID, units) })
	return nil
}

var errNoRoom = fault.Unacted(fault.New(fault.Unavailable, fault.ReasonOverloaded,
	"Too many lists of events with many attendees or long titles are being made at the same time."))

var listEvents = read("list-events")

// readPage reads one page, in a call of the guard's own.
func (c calendarClient) readPage(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	return ask(ctx, c.endpoint, listEvents, func(ctx context.Context) (calendar.Page, error) {
		return c.driver.Events(ctx, q)
	})
}

// isCountedApart reports whether each page has to be a call of the guard's own: the provider limits the concurrent
// calls of an account, and cannot read several calendars in one.
func (c calendarClient) isCountedApart() bool {
	_, can := c.driver.(calendar.ManyLister)
	return !can && c.traits.MaxConcurrent > 0
}

// readPages is a pageReader that fails if one page cannot be read. It reads several pages in one call of the
// guard's, and in one request if the provider supports that.
func (c calendarClient) readPages(ctx context.Context, queries []calendar.Query) ([]pageRead, error) {
	var pages []calendar.Page
	var err error
	switch many, can := c.driver.(calendar.ManyLister); {
	case len(queries) == 1 || c.isCountedApart():
		pages, err = eachPage(ctx, queries, c.readPage)
	case can:
		pages, err = ask(ctx, c.endpoint, listEvents, func(ctx context.Context) ([]calendar.Page, error) {
			return many.EventsOf(ctx, queries)
		})
	default:
		pages, err = ask(ctx, c.endpoint, listEvents, func(ctx context.Context) ([]calendar.Page, error) {
			return eachPage(ctx, queries, c.driver.Events)
		})
	}
	return readAll(pages), err
}

// eachPage reads the pages several at a time. It fails if one fails.
func eachPage(
	ctx context.Context, queries []calendar.Query,
	read func(context.Context, calendar.Query) (calendar.Page, error),
) ([]calendar.Page, error) {
	pages := make([]calendar.Page, len(queries))
	if len(queries) == 1 { // most lists are one page, for which a goroutine costs more than it helps
		page, err := read(ctx, queries[0])
		pages[0] = page
		return pages, err
	}
	group, ctx := parallel.WithContext(ctx)
	group.SetLimit(listConcurrency)
	for i, q := range queries {
		group.Go(func() (err error) {
			pages[i], err = read(ctx, q)
			return err
		})
	}
	return pages, group.Wait()
}

func readAll(pages []calendar.Page) []pageRead {
	all := make([]pageRead, len(pages))
	for i, p := range pages {
		all[i].page = p
	}
	return all
}

// tryPages is a pageReader that tells which pages cannot be read. Like readPages, it makes one call of the guard's,
// of which a part that hangs takes at most a share. A part that failed, and may work the next time, gets a
// call of its own, since the guard does not know of parts.
func (c calendarClient) tryPages(ctx context.Context, queries []calendar.Query) ([]pageRead, error) {
	if len(queries) == 1 || c.isCountedApart() {
		return tryEachPage(ctx, queries, c.readPage), ctx.Err()
	}
	many, can := c.driver.(calendar.ManyLister)
	whole, cancel := ctx, func() {}
	if can { // an answer for all waits for the slowest
		whole, cancel = calendar.WithShare(ctx, readingShare)
	}
	defer cancel()
	got, err := ask(whole, c.endpoint, listEvents, func(ctx context.Context) ([]pageRead, error) {
		if !can {
			return c.sideBySide(ctx, queries)
		}
		pages, err := many.EventsOf(ctx, queries)
		return readAll(pages), err
	})
	switch hangs := err != nil && whole.Err() != nil && ctx.Err() == nil; {
	case hangs, can && isOfOnePart(err): // one of them has failed the whole
		some, cancel := calendar.WithShare(ctx, readingShare)
		defer cancel()
		return tryEachPage(some, queries, c.readPage), nil // those that were read count, however late it is
	case err != nil:
		got = make([]pageRead, len(queries))
		for i := range got {
			got[i].err = err
		}
		return got, ctx.Err()
	}
	c.readAgain(ctx, queries, got)
	return got, ctx.Err()
}

// sideBySide reads the pages several at a time, within a call of the guard's, of which a page that hangs takes at most
// a share.
func (c calendarClient) sideBySide(ctx context.Context, queries []calendar.Query) ([]pageRead, error) {
	ctx, cancel := calendar.WithShare(ctx, readingShare)
	defer cancel()
	return oneRead(tryEachPage(ctx, queries, c.driver.Events))
}

// readAgain reads those of the pages that failed, and may work the next time, each in a call of its own.
func (c calendarClient) readAgain(ctx context.Context, queries []calendar.Query, got []pageRead) {
	var again []int
	var some []calendar.Query
	for i := range got {
		if mayWorkAgain(got[i].err) {
			again, some = append(again, i), append(some, queries[i])
		}
	}
	for i, page := range tryEachPage(ctx, some, c.readPage) {
		got[again[i]] = page
	}
}

func mayWorkAgain(err error) bool { return errors.Is(err, fault.Unavailable) }

// isOfOnePart reports whether an error is about one calendar, not about the account or the provider. Who is throttled
// does not ask for each calendar alone.
func isOfOnePart(err error) bool {
	return errors.Is(err, fault.NotFound) || errors.Is(err, fault.Forbidden) ||
		errors.Is(err, calendar.ErrOnePart) && !errors.Is(err, fault.RateLimited) && !errors.Is(err, fault.Disconnected)
}

// tryEachPage reads the pages several at a time.
func tryEachPage(
	ctx context.Context, queries []calendar.Query,
	read func(context.Context, calendar.Query) (calendar.Page, error),
) []pageRead {
	got := make([]pageRead, len(queries))
	group := parallel.New()
	group.SetLimit(listConcurrency)
	for i, q := range queries {
		group.Go(func() error {
			got[i].page, got[i].err = read(ctx, q)
			return nil
		})
	}
	_ = group.Wait() // no function fails
	return got
}

// oneRead returns the pages, or an error for the guard if none was read or the account is disconnected.
func oneRead(got []pageRead) ([]pageRead, error) {
	read := false
	for _, p := range got {
		if errors.Is(p.err, fault.Disconnected) {
			return nil, p.err
		}
		read = read || p.err == nil
	}
	if !read {
		return nil, got[0].err
	}
	return got, nil
}
