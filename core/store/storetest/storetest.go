// Package storetest gives tests a database: a SQLite file of their own, or a database in a PostgreSQL cluster
// that the tests start from Debian's binaries.
//
//	for _, open := range []func(testing.TB) string{storetest.SQLite, storetest.Postgres} {
//		s := storetest.Open(t, open(t))
//	}
//
// Without the binaries, tests that need PostgreSQL are skipped; with FRONTDESK_REQUIRE_ALL=1 they fail.
package storetest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store"
)

// ManyAtATime lets eight parallel tests of a package run at a time, however few processors there are, unless -parallel
// says otherwise: with databases and processes of their own, they wait more than they compute. TestMain calls it.
func ManyAtATime() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", "8") // a number
	}
}

// SQLite returns the URL of a new database file, which is removed when the test ends.
func SQLite(tb testing.TB) (url string) {
	tb.Helper()
	return "sqlite:" + filepath.Join(tb.TempDir(), "frontdesk.db")
}

// Open opens the store at url, and closes it when the test ends. It migrates what is not a new copy with every table:
// a migration that finds nothing to do takes as long as many a test.
func Open(tb testing.TB, url string) *store.Store {
	tb.Helper()
	copied := strings.Contains(url, "/"+copyPrefix)
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		_, again := reused().Load(url)
		copied = again || CopyTables(tb, path)
	}
	s := Connect(tb, url)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("the store does not close: %v", err)
		}
	})
	if copied {
		return s
	}
	if err := s.Migrate(tb.Context()); err != nil {
		tb.Fatalf("the store does not migrate: %v", err)
	}
	return s
}

// patience is how long calls may take in tests. On a machine that is busy with other tests, a call sometimes
// takes more than the four seconds of a gateway, and a test of something else would fail.
const patience = 2 * time.Minute

// Connect opens the store at url and lets its calls take as long as patience. The test closes it. Tests of
// the limits themselves use store.Open.
func Connect(tb testing.TB, url string) *store.Store {
	tb.Helper()
	s, err := open(url)
	if err != nil {
		tb.Fatalf("the store does not open: %v", err)
	}
	s.BoundCalls(patience)
	return s
}

// Database opens the database at url itself, for changes that bypass the store. On SQLite its transactions
// write, and wait up to patience for other writers. It is closed when the test ends.
func Database(tb testing.TB, url string) *sql.DB {
	tb.Helper()
	driver, address := "pgx", Unbounded(url)
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver = "sqlite"
		address = fmt.Sprintf("file:%s?_txlock=immediate&_pragma=busy_timeout(%d)", path, patience.Milliseconds())
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// tables returns a SQLite file with every table and no row. The migrations take a quarter of a second under
// the race detector, and a test process opens hundreds of stores.
var tables = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "frontdesk-tables-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "frontdesk.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func migrate(url string) error {
	s, err := store.Open(context.Background(), url)
	if err != nil {
		return err
	}
	return errors.Join(s.Migrate(context.Background()), s.Close())
}

// CopyTables creates a SQLite file with every table and no row at path, and reports true, unless a file exists.
func CopyTables(tb testing.TB, path string) (copied bool) {
	tb.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	file, err := tables()
	if err != nil {
		tb.Fatalf("the tables are not made: %v", err)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return true
}
