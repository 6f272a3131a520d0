package telnyx

import (
	"context"
	"net/http"
	"net/url"

	"frontdesk/core/upstream"
)

func (d *driver) get(ctx context.Context, path string, query url.Values, about subject, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return d.call(ctx, http.MethodGet, path, about, nil, out)
}

// call sends in, where there is any, and reads the answer into out. Its error is a *fault.Error.
func (d *driver) call(ctx context.Context, method, path string, about subject, in, out any) error {
	return upstream.Exchange{
		Method: method, URL: d.base + path, In: in, Out: out, Provider: name,
		Refusal: func(status int, header http.Header, body []byte) error { return refusal(about, status, header, body) },
	}.Do(ctx, d.client)
}
