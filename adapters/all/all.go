// Package all lists the adapters of the gateway. A custom binary can use another list.
package all

import (
	"frontdesk/adapters/calendar/caldav"
	"frontdesk/adapters/calendar/google"
	"frontdesk/adapters/calendar/microsoft"
	calendarsandbox "frontdesk/adapters/calendar/sandbox"
	"frontdesk/adapters/crm/freshdesk"
	"frontdesk/adapters/crm/hubspot"
	"frontdesk/adapters/crm/rest"
	"frontdesk/adapters/crm/salesforce"
	crmsandbox "frontdesk/adapters/crm/sandbox"
	"frontdesk/adapters/crm/zendesk"
	telephonysandbox "frontdesk/adapters/telephony/sandbox"
	"frontdesk/adapters/telephony/telnyx"
	"frontdesk/adapters/telephony/twilio"
	"frontdesk/core/adapter"
)

// Adapters lists every adapter that comes with the gateway.
func Adapters() []adapter.Adapter {
	return append([]adapter.Adapter{
		caldav.Adapter(),
		google.Adapter(),
		microsoft.Adapter(),
		calendarsandbox.Adapter(),
		freshdesk.Adapter(),
		hubspot.Adapter(),
		rest.Adapter(),
		salesforce.Adapter(),
		zendesk.Adapter(),
		crmsandbox.Adapter(),
		telnyx.Adapter(),
		twilio.Adapter(),
		telephonysandbox.Adapter(),
	}, rest.Catalogue()...)
}
