package fake

import (
	"flag"
	"net/http"

	"frontdesk/core/adapter/adaptertest"
)

// demoAPIKey is the key that the server accepts.
const demoAPIKey = "KEYfake-api-key"

// Program serves the fake on its own.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	orderTime := flags.Duration("order-time", 0, "how long an order is under way, such as 2s")
	return func(base string) (http.Handler, [][2]string) {
		return New(Options{APIKey: demoAPIKey, OrderTime: *orderTime}), [][2]string{
			{"FRONTDESK_PROVIDERS__TELNYX__API_URL", base + APIPath},
			{"api_key", demoAPIKey}, {"connection_id", Application},
		}
	}
}
