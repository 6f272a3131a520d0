package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// LogOptions configures the logger.
type LogOptions struct {
	Format string // "json" or "text"; "" is json
	Level  string // "debug", "info", "warn" or "error"; "" is info
}

// NewLogger returns the process's logger. Every line carries the attributes of its context and is redacted.
func NewLogger(w io.Writer, o LogOptions) (*slog.Logger, error) {
	var level slog.Level
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil {
			return nil, fmt.Errorf("log level %q is not debug, info, warn or error", o.Level)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.Format {
	case "", "json":
		return slog.New(&handler{slog.NewJSONHandler(w, options)}), nil
	case "text":
		return slog.New(&handler{slog.NewTextHandler(w, options)}), nil
	}
	return nil, fmt.Errorf("log format %q is not json or text", o.Format)
}

// handler wraps a handler so that each record is redacted and carries the attributes of its context. The
// provider's words in an error (its method Words) are logged only if debug level is enabled.
type handler struct{ inner slog.Handler }

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	redactAttr := redactor(h.inner.Enabled(ctx, slog.LevelDebug))
	out := slog.NewRecord(r.Time, r.Level, Redact(r.Message), r.PC)
	known := Attrs(ctx)
	attrs := append(make([]slog.Attr, 0, len(known)+1+r.NumAttrs()), known...)
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		attrs = append(attrs, slog.String(keyTraceID, span.TraceID().String()))
	}
	ofContext := len(attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, redactAttr.attr(a))
		return true
	})
	// Of a name that comes twice, each reader takes another value, or none (RFC 8259 section 4). The line's own value
	// counts.
	own := attrs[ofContext:]
	others := slices.DeleteFunc(attrs[:ofContext], func(a slog.Attr) bool { return named(own, a.Key) })
	out.AddAttrs(append(others, own...)...)
	return h.inner.Handle(ctx, out)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{inner: h.inner.WithAttrs(redactAttrs(attrs))}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{inner: h.inner.WithGroup(name)}
}
