package microsoft

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
	"frontdesk/core/upstream"
)

// Parameters of a calendar view.
const (
	// maxTop is the largest page that Graph gives (learn.microsoft.com/graph/api/user-list-calendarview, $top), so
	// that most lists are one request. If the events have many guests, such a page is longer than
	// upstream reads. Lists then have pages of the second size, as have the parts of a batch, which is one answer.
	maxTop   = 1000
	smallTop = 250
	// longestView is the longest window that Graph accepts
	// (learn.microsoft.com/graph/api/calendar-list-calendarview).
	longestView = 1825 * 24 * time.Hour
	// The zones in which a day begins first and last on earth: UTC+14 and UTC-12. For the caller, a whole day is
	// in the zone of the query; Exchange looks for it in the zone it was created in.
	firstZone, lastZone = 14 * time.Hour, -12 * time.Hour
	clockChange         = time.Hour // between the window's edge and a whole day there
)

// Events reads a page of a calendar's view, with series expanded.
func (d *driver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	id, err := d.calendarID(ctx, q.CalendarID)
	if err != nil {
		return calendar.Page{}, err
	}
	top := maxTop
	if d.smallPages.Load() {
		top = smallTop
	}
	query, err := viewOf(q, top)
	if err != nil {
		return calendar.Page{}, err
	}
	link, before, counted := readCursor(q.Cursor)
	page, err := d.view(ctx, id, query, link)
	canShrink := counted || link == "" && *query.Top > smallTop
	if err != nil && fault.From(err).Reason == upstream.ReasonAnswerTooLarge && canShrink {
		// The size of the next pages is part of their links, so the list goes on without them.
		d.smallPages.Store(true)
		query.Top, query.Skip = new(int32(smallTop)), new(int32(before))
		page, err = d.view(ctx, id, query, "")
	}
	if err != nil {
		return calendar.Page{}, err
	}
	return toPage(page, id, q)
}

// cursorTo returns the cursor of a further page: how many events come before it, and its link.
func cursorTo(link string, before int) string { return strconv.Itoa(before) + " " + link }

// readCursor returns the parts of a cursor. counted is false for the first page, and for a link alone.
func readCursor(cursor string) (link string, before int, counted bool) {
	count, link, _ := strings.Cut(cursor, " ")
	before, err := strconv.Atoi(count)
	if err != nil {
		return cursor, 0, false
	}
	return link, before, true
}

// view reads a page: the first one of a query, or the one at link.
func (d *driver) view(
	ctx context.Context, calendarID string, query graph.Query, link string,
) (*graph.EventCollectionResponse, error) {
	request := d.firstPage(calendarID, query)
	if link != "" {
		address, err := d.follow(link)
		if err != nil {
			return nil, err
		}
		request = graph.Request{Path: address}
	}
	request.Prefer = preferText
	return ask[graph.EventCollectionResponse](upstream.ForListing(ctx), d, exchange{missing: noCalendar()}, request)
}

// firstPage returns the request for the first page of a query.
func (d *driver) firstPage(calendarID string, query graph.Query) graph.Request {
	return graph.Request{Path: d.calendar(calendarID) + "/calendarView", Query: &query}
}

// viewOf returns the parameters for the first page of a query, with at most so many events.
func viewOf(q calendar.Query, most int) (graph.Query, error) {
	span := q.To.Sub(q.From)
	if span > longestView {
		return graph.Query{}, fault.New(fault.Exhausted, fault.ReasonTooManyEvents,
			"Microsoft lists at most 1,825 days at once. Ask for a shorter window.")
	}
	room := (longestView - span) / 2
	zone := queryZone(q)
	before := min(firstZone-offsetAt(q.From, zone)+clockChange, room)
	after := min(offsetAt(q.To, zone)-lastZone+clockChange, room)
	if q.Limit > 0 {
		most = min(q.Limit, maxTop)
	}
	return graph.Query{
		Select: listFields, OrderBy: []string{"start/dateTime"}, Top: new(int32(most)),
		StartDateTime: instant(q.From.Add(-before)), EndDateTime: instant(q.To.Add(after)),
	}, nil
}

