package graph

import (
	"bytes"
	"io"
	"net/http"

	khttp "github.com/microsoft/kiota-http-go"
)

// withPipeline returns the client with Kiota's pipeline in front of its transport. The default set of
// middlewares repeats POST on 503, compresses, and follows redirects by itself; all three are the given
// client's business or nobody's.
func withPipeline(client *http.Client) *http.Client {
	c := *client
	parent := c.Transport
	if parent == nil {
		parent = http.DefaultTransport
	}
	c.Transport = khttp.NewCustomTransportWithParentTransport(parent,
		khttp.NewParametersNameDecodingHandler(), plain{})
	return &c
}

// plain is the middleware next to the wire.
type plain struct{}

// Intercept gives a request's body a length and a way back to its beginning, which Kiota does not: without
// them it goes out in chunks, and cannot go out again with renewed credentials. It hides challenges, on which
// Kiota would send the request a second time (and, where one is malformed, panic: its regular expression's
// match is not checked).
func (plain) Intercept(next khttp.Pipeline, index int, req *http.Request) (*http.Response, error) {
	out := req
	if req.Body != nil && req.Body != http.NoBody {
		content, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		out = req.Clone(req.Context())
		out.ContentLength = int64(len(content))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		out.Body, _ = out.GetBody()
	}
	resp, err := next.Next(out, index)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		resp.Header.Del("WWW-Authenticate")
	}
	return resp, err
}
