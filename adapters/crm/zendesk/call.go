package zendesk

import (
	"context"
	"net/http"
	"net/url"

	"frontdesk/core/upstream"
)

// get reads. Most answers are lists: of tickets, of comments as long as mails, or of all fields with their choices.
func (d *driver) get(ctx context.Context, path string, query url.Values, out any) error {
	return d.call(upstream.ForListing(ctx), http.MethodGet, path, query, nil, nil, out)
}

// call sends in as the body, if it is not nil, and decodes the response into out. It returns a *fault.Error.
func (d *driver) call(
	ctx context.Context, method, path string, query url.Values, header http.Header, in, out any,
) error {
	return upstream.Exchange{
		Method: method, URL: d.base + path, Query: query, Header: header, In: in, Out: out, Provider: name,
		Refusal: func(status int, header http.Header, body []byte) error {
			return d.refusal(method, status, header, body)
		},
		Unreadable: unreadable,
	}.Do(ctx, d.client)
}
