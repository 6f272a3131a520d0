package adaptertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"frontdesk/core/upstream"
)

// Serve serves a provider, wrapped by the functions of around, until the test ends. It returns the address.
func Serve(t testing.TB, provider http.Handler, around ...func(http.Handler) http.Handler) (address string) {
	t.Helper()
	for _, wrap := range around {
		provider = wrap(provider)
	}
	served := httptest.NewServer(provider)
	t.Cleanup(served.Close)
	return served.URL
}

// Unavailable returns a wrapper of a provider's handler, which answers with status 503 wherever refuses reports true.
func Unavailable(refuses func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuses(r) {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Client returns a client like the one the gateway opens a driver with. It authorises requests to the given
// address or, if that is "", to the address at which each call starts.
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
