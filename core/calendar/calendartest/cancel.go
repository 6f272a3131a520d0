package calendartest

import (
	"context"
	"errors"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func cancelChecks() []Check {
	return []Check{
		{Name: "a cancelled event is gone, or marked where the provider keeps it",
			Do: with(cancelledIsGone)},
		{Name: "a cancelled event is listed only where the provider keeps it",
			Do: with(cancelledIsNotListed)},
		{Name: "cancelling leaves other events alone", Do: with(cancelIsOfOne)},
		{Name: "cancelling again is EVENT_NOT_FOUND", Do: with(cancelAgain)},
		{Name: "cancelling an unknown event is EVENT_NOT_FOUND", Do: with(cancelUnknown)},
	}
}

// wantGone returns nil if the event is not found, or is marked as cancelled if the provider keeps such
// events.
func (r *run) wantGone(ctx context.Context, ref calendar.EventRef) error {
	event, err := r.driver.Event(ctx, ref)
	if r.traits.KeepsCancelled {
		if err == nil && !event.IsCancelled {
			return errors.New("the cancelled event is read as if it still took place")
		}
		return err
	}
	return conformance.WantFault("Event", err, fault.NotFound, fault.ReasonEventNotFound)
}

func (r *run) bookAndCancel(ctx context.Context, b calendar.Booking) (calendar.EventRef, error) {
	booked, err := r.book(ctx, b)
	if err != nil {
		return calendar.EventRef{}, err
	}
	if err := r.driver.Cancel(ctx, refOf(booked)); err != nil {
		return calendar.EventRef{}, fmt.Errorf("Cancel: %w", err)
	}
	return refOf(booked), nil
}

func cancelledIsGone(ctx context.Context, r *run) error {
	b := r.booking("Cancelled", 0)
	b.Attendees = guests(1)
	ref, err := r.bookAndCancel(ctx, b)
	if err != nil {
		return err
	}
	return r.wantGone(ctx, ref)
}

func cancelledIsNotListed(ctx context.Context, r *run) error {
	b := r.booking("Cancelled and listed", 0)
	ref, err := r.bookAndCancel(ctx, b)
	if err != nil {
		return err
	}
	return r.seen(ctx, func() error {
		all, err := r.list(ctx, r.query(0, 0))
		if err != nil {
			return err
		}
		for _, e := range all {
			if e.ID == ref.ID && (!e.IsCancelled || !r.traits.KeepsCancelled) {
				return fmt.Errorf("the cancelled event is listed, IsCancelled %t, KeepsCancelled %t", e.IsCancelled,
					r.traits.KeepsCancelled)
			}
		}
		return nil
	})
}

func cancelIsOfOne(ctx context.Context, r *run) error {
	b := r.booking("One of two", 0)
	stays, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	b.Key = newKey()
	if _, err := r.bookAndCancel(ctx, b); err != nil {
		return err
	}
	after, err := r.read(ctx, refOf(stays))
	return errors.Join(err, wantSame("the event beside the cancelled one", stays, after))
}

func cancelAgain(ctx context.Context, r *run) error {
	ref, err := r.bookAndCancel(ctx, r.booking("Cancelled twice", 0))
	if err != nil {
		return err
	}
	err = r.driver.Cancel(ctx, ref)
	return conformance.WantFault("Cancel again", err, fault.NotFound, fault.ReasonEventNotFound)
}

func cancelUnknown(ctx context.Context, r *run) error {
	err := r.driver.Cancel(ctx, calendar.EventRef{CalendarID: r.Calendar, ID: r.unknownEvent()})
	if err := conformance.WantFault("Cancel", err, fault.NotFound, fault.ReasonEventNotFound); err != nil {
		return err
	}
	if fault.From(err).Metadata["gone"] != "" {
		return errors.New("an event that never was is said to have been there once")
	}
	return nil
}
