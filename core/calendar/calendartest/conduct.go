package calendartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// conductChecks returns the checks of a driver as a whole.
func conductChecks() []Check {
	return slices.Concat(conformance.Conduct(subject), []Check{
		{Name: "traits are constant", Harmless: true, Do: with(traitsAreConstant)},
		{Name: "traits cost nothing to ask", Harmless: true, Bound: can[conformance.CallCounter],
			Do: with(traitsCostNothing)},
		{Name: "calls at the same time do not mix", Do: with(callsDoNotMix)},
		{Name: "a write whose context has ended writes nothing",
			Do: with(endedContextWritesNothing)},
		{Name: "a call returns when its caller leaves", Bound: can[conformance.Hanger], Do: with(leavingIsHeeded)},
		{Name: "a lost reply is not called unsent", Bound: can[conformance.ReplyDropper],
			Do: with(lostReplyWasSent)},
		{Name: "booking again after a lost reply finds the event",
			Bound: both(idempotent, can[conformance.ReplyDropper]), Do: with(lostReplyIsFound)},
	})
}

// subject returns a driver with all its calls, for an event that does not exist.
func subject(h Harness) conformance.Subject {
	driver := h.Open()
	now := h.Now()
	ref := calendar.EventRef{CalendarID: h.Calendar, ID: h.unknownEvent()}
	span := calendar.Span{From: now, To: now.Add(time.Hour)}
	query := calendar.Query{CalendarID: h.Calendar, From: span.From, To: span.To, Zone: zoneUsed}
	return conformance.Subject{
		Driver: driver, Secrets: h.Secrets, Provider: h.Provider,
		Calls: calls(driver, ref, query, calendar.Booking{
			Key: newKey(), CalendarID: h.Calendar, Title: "A call that may fail", Start: span.From, End: span.To,
			Zone: zoneUsed,
		}),
	}
}

// calls returns all of a driver's calls. If Book succeeds, Cancel removes the event that it created.
func calls(
	driver calendar.Driver, ref calendar.EventRef, query calendar.Query, booking calendar.Booking,
) []conformance.Call {
	list := []conformance.Call{
		{Name: "Account", Run: func(ctx context.Context) error { _, err := driver.Account(ctx); return err }},
		{Name: "Calendars", Run: func(ctx context.Context) error { _, err := driver.Calendars(ctx); return err }},
		{Name: "Event", Run: func(ctx context.Context) error { _, err := driver.Event(ctx, ref); return err }},
		{Name: "Events", Run: func(ctx context.Context) error { _, err := driver.Events(ctx, query); return err }},
	}
	if busy, can := driver.(calendar.FreeBusyer); can {
		list = append(list, conformance.Call{Name: "FreeBusy", Run: func(ctx context.Context) error {
			_, err := busy.FreeBusy(ctx, []string{query.CalendarID}, calendar.Span{From: query.From, To: query.To})
			return err
		}})
	}
	if teller, can := driver.(calendar.HoursTeller); can {
		list = append(list, conformance.Call{Name: "WorkingHours", Run: func(ctx context.Context) error {
			_, _, err := teller.WorkingHours(ctx)
			return err
		}})
	}
	if many, can := driver.(calendar.ManyLister); can {
		list = append(list, conformance.Call{Name: "EventsOf", Run: func(ctx context.Context) error {
			_, err := many.EventsOf(ctx, []calendar.Query{query, query})
			return err
		}})
	}
	list = append(list, conformance.SetupCalls(driver)...)
	title := "Changed"
	var removed atomic.Pointer[calendar.EventRef]
	removed.Store(&ref)
	return append(list,
		conformance.Call{Name: "Book", Run: func(ctx context.Context) error {
			event, err := driver.Book(ctx, booking)
			if made := refOf(event); err == nil {
				removed.Store(&made)
			}
			return err
		}},
		conformance.Call{Name: "Change", Run: func(ctx context.Context) error {
			_, err := driver.Change(ctx, ref, calendar.Change{Title: &title})
			return err
		}},
		conformance.Call{Name: "Cancel", Run: func(ctx context.Context) error {
			return driver.Cancel(ctx, *removed.Load())
		}},
	)
}

func traitsAreConstant(ctx context.Context, r *run) error {
	if _, err := r.driver.Calendars(ctx); err != nil {
		return err
	}
	if now, other := r.driver.Traits(), r.Open().Traits(); now != r.traits || other != r.traits {
		return fmt.Errorf("traits were %+v, then %+v, and those of another driver %+v", r.traits, now, other)
	}
	return nil
}

