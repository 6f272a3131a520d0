package admin

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/requestlog"
	"frontdesk/core/spelling"
	"frontdesk/core/telemetry"
	"frontdesk/core/tenant"
)

// Request is a request as the admin interface lists it.
type Request struct {
	ID             string    `json:"id" doc:"Its id in the log of requests." example:"K7Q2..."`
	At             time.Time `json:"at" doc:"When it came."`
	RequestID      string    `json:"request_id" doc:"The X-Request-Id of its answer, which the caller may have chosen."`
	KeyID          string    `json:"key_id" doc:"The API key that made it." example:"key_7f3c"`
	ConnectionID   string    `json:"connection_id,omitempty" doc:"The connection that the key uses for such operations."`
	Operation      string    `json:"operation" doc:"The operation's id." example:"bookMeeting"`
	IdempotencyKey string    `json:"idempotency_key,omitempty" doc:"The caller's Idempotency-Key."`
	Replayed       bool      `json:"replayed" doc:"Whether it got the answer to an earlier request."`
	Status         int       `json:"status" doc:"The HTTP status of the answer." example:"200"`
	Reason         string    `json:"reason,omitempty" doc:"The reason of a failure." example:"SLOT_TAKEN"`
	TookMs         float64   `json:"took_ms" doc:"How long the answer took, in milliseconds." example:"181.4"`
}

// Requests is the answer of ListRequests.
type Requests struct {
	Requests []Request `json:"requests" nullable:"false" doc:"The newest requests that match, the newest first."`
	Next     string    `json:"next,omitempty" doc:"The value of before for the ones that follow. Absent: there are none."`
}

// RequestStory is a request with what it did at providers.
type RequestStory struct {
	Request
	Tries     []ProviderTry `json:"tries" nullable:"false" doc:"The calls of providers, in their order."`
	MoreTries int           `json:"more_tries,omitempty" doc:"How many calls there were beyond those."`
}

// ProviderTry is a call of a provider that a request made. A call that was tried again is another one.
type ProviderTry struct {
	Operation    string         `json:"operation" doc:"What was asked, as in the metrics." example:"book"`
	Provider     string         `json:"provider" doc:"The provider's name." example:"google"`
	ConnectionID string         `json:"connection_id" doc:"The connection that was used."`
	AfterMs      float64        `json:"after_ms" doc:"How long after the request it began, in milliseconds." example:"2.1"`
	TookMs       float64        `json:"took_ms" doc:"How long it took, in milliseconds; 0 if it had not ended when the request was answered." example:"174.9"`
	Outcome      string         `json:"outcome" doc:"ok, or the kind of failure." example:"ok"`
	Reason       string         `json:"reason,omitempty" doc:"The reason of a failure."`
	Exchanges    []HTTPExchange `json:"exchanges" nullable:"false" doc:"Its HTTP requests."`
}

// HTTPExchange is an HTTP request to a provider.
type HTTPExchange struct {
	Method  string  `json:"method" doc:"The HTTP method." example:"POST"`
	Status  int     `json:"status,omitempty" doc:"The HTTP status. Absent: there was no response." example:"200"`
	Failure string  `json:"failure,omitempty" doc:"The kind of failure if there was no response." example:"timeout"`
	TookMs  float64 `json:"took_ms" doc:"How long the response took, in milliseconds." example:"171.2"`
}

// RequestQuery selects requests of a tenant. Zero values do not restrict, except Tenant.
type RequestQuery struct {
	Tenant         string `path:"tenant" doc:"The tenant's name." example:"acme"`
	RequestID      string `query:"request_id" doc:"Only requests with this X-Request-Id." example:"01JABCDEF"`
	KeyID          string `query:"key_id" doc:"Only requests of this API key." example:"key_7f3c"`
	Connection     string `query:"connection" doc:"Only requests that use the connection of this name." example:"office"`
	Operation      string `query:"operation" doc:"Only requests for this operation." example:"bookMeeting"`
	IdempotencyKey string `query:"idempotency_key" doc:"Only requests with this Idempotency-Key." example:"call-7f3c"`
	Outcome        string `query:"outcome" doc:"ok: only those that succeeded; failed: only the others." example:"failed"`
	Reason         string `query:"reason" doc:"Only requests that failed for this reason." example:"SLOT_TAKEN"`
	Before         string `query:"before" doc:"Only requests that are older than the one with this id: next of the page before." example:"K7Q2"`
	Limit          int    `query:"limit" doc:"How many at most, up to 500. The default is 50." example:"50"`
}

