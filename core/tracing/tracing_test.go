package tracing

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"frontdesk/core/metrics"
	"frontdesk/core/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exporterFunc is an exporter that is a function.
type exporterFunc func(ctx context.Context, spans []sdktrace.ReadOnlySpan) error

func (f exporterFunc) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return f(ctx, spans)
}
func (exporterFunc) Shutdown(context.Context) error { return nil }

// spansBy returns how many spans had an outcome.
func spansBy(t *testing.T, m *metrics.Metrics, outcome string) float64 {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "frontdesk_trace_spans_total" {
			continue
		}
		for _, s := range f.GetMetric() {
			if s.GetLabel()[0].GetValue() == outcome {
				return s.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func spans(tracer trace.Tracer, count int) {
	for range count {
		_, s := tracer.Start(context.Background(), "x")
		s.End()
	}
}

// While the collector hangs, no call waits: what does not fit into the queue is dropped, and counted. Closing
// waits three seconds, not for the collector.
func TestACollectorThatHangsHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.Build{})
		var given atomic.Int64
		hangs := exporterFunc(func(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
			given.Add(int64(len(spans)))
			<-ctx.Done()
			return ctx.Err()
		})
		traces := open(hangs, resource.Empty(), Options{SamplePercent: 100, Metrics: m, Log: slog.New(slog.DiscardHandler)})
		began := time.Now()
		spans(traces.Tracer(), 2*maxWaiting)
		if took := time.Since(began); took != 0 { // in the bubble, only waiting takes time
			t.Errorf("the calls waited for %s", took)
		}
		if got := spansBy(t, m, "dropped"); got != maxWaiting {
			t.Errorf("%v spans were dropped, want %d", got, maxWaiting)
		}
		began = time.Now()
		if err := traces.Close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closing: %v", err)
		}
		if took := time.Since(began); took != closeTimeout {
			t.Errorf("closing took %s", took)
		}
		synctest.Wait()
		if got := spansBy(t, m, "failed"); got != float64(given.Load()) || got == 0 {
			t.Errorf("%v spans failed, and %d were given to the exporter", got, given.Load())
		}
	})
}

