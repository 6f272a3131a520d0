package caldav

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/upstream"
)

// listed is an event with the instant of its start. Local times are read in the zone of the query.
type listed struct {
	calendar.Event
	start time.Time
}

// cursor returns the event's position in a listing. It stays valid when earlier events are added or removed.
func (l listed) cursor() string { return fmt.Sprintf("%020d %s", l.start.Unix()+1<<40, l.ID) }

func page(list []listed, cursor string, limit int) calendar.Page {
	slices.SortFunc(list, func(x, y listed) int { return strings.Compare(x.cursor(), y.cursor()) })
	list = slices.DeleteFunc(list, func(l listed) bool { return cursor != "" && l.cursor() <= cursor })
	p := calendar.Page{Events: []calendar.Event{}}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		p.Next = list[limit-1].cursor()
	}
	for _, l := range list {
		p.Events = append(p.Events, l.Event)
	}
	return p
}

// located is an object and its resource.
type located struct {
	resource
	object *object
}

// search returns the objects that may have instances between from and to. Servers differ in the series that a
// time range finds: some check only the first instance (Xandikos 0.2), some RRULE but not RDATE
// (sabre/vobject, VEvent::isInTimeRange), some every instance. So the driver also reads the series, in
// parallel, unless the connection's trust_time_range is set.
//
// The objects occupy the budget for decoded responses until release is called.
func (d *driver) search(
	ctx context.Context, a *account, target calendarCollection, from, to time.Time,
) (found []located, release func(), err error) {
	// One more day on either side: the server chooses the zone of dates and floating times.
	const margin = 24 * time.Hour
	filter := `<c:time-range start="` + utc(from.Add(-margin)) + `" end="` + utc(to.Add(margin)) + `"/>`
	var inRange []resource
	var series *seriesSet
	var examined bool
	group, both := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		inRange, err = d.report(both, a, target, filter)
		return err
	})
	if !d.settings.TrustTimeRange {
		group.Go(func() (err error) {
			series, examined, err = d.seriesOf(both, a, target)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	objects, release, err := d.decode(ctx, inRange, series)
	if err != nil || d.settings.TrustTimeRange {
		return objects, release, err
	}
	if !series.trusted && series.overlooks(objects) {
		if !examined { // the synchronization did not report it, or not yet
			release() // occupy no budget while waiting for the server
			if series, err = d.examine(ctx, a, target); err != nil {
				return nil, nil, err
			}
			if objects, release, err = d.decode(ctx, inRange, series); err != nil {
				return nil, nil, err
			}
		}
		series = series.with(objects)
	}
	d.series.put(target.ID, series, d.now())
	if found, err = series.join(objects); err != nil {
		release()
		return nil, nil, err
	}
	return found, release, nil
}

// decode parses the objects within the budget for decoded responses. It also reserves room for the series.
func (d *driver) decode(
	ctx context.Context, list []resource, series *seriesSet,
) (objects []located, release func(), err error) {
	size, lines := 0, 0
	take := func(r resource) {
		size += len(r.data)
		lines += bytes.Count(r.data, []byte("\n")) + bytes.Count(r.data, []byte("\r"))
	}
	for _, r := range list {
		take(r)
	}
	if series != nil {
		for _, r := range series.objects {
			take(r)
		}
	}
	release, err = upstream.Decoding(ctx, d.http, size, lines)
	if err != nil {
		return nil, nil, err
	}
	if objects, err = readAll(list, zones{}); err != nil {
		release()
		return nil, nil, err
	}
	return objects, release, nil
}

// readAll parses the objects. It leaves out those without events: Bedework lists tasks too, whichever component the
// filter names (python-caldav, compatibility_hints.py).
func readAll(list []resource, known zones) ([]located, error) {
	objects := make([]located, 0, len(list))
	for _, r := range list {
		o, err := readObject(r.data, known)
		if errors.Is(err, errNoneAtAll) {
			continue
		}
		if err != nil {
			return nil, unreadable(r.id, err)
		}
		for _, each := range o.all() {
			objects = append(objects, located{r, each})
		}
	}
	return objects, nil
}

// overlooks reports whether the objects that the server found by time contradict the set: a series is not in
// the set, or the set holds another version of an object.
func (s *seriesSet) overlooks(objects []located) bool {
	return slices.ContainsFunc(objects, func(l located) bool {
		known, there := s.objects[l.id]
		return there && known.version != l.version || !there && l.object.recurs()
	})
}

// with returns a copy of the set, updated with the series among the objects.
func (s *seriesSet) with(objects []located) *seriesSet {
	more := *s
	more.objects = maps.Clone(s.objects)
	for _, l := range objects {
		delete(more.objects, l.id)
	}
	for _, l := range objects {
		if l.object.recurs() {
			more.objects[l.id] = l.resource
		}
	}
	return &more
}

// join adds the series of the set to the objects that the server found by time.
func (s *seriesSet) join(objects []located) ([]located, error) {
	found := map[string]bool{}
	for _, l := range objects {
		found[l.id] = true
	}
	var more []resource
	for id, r := range s.objects {
		if !found[id] {
			more = append(more, r)
		}
	}
	series, err := readAll(more, zones{})
	return append(objects, series...), err
}

// refusesFilter reports whether the error means that the server rejects a filter by property (RFC 4791
// section 7.8, precondition supported-filter). The time ranges of such a server have to be trusted. An answer that
// cannot be read, such as a proxy's page, rejects nothing.
func refusesFilter(err error) bool {
	if err == nil {
		return false
	}
	f := fault.From(err)
	switch f.Code {
	case fault.Invalid, fault.Forbidden, fault.Unsupported, fault.Conflict:
		return f.Reason != fault.ReasonProviderMisconfigured
	}
	return false
}

func utc(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// report returns the objects whose events pass the filter (RFC 4791 section 7.8).
func (d *driver) report(
	ctx context.Context, a *account, target calendarCollection, filter string,
) ([]resource, error) {
	body := `<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">` + objectProps +
		`<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT">` + filter +
		`</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>`
	m, answered, err := d.query(ctx, methodReport, target.url, "1", body)
	if err != nil {
		if answered.status == http.StatusNotFound || answered.status == http.StatusGone {
			return nil, d.missing(ctx, target.ID, answered)
		}
		return nil, err
	}
	return d.members(a, target, m, answered)
}

// objectProps are the properties to read of listed objects. The schedule-tag is not among them: only writing
// an object needs it, and DAViCal reads each object from its database again to return it.
const objectProps = `<d:prop><d:getetag/><c:calendar-data/></d:prop>`

// members returns the objects of a multistatus.
func (d *driver) members(
	a *account, target calendarCollection, m multistatus, answered answer,
) ([]resource, error) {
	var list []resource
	for _, r := range m.Responses {
		address, ok := answered.resolve(r.Href)
		if !ok {
			return nil, misconfigured("names an event by an address that cannot be used")
		}
		id := d.id(a, address)
		if status := statusOf(r.Status); status == http.StatusInsufficientStorage {
			return nil, tooMany() // truncated (RFC 4791 section 7.8, number-of-matches-within-limits)
		} else if status == http.StatusNotFound || !within(target.ID, id) {
			continue
		}
		p := r.properties()
		if p.Data == "" {
			return nil, misconfigured("lists events without their data")
		}
		list = append(list, newResource(id, target.ID, address, p))
	}
	return list, nil
}
