package microsoft

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

// driver is one mailbox.
type driver struct {
	settings settings // without the credentials
	api      *graph.Client
	base     *url.URL       // of the API
	zone     *time.Location // of the tenant
	now      func() time.Time

	// slots limits the requests that run on the mailbox at one time. The guard counts calls; a batch is
	// several requests.
	slots *semaphore.Weighted

	smallPages atomic.Bool // a page of events was too large

	mu       sync.Mutex
	standard string              // id of the default calendar, once it is known
	meetings map[string]meetings // by calendar id
}

var (
	_ calendar.Driver      = (*driver)(nil)
	_ calendar.FreeBusyer  = (*driver)(nil)
	_ calendar.ManyLister  = (*driver)(nil)
	_ calendar.HoursTeller = (*driver)(nil)
)

// atOnce is how many requests Outlook runs for one app and mailbox at a time; it refuses a fifth one with
// MailboxConcurrency (learn.microsoft.com/graph/throttling-limits, "Outlook service limits").
const atOnce = 4

func open(_ context.Context, s settings, env adapter.Environment) (calendar.Driver, error) {
	base, err := url.Parse(strings.TrimRight(env.Addresses["api_url"], "/"))
	if err != nil || base.Host == "" {
		return nil, misconfigured("has an address that cannot be read")
	}
	zone, err := timezone.Load(env.Zone)
	if err != nil {
		return nil, fault.From(err)
	}
	s.RefreshToken, s.ClientSecret = "", "" // the client holds them
	return &driver{
		settings: s, api: graph.New(env.HTTP, base.String()), base: base, zone: zone, now: env.Now,
		slots: semaphore.NewWeighted(atOnce), meetings: map[string]meetings{},
	}, nil
}

// maxAttendees is how many attendees Exchange Online accepts in one meeting
// (learn.microsoft.com/graph/api/resources/event, property attendees).
const maxAttendees = 500

// Traits returns what Exchange supports. A repeated POST with the same transactionId creates no second event;
// see Book.
func (d *driver) Traits() calendar.Traits {
	return calendar.Traits{
		IdempotentBook: true, SendsInvites: true, Instances: true, Conferencing: true, LocationURL: true,
		MaxAttendees: maxAttendees, MaxConcurrent: atOnce,
	}
}

// The preferences of requests. Without immutable ids, an event that is moved to another folder gets another
// id; they apply only if every request asks for them (learn.microsoft.com/graph/outlook-immutable-id).
// Without a zone Graph currently returns times in UTC, otherwise in the zone of the header.
const (
	immutable  = `IdType="ImmutableId"`
	inUTC      = `outlook.timezone="UTC"`
	asText     = `outlook.body-content-type="text"`
	asPage     = `outlook.body-content-type="html"`
	preferText = immutable + ", " + inUTC + ", " + asText
	preferPage = immutable + ", " + inUTC + ", " + asPage
)

// exchange describes a request, which decides what an error response means.
type exchange struct {
	// missing is the fault if Graph reports that something does not exist; nil if nothing can be missing.
	missing *fault.Error
	writes  bool
	slots   int64
}

// ask sends one request, within the limit of slots.
func ask[T any](ctx context.Context, d *driver, about exchange, r graph.Request) (*T, error) {
	n := max(about.slots, 1)
	if err := d.slots.Acquire(ctx, n); err != nil {
		return nil, fault.Unacted(err)
	}
	defer d.slots.Release(n)
	answer, err := graph.Send[T](ctx, d.api, r)
	if err != nil {
		return nil, d.faultOf(err, about)
	}
	return answer, nil
}

// user returns the path of the user whose calendars are used. With application permissions there is no /me.
func (d *driver) user() string {
	if d.settings.Mailbox != "" {
		return "/users/" + graph.Escape(d.settings.Mailbox)
	}
	return "/me"
}

