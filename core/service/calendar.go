package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// Calendar is the six operations on meetings.
type Calendar struct {
	opts      *Options
	journal   *journal.Journal
	calendars *cache[[]calendar.Calendar]
	recent    *recentLocations
}

const rememberCalendars = 5 * time.Minute

func newCalendar(o *Options, j *journal.Journal) *Calendar {
	return &Calendar{opts: o, journal: j, calendars: newCache[[]calendar.Calendar](o.Now, rememberCalendars), recent: newRecentLocations()}
}

func (s *Calendar) operations() []journal.Operation {
	// The provider itself keeps the changes of one event in order.
	inOrder := func(context.Context, store.Intent) error { return nil }
	return []journal.Operation{
		{Name: opBook, Resume: resume(s.openFor, s.book)},
		{Name: opUpdate, Resume: resume(s.openFor, s.update), Idempotent: true, Supersede: inOrder},
		{Name: opCancel, Resume: resume(s.openFor, s.cancel), Idempotent: true},
	}
}

// calendarClient is one caller's calendar connection, ready to use.
type calendarClient struct {
	driver     calendar.Driver
	connection tenant.Connection
	endpoint   endpoint
	service    *Calendar
	tenant     tenant.Tenant
	traits     calendar.Traits
}

func (s *Calendar) open(ctx context.Context, c tenant.Caller) (calendarClient, error) {
	opened, err := s.opts.Directory.Calendar(ctx, c)
	if err != nil {
		return calendarClient{}, err
	}
	return s.newClient(c, opened), nil
}

// openFor opens a connection for work that nobody waits for.
func (s *Calendar) openFor(ctx context.Context, tenantID, connectionID string) (calendarClient, error) {
	c, err := s.opts.callerFor(ctx, tenantID, connectionID)
	if err != nil {
		return calendarClient{}, err
	}
	return s.open(ctx, c)
}

func (s *Calendar) newClient(c tenant.Caller, o tenant.Opened[calendar.Driver]) calendarClient {
	traits := o.Driver.Traits()
	return calendarClient{
		driver: o.Driver, connection: o.Connection, service: s, tenant: c.Tenant, traits: traits,
		endpoint: newEndpoint(s.opts, o, traits.MaxConcurrent, o.Driver.Account),
	}
}

// listCalendars answers the account's calendars, remembered for a while: their zones and ids rarely change.
func (client calendarClient) listCalendars(ctx context.Context) ([]calendar.Calendar, error) {
	return client.service.calendars.get(client.connection, func() ([]calendar.Calendar, error) {
		return ask(ctx, client.endpoint, read("list-calendars"), client.driver.Calendars)
	})
}

// findCalendar answers the calendar of that id, the default one for "". A calendar that the account does not list is not
// refused here: the provider knows shared ones that it does not list.
func (client calendarClient) findCalendar(ctx context.Context, id string) (calendar.Calendar, error) {
	all, err := client.listCalendars(ctx)
	if err != nil {
		return calendar.Calendar{}, err
	}
	i := slices.IndexFunc(all, func(c calendar.Calendar) bool { return c.ID == id || id == "" && c.IsDefault })
	if i < 0 && id == "" {
		return calendar.Calendar{}, fault.New(fault.NotFound, fault.ReasonCalendarNotFound,
			"The account has no default calendar. Name one in selected_calendar_ids, or set the connection's default.")
	}
	if i < 0 {
		return calendar.Calendar{ID: id}, nil
	}
	return all[i], nil
}

// zoneOf returns the tenant's zone.
func zoneOf(t tenant.Tenant) string {
	if t.Settings.Timezone == "" {
		return "UTC"
	}
	return t.Settings.Timezone
}

// zone answers the zone to read and show times in: the requested one, else the calendar's, else the tenant's.
func (client calendarClient) zone(ctx context.Context, requested, calendarID string) (*time.Location, error) {
	if requested != "" {
		return client.loadZone(requested)
	}
	cal, err := client.findCalendar(ctx, calendarID)
	if err != nil {
		return nil, err
	}
	if cal.Zone != "" {
		if zone, err := normalize.LoadZone(cal.Zone); err == nil {
			return zone, nil
		}
	}
	return client.loadZone(zoneOf(client.tenant))
}