// queryZone returns the zone in which whole days are asked for, or UTC if the query names none that is known.
func queryZone(q calendar.Query) *time.Location {
	zone, err := timezone.Load(q.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// offsetAt returns how far a zone is ahead of UTC.
func offsetAt(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

func instant(t time.Time) *string { return new(t.UTC().Format(time.RFC3339)) }

// toPage returns the events in the window, which was requested with a margin on each side.
func toPage(page *graph.EventCollectionResponse, calendarID string, q calendar.Query) (calendar.Page, error) {
	if page.Value == nil {
		return calendar.Page{}, noList()
	}
	zone := queryZone(q)
	var answer calendar.Page
	link, before, _ := readCursor(q.Cursor)
	switch next := text(page.NextLink); {
	case next != "" && next == link:
		return answer, endless()
	case next != "":
		answer.Next = cursorTo(next, before+len(page.Value))
	}
	for _, e := range page.Value {
		event, err := toEvent(e, calendarID)
		if err != nil {
			return calendar.Page{}, err
		}
		if overlaps(instantOf(event.Start, zone), instantOf(event.End, zone), q.From, q.To) {
			answer.Events = append(answer.Events, event)
		}
	}
	return answer, nil
}

func overlaps(start, end, from, to time.Time) bool {
	if !start.Before(to) {
		return false
	}
	return end.After(from) || start.Equal(end) && start.Equal(from)
}

// instantOf returns the instant of a time. A whole day begins at the first midnight in the zone or, if clocks
// skip midnight, just after it.
func instantOf(t calendar.Time, zone *time.Location) time.Time {
	if !t.AllDay {
		return t.Instant
	}
	return timezone.Localize(t.Instant, zone)
}

// EventsOf reads pages of several calendars in batches. It fails if any part fails.
func (d *driver) EventsOf(ctx context.Context, queries []calendar.Query) ([]calendar.Page, error) {
	pages := make([]calendar.Page, 0, len(queries))
	for len(pages) < len(queries) {
		step := queries[len(pages):min(len(pages)+graph.MaxBatchParts, len(queries))]
		some, err := d.batch(ctx, step)
		if err != nil {
			return nil, err
		}
		pages = append(pages, some...)
	}
	return pages, nil
}

// batch reads up to graph.MaxBatchParts pages in one request, or in two if the answer is longer than upstream
// reads.
func (d *driver) batch(ctx context.Context, queries []calendar.Query) ([]calendar.Page, error) {
	pages, err := d.inOneBatch(ctx, queries)
	half := len(queries) / 2
	switch {
	case err == nil, fault.From(err).Reason != upstream.ReasonAnswerTooLarge:
		return pages, err
	case half == 0:
		return nil, ofOnePart(err)
	}
	if pages, err = d.batch(ctx, queries[:half]); err != nil {
		return nil, err
	}
	more, err := d.batch(ctx, queries[half:])
	return append(pages, more...), err
}

func (d *driver) inOneBatch(ctx context.Context, queries []calendar.Query) ([]calendar.Page, error) {
	ids, addresses := make([]string, len(queries)), make([]string, len(queries))
	for i, q := range queries {
		id, err := d.calendarID(ctx, q.CalendarID)
		if err != nil {
			return nil, err
		}
		if addresses[i], err = d.pageAddress(id, q); err != nil {
			return nil, err
		}
		ids[i] = id
	}
	parts, err := d.postBatch(ctx, addresses, preferText)
	if err != nil {
		return nil, err
	}
	pages := make([]calendar.Page, len(queries))
	for i, q := range queries {
		page, err := d.part(parts[i])
		if err == nil {
			pages[i], err = toPage(page, ids[i], q)
		}
		if err != nil {
			return nil, ofOnePart(err)
		}
	}
	return pages, nil
}

// ofOnePart returns an error as that of one of several queries.
func ofOnePart(err error) error { return fault.From(err).Because(calendar.ErrOnePart) }

// postBatch reads up to graph.MaxBatchParts pages of events in one request. It returns the answers in the
// order of the addresses, and nil for one that is missing.
func (d *driver) postBatch(
	ctx context.Context, addresses []string, prefer string,
) ([]*graph.BatchAnswer, error) {
	var request graph.BatchRequest
	for i, address := range addresses {
		request.Requests = append(request.Requests, graph.BatchPart{
			ID: strconv.Itoa(i), Method: "GET", Address: address, Headers: map[string]string{"Prefer": prefer},
		})
	}
	// Outlook runs up to four parts at a time by itself (learn.microsoft.com/graph/json-batching, "Request
	// dependencies").
	about := exchange{slots: min(atOnce, int64(len(addresses)))}
	response, err := ask[graph.BatchResponse](upstream.ForListing(ctx), d, about,
		graph.Request{Method: http.MethodPost, Path: "/$batch", Body: request})
	if err != nil {
		return nil, err
	}
	answers := make([]*graph.BatchAnswer, len(addresses))
	for _, a := range response.Responses {
		if i, err := strconv.Atoi(text(a.ID)); err == nil && i >= 0 && i < len(answers) {
			answers[i] = a
		}
	}
	return answers, nil
}

// pageAddress returns the address of the page of a query, relative to the API.
func (d *driver) pageAddress(calendarID string, q calendar.Query) (string, error) {
	if link, _, _ := readCursor(q.Cursor); link != "" {
		return d.follow(link)
	}
	query, err := viewOf(q, smallTop)
	if err != nil {
		return "", err
	}
	return d.firstPage(calendarID, query).Address()
}

// part returns the page from the response to a part of a batch. The status of the batch as a whole does not
// cover its parts.
func (d *driver) part(answer *graph.BatchAnswer) (*graph.EventCollectionResponse, error) {
	if answer == nil || answer.Status == nil {
		return nil, unreadable(&graph.Unreadable{Reason: "a batch lacks the answer of a part"}, false)
	}
	if refusal := answer.Refusal(); refusal != nil {
		return nil, d.faultOf(refusal, exchange{missing: noCalendar()})
	}
	if answer.Page == nil {
		return nil, noList()
	}
	return answer.Page, nil
}