// Outcomes by which requests are selected.
const (
	OutcomeOK     = "ok"
	OutcomeFailed = "failed"
)

const (
	defaultRequestLimit = 50
	// MaxRequestLimit is how many requests one answer can have.
	MaxRequestLimit = 500
)

// ListRequests lists the newest requests of a tenant that match.
func (s *Service) ListRequests(ctx context.Context, c apikey.Caller, q RequestQuery) (Requests, error) {
	answer := Requests{Requests: []Request{}}
	of, err := s.tenant(ctx, c, q.Tenant)
	if err != nil {
		return answer, err
	}
	if q.Operation != "" && !slices.Contains(s.opts.Operations, q.Operation) {
		return answer, fault.InvalidFields(fault.Field{
			Path: "query.operation", Message: "is none of " + strings.Join(s.opts.Operations, ", "),
			Hint: spelling.Nearest(q.Operation, s.opts.Operations),
		})
	}
	filter := requestlog.Filter{
		TenantID: of.ID, RequestID: q.RequestID, KeyID: q.KeyID, Operation: q.Operation,
		IdempotencyKey: q.IdempotencyKey, Reason: q.Reason, Before: q.Before, Limit: q.Limit,
	}
	if filter.Limit == 0 {
		filter.Limit = defaultRequestLimit
	}
	if q.Outcome != "" {
		filter.Failed = new(q.Outcome == OutcomeFailed)
	}
	if q.Connection != "" {
		found, err := s.GetConnection(ctx, c, ConnectionName{q.Tenant, q.Connection})
		if err != nil {
			return answer, err
		}
		filter.ConnectionID = found.ID
	}
	entries, err := s.opts.Requests.List(ctx, filter)
	for _, e := range entries {
		answer.Requests = append(answer.Requests, requestOf(e))
	}
	if len(entries) == filter.Limit {
		answer.Next = entries[len(entries)-1].ID
	}
	return answer, err
}

// RequestName names a request of a tenant.
type RequestName struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	ID     string `path:"request" doc:"The request's id in the log." example:"K7Q2"`
}

// GetRequest returns a request with what it did at providers.
func (s *Service) GetRequest(ctx context.Context, c apikey.Caller, n RequestName) (RequestStory, error) {
	of, err := s.tenant(ctx, c, n.Tenant)
	if err != nil {
		return RequestStory{}, err
	}
	e, found, err := s.opts.Requests.Get(ctx, of.ID, n.ID)
	if err != nil {
		return RequestStory{}, err
	}
	if !found {
		return RequestStory{}, fault.Newf(fault.NotFound, fault.ReasonNotFound,
			"The log of the tenant %q has no request %q. It keeps the last requests only.", n.Tenant, n.ID)
	}
	story := RequestStory{Request: requestOf(e), Tries: []ProviderTry{}, MoreTries: e.MoreTries}
	for _, t := range e.Tries {
		story.Tries = append(story.Tries, tryOf(t))
	}
	return story, nil
}

// tenant returns a tenant that the caller's key reaches.
func (s *Service) tenant(ctx context.Context, c apikey.Caller, name string) (tenant.Tenant, error) {
	if err := reaches(c, name); err != nil {
		return tenant.Tenant{}, err
	}
	return tenant.ByName(ctx, s.opts.Store, name)
}

func requestOf(e requestlog.Entry) Request {
	return Request{
		ID: e.ID, At: e.At.UTC(), RequestID: e.RequestID, KeyID: e.KeyID, ConnectionID: e.ConnectionID,
		Operation: e.Operation, IdempotencyKey: e.IdempotencyKey, Replayed: e.Replayed, Status: e.Status,
		Reason: e.Reason, TookMs: milliseconds(e.Took),
	}
}

func tryOf(t telemetry.Try) ProviderTry {
	shown := ProviderTry{
		Operation: t.Operation, Provider: t.Provider, ConnectionID: t.Connection, AfterMs: milliseconds(t.After),
		TookMs: milliseconds(t.Took), Outcome: t.Outcome, Reason: t.Reason, Exchanges: []HTTPExchange{},
	}
	for _, e := range t.Exchanges {
		shown.Exchanges = append(shown.Exchanges, HTTPExchange{
			Method: e.Method, Status: e.Status, Failure: e.Code, TookMs: milliseconds(e.Took),
		})
	}
	return shown
}

// milliseconds returns a duration in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
