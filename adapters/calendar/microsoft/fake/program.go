package fake

import (
	"flag"
	"net/http"

	"frontdesk/core/adapter/adaptertest"
)

// The application that the server knows.
const (
	demoClientID     = "frontdesk-trial"
	demoClientSecret = "not-a-secret"
)

// Program runs the fake on its own.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	account := flags.String("account", "alice@example.com", "address of the mailbox")
	personal := flags.Bool("personal", false, "an account of Outlook.com, which has no online meetings")
	return func(base string) (http.Handler, [][2]string) {
		server := New(Options{
			Clients: map[string]string{demoClientID: demoClientSecret}, Account: *account, Name: "Alice Example",
			Personal: *personal, Zone: "Europe/Berlin",
		})
		server.AddCalendar("Second", false)
		server.AddCalendar("Holidays", true)
		const prefix = "FRONTDESK_PROVIDERS__MICROSOFT__"
		return server, [][2]string{
			{prefix + "API_URL", base + "/v1.0"}, {prefix + "AUTHORITY", base + "/common"},
			{prefix + "CLIENT_ID", demoClientID}, {prefix + "CLIENT_SECRET", demoClientSecret},
		}
	}
}
