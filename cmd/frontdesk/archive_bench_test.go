package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

// BenchmarkBookingWhileArchiving books while a starting gateway archives old rows of the audit, and before that on
// the same rows while nothing is archived. It prints the latencies of both and their ratios:
//
//	FRONTDESK_ARCHIVE=50000 go test -run '^$' -bench WhileArchiving -benchtime 1x ./cmd/frontdesk
func BenchmarkBookingWhileArchiving(b *testing.B) {
	rows := rowsOf("FRONTDESK_ARCHIVE")
	for b.Loop() {
		cfg, path := unlimited(b)

		left := fillAudit(b, cfg.DataDir, path, rows)
		baseline := bookWhile(b, cfg, 0, func(done int) bool { return done < 300 })
		full, began := sizeOf(b, path), time.Now()
		cfg.Audit.Keep, cfg.Audit.ArchiveDir = 24*time.Hour, filepath.Join(cfg.DataDir, "archive")
		var archived time.Duration
		busy := bookWhile(b, cfg, 1, func(done int) bool {
			archived = time.Since(began)
			if archived > time.Minute+time.Duration(rows)*10*time.Millisecond {
				b.Fatal("the rows are not archived")
			}
			return done%20 != 0 || left() > 0
		})
		b.ReportMetric(float64(rows)/archived.Seconds(), "rows/s")
		reportLatencies(b, baseline, busy, "archiving")
		b.Logf("%d rows archived in %v, %d bookings meanwhile; the file had %d KiB and has %d",
			rows, archived.Round(time.Millisecond), len(busy), full>>10, sizeOf(b, path)>>10)
	}
}

// fillAudit makes a database whose audit begins with sealed rows of last week, since archiving stops at the first
// row that is too young. left returns 1 if some are in the database, else 0.
func fillAudit(b *testing.B, dataDir, path string, rows int) (left func() int) {
	b.Helper()
	const atOnce = 500
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	keys, err := vault.Open("", dataDir)
	check(err)
	now, to := time.Now(), storetest.Connect(b, "sqlite:"+path)
	clock := now.AddDate(0, 0, -7)
	defer to.Close()
	check(to.Migrate(b.Context()))
	log := audit.New(audit.Options{
		Store: to, Vault: keys, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { clock = clock.Add(time.Millisecond); return clock },
	})
	var batch []store.AuditRow
	for i := range rows {
		row, err := log.Row(b.Context(), audit.Entry{
			TenantID: "ten_0123456789", Tenant: "acme", Actor: audit.Key("key_0123456789"), Action: "book-meeting",
			ConnectionID: "con_0123456789", Subject: fmt.Sprint("event-", i), Outcome: audit.Done,
			Effect: "0123456789abcdef0123456789abcdef", RequestID: fmt.Sprint("request-", i),
		})
		check(err)
		if batch = append(batch, row); len(batch) == atOnce || i == rows-1 {
			check(to.AddAudit(b.Context(), batch...))
			batch = batch[:0]
		}
	}
	check(log.Seal(b.Context()))
	db := storetest.Database(b, "sqlite:"+path)
	return func() (some int) {
		check(db.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM audit WHERE at < $1 LIMIT 1)",
			now.AddDate(0, 0, -2).UnixMilli()).Scan(&some))
		return some
	}
}
