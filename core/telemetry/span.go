package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// scope names the gateway as the instrumentation of its spans.
const scope = "frontdesk"

// The attributes of spans, besides those of OpenTelemetry's semantic conventions for HTTP. Their values are
// names from a fixed list, numbers, and the gateway's own ids. What callers or providers write is in none of
// them: no text, address, path, query, header, or id of another system.
const (
	attrOperation  = attribute.Key("frontdesk.operation")
	attrSurface    = attribute.Key("frontdesk.surface")
	attrTenant     = attribute.Key("frontdesk.tenant.id")
	attrConnection = attribute.Key("frontdesk.connection.id")
	attrKind       = attribute.Key("frontdesk.kind")
	attrProvider   = attribute.Key("frontdesk.provider")
	attrOutcome    = attribute.Key("frontdesk.outcome")
	attrTry        = attribute.Key("frontdesk.try")
	attrEvent      = attribute.Key("frontdesk.event")
	attrAttempt    = attribute.Key("frontdesk.attempt")
)

// Span is a span of a trace. The zero value records nothing and costs nothing.
type Span struct{ span trace.Span }

type tracerKey struct{}

// WithTracer returns a context whose work begins traces of its own ([StartWork]). If tracer is nil, it is
// ctx.
func WithTracer(ctx context.Context, tracer trace.Tracer) context.Context {
	if tracer == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, tracer)
}

// FollowTrace returns ctx with the span and the tracer of another context, for work that outlives what
// started it.
func FollowTrace(ctx, started context.Context) context.Context {
	if tracer, has := started.Value(tracerKey{}).(trace.Tracer); has {
		ctx = WithTracer(ctx, tracer)
	}
	if span := trace.SpanFromContext(started); isRecorded(span) {
		ctx = trace.ContextWithSpan(ctx, span)
	}
	return ctx
}

// isRecorded reports whether a span is of this process and is exported. A span that has ended is still the
// parent of what it left behind.
func isRecorded(span trace.Span) bool {
	of := span.SpanContext()
	return of.IsSampled() && !of.IsRemote()
}

// StartSpan begins a span below that of the context. If that one is not recorded, the context is the same
// and the span is the zero value.
func StartSpan(ctx context.Context, name string) (context.Context, Span) {
	return start(ctx, name, trace.SpanKindInternal)
}

func start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !isRecorded(parent) {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{span}
}

// StartWork is like StartSpan, but begins a trace if the context has no span and comes from [WithTracer].
func StartWork(ctx context.Context, name string) (context.Context, Span) {
	if isRecorded(trace.SpanFromContext(ctx)) {
		return StartSpan(ctx, name)
	}
	tracer, has := ctx.Value(tracerKey{}).(trace.Tracer)
	if !has {
		return ctx, Span{}
	}
	ctx, span := tracer.Start(ctx, name, trace.WithNewRoot())
	return ctx, recorded(span)
}

// recorded returns a span that was started, or the zero value if the sampler left it out.
func recorded(span trace.Span) Span {
	if !span.IsRecording() {
		return Span{}
	}
	return Span{span}
}

// RequestOf describes a request to its span.
type RequestOf struct {
	Method   string
	Route    string // the template of its path: "/beta/phone-numbers/:id"
	Surface  string
	TenantID string
	Began    time.Time
}

// StartRequest begins the span of a request, in the trace of its caller if there is one ([ContinueTrace]). If
// tracer is nil, nothing is recorded.
func StartRequest(ctx context.Context, tracer trace.Tracer, r RequestOf) (context.Context, Span) {
	if tracer == nil {
		return ctx, Span{}
	}
	kind, parent := trace.SpanKindServer, trace.SpanFromContext(ctx)
	if isRecorded(parent) { // a tool, which calls an operation
		kind = trace.SpanKindInternal
	} else if of := parent.SpanContext(); of.TraceState().Len() > 0 { // other systems wrote it for their own use
		ctx = trace.ContextWithRemoteSpanContext(ctx, of.WithTraceState(trace.TraceState{}))
	}
	method := knownMethod(r.Method)
	ctx, span := tracer.Start(ctx, strings.TrimSpace(nameOf(method)+" "+r.Route), trace.WithSpanKind(kind),
		trace.WithTimestamp(r.Began), trace.WithAttributes(
			semconv.HTTPRequestMethodKey.String(method),
			attrSurface.String(r.Surface), attrTenant.String(r.TenantID)))
	if r.Route != "" { // an attribute without a value is left out
		span.SetAttributes(semconv.HTTPRoute(r.Route))
	}
	return ctx, recorded(span)
}

