package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/fair"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// Calendar implements the operations on meetings.
type Calendar struct {
	opts    *Options
	journal *journal.Journal
	kept    *keptCalendars
	recent  *recentLocations
	hours   *cache[*slots.Hours]  // owners' working hours; nil: the provider does not tell them
	long    *cache[time.Duration] // by calendar: the shortest window whose list took several pages
	room    *fair.Shares          // for lists of events
}

const rememberHours = time.Hour

func newCalendar(o *Options, j *journal.Journal) *Calendar {
	return &Calendar{
		opts: o, journal: j, recent: newRecentLocations(), kept: newKeptCalendars(),
		hours: newCache[*slots.Hours](o.Now, rememberHours),
		long:  newCache[time.Duration](o.Now, rememberLong),
		room:  fair.NewShares(maxListUnits),
	}
}

func (s *Calendar) operations() []journal.Operation {
	// The provider itself keeps the changes of one event in order.
	inOrder := func(context.Context, store.Intent) error { return nil }
	return []journal.Operation{
		{Name: opBook, Resume: resume(s.opts, s.open, s.book)},
		{Name: opUpdate, Resume: resume(s.opts, s.open, s.update), Idempotent: true, Supersede: inOrder},
		{Name: opCancel, Resume: resume(s.opts, s.open, s.cancel), Idempotent: true},
		{Name: opHold, Resume: resume(s.opts, s.open, s.hold), Idempotent: true},
		{Name: opReleaseHold, Resume: resume(s.opts, s.open, s.releaseHold), Idempotent: true},
	}
}

// calendarClient is one caller's calendar connection, ready to use.
type calendarClient struct {
	opts       *Options
	driver     calendar.Driver
	connection connection.Connection
	endpoint   endpoint
	kept       *keptCalendars
	view       *view // of the account's calendars, within a call of withCalendars; nil: none
	hours      *cache[*slots.Hours]
	long       *cache[time.Duration]
	room       *fair.Shares
	tenant     tenant.Tenant
	traits     calendar.Traits
	sandbox    bool
}

// open opens the caller's calendar connection.
func (s *Calendar) open(ctx context.Context, c apikey.Caller) (calendarClient, error) {
	opened, err := s.opts.Drivers.Calendar(ctx, c.Tenant, c.Connections)
	if err != nil {
		return calendarClient{}, err
	}
	return s.newClient(c, opened), nil
}

func (s *Calendar) newClient(c apikey.Caller, o connection.Opened[calendar.Driver]) calendarClient {
	traits := o.Driver.Traits()
	client := calendarClient{
		opts: s.opts, driver: o.Driver, connection: o.Connection, kept: s.kept, hours: s.hours,
		long: s.long, room: s.room, tenant: c.Tenant, traits: traits, sandbox: o.Target.Sandbox,
		endpoint: newEndpoint(s.opts, o, traits.MaxConcurrent, o.Driver.Account),
	}
	client.endpoint.missing = client.calendarMissing
	return client
}

// listCalendars returns the account's calendars: those that are kept, or else the provider's answer.
func (c calendarClient) listCalendars(ctx context.Context) ([]calendar.Calendar, error) {
	if known, sure := c.known(ctx); sure {
		return known.list(), nil
	}
	return c.readCalendars(ctx)
}

// findCalendar returns the calendar with an id, or the default one for "". It does not reject an id that the
// account does not list: the provider may know shared calendars that it does not list.
func (c calendarClient) findCalendar(ctx context.Context, id string) (calendar.Calendar, error) {
	if c.view != nil {
		return c.view.find(id)
	}
	all, err := c.listCalendars(ctx)
	if err != nil {
		return calendar.Calendar{}, err
	}
	return findIn(all, id)
}

func findIn(all []calendar.Calendar, id string) (calendar.Calendar, error) {
	i := slices.IndexFunc(all, func(c calendar.Calendar) bool {
		return c.ID == id || id == "" && c.IsDefault || id != "" && c.Alias == id
	})
	if i < 0 && id == "" {
		return calendar.Calendar{}, fault.New(fault.NotFound, fault.ReasonCalendarNotFound,
			"The account has no default calendar. Name one in selected_calendar_ids, or set the connection's default.")
	}
	if i < 0 {
		return calendar.Calendar{ID: id}, nil
	}
	return all[i], nil
}

