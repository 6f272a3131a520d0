// Package all is the one list of adapters. A binary of one's own makes another.
package all

import (
	"frontdesk/adapters/calendar/caldav"
	"frontdesk/adapters/calendar/google"
	"frontdesk/adapters/calendar/microsoft"
	calendarsandbox "frontdesk/adapters/calendar/sandbox"
	crmsandbox "frontdesk/adapters/crm/sandbox"
	telephonysandbox "frontdesk/adapters/telephony/sandbox"
	"frontdesk/core/adapter"
)

// Adapters lists every adapter that comes with the gateway.
func Adapters() []adapter.Adapter {
	return []adapter.Adapter{
		caldav.Adapter(),
		google.Adapter(),
		microsoft.Adapter(),
		calendarsandbox.Adapter(),
		crmsandbox.Adapter(),
		telephonysandbox.Adapter(),
	}
}
