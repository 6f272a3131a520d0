package freshdesk

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

func (d *driver) get(ctx context.Context, path string, query url.Values, out any) error {
	return d.call(ctx, http.MethodGet, path, query, nil, out)
}

// call sends in, where there is any, and reads the answer into out. Its error is a *fault.Error.
func (d *driver) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	req, err := d.request(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	status, answered, body, err := upstream.Do(d.client, req)
	switch {
	case err != nil:
		return err
	case status < 200 || status > 299:
		return refusal(status, answered, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return unreadable(method, err)
	}
	return nil
}

func (d *driver) request(ctx context.Context, method, path string, query url.Values, in any) (*http.Request, error) {
	address := d.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
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
		return nil, fault.From(err)
	}
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
