package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/gateway"
)

// BenchmarkBookingWhilePurging books while a starting gateway purges expired records, and again while there
// is nothing to purge. It prints the latencies of both and their ratios:
//
//	FRONTDESK_PURGE=200000 go test -run '^$' -bench WhilePurging -benchtime 1x ./cmd/frontdesk
func BenchmarkBookingWhilePurging(b *testing.B) {
	rows := rowsOf("FRONTDESK_PURGE")
	for b.Loop() {
		cfg, path := unlimited(b)

		baseline := bookWhile(b, cfg, 0, func(done int) bool { return done < 300 })
		due, free := fillOld(b, path, rows)
		full := sizeOf(b, path)
		began := time.Now()
		var purged time.Duration
		busy := bookWhile(b, cfg, 1, func(done int) bool {
			if done%20 != 0 {
				return true
			}
			if due() > 0 {
				purged = time.Since(began)
				return true
			}
			return free() > 0.26 // the gateway frees what exceeds a quarter
		})
		b.ReportMetric(float64(rows)/purged.Seconds(), "rows/s")
		reportLatencies(b, baseline, busy, "purging")
		b.Logf("%d rows purged in %v, %d bookings meanwhile; the file had %d KiB and has %d",
			rows, purged.Round(time.Millisecond), len(busy), full>>10, sizeOf(b, path)>>10)
	}
}

// rowsOf returns the number of rows that a variable sets, else a few.
func rowsOf(variable string) int {
	if set, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return set
	}
	return 300
}

// unlimited returns the configuration of a gateway on SQLite that limits no caller, and the path of its file.
func unlimited(b *testing.B) (cfg config.Config, path string) {
	b.Helper()
	cfg = config.Default(nil)
	cfg.DataDir = b.TempDir()
	cfg.Server.Listen, cfg.Server.OpsListen, cfg.Server.Drain = "127.0.0.1:0", "", 0
	cfg.Limits.RequestsPerMinutePerKey, cfg.Limits.RequestsPerMinutePerTenant = 0, 0
	return cfg, filepath.Join(cfg.DataDir, "frontdesk.db")
}

// reportLatencies prints how long bookings took while nothing and while something else was done, and the ratios.
func reportLatencies(b *testing.B, baseline, busy []time.Duration, doing string) {
	b.Helper()
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		quiet, meanwhile := latencyAt(baseline, q.at), latencyAt(busy, q.at)
		b.ReportMetric(float64(quiet.Microseconds())/1000, q.name+"-quiet-ms")
		b.ReportMetric(float64(meanwhile.Microseconds())/1000, q.name+"-"+doing+"-ms")
		b.ReportMetric(float64(meanwhile)/float64(quiet), q.name+"-ratio")
	}
}

// bookWhile serves, and books one meeting after another while more returns true. It returns how long each
// took.
func bookWhile(b *testing.B, cfg config.Config, month int, more func(done int) bool) []time.Duration {
	b.Helper()
	g, err := gateway.Open(context.Background(), cfg, gateway.Options{
		Adapters: all.Adapters(), LogTo: io.Discard,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	key, err := g.Demo(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ready, ended := make(chan gateway.Addresses, 1), make(chan error, 1)
	go func() { ended <- g.Serve(ctx, func(at gateway.Addresses) error { ready <- at; return nil }) }()
	defer func() {
		end()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	c := caller{t: b, base: (<-ready).API, key: key}
	var took []time.Duration
	for begin := time.Date(2028+10*month, 1, 1, 0, 0, 0, 0, time.UTC); more(len(took)); {
		at := begin.Add(time.Duration(len(took)) * 15 * time.Minute)
		body := fmt.Sprintf(`{"title":"Consultation","start_time":%q,"end_time":%q}`, at.Format(time.RFC3339),
			at.Add(15*time.Minute).Format(time.RFC3339))
		began := time.Now()
		c.do(http.StatusOK, http.MethodPost, "/v1/calendar/book-meeting", body)
		took = append(took, time.Since(began))
	}
	return took
}

// fillOld adds finished calls that are due to be purged. due returns 1 if some are left, else 0; free returns
// which part of the file is free.
func fillOld(b *testing.B, path string, rows int) (due func() int, free func() float64) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO intents (tenant_id, operation, key, kept, request_hash, connection_id, effect_key, plan, state, answer, effect_ref,
			dedupe_key, owner, lease_until, created_at, updated_at)
		SELECT c.tenant_id, 'book-meeting', hex(randomblob(16)), i % 2, randomblob(32), c.id, hex(randomblob(16)), '{}', 'done', randomblob(400),
			hex(randomblob(16)), hex(randomblob(16)), 'old', 0, 1000 + i, 1000 + i FROM n, connections c WHERE c.kind = 'calendar'`, rows)
	if err != nil {
		b.Fatal(err)
	}
	due = func() (left int) {
		err := db.QueryRow(`SELECT COUNT(*) FROM
			(SELECT 1 FROM intents WHERE kept IN (TRUE, FALSE) AND created_at < 1000000000 LIMIT 1)`).Scan(&left)
		if err != nil {
			b.Fatal(err)
		}
		return left
	}
	free = func() (part float64) {
		err := db.QueryRow(
			"SELECT CAST(freelist_count AS REAL) / page_count FROM pragma_freelist_count, pragma_page_count").
			Scan(&part)
		if err != nil {
			b.Fatal(err)
		}
		return part
	}
	return due, free
}

func sizeOf(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

func latencyAt(of []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(q*float64(len(sorted)-1))]
}
