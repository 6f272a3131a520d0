package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"
)

const jsonType = "application/json"

// Client is a client of Graph. It is safe for concurrent use.
type Client struct {
	http *http.Client
	base string
}

// New returns a client of the API at base. The HTTP client adds the credentials.
func New(client *http.Client, base string) *Client { return &Client{client, base} }

// Request is a request to the API.
type Request struct {
	Method  string // "" is GET
	Path    string // below the API's address
	Query   *Query // nil if there is none, or the path has it
	Prefer  string
	IfMatch string
	Body    any // nil: none
}

// Nothing is the answer of requests of whose success only the status matters.
type Nothing struct{}

// Send sends a request and decodes the response as a T.
func Send[T any](ctx context.Context, c *Client, r Request) (*T, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	_, isNothing := any((*T)(nil)).(*Nothing)
	switch {
	case resp.StatusCode < http.StatusMultipleChoices && isNothing:
		return nil, nil
	case err != nil:
		return nil, err
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, refusal(resp, body)
	}
	answer, err := parse[T](body)
	if err != nil {
		return nil, &Unreadable{Status: resp.StatusCode, Body: body, Reason: err.Error()}
	}
	return answer, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		encoded, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	address, err := r.Address()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), c.base+address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", jsonType)
	for name, value := range map[string]string{"Prefer": r.Prefer, "If-Match": r.IfMatch} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if body != nil {
		req.Header.Set("Content-Type", jsonType)
	}
	return req, nil
}

// Escape returns an id as a segment of a path.
func Escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// Query holds the parameters of a request that reads.
type Query struct {
	Select  []string `uriparametername:"%24select"`
	OrderBy []string `uriparametername:"%24orderby"`
	Top     *int32   `uriparametername:"%24top"` // nil: as many as Graph gives
	Skip    *int32   `uriparametername:"%24skip"`

	// For a calendar view, in ISO 8601.
	StartDateTime *string `uriparametername:"startDateTime"`
	EndDateTime   *string `uriparametername:"endDateTime"`
}

// Address returns where the request goes, below the API's address. Kiota fills in the parameters.
func (r Request) Address() (string, error) {
	if r.Query == nil {
		return r.Path, nil
	}
	info := abstractions.NewRequestInformationWithMethodAndUrlTemplateAndPathParameters(abstractions.GET,
		r.Path+"{?endDateTime,startDateTime,%24orderby,%24select,%24skip,%24top}", map[string]string{})
	info.AddQueryParameters(*r.Query)
	address, err := info.GetUri()
	if err != nil {
		return "", err
	}
	address.RawQuery = strings.ReplaceAll(address.RawQuery, "%24", "$") // as Graph writes the names
	return address.String(), nil
}

// parse decodes one JSON object.
func parse[T any](body []byte) (*T, error) {
	if object, usual := parseUsual[T](body); usual {
		return object, nil
	}
	return parseAny[T](body)
}

// parseAny decodes one JSON object by reflection.
func parseAny[T any](body []byte) (object *T, err error) {
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errNotAnObject
	}
	return object, nil
}
