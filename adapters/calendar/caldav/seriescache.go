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

	"golang.org/x/sync/errgroup"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/fault"
)

// seriesSet is every series of one calendar as of a sync token (RFC 6578). It is not changed once made.
type seriesSet struct {
	token    string // "" where the server has none, or nothing may be kept
	objects  map[string]resource
	examined time.Time // when the server was last asked for all of them
	trusted  bool      // the server does not find series by what makes them, so that its time range has to do
}

// seriesCache keeps the series of each calendar, by the calendar's id.
type seriesCache struct {
	mu      sync.Mutex
	sets    map[string]*seriesSet
	refused map[string]string // the token from which a calendar could not be synchronized
}

const (
	examineAgain    = time.Hour // a server whose synchronization forgets something is found out by then
	maxSeriesBytes  = 8 << 20   // of one calendar
	maxSyncMultiget = 200
)

func (c *seriesCache) get(calendarID string, now time.Time) *seriesSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.sets[calendarID]
	if set == nil || now.Sub(set.examined) >= examineAgain {
		return nil
	}
	return set
}

// put keeps a set, if it has a token that the server has not refused and is not too large.
func (c *seriesCache) put(calendarID string, set *seriesSet) {
	size := 0
	for _, r := range set.objects {
		size += len(r.data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	current := set.token != "" && set.token != c.refused[calendarID] && size <= maxSeriesBytes
	if !current && !set.trusted {
		delete(c.sets, calendarID)
		return
	}
	if c.sets == nil {
		c.sets = map[string]*seriesSet{}
	}
	c.sets[calendarID] = set
}

// refuse remembers that a calendar cannot be synchronized from a token: it is tried again when the server has
// another one.
func (c *seriesCache) refuse(calendarID, token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sets, calendarID)
	if c.refused == nil {
		c.refused = map[string]string{}
	}
	c.refused[calendarID] = token
}

// seriesOf returns every series of a calendar: those that are known, brought up to date by one request, or
// else those that the server finds when it is examined.
func (d *driver) seriesOf(
	ctx context.Context, a *account, target calendarCollection,
) (set *seriesSet, examined bool, err error) {
	known := d.series.get(target.ID, d.now())
	if known != nil && known.trusted {
		return known, true, nil
	}
	if known != nil {
		set, answered, err := d.synchronize(ctx, a, target, known)
		if err == nil || !cannotSync(answered, err) {
			return set, false, err
		}
		d.series.refuse(target.ID, target.syncToken)
	}
	set, err = d.examine(ctx, a, target)
	return set, true, err
}

// errUnsynced is an answer to a synchronization that cannot be built on.
var errUnsynced = errors.New("caldav: the answer does not tell all that changed")

// cannotSync reports whether the server answered and will not tell what changed: it forgot the token (RFC
// 6578 section 3.2, valid-sync-token), it never had the report, or it fails over it. What ails the connection
// ails the examination too.
func cannotSync(answered answer, err error) bool {
	return errors.Is(err, errUnsynced) || refusesFilter(err) || errors.Is(err, fault.NotFound) ||
		answered.status == http.StatusInternalServerError
}

// recurringFilters find the objects that have more events than the one at DTSTART. RFC 4791 has no "or": each
// is a query.
var recurringFilters = []string{
	`<c:prop-filter name="RRULE"/>`, `<c:prop-filter name="RDATE"/>`, `<c:prop-filter name="RECURRENCE-ID"/>`,
}

// examine asks for all series. Of a server that takes no filter by property and answers everything, only the
// series are kept. The token is older than the answers: what changed in between is told twice.
func (d *driver) examine(ctx context.Context, a *account, target calendarCollection) (*seriesSet, error) {
	set := &seriesSet{token: target.syncToken, objects: map[string]resource{}, examined: d.now()}
	found, refused := make([][]resource, len(recurringFilters)), make([]bool, len(recurringFilters))
	group, ctx := errgroup.WithContext(ctx)
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

// mayRecur reports whether an object is a series. One that cannot be read may be, if it has what makes one.
func mayRecur(data []byte, known zones) bool {
	o, err := readObject(data, known)
	switch {
	case err == nil:
		return o.recurs()
	case errors.Is(err, errNoEvent), errors.Is(err, ical.ErrNone):
		return false
	}
	_, event, _ := strings.Cut(string(data), "BEGIN:VEVENT")
	return slices.ContainsFunc([]string{"RRULE", "RDATE", "RECURRENCE-ID"}, func(name string) bool {
		return strings.Contains(event, "\n"+name)
	})
}

// synchronize brings a set up to date by what changed since its token (RFC 6578 section 3.2).
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
	var bare []string // told to have changed, without the data
	for _, r := range m.Responses {
		address, ok := answered.resolve(r.Href)
		if !ok {
			return nil, answered, errUnsynced
		}
		id, p := d.id(a, address), r.properties()
		switch status := statusOf(r.Status); {
		case status == http.StatusInsufficientStorage: // there is more (RFC 6578 section 3.6)
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

// hold takes an object as it now is.
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

// escapeXML returns a text as it is written in XML.
func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}

// newResource returns an object as a multistatus tells it.
func newResource(id, calendarID string, address *url.URL, p prop) resource {
	r := resource{id: id, url: address, calendarID: calendarID, data: []byte(p.Data)}
	r.identify(p.ETag, "")
	return r
}
