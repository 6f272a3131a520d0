package api

import (
	"net/http"
	"testing"
)

// FuzzHeaders checks that any headers lead to one API key or to an error, and that only printable values are
// accepted as a request id or an idempotency key.
func FuzzHeaders(f *testing.F) {
	for _, seed := range [][4]string{
		{"fd_live_x", "", "", ""}, {"", "Bearer fd_live_x", "key", "id"}, {"a", "Bearer b", "", ""},
		{"", "bearer  a b", "\x00", "\xff"}, {"", "Basic Og==", " ", "a b"}, {"", "Bearer", "k\n", "\u202e"},
		{" a", "BEARER a ", "k", "x"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, apiKey, authorization, idempotency, id string) {
		h := http.Header{headerAPIKey: {apiKey}, "Authorization": {authorization}, headerIdempotency: {idempotency}}
		key, err := keyOf(h)
		if (key == "") != (err != nil) || key != "" && key != apiKey && apiKey != "" {
			t.Fatalf("%q %q: %q, %v", apiKey, authorization, key, err)
		}
		checks := newChecks(surfaceV1, nil)
		if got := checks.idempotencyKey(h); (got == "") != (checks.err() != nil) ||
			len(got) > maxIdempotencyKeyBytes {
			t.Fatalf("%q: %q, %v", idempotency, got, checks.err())
		}
		if visible(id, maxRequestIDBytes) {
			for _, b := range []byte(id) {
				if b <= ' ' || b > '~' {
					t.Fatalf("%q is taken for visible", id)
				}
			}
		}
	})
}
