package telnyx

import (
	"context"
	"net/http"
	"net/url"

	"frontdesk/core/upstream"
)

func (d *driver) get(ctx context.Context, path string, query url.Values, about subject, out any) error {
	return d.call(ctx, http.MethodGet, path, query, about, nil, out)
}

// call sends in, if it is not nil, and decodes the response into out. Its error is a *fault.Error.
func (d *driver) call(
	ctx context.Context, method, path string, query url.Values, about subject, in, out any,
) error {
	return upstream.Exchange{
		Method: method, URL: d.base + path, Query: query, In: in, Out: out, Provider: name,
		Refusal: func(status int, header http.Header, body []byte) error {
			return refusal(about, status, header, body)
		},
		Unreadable: unreadable,
	}.Do(ctx, d.client)
}
