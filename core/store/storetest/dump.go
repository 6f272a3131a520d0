package storetest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Dump copies a PostgreSQL database to a file, as operators do: pg_dump in the custom format.
func Dump(tb testing.TB, url, file string) {
	tb.Helper()
	client(tb, "pg_dump", "--format=custom", "--file="+file, "--dbname="+url)
}

// Load puts a copy that Dump wrote into an empty database, by pg_restore.
func Load(tb testing.TB, url, file string) {
	tb.Helper()
	client(tb, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+url, file)
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
