package telnyx

import (
	"context"
	"net/http"
	"net/url"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

func (d *driver) get(ctx context.Context, path string, query url.Values, about subject, out any) error {
	return d.call(ctx, http.MethodGet, path, query, about, nil, out)
}

// call sends in, if it is not nil, and decodes the response into out. Its error is a *fault.Error. If a
// response cannot be read, the error names the configured URL, since a connection to Telnyx has no address.
func (d *driver) call(
	ctx context.Context, method, path string, query url.Values, about subject, in, out any,
) error {
	var refused error
	err := upstream.Exchange{
		Method: method, URL: d.base + path, Query: query, In: in, Out: out, Provider: name,
		Refusal: func(status int, header http.Header, body []byte) error {
			refused = refusal(about, status, header, body)
			return refused
		},
	}.Do(ctx, d.client)
	f := fault.From(err)
	if err != nil && refused == nil && f.Reason == fault.ReasonProviderMisconfigured && f.Upstream != "" {
		return f.Restate(f.Code, f.Reason, unreadable(method).Detail)
	}
	return err
}
