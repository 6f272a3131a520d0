package microsoft

import (
	"context"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func open(context.Context, settings, adapter.Environment) (calendar.Driver, error) {
	return nil, fault.New(fault.Unsupported, fault.ReasonNotSupported, "The calendars of Microsoft are not connected yet.")
}
