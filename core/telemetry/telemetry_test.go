package telemetry

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/propagation"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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

func exercise(m *Metrics) {
	l := CallLabels{Kind: "calendar", Provider: "caldav", Operation: "book"}
	m.Request("v1", "book-meeting", 200, "", time.Millisecond)
	m.RequestRunning("v1")()
	m.Call(l, "ok", time.Millisecond)
	m.Retry(l, "unavailable")
	m.RetryDenied(l, "budget")
	m.Late(l, "ok")
	m.BreakerChanged("host", "caldav", "closed", "open")
	m.BreakerForgotten("host", "caldav", "open")
	b := m.Bulkhead("host", "caldav")
	b.InUse(1)
	b.Waiting(1)
	b.Refused()
	m.Exchange("caldav", 200, "")
	m.EgressRefused("caldav")
	m.TokenRenewal("google", "")
	m.Delivery("delivered")
	m.Intent("book-meeting", "done")
	m.UnsettledIntents(1)
	m.Spans("exported", 1)
	m.Census(Census{
		Connections: []Connections{{Kind: "calendar", Provider: "google", Status: "ok", Count: 2}},
		NearEnd:     []NearEnd{{Provider: "google", Why: "failing", Count: 1}},
	})
	m.Watch(Watched{
		Gate:     func() (inside, limit int) { return 1, 2 },
		Queues:   map[string]func() int{"body": func() int { return 3 }, "equal": func() int { return 4 }},
		Store:    func() (calls int64, together time.Duration) { return 5, time.Second },
		Writable: func() bool { return true },
		Openable: func() bool { return true },
		Disk:     func() (free, size float64) { return 6, 7 },
	})
	m.Certificate(time.Unix(1, 0), time.Unix(2, 0))
}

// TestMetricNames fixes the names that dashboards and alerts rely on.
func TestMetricNames(t *testing.T) {
	m := NewMetrics(Build{Version: "1", Revision: "abc"})
	exercise(m)
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "frontdesk_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		lines = append(lines, fmt.Sprintf("%s %s {%s} %s", f.GetName(), strings.ToLower(f.GetType().String()),
			strings.Join(labels, ","), f.GetHelp()))
	}
	slices.Sort(lines)
	golden(t, "metrics.golden", strings.Join(lines, "\n")+"\n")

	problems, err := testutil.GatherAndLint(m.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it)\n got:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestMetricsAreServed(t *testing.T) {
	m := NewMetrics(Build{Version: "1.2.3"})
	exercise(m)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := w.Body.String()
	for _, want := range []string{
		`frontdesk_requests_total{operation="book-meeting",reason="",status="2xx",surface="v1"} 1`,
		`frontdesk_provider_calls_total{kind="calendar",operation="book",outcome="ok",provider="caldav"} 1`,
		`frontdesk_breakers{level="host",provider="caldav",state="open"} 0`,
		`version="1.2.3"`, "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not served", want)
		}
	}
}

func TestNoMetricsAreNoTrouble(t *testing.T) {
	exercise(nil)
}

func TestSeriesStayFew(t *testing.T) {
	m := NewMetrics(Build{})
	for i := range 10 * maxNames {
		m.Request("v1", fmt.Sprint("made-up-", i), 404, "", 0)
	}
	if got := testutil.CollectAndCount(m.requests); got != maxNames+1 {
		t.Errorf("%d series, want %d and one for the others", got, maxNames)
	}
	if got := testutil.ToFloat64(m.requests.WithLabelValues("v1", "other", "4xx", "")); got != 9*maxNames {
		t.Errorf("others = %v", got)
	}
}

func TestStatusClass(t *testing.T) {
	for status, want := range map[int]string{
		200: "2xx", 404: "4xx", 429: "429", 503: "5xx", 0: "other", 999: "other",
	} {
		if got := statusClass(status); got != want {
			t.Errorf("statusClass(%d) = %q, want %q", status, got, want)
		}
	}
}
