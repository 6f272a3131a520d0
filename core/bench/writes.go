package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

const bookPath = "/v1/calendar/book-meeting"

// booking returns the body of a booking with that number, at a time of its own.
func booking(i int64) string {
	begin := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 30 * time.Minute)
	return fmt.Sprintf(`{"title":"Consultation","start_time":%q,"end_time":%q,`+
		`"attendee_emails":["pat@example.com"]}`,
		begin.Format(time.RFC3339), begin.Add(30*time.Minute).Format(time.RFC3339))
}

// commits is the baseline of writes: one small row in each transaction, with nothing around it.
type commits struct {
	db *sql.DB
}

// bareSQLite opens a database as the store does: WAL, and every commit on the disk before it returns.
func bareSQLite(ctx context.Context, path string) (*commits, error) {
	db, err := sql.Open("sqlite",
		"file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_txlock=immediate"+
			"&_pragma=secure_delete(ON)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer at a time; more connections only wait
	_, err = db.ExecContext(ctx, "CREATE TABLE bare (n INTEGER NOT NULL PRIMARY KEY, body BLOB NOT NULL)")
	return &commits{db}, err
}

// barePostgres opens the same in PostgreSQL, with as many connections as callers.
func barePostgres(ctx context.Context, url string) (*commits, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(64)
	_, err = db.ExecContext(ctx, "CREATE TABLE bare (n BIGINT NOT NULL PRIMARY KEY, body BYTEA NOT NULL)")
	return &commits{db}, err
}

func (c *commits) close() {}

// call commits one row of 300 bytes, as long as the row of a short booking.
func (c *commits) call(ctx context.Context, i int64) (string, error) {
	_, err := c.db.ExecContext(ctx, "INSERT INTO bare VALUES ($1, $2)", i, make([]byte, 300))
	return "", err
}

func (c *commits) target(name string) target {
	return target{name: name, open: func(context.Context) (caller, error) { return c, nil }}
}

// book measures book-meeting on SQLite.
func book(ctx context.Context, b *bench, s scenario) error {
	bare, err := bareSQLite(ctx, filepath.Join(b.dir, "bare.db"))
	if err != nil {
		return err
	}
	defer bare.db.Close()
	return b.bookings(ctx, s, bare, func() ([]string, error) { return nil, nil })
}

// bookPostgres measures book-meeting on PostgreSQL.
func bookPostgres(ctx context.Context, b *bench, s scenario) error {
	fixture := &fixture{}
	defer fixture.end()
	databases, err := b.databases(ctx, fixture, 1+2*len(b.binaries))
	if err != nil {
		b.report.tables[s.name] = fmt.Sprintf("Nothing was measured: %v.\n", err)
		return nil // what is not installed is left out, and the report says so
	}
	bare, err := barePostgres(ctx, databases[0])
	if err != nil {
		return err
	}
	defer bare.db.Close()
	next := 0
	return b.bookings(ctx, s, bare, func() ([]string, error) {
		next++
		return []string{"FRONTDESK_STORE__URL=" + databases[next]}, nil
	})
}

func (b *bench) bookings(ctx context.Context, s scenario, bare *commits,
	store func() ([]string, error)) error {
	if err := b.provider.set(ctx, 0, true); err != nil {
		return err
	}
	type variant struct {
		suffix   string
		settings tenant.Settings
	}
	var all []served
	var names []string
	for _, v := range []variant{{"", tenant.Settings{}},
		{", prevent_double_booking", tenant.Settings{PreventDoubleBooking: true}}} {
		for i := range b.binaries {
			environ, err := store()
			if err != nil {
				return err
			}
			// Callers of more than one tenant: a connection lets no more than eight call at a time, and 32
			// wait.
			gateways, stop, err := b.gateways(ctx, s, b.binaries[i:i+1], plan{
				tenants: 8, provider: "google", settings: v.settings, environ: environ,
			}, listBody(calendarID(0)))
			if err != nil {
				return err
			}
			defer stop()
			all = append(all, gateways...)
			names = append(names, gateways[0].name+v.suffix)
		}
	}
	const commit = "bare commits"
	var throughput []plotValue
	for _, callers := range []int{1, 16, 64} {
		measures := []measure{b.closed(bare.target(commit), callers)}
		for i, g := range all {
			measures = append(measures, b.closed(g.calls(names[i], g.process, bookPath, booking), callers))
		}
		samples, err := b.interleave(ctx, measures...)
		if err != nil {
			return err
		}
		what := "one caller"
		if callers > 1 {
			what = fmt.Sprintf("%d callers", callers)
		}
		subjects := append([]string{commit}, names...)
		b.report.compare(s.name, what+": bookings per second", perSecond, subjects, commit, samples, rate)
		b.report.compare(s.name, what+": p50", milliseconds, names, "", samples, inMilli)
		b.report.compare(s.name, what+": p99", milliseconds, names, "", samples,
			func(s sample) float64 { return s.P99 / 1000 })
		b.report.compare(s.name, what+": CPU per booking", microseconds, names, "", samples, cpu)
		for _, name := range subjects {
			throughput = append(throughput,
				plotValue{what + ", " + name, b.report.value(s.name, what+": bookings per second", name)})
		}
	}
	b.report.plots = append(b.report.plots, plot{
		file: "bench-" + s.name + ".svg", title: strings.ReplaceAll(s.about, "`", ""),
		unit: perSecond, values: throughput,
	})
	return nil
}

// databases returns the URLs of empty databases: at the server that was named, or at one that is started.
func (b *bench) databases(ctx context.Context, f *fixture, n int) (urls []string, err error) {
	if b.postgres != "" {
		return namedDatabases(ctx, b.postgres, n)
	}
	err = f.try(func() {
		for range n {
			urls = append(urls, storetest.Unbounded(storetest.EmptyPostgres(f)))
		}
	})
	return urls, err
}