func (client calendarClient) loadZone(name string) (*time.Location, error) {
	zone, err := normalize.LoadZone(name)
	if err != nil {
		return nil, fault.InvalidField("timezone", err.Error())
	}
	return zone, nil
}

// requestedZone is nil when the request names no zone.
func (client calendarClient) requestedZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	return client.loadZone(name)
}

// checkWritable refuses what the account cannot do, before anything is recorded.
func (client calendarClient) checkWritable(attendees []string) error {
	if client.traits.ReadOnly {
		return fault.New(fault.Unsupported, fault.ReasonNotSupported, "The connected calendar can only be read.")
	}
	if most := client.traits.MaxAttendees; most > 0 && len(attendees) > most {
		return fault.InvalidFields(fault.Field{Path: "attendee_emails", Message: "has more addresses than the connected calendar allows."})
	}
	return nil
}

// first answers the first of ids, "" when there is none.
func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// bookPlan is a booking after normalization, and how far it got.
type bookPlan struct {
	Title        string                `json:"title"`
	Description  string                `json:"description,omitempty"`
	Start        time.Time             `json:"start"`
	End          time.Time             `json:"end"`
	Zone         string                `json:"zone"`
	Shown        string                `json:"shown,omitempty"` // the zone asked for in the answer
	Attendees    []string              `json:"attendees,omitempty"`
	CalendarIDs  []string              `json:"calendar_ids,omitempty"`
	Conferencing calendar.Conferencing `json:"conferencing,omitempty"`
	LocationURL  string                `json:"location_url,omitempty"`
	Free         bool                  `json:"free,omitempty"`  // the slot was found free and is held
	Again        bool                  `json:"again,omitempty"` // the first effect key's event was cancelled since
}

// Book makes one meeting, in the first of the selected calendars, else in the default one.
func (s *Calendar) Book(ctx context.Context, c tenant.Caller, w Write, in BookMeeting) (Answer[record.MeetingAnswer], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	plan, err := s.planBook(ctx, client, in)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opBook, Write: w, ConnectionID: client.connection.ID, Plan: plan, Canonical: plan.canonical(),
		DedupeWindow: windowOf(c.Tenant.Settings.DedupeWindow, s.opts.DedupeWindow), Repeatable: client.traits.IdempotentBook,
		Stale: func(ctx context.Context, earlier store.Intent) bool { return s.isStale(ctx, client, plan, earlier) },
	}, with(client, s.book))
}

// showsLate is how long a provider may take to show an event it made, where it does not promise to show it at once.
const showsLate = 30 * time.Second

// isStale reports whether the meeting of an equal booking was cancelled or moved since, by this gateway or by other
// means: "you are booked for ten" would not be true then. When that cannot be learned, the earlier answer counts.
func (s *Calendar) isStale(ctx context.Context, client calendarClient, plan bookPlan, earlier store.Intent) bool {
	if cancelled, err := s.isCancelling(ctx, client, earlier.EffectRef, earlier.CreatedAt); err != nil || cancelled {
		return cancelled
	}
	if !client.traits.ConsistentReads && s.opts.Now().Sub(earlier.CreatedAt) < showsLate {
		return false
	}
	places, _, err := s.candidates(ctx, client, earlier.EffectRef, plan.CalendarIDs)
	if err != nil {
		return false
	}
	event, err := s.readEvent(ctx, client, places, earlier.EffectRef)
	if err != nil {
		return fault.From(err).Code == fault.NotFound
	}
	return !normalize.Instant(event.Start, time.UTC).Equal(plan.Start) || !normalize.Instant(event.End, time.UTC).Equal(plan.End)
}

