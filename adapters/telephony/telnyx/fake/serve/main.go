// Command serve runs the pretended Telnyx, for trying the gateway by hand:
//
//	go run ./adapters/telephony/telnyx/fake/serve --listen 127.0.0.1:9122
//
// It prints the variable that points a gateway at it, and the settings of a connection to it. What is bought is forgotten
// when it ends.
package main

import (
	"flag"
	"net/http"

	"frontdesk/adapters/telephony/telnyx/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() { adaptertest.Main("127.0.0.1:9122", program) }

// apiKey is the key that the server knows.
const apiKey = "KEYfake-api-key"

func program(flags *flag.FlagSet) adaptertest.Begin {
	orderTime := flags.Duration("order-time", 0, "how long an order is under way, such as 2s")
	return func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{APIKey: apiKey, OrderTime: *orderTime}), [][2]string{
			{"FRONTDESK_PROVIDERS__TELNYX__API_URL", base + fake.APIPath},
			{"api_key", apiKey}, {"connection_id", fake.Application},
		}
	}
}
