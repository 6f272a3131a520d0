package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/pause"
	"frontdesk/core/record"
	"frontdesk/core/store"
)

const cancelPause = 50 * time.Millisecond // between looks at an earlier cancellation that still runs

// cancelPlan is a cancellation after normalization.
type cancelPlan struct {
	EventID     string      `json:"event_id"`
	CalendarID  string      `json:"calendar_id,omitempty"`
	ByReference bool        `json:"by_reference,omitempty"`
	Account     fingerprint `json:"setup,omitzero"`
}

// mayMeanCopy reports whether the caller names a calendar: where it is one that was invited, its copy is meant.
func (p cancelPlan) mayMeanCopy() bool { return p.CalendarID != "" && !p.ByReference }

// Canonical returns a form that is the same for equal cancellations.
func (p cancelPlan) Canonical() any {
	p.ByReference, p.Account = false, fingerprint{}
	return p
}

// Cancel cancels a meeting and has the provider notify the attendees. It is idempotent: it succeeds for an
// event that was cancelled through this gateway, or that the provider reports as gone.
func (s *Calendar) Cancel(
	ctx context.Context, c apikey.Caller, w Write, in CancelMeeting,
) (Answer[record.CancelAnswer], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.CancelAnswer]{}, err
	}
	plan := cancelPlan{EventID: in.EventID, CalendarID: in.CalendarID, ByReference: in.byReference}
	if plan.Account, err = client.fingerprint(); err != nil {
		return Answer[record.CancelAnswer]{}, err
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opCancel, Write: w, ConnectionID: client.connection.ID,
		Plan: plan, Subject: plan.EventID, Repeatable: true,
	}, with(client, s.cancel))
}

// cancellation is the state of one cancellation under way.
type cancellation struct {
	client calendarClient
	run    *journal.Run
	plan   cancelPlan
}

// cancel runs a cancellation, new or resumed.
func (s *Calendar) cancel(
	ctx context.Context, client calendarClient, run *journal.Run, plan cancelPlan,
) (journal.Result[record.CancelAnswer], error) {
	var none journal.Result[record.CancelAnswer]
	if err := client.checkAccount(run, plan.Account); err != nil {
		return none, err
	}
	c := &cancellation{client, run, plan}
	calendarIDs, isCancelled, err := c.candidates(ctx)
	if err != nil {
		return none, err
	}
	run.ExpectEffect(true)
	removed, err := tryCalendars(ctx, calendarIDs, c.removeFrom)
	if removed.isOld && !isCancelled {
		calendarID, moved, readErr := c.movedTo(ctx, removed.from)
		if readErr != nil {
			return none, readErr
		}
		if moved {
			removed, err = c.removeFrom(ctx, calendarID)
		}
	}
	if f := fault.From(err); err != nil {
		// An interrupted run may have removed it. Then this call itself has cancelled it.
		already := f.Code == fault.NotFound && (isCancelled || run.Resumed() || isGone(f))
		if f.Code == fault.NotFound && !already {
			if already, err = s.mayHaveCancelled(ctx, client, run.Intent(), plan); err != nil {
				return none, err
			}
		}
		if !already {
			return none, f
		}
	}
	attached, err := s.forgetMeeting(ctx, c, removed.from)
	return journal.Result[record.CancelAnswer]{
		Record: record.CancelAnswer{OK: true, EventID: plan.EventID}, Ref: plan.EventID, Attached: attached,
	}, err
}

// candidates returns the calendars in which the event may be, and whether it was cancelled through this gateway.
func (c *cancellation) candidates(ctx context.Context) (ids []string, isCancelled bool, err error) {
	ids, isCancelled, err = c.client.candidates(ctx, c.plan.EventID, named(c.plan.CalendarID))
	if err != nil || c.plan.mayMeanCopy() || !c.client.mayBeCopy(ctx) {
		return ids, isCancelled, err
	}
	// A person may have given the meeting to another calendar, and invited the one where it was.
	switch event, err := c.client.readEvent(ctx, ids, c.plan.EventID); {
	case err == nil:
		ids = []string{event.CalendarID}
	case !errors.Is(err, fault.NotFound):
		return nil, false, err
	}
	return ids, isCancelled, nil
}

// removal is what became of an event in a calendar.
type removal struct {
	from  string
	isOld bool // it was gone, perhaps by an earlier attempt
}

