package caldav

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// listed is an event with the instant it starts at for who asked.
type listed struct {
	calendar.Event
	start time.Time
}

// cursor names the event's place in the order of a listing: it holds, whatever comes or goes before it.
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

// search finds the objects that may have instances within a time. Some servers look at the first instance of a series
// only, so the series are asked for as well, at the same time, unless the connection trusts its server.
func (d *driver) search(ctx context.Context, a *account, target place, from, to time.Time) ([]resource, error) {
	// A day more on either side: a server places days and floating times in a zone of its own choice.
	const margin = 24 * time.Hour
	filters := []string{`<c:time-range start="` + utc(from.Add(-margin)) + `" end="` + utc(to.Add(margin)) + `"/>`}
	if !d.settings.TrustTimeRange {
		filters = append(filters, `<c:prop-filter name="RRULE"/>`, `<c:prop-filter name="RDATE"/>`)
	}
	found := make([][]resource, len(filters))
	group, ctx := errgroup.WithContext(ctx)
	for i, filter := range filters {
		group.Go(func() (err error) {
			found[i], err = d.report(ctx, a, target, filter)
			if i > 0 && refusesFilter(err) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Concat(found...), func(r resource) bool {
		twice := known[r.id]
		known[r.id] = true
		return twice
	}), nil
}

// refusesFilter reports whether a server does not take a filter by property (RFC 4791 section 7.8, the precondition
// supported-filter): such a server has to be trusted with times.
func refusesFilter(err error) bool {
	if err == nil {
		return false
	}
	switch fault.From(err).Code {
	case fault.Invalid, fault.Forbidden, fault.Unsupported, fault.Conflict:
		return true
	}
	return false
}

func utc(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// report asks for the objects whose events pass the filter (RFC 4791 section 7.8).
func (d *driver) report(ctx context.Context, a *account, target place, filter string) ([]resource, error) {
	body := `<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">` +
		`<d:prop><d:getetag/><c:schedule-tag/><c:calendar-data/></d:prop>` +
		`<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT">` + filter +
		`</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>`
	m, answered, err := d.query(ctx, methodReport, target.url, "1", body)
	if err != nil {
		if answered.status == http.StatusNotFound || answered.status == http.StatusGone {
			return nil, d.missing(ctx, target.ID, answered)
		}
		return nil, err
	}
	var list []resource
	for _, r := range m.Responses {
		address, err := answered.url.Parse(strings.TrimSpace(r.Href))
		if err != nil {
			return nil, misconfigured("names an event by an address that cannot be read")
		}
		id := d.id(a, address)
		if status := statusOf(r.Status); status == http.StatusInsufficientStorage {
			return nil, tooMany() // the answer was cut off (RFC 4791 section 7.8, number-of-matches-within-limits)
		} else if status == http.StatusNotFound || !within(target.ID, id) {
			continue
		}
		p := r.found()
		if p.Data == "" {
			return nil, misconfigured("lists events without their data")
		}
		found := resource{id: id, url: address, calendarID: target.ID, data: []byte(p.Data)}
		found.identify(p.ETag, p.ScheduleTag)
		list = append(list, found)
	}
	return list, nil
}
