// Command serve runs the pretended Zendesk Support with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/crm/zendesk/fake/serve --listen 127.0.0.1:9111
//
// It prints the variables that point a gateway at it, and the settings of a connection to it. What is opened is forgotten
// when it ends.
package main

import (
	"flag"
	"net/http"

	"frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

func main() { adaptertest.Main("127.0.0.1:9111", program) }

// What the server knows.
const (
	clientID     = "frontdesk"
	clientSecret = "fake-client-secret"
	email        = "agent@example.com"
	apiToken     = "fake-api-token"
)

func program(flags *flag.FlagSet) adaptertest.Begin {
	system := flags.Bool("system-statuses", false, "the account has no custom statuses")
	return func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{
				Email: email, APIToken: apiToken, SystemStatuses: *system,
				OAuth: oauthtest.Options{Clients: map[string]string{clientID: clientSecret}},
			}), [][2]string{
				{"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_ID", clientID}, {"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_SECRET", clientSecret},
				{"FRONTDESK_PROVIDERS__ZENDESK__BASE_URL", base},
				{"base_url", base}, {"email", email}, {"api_token", apiToken},
			}
	}
}
