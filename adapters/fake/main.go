// Command fake runs the fake of a provider, to try the gateway without an account there:
//
//	go run ./adapters/fake google
//
// It prints the variables that point a gateway at the fake, or the settings of a connection to it. The fake
// forgets everything when it ends. "go run ./adapters/fake NAME --help" lists the flags of a fake.
package main

import (
	google "frontdesk/adapters/calendar/google/fake"
	microsoft "frontdesk/adapters/calendar/microsoft/fake"
	freshdesk "frontdesk/adapters/crm/freshdesk/fake"
	hubspot "frontdesk/adapters/crm/hubspot/fake"
	salesforce "frontdesk/adapters/crm/salesforce/fake"
	zendesk "frontdesk/adapters/crm/zendesk/fake"
	telnyx "frontdesk/adapters/telephony/telnyx/fake"
	twilio "frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() {
	adaptertest.Main(map[string]adaptertest.Fake{
		"google":     {Address: "127.0.0.1:9101", Program: google.Program},
		"microsoft":  {Address: "127.0.0.1:9102", Program: microsoft.Program},
		"hubspot":    {Address: "127.0.0.1:9104", Program: hubspot.Program},
		"salesforce": {Address: "127.0.0.1:9105", Program: salesforce.Program},
		"zendesk":    {Address: "127.0.0.1:9111", Program: zendesk.Program},
		"freshdesk":  {Address: "127.0.0.1:9112", Program: freshdesk.Program},
		"twilio":     {Address: "127.0.0.1:9121", Program: twilio.Program},
		"telnyx":     {Address: "127.0.0.1:9122", Program: telnyx.Program},
	})
}
