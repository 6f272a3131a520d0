package caldav

import (
	"context"
	"slices"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// CheckSetup checks that the default calendar exists and that the account can write to it, as far as the
// server reports the privileges.
func (d *driver) CheckSetup(ctx context.Context) error {
	list, err := d.Calendars(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c calendar.Calendar) bool { return c.IsDefault })
	switch {
	case i < 0 && d.settings.Calendar != "":
		return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The server has no calendar %q, which the connection's setting calendar names. Correct the "+
				"setting.",
			d.settings.Calendar)
	case i < 0:
		return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The account has no calendar for events. Create one, or correct the connection's url.",
		)
	case list[i].ReadOnly:
		return fault.Newf(fault.Forbidden, fault.ReasonPermissionDenied,
			"The account can only read the calendar %q. Name another in the connection's setting calendar, "+
				"or give the account write permission.", list[i].Name)
	}
	return nil
}
