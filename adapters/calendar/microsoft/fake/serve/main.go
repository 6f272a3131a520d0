// Command serve runs a pretended Microsoft Graph with one account, for trying Frontdesk without one:
//
//	go run ./adapters/calendar/microsoft/fake/serve --listen 127.0.0.1:9102
//
// It prints the variables that point Frontdesk at it.
package main

import (
	"flag"
	"net/http"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() { adaptertest.Main("127.0.0.1:9102", program) }

// The application that the server knows.
const (
	clientID     = "frontdesk-trial"
	clientSecret = "not-a-secret"
)

func program(flags *flag.FlagSet) adaptertest.Begin {
	account := flags.String("account", "alice@example.com", "address of the mailbox")
	personal := flags.Bool("personal", false, "an account of Outlook.com, which has no online meetings")
	return func(base string) (http.Handler, [][2]string) {
		server := fake.New(fake.Options{
			Clients: map[string]string{clientID: clientSecret}, Account: *account, Name: "Alice Example", Personal: *personal, Zone: "Europe/Berlin",
		})
		server.AddCalendar("Second", false)
		server.AddCalendar("Holidays", true)
		const prefix = "FRONTDESK_PROVIDERS__MICROSOFT__"
		return server, [][2]string{
			{prefix + "API_URL", base + "/v1.0"}, {prefix + "AUTHORITY", base + "/common"},
			{prefix + "CLIENT_ID", clientID}, {prefix + "CLIENT_SECRET", clientSecret},
		}
	}
}