// EndRequest ends the span of a request. The reason is the fault's, or "" if there was none.
func (s Span) EndRequest(operation string, status int, reason string) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attrOperation.String(operation), semconv.HTTPResponseStatusCode(status))
	if reason != "" {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(reason))
	}
	if status >= http.StatusInternalServerError { // a caller's error is no error of the server's span
		s.span.SetStatus(codes.Error, reason)
	}
	s.span.End()
}

// Context returns ctx with the span, so that log lines carry the id of its trace.
func (s Span) Context(ctx context.Context) context.Context {
	if s.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// StartCall begins the span of a guarded call of a driver, or of one try of it if try is not 0.
func StartCall(ctx context.Context, l CallLabels, connection string, try int) (context.Context, Span) {
	if !isRecorded(trace.SpanFromContext(ctx)) {
		return ctx, Span{}
	}
	name := l.Kind + "." + l.Operation
	if try > 0 {
		name = "try " + name
	}
	ctx, s := StartSpan(ctx, name)
	s.span.SetAttributes(attrKind.String(l.Kind), attrProvider.String(l.Provider),
		attrOperation.String(l.Operation), attrConnection.String(connection))
	if try > 0 {
		s.span.SetAttributes(attrTry.Int(try))
	}
	return ctx, s
}

// StartOperation begins a span with the name of the operation that it is a part of.
func StartOperation(ctx context.Context, name, operation string) (context.Context, Span) {
	ctx, s := StartSpan(ctx, name)
	s.set(attrOperation, operation)
	return ctx, s
}

// Connection records which connection the span's work is for.
func (s Span) Connection(id string) { s.set(attrConnection, id) }

// Operation records which operation the span's work belongs to.
func (s Span) Operation(name string) { s.set(attrOperation, name) }

// Delivery records which event is sent, and in which attempt.
func (s Span) Delivery(event string, attempt int) {
	s.set(attrEvent, event)
	if s.span != nil {
		s.span.SetAttributes(attrAttempt.Int(attempt))
	}
}

func (s Span) set(key attribute.Key, value string) {
	if s.span != nil {
		s.span.SetAttributes(key.String(value))
	}
}

// StartExchange begins the span of one HTTP exchange.
func StartExchange(ctx context.Context, provider, method string) (context.Context, Span) {
	if !isRecorded(trace.SpanFromContext(ctx)) {
		return ctx, Span{}
	}
	method = knownMethod(method)
	ctx, s := start(ctx, nameOf(method), trace.SpanKindClient)
	s.span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), attrProvider.String(provider))
	return ctx, s
}

// Host records the host that the span's request goes to. It must not be one that a tenant or a provider named,
// since such a name says whose it is.
func (s Span) Host(name string) {
	if s.span != nil {
		s.span.SetAttributes(semconv.ServerAddress(name))
	}
}

// EndExchange ends the span of an exchange. If there was no response, status is 0 and reason is the fault's.
func (s Span) EndExchange(status int, reason string) {
	if s.span == nil {
		return
	}
	if status != 0 {
		s.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		if status < http.StatusBadRequest {
			reason = ""
		} else {
			reason = cmp.Or(reason, StatusClass(status))
		}
	}
	s.End("", reason)
}

// End ends the span. outcome is how the work ended, or "" if there is nothing to tell. reason is that of the
// fault, or "" if there was none; with one, the span has failed.
func (s Span) End(outcome, reason string) {
	if s.span == nil {
		return
	}
	if outcome != "" {
		s.span.SetAttributes(attrOutcome.String(outcome))
	}
	if reason != "" {
		s.span.SetAttributes(semconv.ErrorTypeKey.String(reason))
		s.span.SetStatus(codes.Error, reason)
	}
	s.span.End()
}

// knownMethods are those of HTTP (RFC 9110, RFC 5789) and of WebDAV and CalDAV (RFC 4918, RFC 3253, RFC 4791).
var knownMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT",
	"MKCALENDAR", "PROPPATCH"}

// otherMethod is what the semantic conventions write for a method that is not known.
const otherMethod = "_OTHER"

// knownMethod returns a method, or otherMethod.
func knownMethod(method string) string {
	if slices.Contains(knownMethods, method) {
		return method
	}
	return otherMethod
}

// nameOf returns the method in the name of a span. A name says HTTP for a method that is not known (OpenTelemetry,
// "Semantic conventions for HTTP spans", Name).
func nameOf(method string) string {
	if method == otherMethod {
		return "HTTP"
	}
	return method
}
