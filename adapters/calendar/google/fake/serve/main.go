// Command serve runs the pretended Google Calendar with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/calendar/google/fake/serve --listen 127.0.0.1:9101
//
// It prints the variables that point a gateway at it. What is booked is forgotten when it ends.
package main

import (
	"flag"
	"net/http"
	"strings"

	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

func main() { adaptertest.Main("127.0.0.1:9101", program) }

// The OAuth client that the server knows.
const (
	clientID     = "frontdesk.apps.example.com"
	clientSecret = "fake-client-secret"
)

func program(flags *flag.FlagSet) adaptertest.Begin {
	accounts := flags.String("accounts", "alice@example.com,bob@example.com", "who can sign in, separated by commas; the first one does")
	polls := flags.Int("meet-polls", 0, "how often an event is read before its Google Meet link is there")
	return func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__GOOGLE__"
		return fake.New(fake.Options{
				Accounts: strings.Split(*accounts, ","), MeetPolls: *polls,
				OAuth: oauthtest.Options{Issuer: base, Clients: map[string]string{clientID: clientSecret}},
			}), [][2]string{
				{prefix + "CLIENT_ID", clientID}, {prefix + "CLIENT_SECRET", clientSecret}, {prefix + "AUTH_URL", base + fake.AuthorizePath},
				{prefix + "TOKEN_URL", base + fake.TokenPath}, {prefix + "API_URL", base + "/"}, {prefix + "ISSUER", base},
			}
	}
}
