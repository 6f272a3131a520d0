package service

import (
	"context"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/store/storetest"
)

// BenchmarkBooking measures the cost of a booking besides the provider's call: it compares the use case with
// the bare driver, whose provider responds as fast as a fast real one. On two shared cores the ratio was 1.03
// on SQLite and on PostgreSQL, and 1.11 and 1.06 with double booking prevented.
//
//	go test -run '^$' -bench Booking -benchtime 200x ./core/service
func BenchmarkBooking(b *testing.B) {
	const provider = 50 * time.Millisecond
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres,
	} {
		for _, prevent := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/prevent_double_booking=%v", name, prevent), func(b *testing.B) {
				w := newWorld(b, open)
				w.tenant("acme")
				c := w.tenants["t-acme"]
				c.Tenant.Settings.PreventDoubleBooking = prevent
				p := w.start()
				driver := w.meetings.driver(p)
				book(b, p, c, Write{}, meeting(b, "first", 0))
				slow(&w.meetings.account, provider)

				began := time.Now()
				for i := range b.N {
					booking := calendar.Booking{
						Key: fmt.Sprint("bare", i), Title: "bare", Start: hour(1000), End: hour(1001), Zone: "UTC",
					}
					if _, err := driver.Book(b.Context(), booking); err != nil {
						b.Fatal(err)
					}
				}
				bare := time.Since(began)
				b.ResetTimer()
				for i := range b.N {
					book(b, p, c, key(fmt.Sprint("k", i)), meeting(b, "served", 2+i))
				}
				b.ReportMetric(float64(b.Elapsed())/float64(bare), "x-bare")
				b.ReportMetric(float64((b.Elapsed()-bare).Microseconds())/float64(b.N), "µs-own/op")
			})
		}
	}
}

// slow makes each booking call of the provider take d.
func slow(a *account, d time.Duration) {
	a.script(func(_ *process, call string) reaction {
		if call != "book" {
			return reaction{}
		}
		return reaction{before: func(context.Context) error { time.Sleep(d); return nil }}
	})
}
