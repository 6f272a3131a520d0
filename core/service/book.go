package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
)

// bookPlan is a booking after normalization, and its progress.
type bookPlan struct {
	Title        string                `json:"title"`
	Description  string                `json:"description,omitempty"`
	Start        time.Time             `json:"start"`
	End          time.Time             `json:"end"`
	Zone         string                `json:"zone"`
	Shown        string                `json:"shown,omitempty"` // the requested zone
	Attendees    []string              `json:"attendees,omitempty"`
	CalendarIDs  []string              `json:"calendar_ids,omitempty"`
	Conferencing calendar.Conferencing `json:"conferencing,omitempty"`
	LocationURL  string                `json:"location_url,omitempty"`
	Free         bool                  `json:"free,omitempty"`  // the slot was found free and is held
	Again        bool                  `json:"again,omitempty"` // the first key's event was cancelled since
	Phone        string                `json:"phone,omitempty"` // of whom it is booked for, in E.164
	Terms        *terms                `json:"terms,omitempty"` // of the slot that the caller was offered
	Account      fingerprint           `json:"setup,omitzero"`
}

// Book books one meeting, in the first of the selected calendars or else in the default one.
func (s *Calendar) Book(
	ctx context.Context, c apikey.Caller, w Write, in BookMeeting,
) (Answer[record.MeetingAnswer], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	return s.bookWith(ctx, client, c, w, in)
}

func (s *Calendar) bookWith(
	ctx context.Context, client calendarClient, c apikey.Caller, w Write, in BookMeeting,
) (Answer[record.MeetingAnswer], error) {
	plan, err := s.planBook(ctx, client, in)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	b := &booking{client: client, plan: plan}
	var prepare func(context.Context, string) (journal.Prepared, error)
	if client.isExclusive(plan.Terms) {
		prepare = b.prepare
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opBook, Write: w, ConnectionID: client.connection.ID,
		Plan:         plan,
		DedupeWindow: windowOf(c.Tenant.Settings.DedupeWindow, s.opts.DedupeWindow),
		Repeatable:   client.traits.IdempotentBook,
		Stale: func(ctx context.Context, earlier store.Intent) bool {
			return client.isStale(ctx, plan, earlier)
		},
		Prepare: prepare,
	}, func(
		ctx context.Context, run *journal.Run, plan bookPlan,
	) (journal.Result[record.MeetingAnswer], error) {
		b.run, b.plan = run, plan
		return b.book(ctx)
	})
}

func (s *Calendar) planBook(ctx context.Context, client calendarClient, in BookMeeting) (bookPlan, error) {
	plan := bookPlan{
		Title: in.Title, Description: in.Description, Shown: in.Timezone, Attendees: in.Attendees,
		CalendarIDs: in.CalendarIDs, Conferencing: in.Conferencing, LocationURL: in.LocationURL,
		Phone: in.phone, Terms: in.terms,
	}
	if err := client.checkAttendees(in.Attendees); err != nil {
		return plan, err
	}
	switch {
	case in.Conferencing == calendar.ConferencingProvider && !client.traits.Conferencing:
		return plan, fault.New(fault.Unsupported, fault.ReasonConferencing,
			`The connected calendar cannot make a meeting link. `+
				`Send conferencing_type "url" with a location_url, or none.`)
	case in.Conferencing == calendar.ConferencingURL && !client.traits.LocationURL:
		return plan, fault.New(fault.Unsupported, fault.ReasonConferencing,
			"The connected calendar cannot carry a meeting link.")
	}
	zone, err := client.zone(ctx, in.Timezone, first(in.CalendarIDs))
	if err != nil {
		return plan, err
	}
	if plan.Account, err = client.fingerprint(); err != nil {
		return plan, err
	}
	plan.Start, plan.End, plan.Zone = in.Start.In(zone).UTC(), in.End.In(zone).UTC(), zone.String()
	if span := plan.span(); !span.To.After(span.From) {
		return plan, fault.InvalidField("end_time", "must be after start_time.")
	}
	return plan, nil
}

// span returns the time of the meeting, in whole seconds.
func (p bookPlan) span() calendar.Span {
	return calendar.Span{From: secondOf(p.Start), To: secondOf(p.End)}
}

// Canonical returns a form that is the same for equal bookings: addresses are compared without case and
// order, as are the calendars after the first, and neither how the caller came by the slot counts nor where the
// connection leads.
func (p bookPlan) Canonical() any {
	p.Free, p.Again = false, false
	p.Attendees, p.Terms, p.Account = emailKeys(p.Attendees), nil, fingerprint{}
	if len(p.CalendarIDs) > 0 { // the event is made in the first
		p.CalendarIDs = slices.Clone(p.CalendarIDs)
		slices.Sort(p.CalendarIDs[1:])
	}
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
	span := p.span()
	return sameText(p.Title, e.Title) && secondOf(e.Start.Instant).Equal(span.From) &&
		secondOf(e.End.Instant).Equal(span.To) && invites(e, p.Attendees)
}

