package service

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fair"
	"frontdesk/core/store/storetest"
)

// instantCalendar answers at once and keeps nothing.
type instantCalendar struct {
	calendar.Driver

	events atomic.Int64
}

func (*instantCalendar) Traits() calendar.Traits {
	return calendar.Traits{IdempotentBook: true, LocationURL: true}
}

func (*instantCalendar) Calendars(context.Context) ([]calendar.Calendar, error) {
	return []calendar.Calendar{{ID: "main", Name: "Main", Zone: "UTC", IsDefault: true}}, nil
}

func (*instantCalendar) FreeBusy(context.Context, []string, calendar.Span) ([]calendar.Busy, error) {
	return nil, nil
}

func (d *instantCalendar) Book(_ context.Context, b calendar.Booking) (calendar.Event, error) {
	return calendar.Event{
		ID: fmt.Sprint("ev", d.events.Add(1)), CalendarID: "main", Title: b.Title, Version: "1",
		Start: calendar.Time{Instant: b.Start, Zone: "UTC"}, End: calendar.Time{Instant: b.End, Zone: "UTC"},
	}, nil
}

// BenchmarkBookings measures bookings of many callers at a provider that answers at once, beside commits of
// one row each, one after another, on the same disk. It prints bookings a second and their ratio to those
// commits, the processor time of a booking, and on SQLite its share of commits.
//
//	go test -run '^$' -bench 'Bookings$' -benchtime 3000x ./core/service
func BenchmarkBookings(b *testing.B) {
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres,
	} {
		for _, prevent := range []bool{false, true} {
			for _, callers := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("%s/prevent_double_booking=%v/callers=%d", name, prevent, callers),
					func(b *testing.B) { benchmarkBookings(b, open, prevent, callers) })
			}
		}
	}
}

func benchmarkBookings(b *testing.B, open func(testing.TB) string, prevent bool, callers int) {
	committed := storetest.Commits()
	w := newWorld(b, open)
	w.meetings.instead = &instantCalendar{}
	tenants := make([]apikey.Caller, min(callers, 16))
	for i := range tenants {
		tenants[i] = w.tenant(fmt.Sprint("tenant", i))
		tenants[i].Tenant.Settings.PreventDoubleBooking = prevent
		w.with(tenants[i])
	}
	p := w.start()
	book(b, p, tenants[0], Write{}, meeting(b, "first", 0))
	bare := bareCommits(b, w.url)
	var next atomic.Int64
	var all sync.WaitGroup
	before, began := committed(), time.Now()
	used := processorTime(b)
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				c := tenants[n%int64(len(tenants))]
				ctx := fair.For(asKey(c), c.Tenant.ID)
				if _, err := p.Calendar.Book(ctx, c, key(fmt.Sprint("k", n)), meeting(b, "served", 2+int(n))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	rate := float64(b.N) / took.Seconds()
	b.ReportMetric(rate, "bookings/s")
	b.ReportMetric(rate/bare, "x-bare-commits")
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/op")
	if n := committed() - before; n > 0 {
		b.ReportMetric(float64(n)/float64(b.N), "commits/op")
	}
	b.ReportMetric(0, "ns/op")
}

// bareCommits returns how many rows a second are written beside the store, each with a commit of its own: as many rows
// as there are bookings.
func bareCommits(b *testing.B, address string) float64 {
	driver, insert := "pgx", "INSERT INTO bare (n, text) VALUES ($1, $2)"
	if path, found := strings.CutPrefix(address, "sqlite:"); found {
		driver = "sqlite"
		address = "file:" + filepath.Join(filepath.Dir(path), "bare.db") + "?" + url.Values{
			"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_txlock": {"immediate"},
		}.Encode()
	}
	db, err := sql.Open(driver, storetest.Unbounded(address))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(b.Context(), "CREATE TABLE bare (n BIGINT PRIMARY KEY, text TEXT)"); err != nil {
		b.Fatal(err)
	}
	prepared, err := db.PrepareContext(b.Context(), insert)
	if err != nil {
		b.Fatal(err)
	}
	defer prepared.Close()
	row := strings.Repeat("x", 500)
	began := time.Now()
	for n := range b.N {
		if _, err := prepared.ExecContext(context.Background(), n, row); err != nil {
			b.Fatal(err)
		}
	}
	return float64(b.N) / time.Since(began).Seconds()
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
