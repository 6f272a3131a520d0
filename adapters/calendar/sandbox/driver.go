package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

type driver struct {
	settings  settings
	zone      string
	storage   adapter.Storage
	now       func() time.Time
	most      int // events of a calendar
	scenarios scenario.Provider
	seeded    atomic.Bool // the demo events are in the store
}

var (
	_ calendar.Driver     = (*driver)(nil)
	_ calendar.FreeBusyer = (*driver)(nil)
)

// Traits implements calendar.Driver.
func (d *driver) Traits() calendar.Traits {
	return calendar.Traits{
		IdempotentBook: true, IDsPerCalendar: true, KeepsCancelled: true, Instances: true,
		Conferencing: d.settings.Conferencing, LocationURL: true, ConsistentReads: true,
	}
}

// Account implements calendar.Driver.
func (d *driver) Account(ctx context.Context) (calendar.Account, error) {
	return read(ctx, d, scenario.Call{}, func(adapter.StorageTx) (calendar.Account, error) {
		return calendar.Account{Email: d.settings.Email, Name: "Sandbox"}, nil
	})
}

// Calendars implements calendar.Driver.
func (d *driver) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	return read(ctx, d, scenario.Call{},
		func(adapter.StorageTx) ([]calendar.Calendar, error) { return d.calendars(), nil })
}

// The ids of the calendars.
const (
	primary  = "primary"
	team     = "team"
	holidays = "holidays"
)

func (d *driver) calendars() []calendar.Calendar {
	return []calendar.Calendar{
		{ID: primary, Name: "Front office", Zone: d.zone, IsDefault: true},
		{ID: team, Name: "Team", Zone: teamZone},
		{ID: holidays, Name: "Holidays", Zone: d.zone, ReadOnly: true},
	}
}

// calendar returns the calendar with that id, or the default one for "".
func (d *driver) calendar(id string) (calendar.Calendar, error) {
	id = scenario.Strip(id)
	all := d.calendars()
	i := slices.IndexFunc(all, func(c calendar.Calendar) bool { return c.ID == id || id == "" && c.IsDefault })
	if i < 0 {
		return calendar.Calendar{}, fault.New(fault.NotFound, fault.ReasonCalendarNotFound,
			"The account has no calendar with that id.")
	}
	return all[i], nil
}

func (d *driver) writable(id string) (calendar.Calendar, error) {
	c, err := d.calendar(id)
	if err == nil && c.ReadOnly {
		err = fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The calendar "+c.ID+" is read-only.")
	}
	return c, err
}

// Book implements calendar.Driver.
func (d *driver) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	if b.Conferencing == calendar.ConferencingProvider && !d.settings.Conferencing {
		return calendar.Event{}, fault.New(fault.Unsupported, fault.ReasonConferencing,
			"The account cannot make meeting links.")
	}
	if err := checkTimes(b.Start, b.End, b.Zone); err != nil {
		return calendar.Event{}, err
	}
	id := eventID(b.Key)
	call := d.about(calendar.EventRef{CalendarID: b.CalendarID, ID: id}, "book", b.Title)
	return write(ctx, d, call, func(tx adapter.StorageTx) (calendar.Event, error) {
		c, err := d.writable(b.CalendarID)
		if err != nil {
			return calendar.Event{}, err
		}
		there, key, err := get(tx, c.ID, id)
		switch {
		case err != nil:
			return calendar.Event{}, err
		case key != "" && there.State != stands:
			return calendar.Event{}, changedMeanwhile("The event of this booking has since been cancelled.")
		case key != "":
			return there.event(), nil
		}
		s := d.newEvent(c.ID, id, b)
		return s.event(), d.add(tx, s)
	})
}

// Event implements calendar.Driver.
func (d *driver) Event(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	return read(ctx, d, d.about(ref, ""), func(tx adapter.StorageTx) (calendar.Event, error) {
		f, err := d.find(tx, ref)
		if err != nil {
			return calendar.Event{}, err
		}
		return f.event.event(), nil
	})
}

// Change implements calendar.Driver.
func (d *driver) Change(
	ctx context.Context, ref calendar.EventRef, c calendar.Change,
) (calendar.Event, error) {
	if c.Start != nil && c.End != nil {
		if err := checkTimes(*c.Start, *c.End, c.Zone); err != nil {
			return calendar.Event{}, err
		}
	}
	title := ""
	if c.Title != nil {
		title = *c.Title
	}
	return write(ctx, d, d.about(ref, "change "+hash(c), title), func(
		tx adapter.StorageTx,
	) (calendar.Event, error) {
		if _, err := d.writable(ref.CalendarID); err != nil {
			return calendar.Event{}, err
		}
		f, err := d.find(tx, ref)
		if err != nil {
			return calendar.Event{}, err
		}
		if f.event.State != stands {
			return calendar.Event{}, notFound()
		}
		if err := f.unchanged(c.IfUnchanged); err != nil {
			return calendar.Event{}, err
		}
		moved := c.Start != nil && c.End != nil
		f.event.apply(c)
		if moved && f.event.Rule != "" {
			f.event.Instances = nil // they are named by starts that no longer exist
		}
		return f.event.event(), f.save(tx)
	})
}

// Cancel implements calendar.Driver.
func (d *driver) Cancel(ctx context.Context, ref calendar.EventRef) error {
	_, err := write(ctx, d, d.about(ref, "cancel"), func(tx adapter.StorageTx) (struct{}, error) {
		if _, err := d.writable(ref.CalendarID); err != nil {
			return struct{}{}, err
		}
		f, err := d.find(tx, ref)
		if err != nil {
			return struct{}{}, err
		}
		if f.event.State != stands {
			return struct{}{}, notFound().With(calendar.MetaGone, "true")
		}
		f.event.State = cancelled
		f.event.Version++
		return struct{}{}, f.save(tx)
	})
	return err
}

// read runs a call that only reads.
func read[T any](
	ctx context.Context, d *driver, c scenario.Call, do func(adapter.StorageTx) (T, error),
) (T, error) {
	return scenario.Read(ctx, d.scenarios, c, func(ctx context.Context) (answer T, err error) {
		if err := d.seed(ctx); err != nil {
			return answer, storeFault(err)
		}
		err = d.storage.View(ctx, func(tx adapter.StorageTx) (err error) {
			answer, err = do(tx)
			return err
		})
		return answer, storeFault(err)
	})
}

// write runs a call that changes something.
func write[T any](
	ctx context.Context, d *driver, c scenario.Call, do func(adapter.StorageTx) (T, error),
) (T, error) {
	return scenario.Write(ctx, d.scenarios, c, func(ctx context.Context) (answer T, err error) {
		if err := d.seed(ctx); err != nil {
			return answer, storeFault(err)
		}
		err = d.storage.Update(ctx, func(tx adapter.StorageTx) (err error) {
			answer, err = do(tx)
			return err
		})
		return answer, storeFault(err)
	})
}

// storeFault converts an error of the store into a fault. Errors of the context stay unchanged.
func storeFault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.From(err)
}
