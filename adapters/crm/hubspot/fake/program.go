package fake

import (
	"flag"
	"net/http"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// What the server accepts: an OAuth client, a private app's token, and a property with unique values.
const (
	demoClientID     = "frontdesk-client"
	demoClientSecret = "fake-client-secret"
	demoPrivateToken = "pat-na1-fake"
	demoKeyProperty  = "frontdesk_key"
)

// Program is an adaptertest.Program that runs the fake.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	perTenSeconds := flags.Int("per-ten-seconds", 100, "calls that are allowed in ten seconds; 0 is any number")
	return func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__HUBSPOT__"
		return New(Options{
				Unique: []string{demoKeyProperty}, Tokens: map[string][]string{demoPrivateToken: nil},
				PerTenSeconds: *perTenSeconds, SearchLag: 5 * time.Second,
				OAuth: oauthtest.Options{Clients: map[string]string{demoClientID: demoClientSecret}},
			}), [][2]string{
				{prefix + "CLIENT_ID", demoClientID}, {prefix + "CLIENT_SECRET", demoClientSecret},
				{prefix + "AUTH_URL", base + AuthorizePath}, {prefix + "TOKEN_URL", base + TokenPath},
				{prefix + "API_URL", base}, {"# access_token", demoPrivateToken + " key_property=" + demoKeyProperty},
			}
	}
}
