package graph

import (
	"bytes"
	"io"
	"net/http"

	khttp "github.com/microsoft/kiota-http-go"
)

// withPipeline returns the client with Kiota's pipeline in front of its transport. The default middlewares
// would repeat POST on 503, compress, and follow redirects; the given client does what is needed of that.
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

// plain is the last middleware before the transport.
type plain struct{}

// Intercept gives the body of a request a length and GetBody, which Kiota does not: without them it would be
// sent in chunks, and could not be sent again with renewed credentials. It hides challenges, on which Kiota
// would send the request a second time (and panic on a malformed one, since it does not check the match of
// its regular expression).
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
