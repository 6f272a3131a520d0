package upstream

import (
	"context"
	"io"
	"net/http"
)

type skippingKey struct{}

// Skipping marks a request whose response has parts that are not decoded, however long they are. skip returns a reader
// that leaves them out. What is left has to keep within the bounds.
func Skipping(ctx context.Context, skip func(io.Reader) io.Reader) context.Context {
	return context.WithValue(ctx, skippingKey{}, skip)
}

// skipped returns the body of a successful response without what the request skips, and whether it skips anything.
func skipped(resp *http.Response, hop *http.Request) (io.Reader, bool) {
	skip, ok := hop.Context().Value(skippingKey{}).(func(io.Reader) io.Reader)
	if !ok || resp.StatusCode >= http.StatusBadRequest {
		return resp.Body, false
	}
	return skip(&boundedReader{countedReader{Reader: resp.Body}}), true
}

// boundedReader fails beyond what is received of a response.
type boundedReader struct{ countedReader }

func (r *boundedReader) Read(p []byte) (int, error) {
	n, err := r.countedReader.Read(p)
	if r.read > maxReceivedBytes {
		return 0, moreBytes
	}
	return n, err
}
