package graph

import (
	"context"
	"maps"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// UserItemRequestBuilder builds requests for /me or /users/{user-id}.
type UserItemRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

func newUser(
	adapter abstractions.RequestAdapter, path string, parameters map[string]string,
) *UserItemRequestBuilder {
	return &UserItemRequestBuilder{*abstractions.NewBaseRequestBuilder(adapter, path, parameters)}
}

const selected = "{?%24select}"

// below returns a builder for a deeper path. The template of a builder is only its path; each call adds its
// query parameters.
func below(
	b *abstractions.BaseRequestBuilder, path string, parameters ...string,
) abstractions.BaseRequestBuilder {
	all := maps.Clone(b.PathParameters)
	if all == nil {
		all = map[string]string{}
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		all[parameters[i]] = parameters[i+1]
	}
	return *abstractions.NewBaseRequestBuilder(b.RequestAdapter, b.UrlTemplate+path, all)
}

// selectQuery has only the parameter $select.
type selectQuery struct {
	Select []string `uriparametername:"%24select"`
}

// Get reads the user.
func (b *UserItemRequestBuilder) Get(ctx context.Context, selects []string, o Options) (*User, error) {
	at := below(&b.BaseRequestBuilder, selected)
	info, err := request(ctx, &at, abstractions.GET, o, selectQuery{selects}, nil)
	if err != nil {
		return nil, err
	}
	return send[*User](ctx, &at, info, CreateUserFromDiscriminatorValue)
}

// Calendar returns the default calendar.
func (b *UserItemRequestBuilder) Calendar() *CalendarItemRequestBuilder {
	return &CalendarItemRequestBuilder{below(&b.BaseRequestBuilder, "/calendar")}
}

// Calendars returns the calendars segment.
func (b *UserItemRequestBuilder) Calendars() *CalendarsRequestBuilder {
	return &CalendarsRequestBuilder{below(&b.BaseRequestBuilder, "/calendars")}
}

// CalendarsRequestBuilder builds requests for the calendars.
type CalendarsRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// PageQuery holds the parameters of a page of a list.
type PageQuery struct {
	Select  []string `uriparametername:"%24select"`
	OrderBy []string `uriparametername:"%24orderby"`
	Top     *int32   `uriparametername:"%24top"`
	Skip    *int32   `uriparametername:"%24skip"`

	// For a calendar view, in ISO 8601.
	StartDateTime *string `uriparametername:"startDateTime"`
	EndDateTime   *string `uriparametername:"endDateTime"`
}

const (
	listQuery = "{?%24orderby,%24select,%24top}"
	viewQuery = "{?endDateTime,startDateTime,%24orderby,%24select,%24skip,%24top}"
)

// Get reads a page of the calendars.
func (b *CalendarsRequestBuilder) Get(
	ctx context.Context, q PageQuery, o Options,
) (*CalendarCollectionResponse, error) {
	at := below(&b.BaseRequestBuilder, listQuery)
	info, err := request(ctx, &at, abstractions.GET, o, q, nil)
	if err != nil {
		return nil, err
	}
	return send[*CalendarCollectionResponse](ctx, &at, info,
		CreateCalendarCollectionResponseFromDiscriminatorValue)
}

// WithURL reads the page at the address, which must be a nextLink of Graph.
func (b *CalendarsRequestBuilder) WithURL(
	ctx context.Context, address string, o Options,
) (*CalendarCollectionResponse, error) {
	at := *abstractions.NewBaseRequestBuilder(b.RequestAdapter, listQuery, map[string]string{rawURL: address})
	info, err := request(ctx, &at, abstractions.GET, o, nil, nil)
	if err != nil {
		return nil, err
	}
	return send[*CalendarCollectionResponse](ctx, &at, info,
		CreateCalendarCollectionResponseFromDiscriminatorValue)
}

// rawURL is the path parameter in which Kiota accepts a complete address.
const rawURL = "request-raw-url"

// ByCalendarID returns the calendar of that id.
func (b *CalendarsRequestBuilder) ByCalendarID(id string) *CalendarItemRequestBuilder {
	return &CalendarItemRequestBuilder{below(&b.BaseRequestBuilder, "/{calendar%2Did}", "calendar%2Did", id)}
}

// CalendarItemRequestBuilder builds requests for a calendar.
type CalendarItemRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// Get reads the calendar.
func (b *CalendarItemRequestBuilder) Get(
	ctx context.Context, selects []string, o Options,
) (*Calendar, error) {
	at := below(&b.BaseRequestBuilder, selected)
	info, err := request(ctx, &at, abstractions.GET, o, selectQuery{selects}, nil)
	if err != nil {
		return nil, err
	}
	return send[*Calendar](ctx, &at, info, CreateCalendarFromDiscriminatorValue)
}

// CalendarView returns the view of the calendar with series expanded.
func (b *CalendarItemRequestBuilder) CalendarView() *CalendarViewRequestBuilder {
	return &CalendarViewRequestBuilder{below(&b.BaseRequestBuilder, "/calendarView")}
}

// Events returns the events segment.
func (b *CalendarItemRequestBuilder) Events() *EventsRequestBuilder {
	return &EventsRequestBuilder{below(&b.BaseRequestBuilder, "/events")}
}

// CalendarViewRequestBuilder builds requests for a calendarView.
type CalendarViewRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// Get reads a page of the view.
func (b *CalendarViewRequestBuilder) Get(
	ctx context.Context, q PageQuery, o Options,
) (*EventCollectionResponse, error) {
	at := below(&b.BaseRequestBuilder, viewQuery)
	info, err := request(ctx, &at, abstractions.GET, o, q, nil)
	if err != nil {
		return nil, err
	}
	return send[*EventCollectionResponse](ctx, &at, info, CreateEventCollectionResponseFromDiscriminatorValue)
}

// WithURL reads the page at the address, which must be a nextLink of Graph.
func (b *CalendarViewRequestBuilder) WithURL(
	ctx context.Context, address string, o Options,
) (*EventCollectionResponse, error) {
	at := *abstractions.NewBaseRequestBuilder(b.RequestAdapter, viewQuery, map[string]string{rawURL: address})
	info, err := request(ctx, &at, abstractions.GET, o, nil, nil)
	if err != nil {
		return nil, err
	}
	return send[*EventCollectionResponse](ctx, &at, info, CreateEventCollectionResponseFromDiscriminatorValue)
}

// Address returns the address of a page of the view, for a part of a batch. It is relative to the address of
// the API.
func (b *CalendarViewRequestBuilder) Address(ctx context.Context, q PageQuery) (string, error) {
	at := below(&b.BaseRequestBuilder, viewQuery)
	info, err := request(ctx, &at, abstractions.GET, Options{}, q, nil)
	if err != nil {
		return "", err
	}
	info.PathParameters["baseurl"] = "" // the path alone
	uri, err := info.GetUri()
	if err != nil {
		return "", err
	}
	// The pipeline does the same, but a part does not go through it.
	return strings.ReplaceAll(uri.String(), "%24", "$"), nil
}

// EventsRequestBuilder builds requests for the events of a calendar.
type EventsRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// Post creates an event.
func (b *EventsRequestBuilder) Post(ctx context.Context, body *Event, o Options) (*Event, error) {
	info, err := request(ctx, &b.BaseRequestBuilder, abstractions.POST, o, nil, body)
	if err != nil {
		return nil, err
	}
	return send[*Event](ctx, &b.BaseRequestBuilder, info, CreateEventFromDiscriminatorValue)
}

// ByEventID returns the event of that id.
func (b *EventsRequestBuilder) ByEventID(id string) *EventItemRequestBuilder {
	return &EventItemRequestBuilder{below(&b.BaseRequestBuilder, "/{event%2Did}", "event%2Did", id)}
}

// EventItemRequestBuilder builds requests for an event.
type EventItemRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// Get reads the event.
func (b *EventItemRequestBuilder) Get(ctx context.Context, selects []string, o Options) (*Event, error) {
	at := below(&b.BaseRequestBuilder, selected)
	info, err := request(ctx, &at, abstractions.GET, o, selectQuery{selects}, nil)
	if err != nil {
		return nil, err
	}
	return send[*Event](ctx, &at, info, CreateEventFromDiscriminatorValue)
}

// Patch changes the fields that are set in body.
func (b *EventItemRequestBuilder) Patch(ctx context.Context, body *Event, o Options) (*Event, error) {
	info, err := request(ctx, &b.BaseRequestBuilder, abstractions.PATCH, o, nil, body)
	if err != nil {
		return nil, err
	}
	return send[*Event](ctx, &b.BaseRequestBuilder, info, CreateEventFromDiscriminatorValue)
}

// Delete removes the event.
func (b *EventItemRequestBuilder) Delete(ctx context.Context, o Options) error {
	info, err := request(ctx, &b.BaseRequestBuilder, abstractions.DELETE, o, nil, nil)
	if err != nil {
		return err
	}
	return do(ctx, &b.BaseRequestBuilder, info)
}

// Cancel cancels the event for everyone invited; only its organizer may.
func (b *EventItemRequestBuilder) Cancel(ctx context.Context, body *CancelRequestBody, o Options) error {
	return b.act(ctx, "/cancel", body, o)
}

// Decline declines the invitation and takes the event out of the calendar.
func (b *EventItemRequestBuilder) Decline(ctx context.Context, body *DeclineRequestBody, o Options) error {
	return b.act(ctx, "/decline", body, o)
}

func (b *EventItemRequestBuilder) act(
	ctx context.Context, path string, body serialization.Parsable, o Options,
) error {
	at := below(&b.BaseRequestBuilder, path)
	info, err := request(ctx, &at, abstractions.POST, o, nil, body)
	if err != nil {
		return err
	}
	return do(ctx, &at, info)
}

// BatchRequestBuilder builds requests for $batch.
type BatchRequestBuilder struct {
	abstractions.BaseRequestBuilder
}

// MaxBatchParts is how many requests a batch may have (learn.microsoft.com/graph/json-batching).
const MaxBatchParts = 20

// Post sends the requests of a batch. The responses come in any order.
func (b *BatchRequestBuilder) Post(
	ctx context.Context, body *BatchRequest, o Options,
) (*BatchResponse, error) {
	info, err := request(ctx, &b.BaseRequestBuilder, abstractions.POST, o, nil, body)
	if err != nil {
		return nil, err
	}
	return send[*BatchResponse](ctx, &b.BaseRequestBuilder, info, CreateBatchResponseFromDiscriminatorValue)
}
