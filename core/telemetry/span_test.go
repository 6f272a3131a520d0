package telemetry

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// useAll calls every function that begins or ends a span.
func useAll(ctx context.Context) {
	ctx, request := StartRequest(ctx, nil, RequestOf{Method: "POST", Route: "/v1/x"})
	ctx, work := StartWork(FollowTrace(ctx, ctx), "work")
	ctx, part := StartOperation(ctx, "intent", "book-meeting")
	ctx, call := StartCall(ctx, CallLabels{Kind: "calendar", Provider: "google", Operation: "book"}, "c1", 1)
	ctx, exchange := StartExchange(ctx, "google", "POST")
	_, span := StartSpan(ctx, "part")
	span.Connection("c1")
	span.Operation("x")
	span.Delivery("e", 1)
	span.End("", "REASON")
	exchange.Host("api.example.com")
	exchange.EndExchange(503, "")
	call.End("ok", "")
	part.End("done", "")
	work.End("", "")
	request.EndRequest("x", 200, "")
	request.Context(ctx)
}

// Without a tracer, spans cost no memory, whether the caller sent a trace or not.
func TestSpansCostNothingWhenOff(t *testing.T) {
	for rule, header := range map[string]http.Header{
		"without a caller's trace": {},
		"with a caller's trace":    {"Traceparent": {traceparent}},
	} {
		t.Run(rule, func(t *testing.T) {
			ctx := ContinueTrace(t.Context(), header)
			if n := testing.AllocsPerRun(100, func() { useAll(ctx) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func BenchmarkSpansWhenOff(b *testing.B) {
	ctx := With(ContinueTrace(b.Context(), http.Header{"Traceparent": {traceparent}}), RequestID("r"))
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for b.Loop() {
		useAll(ctx)
	}
}

func TestMethodsAreKnownOnes(t *testing.T) {
	for given, want := range map[string]string{"POST": "POST", "REPORT": "REPORT", "pat@example.com": "_OTHER"} {
		if got := knownMethod(given); got != want {
			t.Errorf("%s is written as %s, want %s", given, got, want)
		}
	}
}
