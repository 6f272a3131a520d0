// Package store keeps what the gateway must not forget: tenants and their connections, keys, intents, holds,
// numbers, and the documents of the sandbox. It works on SQLite and on PostgreSQL with one text of every
// query.
//
//	s, err := store.Open(ctx, "sqlite:/var/lib/frontdesk/frontdesk.db") // or "postgres://..."
//	err = s.Migrate(ctx)
//
// It promises:
//   - What a method has answered without an error is durable, and seen by every later call on any replica.
//   - A method does one thing as a whole or not at all, and may be called from many goroutines and processes.
//   - Errors are faults: NotFound, Conflict (what must be unique is there already), Unavailable with the
//     reason STORE_UNAVAILABLE (the database is down, busy or full), Timeout and Canceled (the caller's
//     context ended). None of them holds the database's address or password.
//   - No call takes longer than four seconds, however dead, busy or full the database is, so that its callers
//     can be told well before their own deadlines; one that cannot be reached is told in two. To open and to
//     migrate may take ten.
//
// It knows no clock: every time comes from the caller and is kept in whole milliseconds.
package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"frontdesk/core/fault"

	"github.com/pressly/goose/v3"
)

// Store is an open database. It is safe for concurrent use.
type Store struct {
	dialect dialect
	write   *sql.DB
	read    *sql.DB       // the same pool as write on PostgreSQL
	turns   chan struct{} // holds one for each turn that is held; nil where turns are not needed
	closed  atomic.Bool
	sealer  Sealer        // nil: nothing is sealed
	limit   time.Duration // of a call
	hashKey atomic.Pointer[[]byte]

	path      string                  // of the file of SQLite; "" on PostgreSQL
	announced atomic.Pointer[os.File] // holds the lock that says that this process lives
}

// dialect is all that differs between the two databases.
type dialect struct {
	goose    goose.Dialect
	classify func(error) class
	writing  *sql.TxOptions
	reading  *sql.TxOptions // one picture of the data for the whole transaction
	check    func(context.Context, *sql.DB) error
	forget   func(context.Context, *sql.DB) error // nil: the server does it
	rebuild  string                               // the statement that writes the file anew; "" there is none
	rewrites int                                  // rows that are sealed anew in one transaction
	joins    bool                                 // one statement may write two tables
	clock    string                               // the query of the database's time in milliseconds
	// versioned is the query of whether there is a table of the steps taken: 1 or 0.
	versioned string
	// lockParent ends a query whose rows must stay while the transaction adds rows that refer to them.
	lockParent string
	// lockRows ends a query whose rows nobody else may change until the transaction ends.
	lockRows string
	// lockFree ends a query that takes only rows which nobody else has locked, and locks them.
	lockFree string
}

const (
	callLimit = 4 * time.Second  // of a call, unless BoundCalls sets another one
	longLimit = 10 * time.Second // of what happens once in a process, while others may migrate
)

// Open opens the database at "sqlite:PATH" or "postgres://...". It does not migrate. A SQLite file is made
// when there is none; a PostgreSQL server need not be up yet.
func Open(ctx context.Context, url string) (*Store, error) { return open(ctx, url, pool) }

// BoundCalls sets how long a call may take; four seconds where nobody sets it. It is called before the store is
// used.
func (s *Store) BoundCalls(limit time.Duration) { s.limit = limit }

// open opens with pools of the caller's making.
func open(ctx context.Context, url string, pool newPool) (*Store, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, strings.TrimPrefix(rest, "//"), pool)
	case "postgres", "postgresql":
		return openPostgres(url, pool)
	}
	return nil, fault.InvalidField("store.url",
		`must be "sqlite:PATH" or "postgres://USER:PASSWORD@HOST/DATABASE".`)
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.try(ctx, func(ctx context.Context) error {
		if err := s.write.PingContext(ctx); err != nil || s.read == s.write {
			return err
		}
		return s.read.PingContext(ctx)
	})
}

// Clock returns the database's time. On SQLite that is the machine's own.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	ms, _, err := findIn(ctx, s, func(row scanner) (ms int64, err error) { return ms, row.Scan(&ms) },
		s.dialect.clock)
	return instant(ms), err
}

// Check examines the database file of SQLite for damage; a PostgreSQL server looks after its own files, so
// that there it is Ping. It is not bounded in time: the file may be large.
func (s *Store) Check(ctx context.Context) error {
	if err := s.dialect.check(ctx, s.read); err != nil {
		return s.fault(ctx, err)
	}
	return nil
}

// Forget sees to it that nothing is left of what was deleted, or written over, outside the rows that are
// there: on SQLite it empties the write-ahead log, unless somebody is reading an earlier state just now. The
// deletion of a tenant or connection does it by itself. On PostgreSQL it does nothing: there VACUUM and the
// server's settings for its log decide.
func (s *Store) Forget(ctx context.Context) error {
	if s.dialect.forget == nil {
		return nil
	}
	return s.try(ctx, func(ctx context.Context) error { return s.dialect.forget(ctx, s.write) })
}

// Rebuild writes the file of SQLite anew, so that nothing is left of what was deleted before its pages were
// overwritten. It is not bounded in time.
func (s *Store) Rebuild(ctx context.Context) error {
	if s.dialect.rebuild == "" {
		return nil
	}
	if _, err := exec(ctx, s.write, s.dialect.rebuild); err != nil {
		return s.fault(ctx, err)
	}
	return s.Forget(ctx)
}

// afterErase ends what has removed a tenant or connection.
func (s *Store) afterErase(ctx context.Context, err error) error {
	if err == nil {
		_ = s.Forget(ctx) // the rows are gone in any case, and the gateway forgets again every minute
	}
	return err
}

// Waited returns how many calls have had to wait for a connection, because all were in use, and for how long
// together, since the store was opened.
func (s *Store) Waited() (calls int64, together time.Duration) {
	stats := s.write.Stats()
	calls, together = stats.WaitCount, stats.WaitDuration
	if s.read != s.write {
		stats = s.read.Stats()
		calls, together = calls+stats.WaitCount, together+stats.WaitDuration
	}
	return calls, together
}

// Close closes the database; calls after it are Unavailable.
func (s *Store) Close() error {
	s.closed.Store(true)
	if file := s.announced.Swap(nil); file != nil {
		_ = file.Close() // others take up at once what this process leaves
	}
	if err := errors.Join(s.read.Close(), s.write.Close()); err != nil {
		return unavailable(err)
	}
	return nil
}
