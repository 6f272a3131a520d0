package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
)

// The names of the attributes that log lines have in common.
const (
	keyRequestID  = "request_id"
	keyTenant     = "tenant"
	keyConnection = "connection"
	keyProvider   = "provider"
	keyOperation  = "operation"
	keyTraceID    = "trace_id"
	keyTook       = "took_ms"
)

// RequestID returns the attribute of the request's id.
func RequestID(id string) slog.Attr { return slog.String(keyRequestID, id) }

// Tenant returns the attribute of the tenant's name.
func Tenant(name string) slog.Attr { return slog.String(keyTenant, name) }

// Connection returns the attribute of the connection's id.
func Connection(id string) slog.Attr { return slog.String(keyConnection, id) }

// Provider returns the attribute of the provider's name.
func Provider(name string) slog.Attr { return slog.String(keyProvider, name) }

// Operation returns the attribute of the operation's name.
func Operation(name string) slog.Attr { return slog.String(keyOperation, name) }

// Took returns the attribute of a duration, in milliseconds.
func Took(d time.Duration) slog.Attr {
	return slog.Float64(keyTook, float64(d.Microseconds())/1000)
}

type attrsKey struct{}

// With returns a context that adds attributes to every line logged with it. A later value of a name replaces
// the earlier one.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	old := Attrs(ctx)
	merged := make([]slog.Attr, 0, len(old)+len(attrs))
	for _, a := range old {
		if !named(attrs, a.Key) {
			merged = append(merged, a)
		}
	}
	for _, a := range attrs {
		merged = append(merged, redactor(false).attr(a))
	}
	return context.WithValue(ctx, attrsKey{}, merged)
}

// Attrs returns the attributes that With added.
func Attrs(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return attrs
}

func named(attrs []slog.Attr, key string) bool {
	for _, a := range attrs {
		if a.Key == key {
			return true
		}
	}
	return false
}

// ContinueTrace returns a context that continues the trace in a request's traceparent header (W3C Trace
// Context). A missing or malformed header leaves the context as it is. Until a span begins ([StartRequest]),
// the parent id stays the caller's: a participant that records nothing must not put itself in the chain
// (section 3.2 of that recommendation).
func ContinueTrace(ctx context.Context, header http.Header) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}
