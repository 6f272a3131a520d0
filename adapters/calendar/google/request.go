package google

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/api/googleapi"

	"frontdesk/core/upstream"
)

// request is a request of those that the gateway makes most. Google's library takes several times as long for one: its
// types encode and decode each part of an event by themselves.
type request struct {
	method, path, query string
	in                  any // nil: no body
}

var userAgent = http.Header{"User-Agent": {googleapi.UserAgent}}

// eventsOf returns the path of a calendar's events, escaped as the library does it.
func eventsOf(calendarID string) string {
	return "calendars/" + strings.ReplaceAll(url.QueryEscape(calendarID), "+", "%20") + "/events"
}

// ask sends a request. It decodes the answer by usual, if there is such a function and it reports no false, or else as
// the library does. The error of a refusal is the library's.
func ask[T any](
	ctx context.Context, d *driver, r request, usual func(body []byte) (*T, bool),
) (answer *T, err error) {
	req, err := upstream.JSONRequest(ctx, r.method, d.base+r.path+"?"+r.query, userAgent, r.in)
	if err != nil {
		return nil, err
	}
	err = upstream.Read(d.client, req, func(resp *http.Response, body []byte) error {
		if err := googleapi.CheckResponseWithBody(resp, body); err != nil {
			return err
		}
		if usual != nil {
			if decoded, is := usual(body); is {
				answer = decoded
				return nil
			}
		}
		return json.Unmarshal(body, &answer)
	})
	return present(answer, err)
}
