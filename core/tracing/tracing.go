// Package tracing exports the spans of core/telemetry by OTLP over HTTP, with OpenTelemetry's own SDK and
// exporter.
//
//	traces, err := tracing.Open(ctx, tracing.Options{Endpoint: "http://127.0.0.1:4318", SamplePercent: 100})
//	defer traces.Close()
//	ctx = telemetry.WithTracer(ctx, traces.Tracer())
//
// It promises that no call waits for the export. Spans wait in a queue of bounded length, and those for which
// there is no room are dropped and counted. Close takes at most three seconds, wherever the collector hangs.
// An export that fails is counted and logged once, until one succeeds.
//
// It changes nothing global: no other package finds its provider through go.opentelemetry.io/otel.
package tracing

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	maxWaiting    = 4096 // spans; a few MiB
	maxBatch      = 512
	exportEvery   = 2 * time.Second
	exportTimeout = 5 * time.Second
	closeTimeout  = 3 * time.Second
)

// Options configure [Open].
type Options struct {
	Endpoint      string // the collector's address, above /v1/traces; "" exports nothing
	SamplePercent int    // of the traces that begin here; those that a caller began follow its decision
	Version       string // of the gateway
	Instance      string // names this process

	Log     *slog.Logger
	Metrics Metrics // nil: nothing is counted
}

// Metrics counts spans of traces.
type Metrics interface {
	Spans(outcome string, count int) // outcome: exported, failed or dropped
}

type noMetrics struct{}

func (noMetrics) Spans(string, int) {}

// Traces records spans and exports them. A nil *Traces records nothing.
type Traces struct {
	provider *sdktrace.TracerProvider
	stop     context.CancelFunc // ends an export under way
}

// Open returns the traces for an endpoint, or nil without one. It does not connect yet. The exporter also
// reads the variables OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE, and the resource
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES (OpenTelemetry Environment Variable Specification).
func Open(ctx context.Context, o Options) (*Traces, error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(tracesURL(o.Endpoint)),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithTimeout(exportTimeout), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 200 * time.Millisecond, MaxInterval: 2 * time.Second,
			MaxElapsedTime: exportTimeout,
		}))
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("frontdesk"),
		semconv.ServiceVersion(o.Version), semconv.ServiceInstanceID(o.Instance)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	return open(exporter, about, o), nil
}

// tracesURL returns the address that spans are sent to, as the OTLP specification builds it from an endpoint
// for all signals.
func tracesURL(endpoint string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	if strings.HasSuffix(endpoint, "/v1/traces") {
		return endpoint
	}
	return endpoint + "/v1/traces"
}

func open(exporter sdktrace.SpanExporter, about *resource.Resource, o Options) *Traces {
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	running, stop := context.WithCancel(context.Background())
	waiting := &atomic.Int64{}
	counted := &counter{SpanExporter: exporter, waiting: waiting, running: running, log: o.Log, metrics: o.Metrics}
	queue := sdktrace.NewBatchSpanProcessor(counted,
		sdktrace.WithMaxQueueSize(maxWaiting), sdktrace.WithMaxExportBatchSize(maxBatch),
		sdktrace.WithBatchTimeout(exportEvery), sdktrace.WithExportTimeout(exportTimeout))
	return &Traces{stop: stop, provider: sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(spanLimits()),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(float64(o.SamplePercent)/100))),
		sdktrace.WithSpanProcessor(&bounded{SpanProcessor: queue, waiting: waiting, metrics: o.Metrics}))}
}

// spanLimits are set here, so that no variable of the environment changes them.
func spanLimits() sdktrace.SpanLimits {
	return sdktrace.SpanLimits{
		AttributeValueLengthLimit: 128, AttributeCountLimit: 32, EventCountLimit: 8, LinkCountLimit: 8,
		AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8,
	}
}

// Tracer returns what begins spans; nil if nothing is recorded.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer("frontdesk")
}

// Close exports what waits, for at most three seconds. Spans that end later are lost.
func (t *Traces) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	defer t.stop()
	return t.provider.Shutdown(ctx)
}

// bounded is in front of a batch processor. It bounds the spans that were not exported yet by the length of
// that processor's queue, so that the processor, which does not tell what it drops, drops nothing.
type bounded struct {
	sdktrace.SpanProcessor
	waiting *atomic.Int64
	metrics Metrics
}

// OnEnd queues a span, or drops it.
func (b *bounded) OnEnd(s sdktrace.ReadOnlySpan) {
	if b.waiting.Add(1) > maxWaiting {
		b.waiting.Add(-1)
		b.metrics.Spans("dropped", 1)
		return
	}
	b.SpanProcessor.OnEnd(s)
}

// counter counts what an exporter did, and logs its failures. It returns none: OpenTelemetry would print them.
type counter struct {
	sdktrace.SpanExporter
	waiting *atomic.Int64
	running context.Context
	log     *slog.Logger
	metrics Metrics
	failing atomic.Bool
}

// ExportSpans exports spans.
func (c *counter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	defer c.waiting.Add(-int64(len(spans)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.running, cancel)()
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		c.metrics.Spans("exported", len(spans))
		if c.failing.Swap(false) {
			c.log.InfoContext(ctx, "traces are exported again")
		}
		return nil
	}
	c.metrics.Spans("failed", len(spans))
	if !c.failing.Swap(true) {
		c.log.WarnContext(ctx, "traces cannot be exported; spans are lost until they can", "error", err)
	}
	return nil // it is logged and counted
}
