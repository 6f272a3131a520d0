package service

import (
	"context"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// cancelPlan is a cancellation after normalization.
type cancelPlan struct {
	EventID    string `json:"event_id"`
	CalendarID string `json:"calendar_id,omitempty"`
}

// Cancel removes a meeting and lets the provider tell the attendees. It is idempotent: an event that is gone through
// this gateway, or that the provider says is gone, is cancelled.
func (s *Calendar) Cancel(ctx context.Context, c tenant.Caller, w Write, in CancelMeeting) (Answer[record.CancelAnswer], error) {
	d, err := s.desk(ctx, c)
	if err != nil {
		return Answer[record.CancelAnswer]{}, err
	}
	if err := d.writable(nil); err != nil {
		return Answer[record.CancelAnswer]{}, err
	}
	plan := cancelPlan(in)
	return journal.Perform(ctx, s.journal, journal.Call{Caller: callerOf(c), Operation: opCancel, Write: w, ConnectionID: d.connection.ID, Plan: plan, Subject: plan.EventID, Repeatable: true},
		with(d, s.cancel))
}

func (s *Calendar) cancel(ctx context.Context, d desk, run *journal.Run, plan cancelPlan) (journal.Result[record.CancelAnswer], error) {
	var none journal.Result[record.CancelAnswer]
	var named []string
	if plan.CalendarID != "" {
		named = []string{plan.CalendarID}
	}
	places, gone, err := s.places(ctx, d, plan.EventID, named)
	if err != nil {
		return none, err
	}
	run.ExpectEffect(true)
	where, err := tryPlaces(ctx, places, func(ctx context.Context, calendarID string) (string, error) {
		_, err := ask(ctx, d.endpoint, guard.Op{Name: opCancel, Repeatable: true}, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, d.driver.Cancel(ctx, calendar.EventRef{CalendarID: calendarID, ID: plan.EventID}, calendar.Cancellation{})
		})
		return calendarID, err
	})
	if f := fault.From(err); err != nil {
		// An attempt that was cut off may have removed it: then its being gone is this call's own doing.
		already := f.Code == fault.NotFound && (gone || run.Resumed() || f.Metadata["gone"] != "")
		if !already {
			return none, err
		}
	}
	if err := s.opts.Store.DropIntentsOfEffect(ctx, d.tenant.ID, d.connection.ID, opBook, plan.EventID); err != nil { // an equal booking is a new one
		return none, err
	}
	if err := s.opts.Store.DropHoldsOfEvent(ctx, d.connection.ID, plan.EventID); err != nil {
		return none, err
	}
	row := d.row(plan.EventID, where, true)
	s.known.drop(row)
	return journal.Result[record.CancelAnswer]{
		Record: record.CancelAnswer{OK: true, EventID: plan.EventID},
		Ref:    plan.EventID,
		Seen:   []store.EventSeen{row},
	}, nil
}

// cancelling reports whether a cancellation of the event began since, and did not surely fail. One that was cut off is
// carried on: who is answered with the event would lose it then.
func (s *Calendar) cancelling(ctx context.Context, d desk, eventID string, since time.Time) (bool, error) {
	_, found, err := s.opts.Store.RecentIntent(ctx, d.tenant.ID, opCancel, journal.SubjectKey(d.connection.ID, eventID), since)
	return found, err
}
