package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"testing"
)

// fixture is a testing.TB outside a test, for the stores of storetest.
type fixture struct {
	testing.TB
	cleanups []func()
	failure  error
}

// try runs do as a test runs, in a goroutine that a fatal error ends.
func (f *fixture) try(do func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
	return f.failure
}

func (f *fixture) end() {
	for _, do := range slices.Backward(f.cleanups) {
		do()
	}
}

// Helper implements testing.TB.
func (f *fixture) Helper() {}

// Name implements testing.TB.
func (f *fixture) Name() string { return "the benchmark" }

// Cleanup implements testing.TB.
func (f *fixture) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }

// Errorf implements testing.TB.
func (f *fixture) Errorf(format string, args ...any) {
	f.failure = errors.Join(f.failure, fmt.Errorf(format, args...))
}

// Fatalf implements testing.TB.
func (f *fixture) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// Skipf implements testing.TB.
func (f *fixture) Skipf(format string, args ...any) { f.Fatalf(format, args...) }

// namedDatabases makes databases at a server that the operator named.
func namedDatabases(ctx context.Context, at string, n int) (urls []string, err error) {
	db, err := sql.Open("pgx", at)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	base, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	for i := range n {
		name := fmt.Sprintf("frontdesk_bench_%d", i)
		for _, statement := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return nil, err
			}
		}
		one := *base
		one.Path = "/" + name
		urls = append(urls, one.String())
	}
	return urls, nil
}
