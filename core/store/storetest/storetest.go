// Package storetest gives tests a database: a SQLite file of their own, or a database in a PostgreSQL cluster that the
// test process starts for itself from Debian's binaries.
//
//	for _, open := range []func(testing.TB) string{storetest.SQLite, storetest.Postgres} {
//		s := storetest.Open(t, open(t))
//	}
//
// Without the binaries, tests that ask for PostgreSQL skip and say so; with FRONTDESK_REQUIRE_ALL=1 they fail.
package storetest

import (
	"path/filepath"
	"testing"

	"frontdesk/core/store"
)

// SQLite answers the URL of a new database file, which goes with the test.
func SQLite(tb testing.TB) (url string) {
	tb.Helper()
	return "sqlite:" + filepath.Join(tb.TempDir(), "frontdesk.db")
}

// Open opens and migrates the store at url, and closes it when the test ends.
func Open(tb testing.TB, url string) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), url)
	if err != nil {
		tb.Fatalf("the store does not open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("the store does not close: %v", err)
		}
	})
	if err := s.Migrate(tb.Context()); err != nil {
		tb.Fatalf("the store does not migrate: %v", err)
	}
	return s
}
