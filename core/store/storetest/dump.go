package storetest

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Dump copies a PostgreSQL database to a file, as operators do: pg_dump in the custom format.
func Dump(tb testing.TB, from, file string) {
	tb.Helper()
	client(tb, "pg_dump", "--format=custom", "--file="+file, "--dbname="+own(tb, from))
}

// DumpText returns all of a PostgreSQL database as SQL.
func DumpText(tb testing.TB, from string) string {
	tb.Helper()
	return client(tb, "pg_dump", "--dbname="+own(tb, from))
}

// Load puts a copy that Dump wrote into an empty database, by pg_restore.
func Load(tb testing.TB, into, file string) {
	tb.Helper()
	client(tb, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+own(tb, into), file)
}

// own returns an address without the parameters that are pgx's, which PostgreSQL's programs refuse.
func own(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(Unbounded(address))
	if err != nil {
		tb.Fatal(err)
	}
	query := u.Query()
	query.Del("default_query_exec_mode")
	u.RawQuery = query.Encode()
	return u.String()
}

// client runs a program of the newest installed PostgreSQL, and returns what it prints.
func client(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	bin, err := binaries()
	wantStarted(tb, err)
	var out, errs strings.Builder
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, errs.String())
	}
	return out.String()
}
