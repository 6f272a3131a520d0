package graph

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoft/kiota-abstractions-go/authentication"
	"github.com/microsoft/kiota-abstractions-go/serialization"
	khttp "github.com/microsoft/kiota-http-go"
	kjson "github.com/microsoft/kiota-serialization-json-go"
)

const jsonType = "application/json"

// Client is a client of Graph. It is safe for concurrent use.
type Client struct {
	adapter abstractions.RequestAdapter
}

// New returns a client of the API at base. The HTTP client adds the credentials.
func New(client *http.Client, base string) (*Client, error) {
	adapter, err := khttp.NewNetHttpRequestAdapterWithParseNodeFactoryAndSerializationWriterFactoryAndHttpClient(
		&authentication.AnonymousAuthenticationProvider{}, kjson.NewJsonParseNodeFactory(),
		kjson.NewJsonSerializationWriterFactory(), withPipeline(client))
	if err != nil {
		return nil, err
	}
	adapter.SetBaseUrl(strings.TrimRight(base, "/"))
	return &Client{adapter: adapter}, nil
}

// Me returns the signed-in user.
func (c *Client) Me() *UserItemRequestBuilder { return newUser(c.adapter, "{+baseurl}/me", nil) }

// ByUserID returns the user of that id or address.
func (c *Client) ByUserID(id string) *UserItemRequestBuilder {
	return newUser(c.adapter, "{+baseurl}/users/{user%2Did}", map[string]string{"user%2Did": id})
}

// Batch returns the $batch segment.
func (c *Client) Batch() *BatchRequestBuilder {
	return &BatchRequestBuilder{*abstractions.NewBaseRequestBuilder(c.adapter, "{+baseurl}/$batch", nil)}
}

// Options are the headers of one request.
type Options struct {
	Prefer  string
	IfMatch string
}

func (o Options) headers() *abstractions.RequestHeaders {
	h := abstractions.NewRequestHeaders()
	h.Add("Accept", jsonType)
	if o.Prefer != "" {
		h.Add("Prefer", o.Prefer)
	}
	if o.IfMatch != "" {
		h.Add("If-Match", o.IfMatch)
	}
	return h
}

// request returns the request of a builder. query is a struct with uriparametername tags, or nil.
func request(
	ctx context.Context, b *abstractions.BaseRequestBuilder, method abstractions.HttpMethod, o Options,
	query any, body serialization.Parsable,
) (*abstractions.RequestInformation, error) {
	info := abstractions.NewRequestInformationWithMethodAndUrlTemplateAndPathParameters(method, b.UrlTemplate,
		b.PathParameters)
	info.Headers.AddAll(o.headers())
	if query != nil {
		info.AddQueryParameters(query)
	}
	if body == nil {
		return info, nil
	}
	return info, info.SetContentFromParsable(ctx, b.RequestAdapter, jsonType, body)
}

// send sends a request and decodes the response as a T.
func send[T serialization.Parsable](
	ctx context.Context, b *abstractions.BaseRequestBuilder, info *abstractions.RequestInformation,
	create serialization.ParsableFactory,
) (T, error) {
	var none T
	option := abstractions.NewRequestHandlerOption()
	option.SetResponseHandler(func(response any, _ abstractions.ErrorMappings) (any, error) {
		resp, ok := response.(*http.Response)
		if !ok {
			return nil, &Unreadable{Reason: "no answer of HTTP"}
		}
		return read(resp, create)
	})
	info.AddRequestOptions([]abstractions.RequestOption{option})
	answer, err := b.RequestAdapter.Send(ctx, info, create, nil)
	if err != nil {
		return none, err
	}
	typed, ok := answer.(T)
	if !ok {
		return none, &Unreadable{Reason: "no such object"}
	}
	return typed, nil
}

// do sends a request and ignores the body of a success.
func do(
	ctx context.Context, b *abstractions.BaseRequestBuilder, info *abstractions.RequestInformation,
) error {
	option := abstractions.NewRequestHandlerOption()
	option.SetResponseHandler(func(response any, _ abstractions.ErrorMappings) (any, error) {
		resp, ok := response.(*http.Response)
		if !ok {
			return nil, &Unreadable{Reason: "no answer of HTTP"}
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil && resp.StatusCode >= 300 {
			return nil, err
		}
		return nil, refusal(resp, body) // if it succeeded, the rest of the response does not matter
	})
	info.AddRequestOptions([]abstractions.RequestOption{option})
	return b.RequestAdapter.SendNoContent(ctx, info, nil)
}

// read decodes a response. Kiota's own decoding loses the body of an error that is not JSON, and fails on an
// empty one.
func read(resp *http.Response, create serialization.ParsableFactory) (any, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if err := refusal(resp, body); err != nil {
		return nil, err
	}
	object, err := parse(body, create)
	if err != nil {
		return nil, &Unreadable{Status: resp.StatusCode, Body: body, Reason: err.Error()}
	}
	return object, nil
}

func refusal(resp *http.Response, body []byte) error {
	if resp.StatusCode < 300 {
		return nil
	}
	e := &Error{Status: resp.StatusCode, Header: resp.Header, Body: body}
	if object, err := parse(body, CreateODataErrorFromDiscriminatorValue); err == nil {
		if odata, ok := object.(*ODataError); ok {
			e.setMain(odata.Main)
		}
	}
	return e
}

// parse decodes one JSON object.
func parse(body []byte, create serialization.ParsableFactory) (serialization.Parsable, error) {
	if object, usual := parseUsual(body, create); usual {
		return object, nil
	}
	return parseAny(body, create)
}

// parseAny decodes one JSON object as Kiota does.
func parseAny(body []byte, create serialization.ParsableFactory) (serialization.Parsable, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	node, err := kjson.NewJsonParseNode(body)
	if err != nil {
		return nil, err
	}
	return node.GetObjectValue(create)
}
