package google_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/option"

	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/calendar"
)

// BenchmarkPage reads a page of 250 events through the driver and, for comparison, through Google's own
// library alone. "times" is how many times as long the driver takes.
//
//	go test -run xxx -bench Page ./adapters/calendar/google
func BenchmarkPage(b *testing.B) {
	s := serve(b, fake.Options{})
	items := make([]string, 250)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"event%d","etag":"\"3181161784712000\"","status":"confirmed","summary":"Consultation","description":"First visit",
			"start":{"dateTime":"2027-03-04T12:00:00Z","timeZone":"Europe/London"},"end":{"dateTime":"2027-03-04T12:30:00Z","timeZone":"Europe/London"},
			"organizer":{"email":%q,"self":true},"attendees":[{"email":"pat@example.com","responseStatus":"accepted"}],"htmlLink":"https://www.google.com/calendar/event?eid=x"}`, i, email)
	}
	body := `{"items":[` + strings.Join(items, ",") + `]}`
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	driver := s.driver(b)
	api, err := gcal.NewService(b.Context(), option.WithHTTPClient(&http.Client{Transport: &http.Transport{}}),
		option.WithEndpoint(s.url+"/calendar/v3/"))
	if err != nil {
		b.Fatal(err)
	}
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		page, err := driver.Events(b.Context(), calendar.Query{From: noon, To: noon.Add(time.Hour), Zone: "UTC"})
		ours += time.Since(start)
		if err != nil || len(page.Events) != len(items) {
			b.Fatal(len(page.Events), err)
		}
		start = time.Now()
		answer, err := api.Events.List("primary").SingleEvents(true).Context(b.Context()).Do()
		theirs += time.Since(start)
		if err != nil || len(answer.Items) != len(items) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ours)/float64(theirs), "times")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/driver")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "µs/library")
}