// showsLate is how long a provider without consistent reads may take to show a new event.
const showsLate = 30 * time.Second

// isStale reports whether the meeting of an equal booking was cancelled or moved since, through this gateway
// or by other means. The earlier answer would then be wrong. If isStale cannot find out, it reports false.
func (c calendarClient) isStale(ctx context.Context, plan bookPlan, earlier store.Intent) bool {
	cancelled, err := c.isCancelling(ctx, earlier.EffectRef, earlier.CreatedAt)
	if err != nil || cancelled {
		return cancelled
	}
	if !c.traits.ConsistentReads && c.opts.Now().Sub(earlier.CreatedAt) < showsLate {
		return false
	}
	calendarIDs, _, err := c.candidates(ctx, earlier.EffectRef, plan.CalendarIDs)
	if err != nil {
		return false
	}
	event, err := c.readEvent(ctx, calendarIDs, earlier.EffectRef)
	if err == nil {
		_, err = c.locate(ctx, event)
	}
	if err != nil {
		return fault.From(err).Code == fault.NotFound
	}
	span := plan.span()
	return !secondIn(event.Start, time.UTC).Equal(span.From) || !secondIn(event.End, time.UTC).Equal(span.To)
}

// checkNotPast returns an error for a start in the past if the tenant's settings forbid that. A resumed run
// is not checked, since its call began in time.
func (c calendarClient) checkNotPast(run *journal.Run, start time.Time, zone *time.Location) error {
	now := c.opts.Now()
	if !isFirst(run) || !c.tenant.Settings.RejectPast || !start.Before(now) {
		return nil
	}
	return fault.InvalidField("start_time", "is in the past. It is now "+
		now.In(zone).Format("Monday, 2 January 2006, 15:04")+" in "+zone.String()+".")
}

// booking is the state of one booking under way.
type booking struct {
	client calendarClient
	run    *journal.Run // nil before the booking begins
	plan   bookPlan
	zone   *time.Location
	shown  *time.Location // the requested zone; nil: the event's
	held   *hold          // before the booking begins, the one to begin with
}

// book runs a booking, new or resumed.
func (s *Calendar) book(
	ctx context.Context, client calendarClient, run *journal.Run, plan bookPlan,
) (journal.Result[record.MeetingAnswer], error) {
	return (&booking{client: client, run: run, plan: plan}).book(ctx)
}

// prepare looks whether the slot is free, so that the booking begins with a hold on it.
func (b *booking) prepare(ctx context.Context, effectKey string) (begin journal.Prepared, err error) {
	if err := b.check(); err != nil {
		return begin, err
	}
	want, exclusive, err := b.slot()
	if err != nil || !exclusive {
		return begin, err
	}
	b.held, begin.Holds, err = b.client.look(ctx, want, effectKey)
	plan := b.plan
	plan.Free = true
	begin.Plan, begin.Except = plan, want.heldAs
	return begin, err
}

// check finds what forbids the booking before anybody is asked.
func (b *booking) check() (err error) {
	if b.zone, err = b.client.loadZone(b.plan.Zone); err != nil {
		return err
	}
	if b.shown, err = b.client.requestedZone(b.plan.Shown); err != nil {
		return err
	}
	return b.client.checkNotPast(b.run, b.plan.Start, b.zone)
}

func (b *booking) book(ctx context.Context) (journal.Result[record.MeetingAnswer], error) {
	var none journal.Result[record.MeetingAnswer]
	if b.run.Resumed() && !b.client.traits.IdempotentBook {
		return none, fault.Unknowable(
			"An earlier try was cut off, and the connected calendar cannot tell whether it booked the meeting.")
	}
	if err := b.client.checkAccount(b.run, b.plan.Account); err != nil {
		return none, err
	}
	if err := b.check(); err != nil {
		return none, err
	}
	if hasBegunWithHold := b.held != nil && b.plan.Free && !b.run.Resumed(); !hasBegunWithHold {
		if err := b.reserve(ctx); err != nil {
			return none, err
		}
	}
	defer b.held.release(ctx, b.run)
	event, err := b.carryOut(ctx)
	if err != nil {
		if !b.run.HadNoEffect(fault.From(err)) {
			b.held.letExpire() // it may have been booked: keep the slot until that is known
		}
		return none, err
	}
	return b.result(ctx, event, b.held.keep(event.ID)), nil
}

