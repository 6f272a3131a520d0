package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/service"
)

// surface is a part of the interface with its own rules.
type surface string

const (
	surfaceV1    surface = "v1"    // google.rpc.Status; null and empty values count as absent, as in proto3
	surfaceBeta  surface = "beta"  // problem details, strict JSON; the admin interface, too
	surfaceAlpha surface = "alpha" // beyond the written interface, for voice agents, /mcp too; the rules of v1
	surfaceNone  surface = ""      // all other paths: problem details
)

// surfaceOf returns the surface of a path. It depends only on the first segments, so that the error for an
// unknown path has the style that its caller expects.
func surfaceOf(path string) surface {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	switch {
	case first == "v1":
		return surfaceV1
	case first == "beta", first == "alpha" && second == "admin":
		return surfaceBeta
	case first == "alpha", path == "/mcp":
		return surfaceAlpha
	}
	return surfaceNone
}

// likeV1 reports whether the surface has the rules of v1.
func (s surface) likeV1() bool { return s == surfaceV1 || s == surfaceAlpha }

// operation declares one operation of the interface.
type operation struct {
	ID          string
	Method      string
	Path        string // in OpenAPI's form: "/beta/phone-numbers/{id}"
	Scope       apikey.Scope
	Kind        adapter.Kind // the kind of connection it works on; "": none, at the admin interface
	Tag         string
	Summary     string
	Description string
	Reasons     []string // reasons of its errors, besides those that all operations share
	Tool        tool
	Examples    []example
	endpoint
}

// example is a successful request and its response, for the documents.
type example struct {
	Name     string
	Summary  string
	Request  any // nil: the operation takes no body
	Response any // nil: the response has no body
}

// endpoint is the implementation of an operation, with its types.
type endpoint struct {
	request  *shape
	response reflect.Type               // nil: the response has no body
	writes   bool                       // the operation changes something and accepts an Idempotency-Key
	creates  bool                       // the operation creates what it answers
	serve    func(*call) (reply, error) // decodes and checks the request, and runs the use case
}

// call is one request on its way to a use case.
type call struct {
	ctx    context.Context
	caller apikey.Caller
	write  service.Write
	path   func(name string) string
	query  string // as it was sent
	body   []byte // nil: the operation takes none
	checks *checks
}

// reply is the result of a use case, ready to be written.
type reply struct {
	body     []byte
	replayed bool
	location string
}

func (o operation) surface() surface { return surfaceOf(o.Path) }

// success returns the HTTP status of a successful response.
func (o operation) success() int {
	switch {
	case o.response == nil:
		return http.StatusNoContent
	case o.creates:
		return http.StatusCreated
	}
	return http.StatusOK
}

// takesBody reports whether requests carry JSON. RFC 9110 section 9.3.1 and 9.3.5 give content in GET and
// DELETE no meaning, so it is read and discarded there, as it is where the admin interface takes no fields.
func (o operation) takesBody() bool {
	return (o.Method == http.MethodPost || o.Method == http.MethodPatch) &&
		(o.Kind != "" || len(o.request.names) > 0)
}

// reasons returns all reasons that the operation's errors may have, starting with its own.
func (o operation) reasons() []string {
	all := append([]string{}, o.Reasons...)
	all = append(all, fault.ReasonInvalidRequest)
	if o.takesBody() {
		all = append(all, reasonMalformed, reasonMediaType)
	}
	all = append(all, reasonBodyTooLarge, reasonBodyTooSlow, fault.ReasonInvalidAPIKey, fault.ReasonScopeMissing,
		fault.ReasonRateLimited)
	if o.Kind == "" { // of the admin interface, which calls no provider unless its own reasons say so
		if o.writes {
			all = append(all, fault.ReasonIdempotencyReused, fault.ReasonIdempotencyRunning)
		}
		return append(all, fault.ReasonOverloaded, fault.ReasonStoreUnavailable, fault.ReasonDeadlineExceeded,
			fault.ReasonInternal)
	}
	if o.writes {
		all = append(all, fault.ReasonIdempotencyReused, fault.ReasonIdempotencyRunning, fault.ReasonOutcomeUnknown,
			fault.ReasonProviderConflict)
	}
	return append(all, fault.ReasonPermissionDenied, fault.ReasonProviderRefused,
		fault.ReasonProviderMisconfigured,
		fault.ReasonEgressRefused, fault.ReasonProviderRateLimited, fault.ReasonProviderUnavailable,
		fault.ReasonBreakerOpen,
		fault.ReasonOverloaded, fault.ReasonStoreUnavailable, fault.ReasonDeadlineExceeded, fault.ReasonInternal)
}

// mutation returns the endpoint of a use case that changes something. The read function converts the decoded
// request into the use case's input and adds its faults to the checks. The use case do is a method
// expression, so that operations can be declared and documented without a service.
func mutation[S, In, Rec, Ans any](s S,
	do func(S, context.Context, apikey.Caller, service.Write, Rec) (service.Answer[Ans], error),
	read func(In, *checks) Rec,
) endpoint {
	return locatedMutation(s, do, read, func(Ans) string { return "" })
}

// locatedMutation returns a mutation whose response has the location of the resource.
func locatedMutation[S, In, Rec, Ans any](s S,
	do func(S, context.Context, apikey.Caller, service.Write, Rec) (service.Answer[Ans], error),
	read func(In, *checks) Rec,
	location func(Ans) string,
) endpoint {
	in := shapeOf[In]()
	return endpoint{
		request: in, response: bodyType[Ans](), writes: true,
		serve: func(c *call) (reply, error) {
			input, err := decodeInput(c, in, read)
			if err != nil {
				return reply{}, err
			}
			answer, err := do(s, c.ctx, c.caller, c.write, input)
			if err != nil {
				return reply{}, err
			}
			return reply{body: answer.Body, replayed: answer.Replayed, location: location(answer.Record)}, nil
		},
	}
}

// query returns the endpoint of a use case that reads.
func query[S, In, Rec, Ans any](s S,
	do func(S, context.Context, apikey.Caller, Rec) (Ans, error),
	read func(In, *checks) Rec,
) endpoint {
	in := shapeOf[In]()
	return endpoint{
		request: in, response: bodyType[Ans](),
		serve: func(c *call) (reply, error) {
			input, err := decodeInput(c, in, read)
			if err != nil {
				return reply{}, err
			}
			answer, err := do(s, c.ctx, c.caller, input)
			if err != nil {
				return reply{}, err
			}
			body, err := json.Marshal(answer)
			return reply{body: body}, err
		},
	}
}

// creating returns an endpoint as one that creates what it answers.
func creating(e endpoint) endpoint {
	e.creates = true
	return e
}

// lookup returns a query without input.
func lookup[S, Ans any](s S, do func(S, context.Context, apikey.Caller) (Ans, error)) endpoint {
	return query(s, func(s S, ctx context.Context, caller apikey.Caller, _ noFields) (Ans, error) {
		return do(s, ctx, caller)
	}, asGiven)
}

// noFields is the request of operations without fields.
type noFields struct{}

func bodyType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Struct && t.NumField() == 0 {
		return nil
	}
	return t
}

// decodeInput decodes and checks a request as far as possible, so that all faults are reported at once.
func decodeInput[In, Rec any](c *call, s *shape, read func(In, *checks) Rec) (Rec, error) {
	var in In
	var none Rec
	if err := decode(c, s, &in); err != nil {
		return none, err
	}
	if !c.checks.passed(locationBody) { // it has no fields
		return none, c.checks.err()
	}
	input := read(in, c.checks)
	return input, c.checks.err()
}
