package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestEveryLineCarriesItsRequest(t *testing.T) {
	var out strings.Builder
	log, err := NewLogger(&out, LogOptions{Format: "json", Level: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := ContinueTrace(t.Context(), http.Header{"Traceparent": {traceparent}})
	ctx = With(ctx, RequestID("r1"), Tenant("acme"))
	ctx = With(ctx, Tenant("other"), Connection("c1"), Provider("caldav"), Operation("book-meeting"))
	log.DebugContext(ctx, "hello")

	var line map[string]any
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "time")
	want := map[string]any{"level": "DEBUG", "msg": "hello", "request_id": "r1", "tenant": "other",
		"connection": "c1",
		"provider":   "caldav", "operation": "book-meeting", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
	if got, expected := fmt.Sprint(line), fmt.Sprint(want); got != expected {
		t.Errorf("got  %s\nwant %s", got, expected)
	}
	if n := strings.Count(out.String(), `"tenant"`); n != 1 {
		t.Errorf("the tenant is named %d times", n)
	}

	out.Reset()
	log.InfoContext(ctx, "hello", "tenant", "third", "connection", "c3", "number", 7)
	const own = `"msg":"hello","request_id":"r1","provider":"caldav","operation":"book-meeting",` +
		`"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","tenant":"third","connection":"c3","number":7}`
	if _, rest, _ := strings.Cut(strings.TrimSpace(out.String()), `"level":"INFO",`); rest != own {
		t.Errorf("got  %s\nwant %s", rest, own)
	}
}

func TestLogOptionsAreChecked(t *testing.T) {
	for rule, o := range map[string]LogOptions{
		"an unknown level is refused":  {Level: "loud"},
		"an unknown format is refused": {Format: "xml"},
	} {
		t.Run(rule, func(t *testing.T) {
			if _, err := NewLogger(os.Stderr, o); err == nil {
				t.Error("accepted")
			}
		})
	}
	var out strings.Builder
	log, err := NewLogger(&out, LogOptions{Format: "text", Level: "warn"})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("heard")
	if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "msg=heard") {
		t.Errorf("got %q", got)
	}
}

func TestTheCallersTraceIsContinued(t *testing.T) {
	cases := map[string]struct{ given, want string }{
		"a valid parent is kept as it is":  {traceparent, traceparent},
		"an all-zero trace id is no trace": {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		"a malformed one is no trace":      {"00-xyz", ""},
		"none is none":                     {"", ""},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			ctx := ContinueTrace(context.Background(), http.Header{
				"Traceparent": {c.given}, "Tracestate": {"other=private"},
			})
			out := http.Header{}
			propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(out))
			if got := out.Get("Traceparent"); got != c.want {
				t.Errorf("traceparent = %q, want %q", got, c.want)
			}
		})
	}
}

func TestStatusClass(t *testing.T) {
	for status, want := range map[int]string{
		200: "2xx", 404: "4xx", 429: "429", 503: "5xx", 0: "other", 999: "other",
	} {
		if got := StatusClass(status); got != want {
			t.Errorf("StatusClass(%d) = %q, want %q", status, got, want)
		}
	}
}
