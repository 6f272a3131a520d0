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

// surface is a part of the interface with rules of its own.
type surface string

const (
	surfaceV1   surface = "v1"   // google.rpc.Status, proto3 JSON's idea of "not given"
	surfaceBeta surface = "beta" // problem details, strict JSON
	surfaceNone surface = ""     // outside both: problem details
)

// surfaceOf returns the surface of a path by its first segment, so that an unknown path is refused in the
// style that its caller expects.
func surfaceOf(path string) surface {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "v1":
		return surfaceV1
	case "beta", "alpha":
		return surfaceBeta
	}
	return surfaceNone
}

// operation declares one operation of the interface.
type operation struct {
	ID          string
	Method      string
	Path        string // as OpenAPI writes it, "/beta/phone-numbers/{id}"
	Scope       apikey.Scope
	Kind        adapter.Kind // the kind of connection it works on
	Tag         string
	Summary     string
	Description string
	Reasons     []string // the reasons of errors of its own, besides those that every operation shares
	Success     int
	Examples    []example
	endpoint
}

// example is one exchange that succeeds, for the documents.
type example struct {
	Name     string
	Summary  string
	Request  any // nil: the operation takes no body
	Response any // nil: the answer has none
}

// endpoint is what an operation does, and the types that describe it.
type endpoint struct {
	request  *shape
	response reflect.Type               // nil: the answer has no body
	writes   bool                       // it changes something, so an Idempotency-Key means something
	serve    func(*call) (reply, error) // decodes, checks, does
}

// call is one request on its way to a use case.
type call struct {
	ctx    context.Context
	caller apikey.Caller
	write  service.Write
	path   func(name string) string
	body   []byte // nil: the operation takes none
	checks *checks
}

// reply is what a use case answered, ready to be written.
type reply struct {
	body     []byte
	replayed bool
	location string
}

func (o operation) surface() surface { return surfaceOf(o.Path) }

// takesBody reports whether requests carry JSON. RFC 9110 section 9.3.1 and 9.3.5 give content in GET and
// DELETE no meaning, so it is only read away there.
func (o operation) takesBody() bool {
	return o.Method == http.MethodPost || o.Method == http.MethodPatch
}

// reasons lists every reason the operation's errors may have, its own first.
func (o operation) reasons() []string {
	all := append([]string{}, o.Reasons...)
	all = append(all, fault.ReasonInvalidRequest)
	if o.takesBody() {
		all = append(all, reasonMalformed, reasonMediaType)
	}
	all = append(all, reasonBodyTooLarge, reasonBodyTooSlow, fault.ReasonInvalidAPIKey, fault.ReasonScopeMissing,
		fault.ReasonRateLimited)
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

// mutation returns the endpoint of a use case that changes something. The read function turns the decoded
// request into the use case's input and reports what is wrong with it; do is the use case as a method
// expression, so that declarations can be made, and documented, without a service behind them.
func mutation[S, In, Rec, Ans any](s S,
	do func(S, context.Context, apikey.Caller, service.Write, Rec) (service.Answer[Ans], error),
	read func(In, *checks) Rec,
) endpoint {
	return creation(s, do, read, func(Ans) string { return "" })
}

// creation returns a mutation whose answer says where what it made can be found.
func creation[S, In, Rec, Ans any](s S,
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

// lookup returns a query without input.
func lookup[S, Ans any](s S, do func(S, context.Context, apikey.Caller) (Ans, error)) endpoint {
	type noInput struct{}
	return query(s,
		func(s S, ctx context.Context, caller apikey.Caller, _ noInput) (Ans, error) {
			return do(s, ctx, caller)
		},
		func(noFields, *checks) noInput { return noInput{} })
}

// noFields is the request of operations that take none.
type noFields struct{}

func bodyType[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[struct{}]() {
		return nil
	}
	return t
}

// decodeInput decodes and checks a request as far as it can, so that every fault of it is told at once.
func decodeInput[In, Rec any](c *call, s *shape, read func(In, *checks) Rec) (Rec, error) {
	var in In
	var none Rec
	if err := decode(c, s, &in); err != nil {
		return none, err
	}
	input := read(in, c.checks)
	return input, c.checks.err()
}
