package calendartest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func idempotenceChecks() []Check {
	keeps := trait(func(t calendar.Traits) bool { return t.KeepsCancelled })
	return []Check{
		{Name: "booking again under the same key answers the event as it now is", Bound: idempotent,
			Do: with(bookAgain)},
		{Name: "booking many times at once under one key makes one event", Bound: idempotent, Do: with(bookAtOnce)},
		{Name: "booking again under the key of a cancelled event is CHANGED_MEANWHILE",
			Bound: both(idempotent, keeps), Do: with(bookCancelled)},
		{Name: "keys that differ make events that differ", Do: with(keysDiffer)},
		{Name: "a key names an event within its calendar only", Bound: hasSecond, Do: with(keysPerCalendar)},
	}
}

func bookAgain(ctx context.Context, r *run) error {
	b := r.booking("Twice", 0)
	b.Attendees = guests(1)
	first, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	title := b.Title + " and changed"
	changed, err := r.driver.Change(ctx, refOf(first), calendar.Change{Title: &title})
	if err != nil {
		return err
	}
	again, err := r.Open().Book(ctx, b) // as after a crash: a new driver remembers nothing
	if err != nil {
		return fmt.Errorf("Book again: %w", err)
	}
	if err := wantSame("Book again", changed, again); err != nil {
		return err
	}
	return r.seen(ctx, func() error {
		old, err1 := r.listTitled(ctx, r.query(0, 0), b.Title)
		now, err2 := r.listTitled(ctx, r.query(0, 0), title)
		return errors.Join(err1, err2, wantIDs("under the first title", old),
			wantIDs("under the changed one", now, first))
	})
}

func bookAtOnce(ctx context.Context, r *run) error {
	b := r.booking("Many times at once", 0)
	events := make([]calendar.Event, r.atOnce())
	drivers := []calendar.Driver{r.driver, r.Open()} // two replicas of the gateway
	err := conformance.AtOnce(len(events), func(i int) (err error) {
		events[i], err = drivers[i%len(drivers)].Book(ctx, b)
		return err
	})
	r.booked = append(r.booked, made(events)...)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.ID != events[0].ID {
			return fmt.Errorf("one booking answered the event %q, another %q", events[0].ID, e.ID)
		}
	}
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, r.query(0, 0), b.Title)
		return errors.Join(err, wantIDs("listed", listed, events[0]))
	})
}

func bookCancelled(ctx context.Context, r *run) error {
	b := r.booking("Cancelled in between", 0)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	if err := r.driver.Cancel(ctx, refOf(booked)); err != nil {
		return err
	}
	_, err = r.book(ctx, b)
	return conformance.WantFault("Book again", err, fault.Conflict, fault.ReasonChangedMeanwhile)
}

// keysDiffer also tries the limits of keys: 64 characters, and letters that Google's event ids do not allow.
func keysDiffer(ctx context.Context, r *run) error {
	b := r.booking("Under several keys", 0)
	long := strings.Repeat("zyxw9876", 8)[:64-len(b.Key)] + b.Key
	var events []calendar.Event
	for _, key := range []string{b.Key, newKey(), long, "y" + long[1:]} {
		b.Key = key
		event, err := r.book(ctx, b)
		if err != nil {
			return fmt.Errorf("under the key %q: %w", key, err)
		}
		events = append(events, event)
	}
	ids := map[string]bool{}
	for _, e := range events {
		ids[e.ID] = true
	}
	if len(ids) != len(events) {
		return fmt.Errorf("%d keys made %d events", len(events), len(ids))
	}
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, r.query(0, 0), b.Title)
		return errors.Join(err, wantIDs("listed", listed, events...))
	})
}

func keysPerCalendar(ctx context.Context, r *run) error {
	b := r.booking("In two calendars", 0)
	if _, err := r.book(ctx, b); err != nil {
		return err
	}
	b.CalendarID = r.Second
	second, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	if second.CalendarID != r.Second {
		return fmt.Errorf("the second booking answered an event in %q, want one in %q", second.CalendarID, r.Second)
	}
	return nil
}