func (s *Calendar) planBook(ctx context.Context, client calendarClient, in BookMeeting) (bookPlan, error) {
	plan := bookPlan{
		Title: in.Title, Description: in.Description, Shown: in.Timezone, Attendees: in.Attendees,
		CalendarIDs: in.CalendarIDs, Conferencing: in.Conferencing, LocationURL: in.LocationURL,
	}
	if err := client.checkWritable(in.Attendees); err != nil {
		return plan, err
	}
	switch {
	case in.Conferencing == calendar.ConferencingProvider && !client.traits.Conferencing:
		return plan, fault.New(fault.Unsupported, fault.ReasonConferencing,
			`The connected calendar cannot make a meeting link. Send conferencing_type "url" with a location_url, or none.`)
	case in.Conferencing == calendar.ConferencingURL && !client.traits.LocationURL:
		return plan, fault.New(fault.Unsupported, fault.ReasonConferencing, "The connected calendar cannot carry a meeting link.")
	}
	zone, err := client.zone(ctx, in.Timezone, first(in.CalendarIDs))
	if err != nil {
		return plan, err
	}
	plan.Start, plan.End, plan.Zone = in.Start.In(zone).UTC(), in.End.In(zone).UTC(), zone.String()
	if !plan.End.After(plan.Start) {
		return plan, fault.InvalidField("end_time", "must be after start_time.")
	}
	return plan, nil
}

// canonical is the form in which equal bookings are equal: addresses are compared without case and order.
func (p bookPlan) canonical() bookPlan {
	p.Attendees = emailKeys(p.Attendees)
	return p
}

func emailKeys(emails []string) []string {
	keys := make([]string, len(emails))
	for i, email := range emails {
		keys[i] = normalize.EmailKey(email)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// matches reports whether an event looks like the booking.
func (p bookPlan) matches(e calendar.Event) bool {
	return e.Title == p.Title && e.Start.Instant.Equal(p.Start) && e.End.Instant.Equal(p.End)
}

// checkNotPast refuses a start in the past where the tenant wishes that. A call that began in time may be finished later.
func (s *Calendar) checkNotPast(client calendarClient, run *journal.Run, start time.Time, zone *time.Location) error {
	now := s.opts.Now()
	if run.Resumed() || !client.tenant.Settings.RejectPast || !start.Before(now) {
		return nil
	}
	return fault.InvalidField("start_time", "is in the past. It is now "+
		now.In(zone).Format("Monday, 2 January 2006, 15:04")+" in "+zone.String()+".")
}

// book runs a booking, first or resumed.
func (s *Calendar) book(ctx context.Context, client calendarClient, run *journal.Run, plan bookPlan) (journal.Result[record.MeetingAnswer], error) {
	var none journal.Result[record.MeetingAnswer]
	if run.Resumed() && !client.traits.IdempotentBook {
		return none, fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"An earlier try was cut off, and the connected calendar cannot tell whether it booked the meeting. Look at the calendar.")
	}
	zone, err := client.loadZone(plan.Zone)
	if err != nil {
		return none, err
	}
	shown, err := client.requestedZone(plan.Shown)
	if err != nil {
		return none, err
	}
	if err := s.checkNotPast(client, run, plan.Start, zone); err != nil {
		return none, err
	}
	held, err := s.reserveToBook(ctx, client, run, &plan)
	if err != nil {
		return none, err
	}
	defer held.release(ctx)
	booked := func(e calendar.Event) journal.Result[record.MeetingAnswer] {
		return journal.Result[record.MeetingAnswer]{
			Record: record.MeetingAnswer{Event: normalize.Meeting(e, shown, zone)},
			Ref:    e.ID,
			Seen:   client.newLocation(e, first(plan.CalendarIDs)),
		}
	}
	bookedLate := func(ctx context.Context, e calendar.Event) (journal.Result[record.MeetingAnswer], error) {
		held.assign(ctx, e.ID)
		return booked(e), nil
	}
	event, err := s.bookOnce(ctx, client, run, plan, journal.Late(run, bookedLate))
	if f := fault.From(err); err != nil && f.Reason == fault.ReasonChangedMeanwhile && !plan.Again && !run.Resumed() {
		// The key's event was made and cancelled before: a new request under an old key makes a new event.
		run.RuleOutEffect()
		plan.Again = true
		if err := run.Save(ctx, plan); err != nil {
			return none, err
		}
		event, err = s.bookOnce(ctx, client, run, plan, journal.Late(run, bookedLate))
	}
	if err != nil {
		if !run.HadNoEffect(fault.From(err)) {
			held.letExpire() // it may have been booked: nobody else gets the slot until that is known
		}
		return none, err
	}
	held.keep(ctx, event.ID)
	return booked(event), nil
}

// reserveToBook takes the slot of a booking where the tenant wishes that, and records that it is free.
func (s *Calendar) reserveToBook(ctx context.Context, client calendarClient, run *journal.Run, plan *bookPlan) (*hold, error) {
	if !client.tenant.Settings.PreventDoubleBooking {
		return nil, nil
	}
	want := slot{ids: plan.CalendarIDs, span: calendar.Span{From: plan.Start, To: plan.End}, foundFree: plan.Free}
	if plan.Free {
		want.isOwn = plan.matches
	}
	held, err := s.reserve(ctx, client, run, want)
	if f := fault.From(err); err != nil && f.Reason == fault.ReasonSlotTaken && plan.Free {
		return nil, fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"An earlier try was cut off, and the time is taken now, perhaps by the meeting itself. Look at the calendar.")
	}
	if err != nil || plan.Free {
		return held, err
	}
	plan.Free = true
	if err := run.Save(ctx, *plan); err != nil {
		held.release(ctx)
		return nil, err
	}
	return held, nil
}

