// Command serve runs the pretended Freshdesk, for trying the gateway by hand:
//
//	go run ./adapters/crm/freshdesk/fake/serve --listen 127.0.0.1:9112
//
// It prints the settings of a connection to it. What is opened is forgotten when it ends.
package main

import (
	"flag"
	"net/http"

	"frontdesk/adapters/crm/freshdesk/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() { adaptertest.Main("127.0.0.1:9112", program) }

// apiKey is the one that the server knows.
const apiKey = "fake-api-key"

func program(*flag.FlagSet) adaptertest.Begin {
	return func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{APIKey: apiKey}), [][2]string{
			{"base_url", base}, {"requester_email", "calls@example.com"}, {"api_key", apiKey},
		}
	}
}
