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

func eventChecks() []Check {
	perCalendar := trait(func(t calendar.Traits) bool { return t.IDsPerCalendar })
	tellCalendar := trait(func(t calendar.Traits) bool { return t.IDsTellCalendar })
	return []Check{
		{Name: "an event is read as it was booked", Do: with(eventIsRead)},
		{Name: "reading an unknown event is EVENT_NOT_FOUND", Harmless: true, Do: with(unknownEventIsNotFound)},
		{Name: "an id is only data: it reaches nothing but an event of that calendar", Harmless: true,
			Do: with(idsAreData)},
		{Name: "an event is found in its own calendar only", Bound: both(hasSecond, perCalendar),
			Do: with(foundInItsCalendar)},
		{Name: "an event is found by its id alone, in its own calendar", Bound: both(hasSecond, tellCalendar),
			Do: with(foundByItsID)},
	}
}

func eventIsRead(ctx context.Context, r *run) error {
	b := r.booking("Read again", 0)
	b.Attendees = guests(2)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	event, err := r.Open().Event(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if event.Version == "" {
		return errors.New("the event read has no Version")
	}
	if event.Title != b.Title || event.Description != b.Description {
		return fmt.Errorf("read the title %q and description %q, want %q and %q",
			event.Title, event.Description, b.Title, b.Description)
	}
	return errors.Join(
		wantSame("Event", booked, event),
		wantSpan("Event", event, b.Start, b.End),
		wantList("invited", addressesOf(event), b.Attendees...),
	)
}

func unknownEventIsNotFound(ctx context.Context, r *run) error {
	_, err := r.driver.Event(ctx, calendar.EventRef{CalendarID: r.Calendar, ID: r.unknownEvent()})
	return conformance.WantFault("Event", err, fault.NotFound, fault.ReasonEventNotFound)
}

// idsAreData reads events by hostile ids. Event ids come from callers, who may be induced to send anything.
func idsAreData(ctx context.Context, r *run) error {
	for _, id := range []string{
		"..", "../..", "/", "//example.com/x", "https://example.com/x", "?", "#", "%", "%2e%2e%2f", "a/b?c=d#e",
		"a b", `"`, "'; --", "*", "ä\u202e", strings.Repeat("x", 1024),
	} {
		_, err := r.driver.Event(ctx, calendar.EventRef{CalendarID: r.Calendar, ID: id})
		if err := conformance.WantFault(fmt.Sprintf("Event %.40q", id), err, fault.NotFound,
			fault.ReasonEventNotFound); err != nil {
			return err
		}
	}
	return nil
}

func foundInItsCalendar(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("In the first calendar", 0))
	if err != nil {
		return err
	}
	inSecondCalendar := calendar.EventRef{CalendarID: r.Second, ID: booked.ID}
	_, err = r.driver.Event(ctx, inSecondCalendar)
	if err := conformance.WantFault("Event in the other calendar", err, fault.NotFound,
		fault.ReasonEventNotFound); err != nil {
		return err
	}
	err = r.driver.Cancel(ctx, inSecondCalendar)
	if err := conformance.WantFault("Cancel in the other calendar", err, fault.NotFound,
		fault.ReasonEventNotFound); err != nil {
		return err
	}
	_, err = r.read(ctx, refOf(booked))
	return err
}

func foundByItsID(ctx context.Context, r *run) error {
	b := r.booking("In the second calendar", 0)
	b.CalendarID = r.Second
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	read, err := r.read(ctx, calendar.EventRef{ID: booked.ID})
	if err != nil {
		return err
	}
	return wantSame("read by its id alone", booked, read)
}