// slot returns the slot to take, and whether it has to be taken.
func (b *booking) slot() (want slot, exclusive bool, err error) {
	want, exclusive, err = b.client.exclusive(b.run, b.plan.Terms, b.plan.Start)
	want.ids, want.span = b.plan.CalendarIDs, b.plan.span()
	want.foundFree = b.plan.Free
	return want, exclusive, err
}

// isOwn returns a function that reports whether an earlier run may have booked an event. Meetings of a front desk
// look alike: one that another call has booked or moved since is not this call's.
func (b *booking) isOwn(ctx context.Context) (func(calendar.Event) bool, error) {
	var others []string
	for _, operation := range []string{opBook, opUpdate} {
		intent := b.run.Intent()
		intent.Operation = operation
		effects, err := b.client.opts.Store.EffectsSince(ctx, intent, intent.CreatedAt)
		if err != nil {
			return nil, err
		}
		others = append(others, effects...)
	}
	return func(e calendar.Event) bool { return b.plan.matches(e) && !slices.Contains(others, e.ID) }, nil
}

// reserve takes the slot if the tenant prevents double booking or the caller was offered it, and records that
// the slot is free.
func (b *booking) reserve(ctx context.Context) (err error) {
	b.held = nil
	want, exclusive, err := b.slot()
	if err != nil || !exclusive {
		return err
	}
	if b.plan.Free {
		if want.isOwn, err = b.isOwn(ctx); err != nil {
			return err
		}
	}
	b.held, err = b.client.reserve(ctx, b.run, want)
	if f := fault.From(err); err != nil && f.Reason == fault.ReasonSlotTaken && b.plan.Free {
		return fault.Unknowable(
			"An earlier try was cut off, and the time is now taken, perhaps by that meeting itself.")
	}
	if err != nil || b.plan.Free {
		return err
	}
	b.plan.Free = true
	if err := b.run.Save(ctx, b.plan); err != nil {
		b.held.release(ctx, b.run)
		return err
	}
	return nil
}

// carryOut books the meeting. If the event of the key was made and cancelled before, it makes a new event:
// the call is a new request under an old key.
func (b *booking) carryOut(ctx context.Context) (calendar.Event, error) {
	event, err := b.ask(ctx)
	wasCancelled := err != nil && fault.From(err).Reason == fault.ReasonChangedMeanwhile
	if !wasCancelled || b.plan.Again || b.run.Resumed() {
		return event, err
	}
	b.run.RuleOutEffect()
	b.plan.Again = true
	if err := b.run.Save(ctx, b.plan); err != nil {
		return event, err
	}
	return b.ask(ctx)
}

// ask asks the provider for the meeting.
func (b *booking) ask(ctx context.Context) (calendar.Event, error) {
	key := b.run.Intent().EffectKey
	if b.plan.Again {
		key = journal.EffectKey(key, "again")
	}
	span := b.plan.span()
	request := calendar.Booking{
		Key: key, CalendarID: first(b.plan.CalendarIDs), Title: b.plan.Title, Description: b.plan.Description,
		Start: span.From, End: span.To, Zone: b.plan.Zone, Attendees: b.plan.Attendees,
		Conferencing: b.plan.Conferencing, LocationURL: b.plan.LocationURL,
	}
	repeatable := b.client.traits.IdempotentBook
	b.run.ExpectEffect(repeatable)
	op := guard.Op{Name: opBook, Repeatable: repeatable, Late: journal.Late(b.run, b.lateResult)}
	return ask(ctx, b.client.endpoint, op, func(ctx context.Context) (calendar.Event, error) {
		return b.client.driver.Book(ctx, request)
	})
}

func (b *booking) result(
	ctx context.Context, e calendar.Event, holds store.HoldsKept,
) journal.Result[record.MeetingAnswer] {
	attached := store.Attached{Seen: b.client.newLocation(e, first(b.plan.CalendarIDs)), Holds: holds}
	if people := b.client.people(ctx, b.plan.Attendees, b.plan.Phone); len(people) > 0 || b.plan.Terms != nil {
		attached.Meetings = []store.Meeting{
			b.client.meeting(e.ID, cmp.Or(e.CalendarID, first(b.plan.CalendarIDs)), b.plan.End, people...),
		}
	}
	return journal.Result[record.MeetingAnswer]{
		Record: record.MeetingAnswer{Event: normalize.Meeting(e, b.shown, b.zone)}, Ref: e.ID, Attached: attached,
	}
}

// lateResult returns the result of a booking whose response arrived after its caller had gone.
func (b *booking) lateResult(
	ctx context.Context, e calendar.Event,
) (journal.Result[record.MeetingAnswer], error) {
	return b.result(ctx, e, b.held.of(e.ID)), nil
}