// zone returns the zone in which times are read and shown: the requested one, else the calendar's, else the
// tenant's.
func (c calendarClient) zone(ctx context.Context, requested, calendarID string) (*time.Location, error) {
	if requested != "" {
		return c.loadZone(requested)
	}
	cal, err := c.findCalendar(ctx, calendarID)
	if err != nil {
		return nil, err
	}
	return c.zoneOf(cal)
}

// zoneOf returns the calendar's zone, or else the tenant's.
func (c calendarClient) zoneOf(cal calendar.Calendar) (*time.Location, error) {
	if cal.Zone != "" {
		if zone, err := normalize.LoadZone(cal.Zone); err == nil {
			return zone, nil
		}
	}
	return c.loadZone(c.tenant.Zone())
}

// zoneWithin is how long somebody who asks for the date waits for the zone of a calendar that is not known yet.
const zoneWithin = time.Second

// Zone returns the zone of the business that a caller acts for, which is UTC if none is known in time.
func (s *Calendar) Zone(ctx context.Context, c apikey.Caller) *time.Location {
	ctx, cancel := context.WithTimeout(ctx, zoneWithin)
	defer cancel()
	if zone, err := normalize.LoadZone(s.ZoneName(ctx, c)); err == nil {
		return zone
	}
	return time.UTC
}

// ZoneName returns the name of that zone: that of the default calendar, in which slots are offered, as the provider
// tells it or else as it was known last, or that of the tenant's settings. "": neither is known.
func (s *Calendar) ZoneName(ctx context.Context, c apikey.Caller) string {
	if client, err := s.open(ctx, c); err == nil {
		office, err := client.findCalendar(ctx, "")
		if err != nil {
			office, err = findIn(client.kept.get(client.connection).list(), "")
		}
		if err == nil {
			return client.zoneName(office)
		}
	}
	return c.Tenant.Settings.Timezone
}

func (c calendarClient) loadZone(name string) (*time.Location, error) {
	zone, err := normalize.LoadZone(name)
	if err != nil {
		return nil, fault.InvalidField("timezone", err.Error())
	}
	return zone, nil
}

// requestedZone returns the zone that the request names, or nil if it names none.
func (c calendarClient) requestedZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	return c.loadZone(name)
}

// checkAttendees returns an error for more of them than the account supports, before anything is recorded.
func (c calendarClient) checkAttendees(attendees []string) error {
	if most := c.traits.MaxAttendees; most > 0 && len(attendees) > most {
		return fault.InvalidFields(fault.Field{
			Path: "attendee_emails", Message: "has more addresses than the connected calendar allows.",
		})
	}
	return nil
}

// first returns the first of ids, or "" if there is none.
func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// Calendars lists the caller's calendars, as the provider tells them now.
func (s *Calendar) Calendars(ctx context.Context, c apikey.Caller) (record.CalendarsAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.CalendarsAnswer{}, err
	}
	all, err := client.readCalendars(ctx)
	if err != nil {
		return record.CalendarsAnswer{}, err
	}
	list := make([]record.Calendar, 0, len(all))
	for _, cal := range all {
		list = append(list, record.Calendar{ID: cal.ID, Name: cal.Name})
	}
	return record.CalendarsAnswer{Calendars: list}, nil
}

// Verify asks the provider whether it accepts the credentials now. It returns no error if nothing is
// connected or the provider rejects the credentials. It returns an error if it cannot find out.
func (s *Calendar) Verify(ctx context.Context, c apikey.Caller) (record.VerifyAnswer, error) {
	opened, err := s.opts.Drivers.CalendarToVerify(ctx, c.Tenant, c.Connections)
	if f := fault.From(err); err != nil {
		if f.Reason == fault.ReasonNotConnected {
			return record.VerifyAnswer{}, nil
		}
		return record.VerifyAnswer{}, err
	}
	client := s.newClient(c, opened)
	account, err := ask(ctx, client.endpoint, read("verify-calendar-connection"), client.driver.Account)
	if f := fault.From(err); err != nil {
		if f.Code == fault.Disconnected {
			return record.VerifyAnswer{Email: client.connection.Email}, nil
		}
		return record.VerifyAnswer{}, err
	}
	if err := s.opts.Connections.MarkVerified(ctx, client.connection, account.Email); err != nil {
		s.opts.Log.ErrorContext(ctx, "a connection could not be marked as verified",
			"connection", client.connection.ID, "error", err)
	}
	return record.VerifyAnswer{OK: true, Email: cmp.Or(account.Email, client.connection.Email)}, nil
}
