package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// scenarios returns what can be measured.
func scenarios() []scenario {
	return []scenario{
		{name: "machine", about: "The figures were taken", run: machine},
		{name: "requests", about: "Requests at the provider for each operation, once tokens are there.",
			run: requests},
		{name: "list", about: "`list-events` of ten events in one calendar. The provider answers at once.",
			run: list},
		{
			name: "full", run: full,
			about: "`list-events` of 2,500 events, at a provider that takes 50 ms for each request.",
		},
		{
			name: "wide", run: wide,
			about: "`list-events` of ten calendars, at a provider that takes 50 ms for each request.",
		},
		{name: "slots", about: "`find-slots` in five days of one calendar. The provider answers at once.",
			run: slots},
		{name: "book", about: "`book-meeting` on SQLite. The provider answers at once.", run: book},
		{name: "postgres", about: "`book-meeting` on PostgreSQL. The provider answers at once.",
			run: bookPostgres},
		{
			name: "first", run: first,
			about: "The first call of a quiet tenant, at a provider that takes 50 ms for each request.",
		},
		{
			name: "keys", run: quietKeys,
			about: "The same at a provider that answers at once: a key that was not seen for a while.",
		},
		{name: "refused", about: "Refusals for which no provider is asked.", run: refused},
		{name: "start", about: "Starting the gateway.", run: begin},
		{name: "tenants", about: "Many tenants: what a call costs, and `apply`.", run: many},
		{name: "needs", about: "From the figures of list and book:", run: needs},
		{
			name: "density", about: "Very many connections, each called once.", run: density, asked: true,
		},
	}
}

// machine says where the figures were taken, and whether the machine had other work.
func machine(_ context.Context, b *bench, s scenario) error {
	load := "unknown"
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil { // other systems have none
		load, _, _ = strings.Cut(string(raw), " ")
	}
	b.report.tables[s.name] = fmt.Sprintf(
		"on %s/%s with %d processors and %s, in %d rounds of %s each. The load "+
			"average before was %s: with more than about one,\nother work took part of the machine, and only ratios "+
			"mean something.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), b.rounds, b.lasting, load)
	return nil
}
