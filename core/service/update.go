package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/pause"
	"frontdesk/core/record"
	"frontdesk/core/store"
)

// updatePlan is a change after normalization. The times stay as given until the event is read: a time without
// an offset lies in the zone of the event's calendar, and times may depend on those of the event.
type updatePlan struct {
	EventID     string         `json:"event_id"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	Start       *calendar.Time `json:"start,omitempty"`
	End         *calendar.Time `json:"end,omitempty"`
	Zone        string         `json:"zone,omitempty"` // the requested zone
	Attendees   []string       `json:"attendees,omitempty"`
	CalendarIDs []string       `json:"calendar_ids,omitempty"`
	Sent        bool           `json:"sent,omitempty"`    // the change may have reached the provider,
	Version     string         `json:"version,omitempty"` // based on this version of the event
	Terms       *terms         `json:"terms,omitempty"`   // of the slot that the caller was offered
	Account     fingerprint    `json:"setup,omitzero"`
}

// A change that conflicts with another one is tried again on the new event, with growing pauses, within the
// deadline.
const (
	maxChangeTries = 10
	changePause    = 20 * time.Millisecond // after the first try; twice that after the second, and so on
)

// Update changes the given fields of a meeting and nothing else.
func (s *Calendar) Update(
	ctx context.Context, c apikey.Caller, w Write, in UpdateMeeting,
) (Answer[record.MeetingAnswer], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	return s.updateWith(ctx, client, c, w, in)
}

func (s *Calendar) updateWith(
	ctx context.Context, client calendarClient, c apikey.Caller, w Write, in UpdateMeeting,
) (Answer[record.MeetingAnswer], error) {
	plan, err := s.planUpdate(client, in)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opUpdate, Write: w, ConnectionID: client.connection.ID,
		Plan: plan, Subject: plan.EventID, Repeatable: true,
	}, with(client, s.update))
}

func (s *Calendar) planUpdate(client calendarClient, in UpdateMeeting) (updatePlan, error) {
	plan := updatePlan{
		EventID: in.EventID, Title: in.Title, Description: in.Description,
		Zone: in.Timezone, Attendees: in.Attendees, CalendarIDs: in.CalendarIDs,
		Terms: in.terms,
	}
	if err := client.checkAttendees(in.Attendees); err != nil {
		return plan, err
	}
	requested, err := client.requestedZone(in.Timezone)
	if err != nil {
		return plan, err
	}
	if plan.Account, err = client.fingerprint(); err != nil {
		return plan, err
	}
	plan.Start, plan.End = planTime(in.Start, requested), planTime(in.End, requested)
	return plan, nil
}

// planTime returns a time as far as it is known before the event is read, or nil if none is given.
func planTime(t normalize.InputTime, requested *time.Location) *calendar.Time {
	if t.IsZero() {
		return nil
	}
	if requested == nil && !t.HasOffset() {
		return &calendar.Time{Instant: t.In(time.UTC), Floating: true}
	}
	at := calendar.At(t.In(requested).UTC(), "")
	return &at
}

// moves reports whether the change is one of times.
func (p updatePlan) moves() bool { return p.Start != nil || p.End != nil }

// Canonical returns a form that is the same for equal changes.
func (p updatePlan) Canonical() any {
	p.Terms, p.Account, p.Sent, p.Version = nil, fingerprint{}, false, ""
	p.Attendees = emailKeys(p.Attendees)
	p.CalendarIDs = slices.Sorted(slices.Values(p.CalendarIDs)) // the event is in one of them
	return p
}

// isAppliedTo reports whether the event already is as the change would make it.
func (p updatePlan) isAppliedTo(e calendar.Event, zone *time.Location) bool {
	return (p.Title == "" || sameText(p.Title, e.Title)) &&
		(p.Description == "" || sameText(p.Description, e.Description)) &&
		(p.Start == nil || secondIn(*p.Start, zone).Equal(secondIn(e.Start, zone))) &&
		(p.End == nil || secondIn(*p.End, zone).Equal(secondIn(e.End, zone))) &&
		(len(p.Attendees) == 0 || invites(e, p.Attendees))
}

// invites reports whether these are the people that an event invites.
func invites(e calendar.Event, attendees []string) bool {
	wanted, organizer := emailKeys(attendees), normalize.EmailKey(e.Organizer.Email)
	var invited []string
	for _, a := range e.Attendees {
		// Some providers list the organizer among the guests, even if the call does not invite them, or rooms and
		// people without an e-mail address.
		key := normalize.EmailKey(a.Email)
		if strings.Contains(key, "@") && key != organizer || slices.Contains(wanted, key) {
			invited = append(invited, a.Email)
		}
	}
	return slices.Equal(wanted, emailKeys(invited))
}

// sameText reports whether a provider's text is the one that it was sent. Exchange ends lines with CRLF, and does
// not keep white space at the end of a text.
func sameText(sent, kept string) bool {
	return slices.Equal(strings.Fields(sent), strings.Fields(kept))
}

// update is the state of one change of a meeting.
type update struct {
	client      calendarClient
	run         *journal.Run
	plan        updatePlan
	calendarIDs []string // calendars in which the event may be
	kept        store.HoldsKept
}

// update runs a change, new or resumed.
func (s *Calendar) update(
	ctx context.Context, client calendarClient, run *journal.Run, plan updatePlan,
) (journal.Result[record.MeetingAnswer], error) {
	var none journal.Result[record.MeetingAnswer]
	shown, err := client.requestedZone(plan.Zone)
	if err != nil {
		return none, err
	}
	if !plan.Sent {
		run.RuleOutEffect() // the interrupted run did not get that far
	}
	if err := client.checkAccount(run, plan.Account); err != nil {
		return none, err
	}
	calendarIDs, _, err := client.candidates(ctx, plan.EventID, plan.CalendarIDs)
	if err != nil {
		return none, err
	}
	u := &update{client: client, run: run, plan: plan, calendarIDs: calendarIDs}
	event, zone, err := u.carryOut(ctx)
	if err != nil {
		return none, err
	}
	return journal.Result[record.MeetingAnswer]{
		Record: record.MeetingAnswer{Event: normalize.Meeting(event, shown, zone)},
		Ref:    event.ID,
		Attached: store.Attached{
			Seen: client.locationOf(ctx, event), Meetings: client.meetingsOf(ctx, event, zone, plan), Holds: u.kept,
		},
	}, nil
}

// remembered returns the calendar that the store has of the meeting, if any.
func (u *update) remembered(ctx context.Context) (string, error) {
	c := u.client
	m, _, err := c.opts.Store.Meeting(ctx, c.tenant.ID, c.connection.ID, c.reference(u.plan.EventID))
	return m.CalendarID, err
}

// carryOut makes the change. If the event was changed meanwhile, it reads the event again and repeats the
// change.
func (u *update) carryOut(ctx context.Context) (calendar.Event, *time.Location, error) {
	for try, known := 1, u.plan.Version; ; try++ {
		event, err := u.client.readEvent(ctx, u.calendarIDs, u.plan.EventID)
		if err != nil {
			return event, nil, err
		}
		if by := u.plan.Terms; by != nil && by.KeepsLength && hasHours(event) {
			u.plan.End = nil
		}
		// The zone is found before the change, so that nothing can fail after it.
		zone, err := u.client.zone(ctx, u.plan.Zone, event.CalendarID)
		if err != nil {
			return event, nil, err
		}
		isNeeded, err := u.isNeeded(event, zone, known)
		if err == nil && !isNeeded && !u.client.tellsCalendars() {
			event.CalendarID, err = u.remembered(ctx)
		}
		if err == nil && !isNeeded && u.plan.Terms != nil { // it is where the caller held a slot for it
			u.kept = store.HoldsKept{Left: u.plan.Terms.HeldAs}
		}
		if err != nil || !isNeeded {
			return event, zone, err
		}
		// A meeting that moves has to find room in its calendar, and nobody is invited to one among the deleted items.
		read := event.CalendarID
		if event.CalendarID, err = u.client.locate(ctx, event); err == nil && event.CalendarID != read {
			zone, err = u.client.zone(ctx, u.plan.Zone, event.CalendarID)
		}
		if err != nil {
			return event, nil, err
		}
		event, err = u.change(ctx, event, zone)
		if err == nil || fault.From(err).Reason != fault.ReasonChangedMeanwhile || try == maxChangeTries {
			return event, zone, err
		}
		u.run.RetractEffect()
		if err := pause.For(ctx, changePause*time.Duration(try)); err != nil {
			return event, nil, err
		}
	}
}

// hasHours reports whether an event has a length that it keeps wherever it moves: a number of days is none.
func hasHours(e calendar.Event) bool { return !e.Start.AllDay && e.End.Instant.After(e.Start.Instant) }

// isNeeded reports whether the change must still be made. A resumed run first checks whether the event
// already has the change, so that no attendee is notified twice. If it does not, and the event was changed by
// others since, the change is made only if a caller waits for it. Otherwise the other change may be the newer
// one.
func (u *update) isNeeded(event calendar.Event, zone *time.Location, known string) (bool, error) {
	untouched := event.Version != "" && event.Version == known
	switch {
	case !u.run.Resumed() && u.plan.Terms != nil: // a model that was interrupted moves a meeting twice
		return !u.plan.isAppliedTo(event, zone), nil
	case !u.run.Resumed() || untouched:
		return true, nil
	case u.plan.isAppliedTo(event, zone):
		return false, nil
	case u.run.Unattended():
		return false, fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
			"Someone else has changed the event since.")
	}
	return true, nil
}

// change makes the change on the event as just read. Local times lie in the zone.
func (u *update) change(
	ctx context.Context, event calendar.Event, zone *time.Location,
) (calendar.Event, error) {
	change := calendar.Change{IfUnchanged: event.Version}
	if u.plan.Title != "" {
		change.Title = &u.plan.Title
	}
	if u.plan.Description != "" {
		change.Description = &u.plan.Description
	}
	if len(u.plan.Attendees) > 0 {
		change.Attendees = &u.plan.Attendees
	}
	held, err := u.move(ctx, &change, event, zone)
	if err != nil {
		return calendar.Event{}, err
	}
	defer held.release(ctx, u.run)
	u.plan.Sent, u.plan.Version = true, event.Version
	if err := u.run.Save(ctx, u.plan); err != nil {
		return calendar.Event{}, err
	}
	u.run.ExpectEffect(true)
	// Repeatable: a repeat with the version read either writes the same again or is refused as overtaken.
	op := guard.Op{Name: opUpdate, Repeatable: change.IfUnchanged != ""}
	ref := calendar.EventRef{CalendarID: event.CalendarID, ID: event.ID}
	lost := false // the answer of an earlier attempt, which may itself have overtaken the next one
	changed, err := ask(ctx, u.client.endpoint, op, func(ctx context.Context) (calendar.Event, error) {
		changed, err := u.client.driver.Change(ctx, ref, change)
		f := fault.From(err)
		if lost && err != nil && f.Reason == fault.ReasonChangedMeanwhile {
			now, readErr := u.client.driver.Event(ctx, ref)
			if readErr == nil && !now.IsCancelled && u.plan.isAppliedTo(now, zone) {
				return now, nil
			}
		}
		lost = lost || err != nil && !u.run.HadNoEffect(f)
		return changed, err
	})
	switch {
	case err == nil:
		u.kept = held.keep(changed.ID)
	case !u.run.HadNoEffect(fault.From(err)):
		held.letExpire() // the event may occupy the slot now
	}
	return changed, err
}

// move sets the new times of the change, and takes their slot if the tenant prevents double booking.
func (u *update) move(
	ctx context.Context, change *calendar.Change, event calendar.Event, zone *time.Location,
) (*hold, error) {
	if !u.plan.moves() {
		return nil, nil
	}
	span, err := u.plan.newSpan(event, zone)
	if err != nil {
		return nil, err
	}
	if u.plan.Start != nil {
		if err := u.client.checkNotPast(u.run, span.From, zone); err != nil {
			return nil, err
		}
	}
	change.Start, change.End, change.Zone = &span.From, &span.To, zoneToKeep(u.plan, event, zone)
	want, exclusive, err := u.client.exclusive(u.run, u.plan.Terms, span.From)
	switch {
	case err != nil:
		return nil, err
	case !exclusive:
		return u.client.holdsLeft(ctx, event.ID)
	}
	want.ids, want.span, want.except = []string{event.CalendarID}, span, event.ID
	if u.plan.Terms != nil {
		want.ids = append(want.ids, u.plan.Terms.Calendars...)
	}
	return u.client.reserve(ctx, u.run, want)
}

// holdsLeft returns no hold of a slot, but what ends with one: the holds of an event that was booked by a slot, and
// moves to a time that nobody has to take.
func (c calendarClient) holdsLeft(ctx context.Context, eventID string) (*hold, error) {
	of, err := c.opts.Store.HoldsOfEvent(ctx, c.connection.ID, eventID)
	left := &hold{opts: c.opts}
	for _, h := range of {
		if h.EventID == eventID {
			left.left = append(left.left, h.ID)
		}
	}
	return left, err
}

// zoneToKeep returns the name of the zone in which the moved event is kept: the requested one, else the
// event's own, else that of its calendar.
func zoneToKeep(plan updatePlan, event calendar.Event, calendars *time.Location) string {
	if _, err := normalize.LoadZone(event.Start.Zone); plan.Zone == "" && err == nil {
		return event.Start.Zone
	}
	return calendars.String()
}

// newSpan returns the event's new times: a start alone keeps the duration, an end alone keeps the start.
func (p updatePlan) newSpan(event calendar.Event, zone *time.Location) (calendar.Span, error) {
	now := calendar.Span{From: normalize.Instant(event.Start, zone), To: normalize.Instant(event.End, zone)}
	length := now.To.Sub(now.From)
	if p.Start != nil {
		now.From = secondIn(*p.Start, zone)
		now.To = now.From.Add(length)
		if event.Start.AllDay && event.End.AllDay { // days, of which one in which clocks change has not 24 hours
			days := event.End.Instant.Sub(event.Start.Instant) / (24 * time.Hour)
			now.To = normalize.AddDays(now.From, int(days), zone)
		}
	}
	if p.End == nil {
		// A meeting without a length (RFC 5545 section 3.6.1 allows it) stays one when only its start moves.
		return now, nil
	}
	now.To = secondIn(*p.End, zone)
	switch {
	case now.To.After(now.From):
		return now, nil
	case p.Start != nil:
		return now, fault.InvalidField("end_time", "must be after start_time.")
	}
	start := normalize.Format(now.From, zone)
	return now, fault.InvalidField("end_time", "must be after the meeting's start, "+start+".")
}
