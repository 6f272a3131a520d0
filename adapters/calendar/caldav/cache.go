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
	select {
	case d.discovering <- struct{}{}:
		defer func() { <-d.discovering }()
	case <-ctx.Done():
		return nil, false, fault.From(ctx.Err())
	}
	if a := d.known.Load(); a != nil && d.now().Sub(a.found) < fresh {
		return a, true, nil // another call has just discovered it
	}
	a, err = d.discoverAgain(ctx)
	return a, true, err
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
		"The account has no calendar %q, which the connection names as its default.", d.settings.Calendar).
		With("provider", name)
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
		return err
	}
	if slices.ContainsFunc(a.calendars, func(p calendarCollection) bool { return p.ID == calendarID }) {
		return refusal(answered)
	}
	return noCalendar()
}

func readOnly() *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "The account may only read this calendar.").
		With("provider", name)
}
