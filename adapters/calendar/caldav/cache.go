package caldav

import (
	"context"
	"net/http"
	"slices"

	"frontdesk/core/fault"
)

// account returns the discovered account, from the cache if it is fresh enough. isNew reports whether it was
// discovered during this call.
func (d *driver) account(ctx context.Context) (a *account, isNew bool, err error) {
	if a := d.known.Load(); a != nil && d.now().Sub(a.found) < fresh {
		return a, false, nil
	}
	if err := d.takeTurn(ctx); err != nil {
		return nil, false, err
	}
	defer d.endTurn()
	if a := d.known.Load(); a != nil && d.now().Sub(a.found) < fresh {
		return a, true, nil // another call has just discovered it
	}
	a, err = d.discoverAgain(ctx)
	return a, true, err
}

// takeTurn waits until no other call discovers the account for the first time. endTurn must follow.
func (d *driver) takeTurn(ctx context.Context) error {
	select {
	case d.discovering <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.From(ctx.Err())
	}
}

func (d *driver) endTurn() { <-d.discovering }

// discoverNow returns the account as it is now. On the first use of the driver, calls that begin at one time share
// one discovery.
func (d *driver) discoverNow(ctx context.Context) (*account, error) {
	if d.known.Load() != nil {
		return d.discoverAgain(ctx)
	}
	if err := d.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer d.endTurn()
	if a := d.known.Load(); a != nil {
		return a, nil
	}
	return d.discoverAgain(ctx)
}

// discoverAgain runs the discovery, even if the account is cached, and caches the result.
func (d *driver) discoverAgain(ctx context.Context) (*account, error) {
	a, err := d.discover(ctx)
	if err != nil {
		return nil, err
	}
	d.known.Store(a)
	return a, nil
}

// calendar returns the calendar with the given id, or the default one for "".
func (d *driver) calendar(ctx context.Context, id string) (*account, calendarCollection, error) {
	a, again, err := d.account(ctx)
	for err == nil {
		i := slices.IndexFunc(a.calendars,
			func(p calendarCollection) bool { return p.ID == id || id == "" && p.IsDefault })
		if i >= 0 {
			return a, a.calendars[i], nil
		}
		if again {
			return nil, calendarCollection{}, d.noCalendar(id)
		}
		again = true
		a, err = d.discoverAgain(ctx)
	}
	return nil, calendarCollection{}, err
}

func (d *driver) noCalendar(id string) error {
	if id != "" || d.settings.Calendar == "" {
		return noCalendar()
	}
	return fault.Newf(fault.NotFound, fault.ReasonCalendarNotFound,
		"The account has no calendar %q, which the connection names as its default.", d.settings.Calendar)
}

// missing returns the fault for a response that may mean that the calendar is gone: 404, 410, and 409 for a
// PUT into it (RFC 4918 section 9.7.1). It repeats the discovery to find out.
func (d *driver) missing(ctx context.Context, calendarID string, answered answer) error {
	if answered.status != http.StatusNotFound && answered.status != http.StatusGone &&
		answered.status != http.StatusConflict {
		return refusal(answered)
	}
	a, err := d.discoverAgain(ctx)
	if err != nil {
		return fault.Unacted(err) // the server refused a write
	}
	if slices.ContainsFunc(a.calendars, func(p calendarCollection) bool { return p.ID == calendarID }) {
		return refusal(answered)
	}
	return noCalendar()
}

func readOnly() *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The account may only read this calendar.")
}
