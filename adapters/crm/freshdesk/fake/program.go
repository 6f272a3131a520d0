package fake

import (
	"flag"
	"net/http"

	"frontdesk/core/adapter/adaptertest"
)

// demoAPIKey is the API key that the server accepts.
const demoAPIKey = "fake-api-key"

// Program is an adaptertest.Program that runs the fake.
func Program(*flag.FlagSet) adaptertest.Begin {
	return func(base string) (http.Handler, [][2]string) {
		return New(Options{APIKey: demoAPIKey}), [][2]string{
			{"base_url", base}, {"requester_email", "calls@example.com"}, {"api_key", demoAPIKey},
		}
	}
}
