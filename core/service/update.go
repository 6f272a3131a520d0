package service

import (
	"context"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/tenant"
)

// updatePlan is a change after normalization. The times stay as given until the event is read, since they may build
// on its own.
type updatePlan struct {
	EventID     string     `json:"event_id"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Start       *time.Time `json:"start,omitempty"`
	End         *time.Time `json:"end,omitempty"`
	Zone        string     `json:"zone,omitempty"` // the zone asked for
	Attendees   []string   `json:"attendees,omitempty"`
	CalendarIDs []string   `json:"calendar_ids,omitempty"`
}

// changeTries bounds how often a change that someone else overtook is read and tried again.
const changeTries = 4

// Update changes what is given of a meeting and nothing else.
func (s *Calendar) Update(ctx context.Context, c tenant.Caller, w Write, in UpdateMeeting) (Answer[record.MeetingAnswer], error) {
	d, err := s.desk(ctx, c)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	plan, err := s.planUpdate(ctx, d, in)
	if err != nil {
		return Answer[record.MeetingAnswer]{}, err
	}
	return perform(ctx, s.journal, call{caller: c, operation: opUpdate, write: w, connectionID: d.Connection.ID, plan: plan},
		at(d, s.update))
}

func (s *Calendar) planUpdate(ctx context.Context, d desk, in UpdateMeeting) (updatePlan, error) {
	plan := updatePlan{
		EventID: in.EventID, Title: in.Title, Description: in.Description,
		Zone: in.Timezone, Attendees: in.Attendees, CalendarIDs: in.CalendarIDs,
	}
	if err := d.writable(in.Attendees); err != nil {
		return plan, err
	}
	if in.Start.IsZero() && in.End.IsZero() {
		return plan, nil
	}
	zone, err := d.zone(ctx, in.Timezone, first(in.CalendarIDs))
	if err != nil {
		return plan, err
	}
	if !in.Start.IsZero() {
		at := in.Start.In(zone).UTC()
		plan.Start = &at
	}
	if !in.End.IsZero() {
		at := in.End.In(zone).UTC()
		plan.End = &at
	}
	if plan.Start != nil && plan.End != nil {
		return plan, s.checkTimes(d, *plan.Start, *plan.End, zone)
	}
	return plan, nil
}

func (s *Calendar) resumeUpdate(ctx context.Context, a *attempt) error {
	return resumeCalendar(ctx, s, a, s.update)
}

// update runs a change. It is safe to run again: it sets what was asked for on the event as it now is.
func (s *Calendar) update(ctx context.Context, d desk, a *attempt, plan updatePlan) (outcome[record.MeetingAnswer], error) {
	var none outcome[record.MeetingAnswer]
	places, _, err := s.places(ctx, d, plan.EventID, plan.CalendarIDs)
	if err != nil {
		return none, err
	}
	for try := 1; ; try++ {
		event, err := tryPlaces(ctx, places, func(ctx context.Context, calendarID string) (calendar.Event, error) {
			return askDesk(ctx, d, read("read-event"), func(ctx context.Context) (calendar.Event, error) {
				return d.Driver.Event(ctx, calendar.EventRef{CalendarID: calendarID, ID: plan.EventID})
			})
		})
		if err != nil {
			return none, err
		}
		if event.IsCancelled {
			return none, fault.New(fault.NotFound, fault.ReasonEventNotFound, "This event was cancelled.")
		}
		changed, err := s.change(ctx, d, a, plan, event)
		if f := fault.From(err); err != nil {
			if f.Reason == fault.ReasonChangedMeanwhile && try < changeTries {
				continue // someone else was faster: read again and change what is there now
			}
			return none, err
		}
		shown, err := d.requestedZone(plan.Zone)
		if err != nil {
			return none, err
		}
		fallback, err := d.zone(ctx, plan.Zone, changed.CalendarID)
		if err != nil {
			return none, err
		}
		return outcome[record.MeetingAnswer]{
			record: record.MeetingAnswer{Event: normalize.Meeting(changed, shown, fallback)},
			ref:    changed.ID,
			seen:   s.whereabouts(ctx, d, changed),
		}, nil
	}
}

// change makes the change on the event as it was just read.
func (s *Calendar) change(ctx context.Context, d desk, a *attempt, plan updatePlan, event calendar.Event) (calendar.Event, error) {
	change := calendar.Change{IfUnchanged: event.Version}
	if plan.Title != "" {
		change.Title = &plan.Title
	}
	if plan.Description != "" {
		change.Description = &plan.Description
	}
	if len(plan.Attendees) > 0 {
		change.Attendees = &plan.Attendees
	}
	var held *hold
	if plan.Start != nil || plan.End != nil {
		zone, err := d.zone(ctx, zoneToKeep(plan, event), event.CalendarID)
		if err != nil {
			return calendar.Event{}, err
		}
		span, err := s.move(d, plan, event, zone)
		if err != nil {
			return calendar.Event{}, err
		}
		change.Start, change.End, change.Zone = &span.From, &span.To, zone.String()
		if d.tenant.Settings.PreventDoubleBooking {
			held, err = s.reserve(ctx, d, slot{ids: []string{event.CalendarID}, span: span, except: event.ID})
			if err != nil {
				return calendar.Event{}, err
			}
			defer held.drop(ctx)
		}
	}
	a.act(true)
	// Repeatable: a repeat with the version read either writes the same again or is refused as overtaken.
	changed, err := askDesk(ctx, d, guard.Op{Name: opUpdate, Repeatable: change.IfUnchanged != ""}, func(ctx context.Context) (calendar.Event, error) {
		return d.Driver.Change(ctx, calendar.EventRef{CalendarID: event.CalendarID, ID: event.ID}, change)
	})
	if err == nil {
		held.keep(ctx, changed.ID)
	}
	return changed, err
}

// zoneToKeep is the zone the moved event is kept in: the one asked for, else its own, else ("") the calendar's.
func zoneToKeep(plan updatePlan, event calendar.Event) string {
	if plan.Zone != "" {
		return plan.Zone
	}
	if _, err := normalize.LoadZone(event.Start.Zone); err != nil {
		return ""
	}
	return event.Start.Zone
}

// move answers the event's new times: a start alone keeps the duration, an end alone keeps the start.
func (s *Calendar) move(d desk, plan updatePlan, event calendar.Event, zone *time.Location) (calendar.Span, error) {
	was := calendar.Span{From: normalize.Instant(event.Start, zone), To: normalize.Instant(event.End, zone)}
	now := was
	switch {
	case plan.Start != nil && plan.End != nil:
		now = calendar.Span{From: *plan.Start, To: *plan.End}
	case plan.Start != nil:
		now = calendar.Span{From: *plan.Start, To: plan.Start.Add(was.To.Sub(was.From))}
	default:
		now.To = *plan.End
	}
	if !now.To.After(now.From) {
		if plan.Start == nil {
			return now, fault.InvalidField("end_time", "must be after the meeting's start, "+normalize.Format(now.From, zone)+".")
		}
		// A meeting without a length (RFC 5545 section 3.6.1 allows it) stays one when only its start moves.
		return now, nil
	}
	if plan.Start == nil {
		return now, nil
	}
	return now, s.checkTimes(d, now.From, now.To, zone)
}
