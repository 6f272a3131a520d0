package hubspot

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// get asks for what lies at a path.
func (d *driver) get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return d.ask(ctx, http.MethodGet, path, nil, out)
}

// ask sends one request and reads the answer into out. What refuses is in HubSpot's own words, which [driver.refusal] knows.
func (d *driver) ask(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return fault.From(err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, body)
	if err != nil {
		f := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "The configured address of HubSpot's API cannot be read.")
		f.Unsent = true
		return f
	}
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	status, header, answer, err := upstream.Do(d.client, req)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return d.refusal(status, header, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return unreadable(method).Because(err)
	}
	return nil
}

// unreadable is a success that says something other than expected: of a write nobody knows what became.
func unreadable(method string) *fault.Error {
	f := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"HubSpot answered something other than expected. Check the configured api_url and the connection's api_version.")
	if method != http.MethodGet {
		f = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"HubSpot accepted the request, but what it answered could not be read.")
	}
	return f.With("provider", name)
}