func (s *Calendar) bookOnce(ctx context.Context, client calendarClient, run *journal.Run, plan bookPlan, late func(any, error)) (calendar.Event, error) {
	key := run.Intent().EffectKey
	if plan.Again {
		key = journal.EffectKey(key, "again")
	}
	booking := calendar.Booking{
		Key: key, CalendarID: first(plan.CalendarIDs), Title: plan.Title, Description: plan.Description,
		Start: plan.Start, End: plan.End, Zone: plan.Zone, Attendees: plan.Attendees,
		Conferencing: plan.Conferencing, LocationURL: plan.LocationURL,
	}
	run.ExpectEffect(client.traits.IdempotentBook)
	op := guard.Op{Name: opBook, Repeatable: client.traits.IdempotentBook, Late: late}
	return ask(ctx, client.endpoint, op, func(ctx context.Context) (calendar.Event, error) { return client.driver.Book(ctx, booking) })
}

// Calendars lists the caller's calendars, asked live.
func (s *Calendar) Calendars(ctx context.Context, c tenant.Caller) (record.CalendarsAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.CalendarsAnswer{}, err
	}
	s.calendars.forget(client.connection)
	all, err := client.listCalendars(ctx)
	if err != nil {
		return record.CalendarsAnswer{}, err
	}
	list := make([]record.Calendar, 0, len(all))
	for _, cal := range all {
		list = append(list, record.Calendar{ID: cal.ID, Name: cal.Name})
	}
	return record.CalendarsAnswer{Calendars: list}, nil
}

// Verify asks the provider live whether the credentials work. Nothing connected, and credentials that are refused, are
// answers; only not learning it is a fault.
func (s *Calendar) Verify(ctx context.Context, c tenant.Caller) (record.VerifyAnswer, error) {
	opened, err := s.opts.Directory.CalendarToVerify(ctx, c)
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
	if err := s.opts.Directory.MarkVerified(ctx, client.connection, account.Email); err != nil {
		s.opts.Log.ErrorContext(ctx, "a connection could not be marked as verified", "connection", client.connection.ID, "error", err)
	}
	return record.VerifyAnswer{OK: true, Email: cmp.Or(account.Email, client.connection.Email)}, nil
}
