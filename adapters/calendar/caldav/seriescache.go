package caldav

import (
	"context"
	"encoding/xml"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
)

// seriesSet holds every series of one calendar as of a sync token (RFC 6578). It is immutable once built.
type seriesSet struct {
	token    string // "" if the server cannot synchronize
	objects  map[string]resource
	examined time.Time // when the server was last asked for all of them
	trusted  bool      // the server rejects filters by property, so its time range has to be trusted
	refused  bool      // nothing is known but that the server cannot synchronize from the token
}

// seriesCache keeps the series of an account's calendars, by their ids.
type seriesCache struct {
	all *seriesMemory // which has the sets of all accounts

	mu    sync.Mutex
	first map[string]chan struct{}
}

const (
	examineAgain    = time.Hour // bounds how long a change that a synchronization omits stays unnoticed
	maxSyncMultiget = 200
)

func (c *seriesCache) get(calendarID string, now time.Time) *seriesSet {
	set := c.all.get(seriesKey{c, calendarID}, now)
	if set != nil && set.refused {
		return nil
	}
	return set
}

// mayKeep reports whether a set with the token would be stored, unless it is too large.
func (c *seriesCache) mayKeep(calendarID, token string, now time.Time) bool {
	there := c.all.get(seriesKey{c, calendarID}, now)
	return token != "" && (there == nil || !there.refused || token != there.token)
}

// begin returns nil to the first who examines a calendar of which no set is known, and who then calls end. To others,
// it returns what is closed by that.
func (c *seriesCache) begin(calendarID string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there, ok := c.first[calendarID]; ok {
		return there
	}
	if c.first == nil {
		c.first = map[string]chan struct{}{}
	}
	c.first[calendarID] = make(chan struct{})
	return nil
}

func (c *seriesCache) end(calendarID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.first[calendarID])
	delete(c.first, calendarID)
}

// put stores a set if it is trusted, or if it has a token that the server has not refused and is not too
// large. Otherwise it removes the calendar's set.
func (c *seriesCache) put(calendarID string, set *seriesSet, now time.Time) {
	switch {
	case set.trusted, c.mayKeep(calendarID, set.token, now) && set.bytes() <= maxSeriesBytes:
		c.all.put(seriesKey{c, calendarID}, set, now)
	case c.get(calendarID, now) != nil:
		c.all.drop(seriesKey{c, calendarID})
	}
}

// refuse records that a calendar cannot be synchronized from a token. Another token is tried again.
func (c *seriesCache) refuse(calendarID, token string, now time.Time) {
	c.all.put(seriesKey{c, calendarID}, &seriesSet{token: token, refused: true, examined: now}, now)
}

// seriesOf returns every series of a calendar. It updates a cached set with one synchronization, unless the
// set is trusted. Without a cached set, or if the server cannot synchronize, it examines the calendar. Of several that
// begin without one, the others wait for the first if its set will be kept, and then update that.
func (d *driver) seriesOf(
	ctx context.Context, a *account, target calendarCollection,
) (set *seriesSet, examined bool, err error) {
	known := d.series.get(target.ID, d.now())
	if known == nil && d.series.mayKeep(target.ID, target.syncToken, d.now()) {
		if first := d.series.begin(target.ID); first == nil {
			defer d.series.end(target.ID)
		} else {
			select {
			case <-first:
			case <-ctx.Done():
				return nil, false, fault.From(ctx.Err())
			}
		}
		known = d.series.get(target.ID, d.now())
	}
	if known != nil && known.trusted {
		return known, true, nil
	}
	if known != nil {
		set, answered, err := d.synchronize(ctx, a, target, known)
		if err == nil || !cannotSync(answered, err) {
			return set, false, err
		}
		d.series.refuse(target.ID, target.syncToken, d.now())
	}
	if set, err = d.examine(ctx, a, target); err == nil {
		d.series.put(target.ID, set, d.now())
	}
	return set, true, err
}

// errUnsynced means that the response to a synchronization is incomplete or unusable.
var errUnsynced = errors.New("caldav: the answer does not tell all that changed")

// cannotSync reports whether the server responds but cannot report changes: it forgot the token (RFC 6578
// section 3.2, valid-sync-token), does not support the report, or fails on it. Or they are more than it tells at once,
// which it may say without a reason (python-caldav/caldav#353), or than is read. A failure of the connection
// does not count, because it would affect examine too.
func cannotSync(answered answer, err error) bool {
	return errors.Is(err, errUnsynced) || refusesFilter(err) || errors.Is(err, fault.Unsupported) ||
		errors.Is(err, fault.NotFound) || errors.Is(err, fault.Exhausted) ||
		answered.status == http.StatusInternalServerError
}

// recurringFilters match the objects that have more events than the one at DTSTART. RFC 4791 has no "or", so
// each filter is a separate query.
var recurringFilters = []string{
	`<c:prop-filter name="RRULE"/>`, `<c:prop-filter name="RDATE"/>`, `<c:prop-filter name="RECURRENCE-ID"/>`,
}

