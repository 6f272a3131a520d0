package fake

import (
	"flag"
	"net/http"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// Credentials that the server accepts.
const (
	demoClientID     = "frontdesk"
	demoClientSecret = "fake-client-secret"
	demoEmail        = "agent@example.com"
	demoAPIToken     = "fake-api-token"
)

// Program is an adaptertest.Program that runs the fake.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	system := flags.Bool("system-statuses", false, "the account has no custom statuses")
	return func(base string) (http.Handler, [][2]string) {
		return New(Options{
				Email: demoEmail, APIToken: demoAPIToken, SystemStatuses: *system,
				OAuth: oauthtest.Options{Clients: map[string]string{demoClientID: demoClientSecret}},
			}), [][2]string{
				{"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_ID", demoClientID},
				{"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_SECRET", demoClientSecret},
				{"FRONTDESK_PROVIDERS__ZENDESK__BASE_URL", base}, {"base_url", base}, {"email", demoEmail},
				{"api_token", demoAPIToken},
			}
	}
}
