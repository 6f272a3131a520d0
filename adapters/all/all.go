// Package all is the one list of adapters. A binary of one's own makes another.
package all

import (
	calendarsandbox "frontdesk/adapters/calendar/sandbox"
	crmsandbox "frontdesk/adapters/crm/sandbox"
	"frontdesk/core/adapter"
)

// Adapters lists every adapter that comes with the gateway.
func Adapters() []adapter.Adapter {
	return []adapter.Adapter{
		calendarsandbox.Adapter(),
		crmsandbox.Adapter(),
	}
}
