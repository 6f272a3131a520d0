package service

import (
	"context"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
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
	return perform(ctx, s.journal, call{caller: c, operation: opCancel, write: w, connectionID: d.connection.ID, plan: plan, about: plan.EventID, repeatable: true},
		at(d, s.cancel))
}

func (s *Calendar) resumeCancel(ctx context.Context, a *attempt) error {
	return resumeCalendar(ctx, s, a, s.cancel)
}

func (s *Calendar) cancel(ctx context.Context, d desk, a *attempt, plan cancelPlan) (outcome[record.CancelAnswer], error) {
	var none outcome[record.CancelAnswer]
	var named []string
	if plan.CalendarID != "" {
		named = []string{plan.CalendarID}
	}
	places, gone, err := s.places(ctx, d, plan.EventID, named)
	if err != nil {
		return none, err
	}
	a.act(true)
	where, err := tryPlaces(ctx, places, func(ctx context.Context, calendarID string) (string, error) {
		_, err := ask(ctx, d.endpoint, guard.Op{Name: opCancel, Repeatable: true}, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, d.driver.Cancel(ctx, calendar.EventRef{CalendarID: calendarID, ID: plan.EventID}, calendar.Cancellation{})
		})
		return calendarID, err
	})
	if f := fault.From(err); err != nil {
		// An attempt that was cut off may have removed it: then its being gone is this call's own doing.
		already := f.Code == fault.NotFound && (gone || a.resumed || f.Metadata["gone"] != "")
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
	return outcome[record.CancelAnswer]{
		record: record.CancelAnswer{OK: true, EventID: plan.EventID},
		ref:    plan.EventID,
		seen:   []store.EventSeen{row},
	}, nil
}

// cancelling reports whether a cancellation of the event began since, and did not surely fail. One that was cut off is
// carried on: who is answered with the event would lose it then.
func (s *Calendar) cancelling(ctx context.Context, d desk, eventID string, since time.Time) (bool, error) {
	_, found, err := s.opts.Store.RecentIntent(ctx, d.tenant.ID, opCancel, subjectKey(d.connection.ID, eventID), since)
	return found, err
}
