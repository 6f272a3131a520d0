package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"

	"frontdesk/core/fault"
)

// Read sends a request and calls use with the whole response, within the client's bounds and the process's
// memory budget. use must decode body and not keep it. The error is a *fault.Error if there was no response,
// and use's otherwise. A response with an error status is passed to use as well.
func Read(client *http.Client, req *http.Request, use func(answer *http.Response, body []byte) error) error {
	resp, err := client.Do(req)
	if err != nil {
		return fault.From(err)
	}
	defer resp.Body.Close()
	body, err := contentOf(resp.Body)
	if err != nil {
		return fault.From(err)
	}
	return use(resp, body)
}

// contentOf is like io.ReadAll, but does not copy the body of a response that was already read.
func contentOf(body io.Reader) ([]byte, error) {
	if answer, ok := body.(*answerBody); ok {
		return answer.content, answer.ctx.Err()
	}
	return io.ReadAll(body)
}

// Exchange is a request and a response in JSON, for a provider with its own form of errors.
type Exchange struct {
	Method, URL string
	Query       url.Values // added to URL, which has none
	Header      http.Header
	In, Out     any // nil: no body; not decoded
	Provider    string
	// Refusal returns the error for a status outside 2xx; nil means StatusFault.
	Refusal func(status int, header http.Header, body []byte) error
	// Unreadable returns the fault for a success with an unexpected body; nil means one that names the provider.
	Unreadable func(method string) *fault.Error
}

// Do sends the request and decodes the response. Its error is a *fault.Error.
func (x Exchange) Do(ctx context.Context, client *http.Client) error {
	address := x.URL
	if len(x.Query) > 0 {
		address += "?" + x.Query.Encode()
	}
	req, err := JSONRequest(ctx, x.Method, address, x.Header, x.In)
	if err != nil {
		return err
	}
	return Read(client, req, x.receive)
}

func (x Exchange) receive(answer *http.Response, body []byte) error {
	status, header := answer.StatusCode, answer.Header
	switch {
	case (status < 200 || status > 299) && x.Refusal != nil:
		return x.Refusal(status, header, body)
	case status < 200 || status > 299:
		return StatusFault(x.Provider, status, header, body)
	case x.Out == nil || status == http.StatusNoContent:
		return nil
	}
	if err := json.Unmarshal(body, x.Out); err != nil {
		f := x.unreadable().Because(redacted{err})
		f.Upstream = shorten(status, body)
		return f
	}
	return nil
}

func (x Exchange) unreadable() *fault.Error {
	if x.Unreadable != nil {
		return x.Unreadable(x.Method)
	}
	return Unreadable(x.Provider, x.Method,
		"The provider "+x.Provider+" gave an unexpected answer. Check the address at which it is called.",
		"The provider "+x.Provider+" accepted the request, but its answer could not be read.")
}

// JSONRequest returns a request with in as its body, unless in is nil. Its error is a *fault.Error.
func JSONRequest(ctx context.Context, method, address string, header http.Header, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return nil, fault.From(err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		// Not wrapped, since the text of the error contains the whole address.
		return nil, fault.Unacted(fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The connection's address cannot be read."))
	}
	for name, values := range header {
		req.Header[name] = slices.Clone(values)
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if in != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Unreadable returns the fault for a success with an unexpected body: a sign-in page, a proxy's page, the
// response of another API. Its detail is wrote for a write, whose outcome is then unknown, and read otherwise.
func Unreadable(provider, method, read, wrote string) *fault.Error {
	f := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, read)
	if !safe(method) {
		f = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, wrote)
	}
	return f.With("provider", provider)
}
