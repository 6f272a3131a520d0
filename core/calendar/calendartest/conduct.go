package calendartest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func conductChecks() []Check {
	return []Check{
		{Name: "a driver holds no secret", Harmless: true, Bound: hasSecrets, Do: with(noSecretIsHeld)},
		{Name: "calls at the same time do not mix", Bound: writes, Do: with(callsDoNotMix)},
		{Name: "a call whose context has ended does nothing", Bound: writes, Do: with(endedContextIsHeeded)},
		{Name: "a call returns when its deadline passes", Bound: can[Hanger], Do: with(deadlineIsHeeded)},
		{Name: "a call returns when its caller leaves", Bound: can[Hanger], Do: with(leavingIsHeeded)},
	}
}

func hasSecrets(h Harness) bool { return len(h.Secrets) > 0 }

func noSecretIsHeld(ctx context.Context, r *run) error {
	if _, err := r.driver.Calendars(ctx); err != nil {
		return err
	}
	return conformance.WantNoSecret(r.driver, r.Secrets)
}

// call is one way to ask a driver for something.
type call struct {
	name string
	do   func(context.Context) error
}

// calls are all of them, about an event that is there.
func (r *run) calls(ref calendar.EventRef) []call {
	title := "Changed"
	reads := []call{
		{"Account", func(ctx context.Context) error { _, err := r.driver.Account(ctx); return err }},
		{"Calendars", func(ctx context.Context) error { _, err := r.driver.Calendars(ctx); return err }},
		{"Event", func(ctx context.Context) error { _, err := r.driver.Event(ctx, ref); return err }},
		{"Events", func(ctx context.Context) error { _, err := r.driver.Events(ctx, r.query(0, 0)); return err }},
	}
	if busy, can := r.driver.(calendar.FreeBusyer); can {
		reads = append(reads, call{"FreeBusy", func(ctx context.Context) error {
			_, err := busy.FreeBusy(ctx, []string{r.Calendar}, calendar.Span{From: r.at(0, 0, 0), To: r.at(1, 0, 0)})
			return err
		}})
	}
	if many, can := r.driver.(calendar.ManyLister); can {
		reads = append(reads, call{"EventsOf", func(ctx context.Context) error {
			_, err := many.EventsOf(ctx, []calendar.Query{r.query(0, 0), r.query(1, 1)})
			return err
		}})
	}
	if r.traits.ReadOnly {
		return reads
	}
	return append(reads,
		call{"Book", func(ctx context.Context) error { _, err := r.book(ctx, r.booking("Refused", 0)); return err }},
		call{"Change", func(ctx context.Context) error {
			_, err := r.driver.Change(ctx, ref, calendar.Change{Title: &title})
			return err
		}},
		call{"Cancel", func(ctx context.Context) error { return r.driver.Cancel(ctx, ref, calendar.Cancellation{}) }},
	)
}

// subject books what the calls are about, where the account can be written.
func (r *run) subject(ctx context.Context) (calendar.EventRef, error) {
	if r.traits.ReadOnly {
		return calendar.EventRef{CalendarID: r.Calendar, ID: r.unknownEvent()}, nil
	}
	booked, err := r.book(ctx, r.booking("Spoken of", 0))
	return refOf(booked), err
}

func callsDoNotMix(ctx context.Context, r *run) error {
	events := make([]calendar.Event, r.atOnce())
	bookings := make([]calendar.Booking, len(events))
	for i := range bookings {
		bookings[i] = r.booking(fmt.Sprintf("At the same time %d", i), i%3)
	}
	err := atOnce(len(events), func(i int) (err error) {
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
	for _, e := range events {
		if e.ID != "" {
			r.booked = append(r.booked, refOf(e))
		}
	}
	return err
}

func endedContextIsHeeded(ctx context.Context, r *run) error {
	ref, err := r.subject(ctx)
	if err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	for _, c := range r.calls(ref) {
		if err := conformance.WantEnded(c.name, c.do(ended)); err != nil {
			return err
		}
	}
	event, err := r.read(ctx, ref)
	if err == nil && (event.IsCancelled || event.Title == "Changed") {
		return fmt.Errorf("a call whose context had ended made the event %+v", event)
	}
	return err
}

func deadlineIsHeeded(ctx context.Context, r *run) error {
	const deadline = 100 * time.Millisecond
	return r.givenUp(ctx, func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, deadline) },
		func(name string, err error) error {
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fault.Timeout) {
				return nil
			}
			return fmt.Errorf("%s failed with %w, want the context's error", name, err)
		})
}

func leavingIsHeeded(ctx context.Context, r *run) error {
	const patience = 100 * time.Millisecond
	return r.givenUp(ctx, func() (context.Context, context.CancelFunc) {
		ctx, leave := context.WithCancel(ctx)
		time.AfterFunc(patience, leave)
		return ctx, leave
	}, conformance.WantEnded)
}

// givenUp makes each call to a provider that does not answer, under a context that ends.
func (r *run) givenUp(
	ctx context.Context, limited func() (context.Context, context.CancelFunc), want func(name string, err error) error,
) error {
	const grace = 10 * time.Second
	ref, err := r.subject(ctx)
	if err != nil {
		return err
	}
	release := r.Provider.(Hanger).Hang()
	defer release()
	for _, c := range r.calls(ref) {
		ctx, end := limited()
		done := make(chan error, 1)
		go func() { done <- c.do(ctx) }()
		timer := time.NewTimer(grace)
		select {
		case err = <-done:
			err = want(c.name, err)
		case <-timer.C:
			release()
			<-done
			err = fmt.Errorf("%s did not return when its context ended", c.name)
		}
		timer.Stop()
		end()
		if err != nil {
			return err
		}
	}
	return nil
}