// reading returns the request that reads these fields of what is at a path.
func reading(path string, fields []string, prefer string) graph.Request {
	return graph.Request{Path: path, Query: &graph.Query{Select: fields}, Prefer: prefer}
}

// Account returns whose account it is. Application permissions on calendars do not allow reading the user.
// Account then returns the owner of the calendar, which proves that the mailbox exists as well.
func (d *driver) Account(ctx context.Context) (calendar.Account, error) {
	if d.settings.Mailbox != "" {
		return d.owner(ctx)
	}
	fields := []string{"id", "displayName", "mail", "userPrincipalName"}
	user, err := ask[graph.User](ctx, d, exchange{}, reading(d.user(), fields, immutable))
	if err != nil {
		return calendar.Account{}, err
	}
	account := calendar.Account{Email: text(user.Mail), Name: text(user.DisplayName)}
	if account.Email != "" {
		return account, nil
	}
	// Personal accounts have no mail. Their sign-in name is an address. In a directory it may be none, and
	// that of a guest contains #EXT#.
	owner, err := d.owner(ctx)
	switch name := text(user.UserPrincipalName); {
	case err != nil:
		return calendar.Account{}, err
	case owner.Email != "":
		account.Email = owner.Email
	case !strings.Contains(name, "#EXT#"):
		account.Email = name
	}
	return account, nil
}

func (d *driver) owner(ctx context.Context) (calendar.Account, error) {
	c, err := d.readStandard(ctx)
	if err != nil || c.Owner == nil {
		return calendar.Account{}, err
	}
	return calendar.Account{Email: text(c.Owner.Address), Name: text(c.Owner.Name)}, nil
}

var calendarFields = []string{
	"id", "name", "canEdit", "isDefaultCalendar", "owner", "allowedOnlineMeetingProviders",
	"defaultOnlineMeetingProvider",
}

// readStandard reads the mailbox's default calendar and remembers its id.
func (d *driver) readStandard(ctx context.Context) (*graph.Calendar, error) {
	c, err := d.readCalendar(ctx, d.user()+"/calendar")
	if err != nil {
		return nil, err
	}
	if text(c.ID) == "" {
		return nil, misconfigured("returns a calendar without an id")
	}
	d.mu.Lock()
	d.standard = *c.ID
	d.mu.Unlock()
	d.learn(c)
	return c, nil
}

func (d *driver) readCalendar(ctx context.Context, path string) (*graph.Calendar, error) {
	return ask[graph.Calendar](ctx, d, exchange{missing: noCalendar()}, reading(path, calendarFields, immutable))
}

// calendarID returns the given id, or that of the default calendar for "", as it was listed or read last.
func (d *driver) calendarID(ctx context.Context, id string) (string, error) {
	if id == "" {
		id = d.settings.CalendarID
	}
	if id != "" {
		if !segment(id) {
			return "", noCalendar()
		}
		return id, nil
	}
	d.mu.Lock()
	id = d.standard
	d.mu.Unlock()
	if id != "" {
		return id, nil
	}
	c, err := d.readStandard(ctx)
	if err != nil {
		return "", err
	}
	return *c.ID, nil
}

// segment reports whether an id can be a segment of a path. All other ids are escaped, but not these,
// which would lead to another path.
func segment(id string) bool { return id != "" && id != "." && id != ".." }

// calendar returns the path of a calendar.
func (d *driver) calendar(id string) string { return d.user() + "/calendars/" + graph.Escape(id) }

// event returns the path of an event.
func (d *driver) event(calendarID, id string) string {
	return d.calendar(calendarID) + "/events/" + graph.Escape(id)
}

