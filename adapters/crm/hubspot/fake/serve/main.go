// Command serve runs the pretended HubSpot with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/crm/hubspot/fake/serve --listen 127.0.0.1:9104
//
// It prints the variables that point a gateway at it, and the settings of a connection that needs no consent. What is made
// is forgotten when it ends.
package main

import (
	"flag"
	"net/http"
	"time"

	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

func main() { adaptertest.Main("127.0.0.1:9104", program) }

// What the server knows: an OAuth client, a private app's token, and a property with unique values.
const (
	clientID     = "frontdesk-client"
	clientSecret = "fake-client-secret"
	privateToken = "pat-na1-fake"
	keyProperty  = "frontdesk_key"
)

func program(flags *flag.FlagSet) adaptertest.Begin {
	perTenSeconds := flags.Int("per-ten-seconds", 100, "calls that are allowed in ten seconds; 0 is any number")
	return func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__HUBSPOT__"
		return fake.New(fake.Options{
				Unique: []string{keyProperty}, Tokens: map[string][]string{privateToken: nil}, PerTenSeconds: *perTenSeconds, SearchLag: 5 * time.Second,
				OAuth: oauthtest.Options{Clients: map[string]string{clientID: clientSecret}},
			}), [][2]string{
				{prefix + "CLIENT_ID", clientID}, {prefix + "CLIENT_SECRET", clientSecret}, {prefix + "AUTH_URL", base + fake.AuthorizePath},
				{prefix + "TOKEN_URL", base + fake.TokenPath}, {prefix + "API_URL", base},
				{"# access_token", privateToken + " key_property=" + keyProperty},
			}
	}
}
