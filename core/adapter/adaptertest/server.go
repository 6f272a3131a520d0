package adaptertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"frontdesk/core/upstream"
)

// Serve serves a provider until the test ends, with what is put around it, and answers its address.
func Serve(t testing.TB, provider http.Handler, around ...func(http.Handler) http.Handler) (address string) {
	t.Helper()
	for _, wrap := range around {
		provider = wrap(provider)
	}
	served := httptest.NewServer(provider)
	t.Cleanup(served.Close)
	return served.URL
}

// Client returns the client that the gateway opens a driver with, which authorises what the driver asks at
// the address; "" is wherever each call starts.
func Client(t testing.TB, provider, address string, authorize func(*http.Request) error) *http.Client {
	t.Helper()
	how := upstream.ClientOptions{Provider: provider, Authorize: authorize}
	if address != "" {
		base, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		how.AuthorizeFor = base
	}
	pool := upstream.NewPool(upstream.PoolOptions{})
	t.Cleanup(pool.Close)
	return pool.Client(how)
}