// Calendars returns the mailbox's calendars. Graph does not report the zone of a calendar, and reading that
// of the mailbox requires another permission.
func (d *driver) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	const most = 100
	request := graph.Request{
		Path: d.user() + "/calendars", Query: &graph.Query{Select: calendarFields, Top: new(int32(most))}, Prefer: immutable,
	}
	var all []calendar.Calendar
	for range mostPages {
		page, err := ask[graph.CalendarCollectionResponse](ctx, d, exchange{}, request)
		if err != nil {
			return nil, err
		}
		if page.Value == nil {
			return nil, noList()
		}
		for _, c := range page.Value {
			d.learn(c)
			isDefault := is(c.IsDefaultCalendar)
			if isDefault && text(c.ID) != "" { // it may be another one since, as in a mailbox that was restored
				d.mu.Lock()
				d.standard = *c.ID
				d.mu.Unlock()
			}
			if d.settings.CalendarID != "" {
				isDefault = text(c.ID) == d.settings.CalendarID
			}
			all = append(all, calendar.Calendar{
				ID: text(c.ID), Name: text(c.Name), IsDefault: isDefault, ReadOnly: c.CanEdit != nil && !*c.CanEdit,
			})
		}
		next := text(page.NextLink)
		if next == "" {
			return all, nil
		}
		address, err := d.follow(next)
		if err != nil {
			return nil, err
		}
		request = graph.Request{Path: address, Prefer: immutable}
	}
	return nil, endless()
}

// mostPages limits how many pages are followed, in case the links form a circle.
const mostPages = 100

// follow returns the address of a further page, relative to the API's. It fails unless the address is within
// the API, since the token is sent to it.
func (d *driver) follow(link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil || u.User != nil || u.Scheme != d.base.Scheme || !strings.EqualFold(u.Host, d.base.Host) ||
		!strings.HasPrefix(u.EscapedPath(), d.base.EscapedPath()+"/") ||
		slices.Contains(strings.Split(u.Path, "/"), "..") {
		return "", misconfigured("names a next page at an address that is not its own")
	}
	return strings.TrimPrefix(u.RequestURI(), d.base.EscapedPath()), nil
}

// meetings is the kind of online meetings that a calendar can have.
type meetings struct {
	provider string
	until    time.Time
}

// remembered is how long the online meetings of a calendar are taken to stay the same.
const remembered = time.Hour

// learn remembers the kind of online meetings that a calendar can have, and returns it. That a calendar can
// have none is not remembered, since a licence may be added any time.
func (d *driver) learn(c *graph.Calendar) string {
	provider := meetingProvider(c)
	if provider != "" && text(c.ID) != "" {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.meetings[*c.ID] = meetings{provider, d.now().Add(remembered)}
	}
	return provider
}

// meetingProvider returns the default kind of online meetings in a calendar if it is allowed, else another
// kind that is allowed, else "".
func meetingProvider(c *graph.Calendar) string {
	const teams, none = "teamsForBusiness", "unknown"
	allowed := slices.DeleteFunc(slices.Clone(c.AllowedOnlineMeetingProviders),
		func(p string) bool { return p == none || p == "" })
	usual := text(c.DefaultOnlineMeetingProvider)
	switch {
	case len(allowed) == 0:
		return ""
	case slices.Contains(allowed, usual):
		return usual
	case slices.Contains(allowed, teams):
		return teams
	}
	return allowed[0]
}

// online returns the kind of online meeting to request. It is checked before booking, since an account that
// has none gets an event without a link and no error (elie222/inbox-zero#3442).
func (d *driver) online(ctx context.Context, calendarID string) (string, error) {
	d.mu.Lock()
	known := d.meetings[calendarID]
	d.mu.Unlock()
	if known.provider != "" && d.now().Before(known.until) {
		return known.provider, nil
	}
	c, err := d.readCalendar(ctx, d.calendar(calendarID))
	if err != nil {
		return "", err
	}
	provider := d.learn(c)
	if provider == "" {
		return "", noLink("The account's calendar does not offer online meetings: personal accounts and " +
			"those without a licence for Teams have none. Book with a link of your own, or connect an " +
			"account that has them.")
	}
	return provider, nil
}
