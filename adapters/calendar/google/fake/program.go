package fake

import (
	"flag"
	"net/http"
	"strings"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// The OAuth client that the server knows.
const (
	demoClientID     = "frontdesk.apps.example.com"
	demoClientSecret = "fake-client-secret"
)

// Program runs the fake on its own.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	accounts := flags.String("accounts", "alice@example.com,bob@example.com",
		"who can sign in, separated by commas; the first one does")
	polls := flags.Int("meet-polls", 0, "how often an event is read before its Google Meet link is there")
	return func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__GOOGLE__"
		return New(Options{
				Accounts: strings.Split(*accounts, ","), MeetPolls: *polls,
				OAuth: oauthtest.Options{Issuer: base, Clients: map[string]string{demoClientID: demoClientSecret}},
			}), [][2]string{
				{prefix + "CLIENT_ID", demoClientID}, {prefix + "CLIENT_SECRET", demoClientSecret},
				{prefix + "AUTH_URL", base + AuthorizePath}, {prefix + "TOKEN_URL", base + TokenPath},
				{prefix + "API_URL", base + "/"}, {prefix + "ISSUER", base},
			}
	}
}
