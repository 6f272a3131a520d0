package storetest

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"
)

// Dump copies a PostgreSQL database to a file, as operators do: pg_dump in the custom format.
func Dump(tb testing.TB, from, file string) {
	tb.Helper()
	client(tb, "pg_dump", "--format=custom", "--file="+file, "--dbname="+own(tb, from))
}

// Load puts a copy that Dump wrote into an empty database, by pg_restore.
func Load(tb testing.TB, into, file string) {
	tb.Helper()
	client(tb, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+own(tb, into), file)
}

// own returns an address without the parameters that are pgx's, which PostgreSQL's programs refuse.
func own(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	query := u.Query()
	query.Del("pool_max_conns")
	query.Del("default_query_exec_mode")
	u.RawQuery = query.Encode()
	return u.String()
}

// client runs a program of the newest installed PostgreSQL.
func client(tb testing.TB, name string, args ...string) {
	tb.Helper()
	bin, err := binaries()
	wantStarted(tb, err)
	if out, err := exec.Command(filepath.Join(bin, name), args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, out)
	}
}