// examine asks the server for all series. If the server ignores the filters and returns everything, examine
// keeps only the series. The token is older than the responses, so changes in between are reported twice.
func (d *driver) examine(ctx context.Context, a *account, target calendarCollection) (*seriesSet, error) {
	set := &seriesSet{token: target.syncToken, objects: map[string]resource{}, examined: d.now()}
	found, refused := make([][]resource, len(recurringFilters)), make([]bool, len(recurringFilters))
	group, ctx := parallel.WithContext(ctx)
	for i, filter := range recurringFilters {
		group.Go(func() (err error) {
			found[i], err = d.report(ctx, a, target, filter)
			if refused[i] = refusesFilter(err); refused[i] {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	set.trusted = !slices.Contains(refused, false)
	known := zones{}
	for _, r := range slices.Concat(found...) {
		if _, twice := set.objects[r.id]; !twice && mayRecur(r.data, known) {
			set.objects[r.id] = r
		}
	}
	return set, nil
}

// mayRecur reports whether an object is a series. An object that cannot be parsed counts as one if an event
// in it has a property that makes a series.
func mayRecur(data []byte, known zones) bool {
	o, err := readObject(data, known)
	switch {
	case err == nil:
		return slices.ContainsFunc(o.all(), (*object).recurs)
	case errors.Is(err, errNoEvent), errors.Is(err, ical.ErrNone):
		return false
	}
	_, event, _ := strings.Cut(string(data), "BEGIN:VEVENT")
	return slices.ContainsFunc([]string{"RRULE", "RDATE", "RECURRENCE-ID"}, func(name string) bool {
		return strings.Contains(event, "\n"+name)
	})
}

// synchronize returns the set updated with the changes since its token (RFC 6578 section 3.2).
func (d *driver) synchronize(
	ctx context.Context, a *account, target calendarCollection, set *seriesSet,
) (*seriesSet, answer, error) {
	body := `<d:sync-collection xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">` +
		`<d:sync-token>` + escapeXML(set.token) + `</d:sync-token>` +
		`<d:sync-level>1</d:sync-level>` + objectProps +
		`</d:sync-collection>`
	m, answered, err := d.query(ctx, methodReport, target.url, "0", body)
	if err != nil {
		return nil, answered, err
	}
	next := &seriesSet{token: strings.TrimSpace(m.SyncToken), objects: set.objects, examined: set.examined}
	if next.token == "" {
		return nil, answered, errUnsynced
	}
	if len(m.Responses) == 0 {
		return next, answered, nil
	}
	next.objects = maps.Clone(set.objects)
	known := zones{}
	var bare []string // reported as changed, without data
	for _, r := range m.Responses {
		address, ok := answered.resolve(r.Href)
		if !ok {
			return nil, answered, errUnsynced
		}
		id, p := d.id(a, address), r.properties()
		switch status := statusOf(r.Status); {
		case status == http.StatusInsufficientStorage: // the response is truncated (RFC 6578 section 3.6)
			return nil, answered, errUnsynced
		case !within(target.ID, id):
		case status == http.StatusNotFound, status == http.StatusGone:
			delete(next.objects, id)
		case p.Data == "":
			bare = append(bare, r.Href)
			delete(next.objects, id)
		default:
			next.hold(newResource(id, target.ID, address, p), known)
		}
	}
	if len(bare) > maxSyncMultiget {
		return nil, answered, errUnsynced
	}
	if len(bare) == 0 {
		return next, answered, nil
	}
	fresh, answered, err := d.multiget(ctx, a, target, bare)
	for _, r := range fresh {
		next.hold(r, known)
	}
	return next, answered, err
}

// hold stores the current version of an object if it may be a series, and drops the previous version.
func (s *seriesSet) hold(r resource, known zones) {
	delete(s.objects, r.id)
	if mayRecur(r.data, known) {
		s.objects[r.id] = r
	}
}

// multiget reads several objects (RFC 4791 section 7.9). Those that are gone are left out.
func (d *driver) multiget(
	ctx context.Context, a *account, target calendarCollection, hrefs []string,
) ([]resource, answer, error) {
	body := `<c:calendar-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">` + objectProps
	for _, href := range hrefs {
		body += `<d:href>` + escapeXML(strings.TrimSpace(href)) + `</d:href>`
	}
	m, answered, err := d.query(ctx, methodReport, target.url, "0", body+`</c:calendar-multiget>`)
	if err != nil {
		return nil, answered, err
	}
	found, err := d.members(a, target, m, answered)
	return found, answered, err
}

// escapeXML returns a text escaped for XML.
func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// newResource builds a resource from its properties in a multistatus.
func newResource(id, calendarID string, address *url.URL, p prop) resource {
	r := resource{id: id, url: address, calendarID: calendarID, data: []byte(p.Data)}
	r.identify(p.ETag, "")
	return r
}
