package microsoft

import (
	"context"
	"errors"
	"net/http"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// noEventID is the id of no event.
const noEventID = "frontdesk-setup-check"

// CheckSetup checks that the default calendar exists, that the account may change events in it, and that the
// token allows it.
func (d *driver) CheckSetup(ctx context.Context) error {
	c, err := d.readMeant(ctx)
	if errors.Is(err, fault.NotFound) {
		return misconfigured(
			"does not have the calendar that the connection's setting calendar_id names. Correct the " +
				"setting, or leave it out to use the mailbox's default calendar")
	}
	if err != nil {
		return err
	}
	if c.CanEdit != nil && !*c.CanEdit {
		return fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
			"The account can only read the calendar of the connection's setting calendar_id. Choose another "+
				"one, or have its owner share it with permission to edit.")
	}
	return d.mayWrite(ctx, text(c.ID))
}

func (d *driver) readMeant(ctx context.Context) (*graph.Calendar, error) {
	if d.settings.CalendarID == "" {
		return d.readStandard(ctx)
	}
	id, err := d.calendarID(ctx, "")
	if err != nil {
		return nil, err
	}
	return d.readCalendar(ctx, d.calendar(id))
}

// mayWrite checks that the token allows changing events, by a change of an event that does not exist.
func (d *driver) mayWrite(ctx context.Context, calendarID string) error {
	_, err := ask[graph.Event](ctx, d, exchange{missing: noEvent()}, graph.Request{
		Method: http.MethodPatch, Path: d.event(calendarID, noEventID), Prefer: immutable, Body: graph.Event{},
	})
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
