package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"
)

// A booking is one trace, from the caller's span to the provider's answers: the intent, the call with its
// tries, the renewal of the token, and each exchange. The document shows it. Nothing in it is of the meeting,
// of people, or of the provider's. Strangers leave no spans.
func TestABookingIsOneTrace(t *testing.T) {
	t.Parallel()
	collected := newSpanCollector(t)
	google := fakeGoogle(t)
	var failed atomic.Bool
	google.put(func(w http.ResponseWriter, r *http.Request, serve http.Handler) { // out of service once
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events") && !failed.Swap(true) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		serve.ServeHTTP(w, r)
	})
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, []byte(serviceAccountFile(t, "1")), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDeployment(t, "", slices.Concat(google.withoutClient(), longDeadlines(),
		[]string{"FRONTDESK_TELEMETRY__OTLP__ENDPOINT=" + collected.url,
			"FRONTDESK_TELEMETRY__OTLP__SAMPLE_PERCENT=0"})...) // the callers' choices count alone
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "google",
		"--set", "subject="+customer, "--secret", "service_account=file:"+path)
	key := d.must("key", "create", "--tenant", "acme")
	r := d.serve()
	r.as(key).post(200, "calendar/list-calendars", `{}`)
	google.oauth.ExpireAccess()

	const trace, other = "4bf92f3577b34da6a3ce929d0e0e4736", "5bf92f3577b34da6a3ce929d0e0e4736"
	const byID = "7bf92f3577b34da6a3ce929d0e0e4736" // of a request whose path has an id
	const body = `{"title": "Consultation", "description": "Bring the plans.", "start_time": "2027-03-02T10:00:00Z",
		"end_time": "2027-03-02T10:30:00Z", "attendee_emails": ["samuel@example.com"], "conferencing_type": "provider"}`
	book := func(key string, status int, parent string) answer {
		return r.as(key).do(status, http.MethodPost, "/v1/calendar/book-meeting?from=samuel@example.com", body,
			"Idempotency-Key: samuels-key", "Traceparent: "+parent, "X-Request-Id: samuels-request", "Tracestate: samuels=state")
	}
	booked := book(key, 200, "00-"+trace+"-00f067aa0ba902b7-01")
	book(key, 200, "00-"+other+"-00f067aa0ba902b7-01")
	r.as(key).do(422, http.MethodGet, "/beta/phone-numbers/samuels-number", "",
		"Traceparent: 00-"+byID+"-00f067aa0ba902b7-01")
	book("fd_live_wrong", 401, "00-6bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if code := r.stop(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, r.log())
	}

	all := collected.spans()
	got, want := tree(all, trace), ""
	document := read(t, "../../deploy/observe/README.md")
	if _, rest, found := strings.Cut(document, "```text\n"); found {
		want, _, _ = strings.Cut(rest, "```")
	}
	times := regexp.MustCompile(` +[0-9]+\.[0-9] ms`)
	if times.ReplaceAllString(got, "") != times.ReplaceAllString(want, "") {
		t.Errorf("deploy/observe/README.md shows\n%s\nand the trace is\n%s", want, got)
	}
	if again := tree(all, other); !strings.Contains(again, "outcome=replayed") || strings.Contains(again, "calendar.book") {
		t.Errorf("the repeat is\n%s", again)
	}
	if about := tree(all, byID); !strings.HasPrefix(about, "GET /beta/phone-numbers/:id ") {
		t.Errorf("a request for one number is\n%s", about)
	}
	for _, s := range all {
		if id := fmt.Sprintf("%x", s.TraceId); id == "6bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("a stranger left the span %s", s.Name)
		}
		if s.Kind == traces.Span_SPAN_KIND_SERVER && fmt.Sprintf("%x", s.ParentSpanId) != "00f067aa0ba902b7" {
			t.Errorf("%s does not continue the caller's span", s.Name)
		}
		for key := range attributes(s.Attributes) {
			if !strings.Contains(document, "| `"+key+"` |") {
				t.Errorf("the span %s has the attribute %s, which the document does not name", s.Name, key)
			}
		}
	}
	for _, private := range []string{"Consultation", "plans", "samuel", "pat@", "2027-03", booked.text("event", "event_id"),
		key, "eyJhbGciOi", "access-", "127.0.0.1:", "acme"} {
		if text := collected.text(); strings.Contains(text, private) {
			t.Errorf("the traces hold %q", private)
		}
	}
	if !strings.Contains(r.log(), `"trace_id":"`+trace+`"`) {
		t.Error("no log line names the trace")
	}
}
