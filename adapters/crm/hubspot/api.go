package hubspot

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// get sends a GET request to a path. Some answers are long lists, such as of messages.
func (d *driver) get(ctx context.Context, path string, query url.Values, out any) error {
	return d.ask(upstream.ForListing(ctx), http.MethodGet, path, query, nil, out)
}

// query sends a POST request that changes nothing, such as a search.
func (d *driver) query(ctx context.Context, path string, in, out any) error {
	err := d.ask(upstream.ForListing(ctx), http.MethodPost, path, nil, in, out)
	if errors.Is(err, fault.UnknownOutcome) { // the answer to what is taken for a write could not be read
		return fault.From(err).RestateAs(unreadable(http.MethodGet))
	}
	return err
}

// ask sends one request and decodes the response into out. [driver.refusal] converts an error response.
func (d *driver) ask(ctx context.Context, method, path string, query url.Values, in, out any) error {
	return upstream.Exchange{
		Method: method, URL: d.base + path, Query: query, In: in, Out: out, Provider: name,
		Refusal:    func(status int, header http.Header, body []byte) error { return d.refusal(status, header, body) },
		Unreadable: unreadable,
	}.Do(ctx, d.client)
}

// unreadable returns the fault of a successful response with unexpected content.
func unreadable(method string) *fault.Error {
	return upstream.Unreadable(name, method,
		"HubSpot gave an unexpected answer. Check the configured api_url and the connection's api_version.",
		"HubSpot accepted the request, but its answer could not be read.")
}
