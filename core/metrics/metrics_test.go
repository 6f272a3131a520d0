package metrics

import (
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

	"frontdesk/core/telemetry"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func exercise(m *Metrics) {
	l := telemetry.CallLabels{Kind: "calendar", Provider: "caldav", Operation: "book"}
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
	m.Watch(telemetry.Watched{
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
	m := New(Build{Version: "1", Revision: "abc"})
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
	m := New(Build{Version: "1.2.3"})
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

func TestSeriesStayFew(t *testing.T) {
	m := New(Build{})
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