// A failure is logged once, and so is its end; nothing is printed elsewhere.
func TestAFailureIsToldOnce(t *testing.T) {
	var log strings.Builder
	var fails atomic.Bool
	m := metrics.New(metrics.Build{})
	c := &counter{
		SpanExporter: exporterFunc(func(context.Context, []sdktrace.ReadOnlySpan) error {
			if fails.Load() {
				return errors.New("no route")
			}
			return nil
		}),
		waiting: &atomic.Int64{}, running: t.Context(), metrics: m, log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	batch := tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()
	for _, failing := range []bool{true, true, false, false} {
		fails.Store(failing)
		if err := c.ExportSpans(t.Context(), batch); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 2 || !strings.Contains(log.String(), "no route") {
		t.Errorf("the log is\n%s", log.String())
	}
	if failed, exported := spansBy(t, m, "failed"), spansBy(t, m, "exported"); failed != 4 || exported != 4 {
		t.Errorf("%v failed and %v were exported, want 4 of each", failed, exported)
	}
	if got := c.waiting.Load(); got != -8 {
		t.Errorf("%d spans are no longer waited for, want 8", -got)
	}
}

// The sampler follows the caller's decision, and decides by itself only for traces that begin here.
func TestTheCallersDecisionCounts(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"
	for rule, c := range map[string]struct {
		percent int
		parent  string
		want    int
	}{
		"a trace that begins here is recorded at 100": {100, "", 1},
		"and not at 0":                      {0, "", 0},
		"a caller who records is followed":  {0, "00-" + id + "-01", 1},
		"a caller who does not is followed": {100, "00-" + id + "-00", 0},
	} {
		t.Run(rule, func(t *testing.T) {
			kept := tracetest.NewInMemoryExporter()
			var names []string
			traces := open(exporterFunc(func(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
				for _, s := range spans {
					names = append(names, s.Name())
				}
				return kept.ExportSpans(ctx, spans)
			}), resource.Empty(), Options{SamplePercent: c.percent, Log: slog.New(slog.DiscardHandler)})
			ctx := telemetry.ContinueTrace(t.Context(), http.Header{"Traceparent": {c.parent}})
			_, span := telemetry.StartRequest(ctx, traces.Tracer(), telemetry.RequestOf{Method: "POST", Route: "/v1/x"})
			span.EndRequest("x", 200, "")
			if err := traces.Close(); err != nil {
				t.Fatal(err)
			}
			if len(names) != c.want {
				t.Errorf("recorded %q", names)
			}
		})
	}
}

// The official exporter sends to /v1/traces below the endpoint, with the headers of its own variable.
func TestWhereSpansGo(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc")
	var mu sync.Mutex
	var got []string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Authorization"))
	}))
	defer collector.Close()
	m := metrics.New(metrics.Build{})
	traces, err := Open(t.Context(), Options{
		Endpoint: collector.URL, SamplePercent: 100, Metrics: m, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	spans(traces.Tracer(), 3)
	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := "/v1/traces application/x-protobuf Bearer abc"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := spansBy(t, m, "exported"); n != 3 {
		t.Errorf("%v spans were exported", n)
	}
}

func TestTracesURL(t *testing.T) {
	for given, want := range map[string]string{
		"http://c:4318":               "http://c:4318/v1/traces",
		"http://c:4318/":              "http://c:4318/v1/traces",
		"https://c.example/otlp":      "https://c.example/otlp/v1/traces",
		"https://c.example/v1/traces": "https://c.example/v1/traces",
	} {
		if got := tracesURL(given); got != want {
			t.Errorf("%s goes to %s, want %s", given, got, want)
		}
	}
}

func TestWithoutAnEndpointNothingIsMade(t *testing.T) {
	traces, err := Open(t.Context(), Options{})
	if traces != nil || err != nil || traces.Tracer() != nil || traces.Close() != nil {
		t.Errorf("%v, %v", traces, err)
	}
}

// A span is named by its method and the template of its path, whatever the caller writes in either (OpenTelemetry,
// "Semantic conventions for HTTP spans", Name). Only the span that a caller's request begins is the server's.
func TestSpansAreNamedByMethodAndRoute(t *testing.T) {
	for _, c := range []struct{ rule, method, route, name, methodTold string }{
		{"a route", "POST", "/v1/calendar/book-meeting", "POST /v1/calendar/book-meeting", "POST"},
		{"a template", "GET", "/beta/phone-numbers/:id", "GET /beta/phone-numbers/:id", "GET"},
		{"a method of the caller's own", "pat@example.com", "/mcp", "HTTP /mcp", "_OTHER"},
		{"no route", "GET", "", "GET", "GET"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("frontdesk")
			ctx, request := telemetry.StartRequest(t.Context(), tracer,
				telemetry.RequestOf{Method: c.method, Route: c.route, Surface: "v1", TenantID: "t1"})
			_, tool := telemetry.StartRequest(ctx, tracer, telemetry.RequestOf{Method: c.method, Route: c.route})
			_, exchange := telemetry.StartExchange(ctx, "google", c.method)
			exchange.EndExchange(http.StatusOK, "")
			tool.EndRequest("x", http.StatusOK, "")
			request.EndRequest("x", http.StatusOK, "")

			var got []string
			for _, span := range recorder.Ended() {
				told := map[string]string{}
				for _, a := range span.Attributes() {
					if told[string(a.Key)] = a.Value.String(); a.Value.String() == "" && a.Key == "http.route" {
						t.Errorf("%s has an empty %s", span.Name(), a.Key)
					}
				}
				got = append(got, strings.Join([]string{
					span.SpanKind().String(), span.Name(), told["http.request.method"], told["http.route"],
				}, "|"))
			}
			method, _, _ := strings.Cut(c.name, " ")
			want := []string{"client|" + method + "|" + c.methodTold + "|",
				"internal|" + c.name + "|" + c.methodTold + "|" + c.route,
				"server|" + c.name + "|" + c.methodTold + "|" + c.route}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
