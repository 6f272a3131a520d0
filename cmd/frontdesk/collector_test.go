package main

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector takes spans by OTLP over HTTP, in protobuf.
type spanCollector struct {
	url string

	mu       sync.Mutex
	received []*collector.ExportTraceServiceRequest
}

// newSpanCollector serves a collector until the test ends.
func newSpanCollector(t testing.TB) *spanCollector {
	s := &spanCollector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.take(r); err != nil {
			t.Errorf("a collector would refuse what the gateway sends: %v", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *spanCollector) take(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" ||
		r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" {
		return fmt.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	unzipped, err := gzip.NewReader(r.Body)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(unzipped)
	if err != nil {
		return err
	}
	request := &collector.ExportTraceServiceRequest{}
	if err := proto.Unmarshal(raw, request); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, request)
	return nil
}

// spans returns what was received, in the order in which it began.
func (s *spanCollector) spans() (all []*traces.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.received {
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *traces.Span) int {
		return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano)
	})
	return all
}

// text returns everything that was received, for a search.
func (s *spanCollector) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all strings.Builder
	for _, request := range s.received {
		fmt.Fprintln(&all, request)
	}
	return all.String()
}

// attributes returns a span's attributes as text.
func attributes(of []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range of {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.Key] = fmt.Sprint(v.IntValue)
		default:
			all[a.Key] = fmt.Sprint(a.Value)
		}
	}
	return all
}

// tree writes the spans of a trace, each below its parent, with its time in milliseconds and its attributes
// but the ids, and those that its name tells.
func tree(all []*traces.Span, trace string) string {
	var out strings.Builder
	var below func(parent string, level int)
	below = func(parent string, level int) {
		for _, s := range all {
			if fmt.Sprintf("%x", s.TraceId) != trace || fmt.Sprintf("%x", s.ParentSpanId) != parent {
				continue
			}
			var told []string
			for key, value := range attributes(s.Attributes) {
				if !strings.HasSuffix(key, ".id") && key != "http.request.method" && key != "http.route" {
					told = append(told, strings.TrimPrefix(strings.TrimPrefix(key, "frontdesk."), "http.response.")+"="+value)
				}
			}
			slices.Sort(told)
			name := strings.Repeat("  ", level) + s.Name
			took := float64(s.EndTimeUnixNano-s.StartTimeUnixNano) / 1e6
			line := fmt.Sprintf("%-40s %7.1f ms  %s", name, took, strings.Join(told, " "))
			fmt.Fprintln(&out, strings.TrimRight(line, " "))
			below(fmt.Sprintf("%x", s.SpanId), level+1)
		}
	}
	roots := map[string]bool{}
	for _, s := range all {
		known := slices.ContainsFunc(all, func(p *traces.Span) bool { return string(p.SpanId) == string(s.ParentSpanId) })
		if id := fmt.Sprintf("%x", s.ParentSpanId); fmt.Sprintf("%x", s.TraceId) == trace && !known && !roots[id] {
			roots[id] = true
			below(id, 0)
		}
	}
	return out.String()
}