// removeFrom asks the provider to cancel the event in a calendar.
func (c *cancellation) removeFrom(ctx context.Context, calendarID string) (removal, error) {
	ref := calendar.EventRef{CalendarID: calendarID, ID: c.plan.EventID}
	op := guard.Op{Name: opCancel, Repeatable: true}
	lost := false // the answer of an earlier attempt, which then may have removed what is gone now
	isOld, err := ask(ctx, c.client.endpoint, op, func(ctx context.Context) (bool, error) {
		err := c.client.driver.Cancel(ctx, ref)
		f := fault.From(err)
		if lost && err != nil && f.Code == fault.NotFound && c.client.wasThere(f) {
			return true, nil
		}
		lost = lost || err != nil && !c.run.HadNoEffect(f)
		return false, err
	})
	return removal{calendarID, isOld || isGone(fault.From(err))}, err
}

// movedTo returns the calendar in which the meeting is now, if it was moved from the one where it is gone.
func (c *cancellation) movedTo(ctx context.Context, goneFrom string) (calendarID string, moved bool, err error) {
	event, found, err := c.client.elsewhere(ctx, c.plan.EventID, goneFrom)
	if err != nil || !found {
		return "", false, err
	}
	from, _ := c.client.findCalendar(ctx, goneFrom) // its own id; elsewhere has just listed it
	return event.CalendarID, !c.plan.mayMeanCopy() || !isInvited(event, from.ID), nil
}

// forgetMeeting ends what the store has of a meeting that was cancelled, and returns what is recorded with the answer.
// From then on an equal booking counts as a new one.
func (s *Calendar) forgetMeeting(ctx context.Context, c *cancellation, from string) (store.Attached, error) {
	client, eventID, rows := c.client, c.plan.EventID, s.opts.Store
	err := rows.DropIntentsOfEffect(ctx, client.tenant.ID, client.connection.ID, opBook, eventID)
	if err != nil {
		return store.Attached{}, err
	}
	if err := rows.DropHoldsOfEvent(ctx, client.connection.ID, eventID); err != nil {
		return store.Attached{}, err
	}
	row := client.location(eventID, from, true)
	s.recent.drop(row)
	attached := store.Attached{Seen: []store.EventSeen{row}}
	meeting, known, err := rows.Meeting(ctx, client.tenant.ID, client.connection.ID, client.reference(eventID))
	// It has ended, so that it takes the place of none of those that a caller has yet, unless a copy of it was cancelled.
	if err == nil && known &&
		(!c.plan.mayMeanCopy() || client.isSameCalendar(ctx, c.plan.CalendarID, meeting.CalendarID)) {
		meeting.EndsAt = client.opts.Now().Add(-endedLately)
		attached.Meetings = []store.Meeting{meeting}
	}
	return attached, err
}

// wasThere reports whether an event that an attempt to cancel it has reached, and that another does not find, was there
// before. A provider that keeps cancelled events tells them from those that never were.
func (c calendarClient) wasThere(f *fault.Error) bool {
	return !c.traits.KeepsCancelled || isGone(f)
}

// mayHaveCancelled reports whether another cancellation of the same event has cancelled it or was cut off, unless the
// connection led elsewhere then. Whoever did not hear its answer repeats it, and a repeat without a key is a call of
// its own. If one that began earlier still runs, mayHaveCancelled waits for its end.
func (s *Calendar) mayHaveCancelled(
	ctx context.Context, client calendarClient, ours store.Intent, plan cancelPlan,
) (bool, error) {
	stopped := map[string]bool{} // by key; one that is open in a later look was cut off, and did not just end
	for {
		open, err := s.opts.Store.OpenIntents(ctx, ours)
		if err != nil {
			return false, err
		}
		runs := false
		for _, i := range open {
			var other cancelPlan
			if err := json.Unmarshal(i.Plan, &other); err != nil {
				return false, err
			}
			switch {
			case i.DedupeKey != ours.DedupeKey, !plan.Account.isSame(other.Account):
			case stopped[i.Key]:
				return true, nil
			case !s.journal.IsRunning(i):
				stopped[i.Key], runs = true, true
			default: // of two that run, only one waits
				runs = runs || cmp.Or(i.CreatedAt.Compare(ours.CreatedAt), cmp.Compare(i.Key, ours.Key)) < 0
			}
		}
		if !runs {
			_, gone, err := client.candidates(ctx, plan.EventID, nil)
			return gone, err
		}
		if err := pause.For(ctx, cancelPause); err != nil {
			return false, err
		}
	}
}

// isCancelling reports whether a cancellation of the event has begun since the given time and has not
// certainly failed. An interrupted cancellation will be resumed, and the event would then be lost to a caller
// who was given it.
func (c calendarClient) isCancelling(ctx context.Context, eventID string, since time.Time) (bool, error) {
	key := journal.SubjectKey(c.connection.ID, eventID)
	_, found, err := c.opts.Store.RecentIntent(ctx, c.tenant.ID, opCancel, key, since)
	return found, err
}
