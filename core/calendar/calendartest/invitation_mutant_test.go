package calendartest_test

import (
	"context"
	"errors"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func invitationMutants() []mutantOf {
	const (
		single      = "an event that someone else organizes is not changed"
		instance    = "an instance of a series that someone else organizes is not changed"
		removed     = "cancelling an event that someone else organizes removes the account's copy alone"
		oneInstance = "cancelling an instance of someone else's series removes the account's copy of it alone"
	)
	side := func(d full) *provider { return d.(*client).p }
	// own changes the account's copy, as a server allows that stores events but knows no organizers.
	own := func(d full, ref EventRef, c Change) (Event, error) {
		var changed Event
		err := side(d).alter(ref, func(e *Event) {
			if c.Title != nil {
				e.Title = *c.Title
			}
			if c.Description != nil {
				e.Description = *c.Description
			}
			if c.Attendees != nil {
				e.Attendees = attend(e.Attendees, *c.Attendees)
			}
			if c.Start != nil {
				e.Start, e.End = calendar.At(*c.Start, c.Zone), calendar.At(*c.End, c.Zone)
			}
			changed = *e
		})
		return changed, err
	}
	refused := func(
		instead func(context.Context, full, EventRef, Change, error) (Event, error),
	) func(harness) harness {
		return mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
			e, err := d.Change(ctx, ref, c)
			if errors.Is(err, fault.Forbidden) {
				return instead(ctx, d, ref, c, err)
			}
			return e, err
		}})
	}
	changesOwnCopy := refused(func(_ context.Context, d full, ref EventRef, c Change, _ error) (Event, error) {
		return own(d, ref, c)
	})
	cancelsForAll := mutate(mutation{cancel: func(ctx context.Context, d full, ref EventRef) error {
		e, err := d.Event(ctx, ref)
		if err != nil {
			return err
		}
		if err := d.Cancel(ctx, ref); err != nil {
			return err
		}
		p := side(d)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notify(e, "cancellation")
		return nil
	}})
	return []mutantOf{
		{Check: single, How: "changes the account's own copy", Mutate: changesOwnCopy},
		{Check: single, How: "changes the copy where its version is given",
			Mutate: refused(func(_ context.Context, d full, ref EventRef, c Change, err error) (Event, error) {
				if c.IfUnchanged == "" {
					return Event{}, err
				}
				return own(d, ref, c)
			})},
		{Check: single, How: "changes the copy, then refuses",
			Mutate: refused(func(_ context.Context, d full, ref EventRef, c Change, err error) (Event, error) {
				_, _ = own(d, ref, c)
				return Event{}, err
			})},
		{Check: single, How: "does nothing and calls it done",
			Mutate: refused(func(ctx context.Context, d full, ref EventRef, _ Change, _ error) (Event, error) {
				return d.Event(ctx, ref)
			})},
		{Check: single, How: "another code",
			Mutate: refused(func(context.Context, full, EventRef, Change, error) (Event, error) {
				return Event{}, fault.New(fault.Unsupported, fault.ReasonNotSupported, "Not one's own.")
			})},
		{Check: single, How: "tells the attendees and refuses",
			Mutate: refused(func(ctx context.Context, d full, ref EventRef, _ Change, err error) (Event, error) {
				if e, err := d.Event(ctx, ref); err == nil {
					p := side(d)
					p.mu.Lock()
					defer p.mu.Unlock()
					p.notify(e, "update")
				}
				return Event{}, err
			})},
		{Check: instance, How: "changes the account's own copy", Mutate: changesOwnCopy},
		{Check: removed, How: "refuses",
			Mutate: mutate(mutation{cancel: func(context.Context, full, EventRef) error {
				return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Only the organizer can.")
			}})},
		{Check: removed, How: "cancels it for all", Mutate: cancelsForAll},
		{Check: removed, How: "says so and does nothing",
			Mutate: mutate(mutation{cancel: func(context.Context, full, EventRef) error {
				return nil
			}})},
		{Check: oneInstance, How: "cancels it for all", Mutate: cancelsForAll},
		{Check: oneInstance, How: "the whole series",
			Mutate: mutate(mutation{cancel: func(ctx context.Context, d full, ref EventRef) error {
				for _, other := range wholeSeries(ctx, d, ref) {
					if err := d.Cancel(ctx, other); err != nil {
						return err
					}
				}
				return nil
			}})},
	}
}
