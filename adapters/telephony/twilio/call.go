package twilio

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// numbers returns the path of the account's numbers.
func (d *driver) numbers() string { return d.account + "/IncomingPhoneNumbers.json" }

func (d *driver) number(ref string) string {
	return d.account + "/IncomingPhoneNumbers/" + ref + ".json"
}

func (d *driver) get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return d.call(ctx, http.MethodGet, path, nil, out)
}

// call is exchangeAt for a path below the accounts.
func (d *driver) call(ctx context.Context, method, path string, form url.Values, out any) error {
	return d.exchangeAt(ctx, method, d.root+path, form, out)
}

// exchangeAt sends a form, if there is one, and decodes the response into out. Its error is a *fault.Error.
func (d *driver) exchangeAt(ctx context.Context, method, address string, form url.Values, out any) error {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		// Not wrapped: the text of the error holds the whole address.
		return fault.Unacted(fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The address of Twilio's API cannot be read."))
	}
	req.Header.Set("Accept", "application/json")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return upstream.Read(d.client, req, func(answer *http.Response, body []byte) error {
		return read(method, answer.StatusCode, answer.Header, body, out)
	})
}

// read decodes a response into out. If out is nil, the response must be empty.
func read(method string, status int, header http.Header, answer []byte, out any) error {
	switch {
	case status < 200 || status > 299:
		return refusal(status, header, answer)
	case out == nil && upstream.IsEmpty(answer):
		return nil
	}
	if out == nil || json.Unmarshal(answer, out) != nil {
		f := unreadable(method)
		f.Upstream = upstream.StatusFault(name, status, header, answer).Upstream // shortened and redacted
		return f
	}
	return nil
}