func traitsCostNothing(_ context.Context, r *run) error {
	return conformance.CostsNothing(r.Provider, "Traits", func() { r.driver.Traits() })
}

func callsDoNotMix(ctx context.Context, r *run) error {
	events := make([]calendar.Event, r.atOnce())
	bookings := make([]calendar.Booking, len(events))
	for i := range bookings {
		bookings[i] = r.booking(fmt.Sprintf("At the same time %d", i), i%3)
	}
	err := conformance.AtOnce(len(events), func(i int) (err error) {
		if events[i], err = r.driver.Book(ctx, bookings[i]); err != nil {
			return err
		}
		if _, err = r.driver.Events(ctx, r.query(0, 3)); err != nil {
			return err
		}
		read, err := r.driver.Event(ctx, refOf(events[i]))
		if err != nil {
			return err
		}
		if read.Title != bookings[i].Title || events[i].Title != bookings[i].Title {
			return fmt.Errorf("booked %q, answered %q, read %q", bookings[i].Title, events[i].Title, read.Title)
		}
		return nil
	})
	r.booked = append(r.booked, made(events)...)
	return err
}

// made returns the references of the events that were created. Events without an ID were not.
func made(events []calendar.Event) (refs []calendar.EventRef) {
	for _, e := range events {
		if e.ID != "" {
			refs = append(refs, refOf(e))
		}
	}
	return refs
}

func endedContextWritesNothing(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Left alone", 0))
	if err != nil {
		return err
	}
	before, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	never := r.booking("Never booked", 0)
	for _, c := range calls(r.driver, refOf(booked), r.query(0, 0), never) {
		if err := conformance.WantEnded(c.Name, c.Run(ended)); err != nil {
			return err
		}
	}
	after, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	listed, err := r.listTitled(ctx, r.query(0, 0), never.Title)
	return errors.Join(err, wantSame("after the calls", before, after), wantIDs("booked by them", listed))
}

// leavingIsHeeded makes each call to a provider that does not respond, and cancels the call's context.
func leavingIsHeeded(ctx context.Context, r *run) error {
	const patience, grace = 50 * time.Millisecond, 10 * time.Second
	release := r.Provider.(conformance.Hanger).Hang()
	defer release()
	return conformance.FourAtATime(subject(r.Harness).Calls, func(c conformance.Call) error {
		ctx, leave := context.WithCancel(ctx)
		defer leave()
		defer time.AfterFunc(patience, leave).Stop()
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case err := <-done:
			return conformance.WantEnded(c.Name, err)
		case <-timer.C:
			return fmt.Errorf("%s did not return when its caller left", c.Name)
		}
	})
}

// mayHaveActed returns nil if err allows that the provider may have carried out the request.
func mayHaveActed(err error) error {
	f := fault.From(err)
	switch {
	case err == nil:
		return errors.New("Book succeeded though the reply was lost")
	case f.Unsent:
		return fmt.Errorf("Book failed with %w, as if the request had never been sent", err)
	case f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.UnknownOutcome:
		return fmt.Errorf("Book failed with %w, want an outage, a timeout or an unknown outcome", err)
	}
	return nil
}

func lostReplyWasSent(ctx context.Context, r *run) error {
	b := r.booking("Its reply was lost", 0)
	r.Provider.(conformance.ReplyDropper).DropNextReply()
	_, err := r.driver.Book(ctx, b)
	if listed, err := r.listTitled(ctx, r.query(0, 0), b.Title); err == nil {
		r.booked = append(r.booked, made(listed)...)
	}
	return mayHaveActed(err)
}

func lostReplyIsFound(ctx context.Context, r *run) error {
	b := r.booking("Found again", 0)
	b.Attendees = guests(1)
	r.Provider.(conformance.ReplyDropper).DropNextReply()
	_, err := r.driver.Book(ctx, b)
	if err := mayHaveActed(err); err != nil {
		return err
	}
	r.driver = r.Open()
	again, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	err = errors.Join(wantSpan("Book again", again, b.Start, b.End),
		wantList("invited", addressesOf(again), b.Attendees...))
	if err != nil {
		return err
	}
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, r.query(0, 0), b.Title)
		return errors.Join(err, wantIDs("listed", listed, again))
	})
}
