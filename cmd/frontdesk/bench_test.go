package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/gateway"
	"frontdesk/core/record"
)

// BenchmarkListOf2000Events lists 2,000 events of the sandbox in one response over HTTP, and also only
// encodes the same records. It prints both times and their ratio:
//
//	go test -run '^$' -bench ListOf2000 ./cmd/frontdesk
func BenchmarkListOf2000Events(b *testing.B) {
	c := inProcess(b)
	begin := time.Date(2027, 1, 4, 8, 0, 0, 0, time.UTC)
	var booking sync.WaitGroup
	for worker := range 8 {
		booking.Go(func() {
			for i := worker; i < 2000; i += 8 {
				at := begin.Add(time.Duration(i*7919%2000) * 15 * time.Minute)
				c.post(200, "calendar/book-meeting", fmt.Sprintf(
					`{"title":"Consultation %d","start_time":%q,"end_time":%q,"attendee_emails":["pat@example.com"]}`,
					i, at.Format(time.RFC3339), at.Add(15*time.Minute).Format(time.RFC3339)))
			}
		})
	}
	booking.Wait()
	const window = `{"start_time":"2027-01-01","end_time":"2027-03-01","timezone":"America/New_York"}`
	var answer record.EventsAnswer
	if err := json.Unmarshal(c.post(200, "calendar/list-events", window).body, &answer); err != nil ||
		len(answer.Events) != 2000 {
		b.Fatalf("%d events, %v", len(answer.Events), err)
	}
	var listing, encoding time.Duration
	for b.Loop() {
		began := time.Now()
		if a, err := c.call(http.MethodPost, "/v1/calendar/list-events", window); err != nil || a.status != 200 {
			b.Fatal(a.status, err)
		}
		listing += time.Since(began)
		began = time.Now()
		if _, err := json.Marshal(answer); err != nil {
			b.Fatal(err)
		}
		encoding += time.Since(began)
	}
	b.ReportMetric(float64(listing.Microseconds())/float64(b.N)/1000, "list-ms/op")
	b.ReportMetric(float64(encoding.Microseconds())/float64(b.N)/1000, "encode-ms/op")
	b.ReportMetric(float64(listing)/float64(encoding), "list/encode")
}

// inProcess serves a demonstration gateway from this process.
func inProcess(tb testing.TB) caller {
	tb.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = tb.TempDir()
	cfg.Limits.RequestsPerMinutePerKey, cfg.Limits.RequestsPerMinutePerTenant = 0, 0
	g, err := gateway.Open(context.Background(), cfg, gateway.Options{
		Adapters: all.Adapters(), LogTo: io.Discard,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	key, err := g.Demo(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(g.Handler())
	tb.Cleanup(server.Close)
	return caller{t: tb, base: server.URL, key: key}
}
