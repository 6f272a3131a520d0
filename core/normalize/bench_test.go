package normalize

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/record"
)

// BenchmarkEvents makes the records of 2,000 events, as a long list-events does, and encodes them. It reports
// how long making them takes as a share of encoding them, which nobody can save:
//
//	go test ./core/normalize -run '^$' -bench Events
func BenchmarkEvents(b *testing.B) {
	requested := zone(b, "America/New_York")
	for _, c := range []struct {
		name string
		zone *time.Location
	}{{"requested zone", requested}, {"events' own zones", nil}} {
		b.Run(c.name, func(b *testing.B) {
			list := manyEvents(2000)
			var making, encoding time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				records := Events(list, c.zone, requested)
				made := time.Now()
				if _, err := json.Marshal(record.EventsAnswer{Events: records}); err != nil {
					b.Fatal(err)
				}
				making, encoding = making+made.Sub(start), encoding+time.Since(made)
			}
			b.ReportMetric(float64(making.Microseconds())/float64(b.N), "µs-making/op")
			b.ReportMetric(float64(making)/float64(encoding), "making/encoding")
		})
	}
}

// manyEvents are events of a year in no order, with two attendees each, in four zones; each tenth is a whole
// day.
func manyEvents(n int) []calendar.Event {
	zones := []string{"America/New_York", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata"}
	begin := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	list := make([]calendar.Event, n)
	for i := range list {
		start := begin.Add(time.Duration(i*7919%n) * 4 * time.Hour)
		list[i] = calendar.Event{
			ID: fmt.Sprintf("evt_%06d", i), CalendarID: "primary", Title: "Consultation with Pat Doe",
			Start: calendar.At(start, zones[i%4]), End: calendar.At(start.Add(30*time.Minute), zones[i%4]),
			Organizer: calendar.Person{Email: "office@example.com", Name: "Front office"},
			Attendees: []calendar.Attendee{
				{Email: "pat@example.com", Name: "Pat Doe", Type: "required", Response: "accepted"},
				{Email: "lee@example.com", Name: "Lee Roe", Type: "OPT-PARTICIPANT", Response: "NEEDS-ACTION"},
			},
			URL: "https://meet.example.com/abc-defg-hij",
		}
		if i%10 == 0 {
			list[i].Start, list[i].End = calendar.Day(2026, time.January, 1+i%365),
				calendar.Day(2026, time.January, 2+i%365)
		}
	}
	return list
}

// BenchmarkParseTime reads the two forms that callers send most.
func BenchmarkParseTime(b *testing.B) {
	newYork := zone(b, "America/New_York")
	for _, s := range []string{"2026-12-01T10:00:00-05:00", "2026-12-01T10:00:00"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t, err := ParseTime(s, DateTime)
				if err != nil || t.In(newYork).IsZero() {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoadZone finds a zone that was found before, as each call of an operation on times does.
func BenchmarkLoadZone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := LoadZone("America/New_York"); err != nil {
			b.Fatal(err)
		}
	}
}
