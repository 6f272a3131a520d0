package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"frontdesk/core/fault"
)

type emptyKey struct{}

// ExpectEmpty marks a request whose success has no body, such as a removal. A library that drives the client
// leaves such an answer unread, and would take the page of a proxy, a firewall or a sign-in service for it,
// since they answer 200 as well.
func ExpectEmpty(ctx context.Context) context.Context {
	return context.WithValue(ctx, emptyKey{}, true)
}

// IsEmpty reports whether a body says nothing: it is empty, or the empty value that servers which answer
// everything in JSON put in the place of it.
func IsEmpty(body []byte) bool {
	switch string(bytes.TrimSpace(body)) {
	case "", "{}", "null", `""`:
		return true
	}
	return false
}

// checkEmpty returns the fault of a success that says something where there is nothing to say; nil where it
// says nothing.
func (t *transport) checkEmpty(req *http.Request, resp *http.Response) error {
	if wanted, _ := req.Context().Value(emptyKey{}).(bool); !wanted || resp.StatusCode < 200 ||
		resp.StatusCode > 299 {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16)) // more is not nothing
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
