package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"frontdesk/core/fault"
)

type emptyKey struct{}

// ExpectEmpty marks a request whose success has no body, such as a removal. A library that uses the client
// does not read such a response, and would accept the page of a proxy, a firewall or a sign-in service as
// one, since their status is 200 as well.
func ExpectEmpty(ctx context.Context) context.Context {
	return context.WithValue(ctx, emptyKey{}, true)
}

// IsEmpty reports whether a body is empty, or is the empty value that servers with JSON responses send
// instead.
func IsEmpty(body []byte) bool {
	switch string(bytes.TrimSpace(body)) {
	case "", "{}", "null", `""`:
		return true
	}
	return false
}

// checkEmpty returns a fault if a success that must be empty has a body.
func (t *transport) checkEmpty(req *http.Request, resp *http.Response) error {
	if wanted, _ := req.Context().Value(emptyKey{}).(bool); !wanted || resp.StatusCode < 200 ||
		resp.StatusCode > 299 {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16)) // more cannot be empty
	if err == nil && IsEmpty(body) {
		return nil
	}
	_ = resp.Body.Close()
	if err != nil {
		return fault.From(err)
	}
	return fault.Newf(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"The provider %s accepted the request, but gave an unexpected answer.", t.client.Provider).
		With("provider", t.client.Provider)
}
