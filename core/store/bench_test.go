package store_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// Both print how many times as long they take as the same work without the store: one bare query, two bare
// commits.
//
//	go test -run=- -bench=. ./core/store

func BenchmarkScan2000(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s *store.Store, db *sql.DB) {
		fillEvents(b, s, 2000)
		bare := timed(b, 50, func(int) error {
			rows, err := db.QueryContext(b.Context(), "SELECT key, value FROM documents ORDER BY connection_id, key")
			if err != nil {
				return err
			}
			defer rows.Close()
			var key string
			var value []byte
			for rows.Next() {
				if err := rows.Scan(&key, &value); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		b.ResetTimer()
		for range b.N {
			n := 0
			err := s.Documents("c1").View(b.Context(), func(tx adapter.StorageTx) error {
				return tx.Scan("event/", "", func(string, []byte) bool { n++; return true })
			})
			if err != nil || n != 2000 {
				b.Fatal(n, err)
			}
		}
		report(b, bare, "x-bare-query")
	})
}

func BenchmarkIntent(b *testing.B) {
	eachDatabase(b, func(b *testing.B, s *store.Store, db *sql.DB) {
		fillEvents(b, s, 0)
		if _, err := db.ExecContext(b.Context(), "CREATE TABLE bare (n BIGINT NOT NULL PRIMARY KEY)"); err != nil {
			b.Fatal(err)
		}
		bare := timed(b, 200, func(i int) error {
			_, err := db.ExecContext(b.Context(), "INSERT INTO bare VALUES ($1)", i)
			return err
		})
		b.ResetTimer()
		for i := range b.N {
			mine := intent(store.Intent{Key: fmt.Sprint(b.N, "/", i)})
			if _, began, err := s.BeginIntent(b.Context(), mine, time.Time{}); err != nil || !began {
				b.Fatal(err)
			}
			if err := s.FinishIntent(b.Context(), mine, store.Attached{}); err != nil {
				b.Fatal(err)
			}
		}
		report(b, 2*bare, "x-bare-commits")
	})
}

// eachDatabase runs a benchmark on each database, with a store and with a bare pool.
func eachDatabase(b *testing.B, run func(b *testing.B, s *store.Store, db *sql.DB)) {
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) {
			url := storetest.Unbounded(d.url(b))
			driver, source := "pgx", url
			if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
				driver, source = "sqlite", "file:"+path+"?_busy_timeout=1000&_synchronous=FULL"
			}
			s := storetest.Open(b, url)
			db, err := sql.Open(driver, source)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			run(b, s, db)
		})
	}
}

func timed(b *testing.B, times int, do func(i int) error) time.Duration {
	b.Helper()
	began := time.Now()
	for i := range times {
		if err := do(i); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began) / time.Duration(times)
}

func report(b *testing.B, bare time.Duration, unit string) {
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(bare), unit)
}
