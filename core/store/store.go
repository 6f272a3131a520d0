// Package store is the gateway's database: tenants and their connections, keys, intents, holds, numbers, and
// the documents of connections. It works on SQLite and on PostgreSQL, with the same text of every query.
//
//	s, err := store.Open(ctx, "sqlite:/var/lib/frontdesk/frontdesk.db") // or "postgres://..."
//	err = s.Migrate(ctx)
//
// It guarantees:
//   - What a method wrote or returned without an error is durable, and visible to later calls on any replica.
//   - A method takes effect as a whole or not at all, and may be called from many goroutines and processes.
//   - Errors are faults: NotFound, Conflict (a value that must be unique already exists), Unavailable with
//     the reason STORE_UNAVAILABLE (the database is down, busy or full), Timeout and Canceled (the caller's
//     context ended). None of them holds the database's address or password.
//   - No call takes longer than four seconds, however slow, busy or full the database is, so that callers get
//     an error well before their own deadlines. If the database cannot be reached, it takes two. Open and
//     Pending may take ten seconds, Migrate five minutes. Backup, Check, Rebuild, Reseal and the wait for a
//     turn have no limit.
//
// Every stored time comes from the caller and is kept in whole milliseconds.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
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
	batches *batches      // of writes to SQLite; nil on PostgreSQL
	turns   chan struct{} // one element for each turn held; nil if turns are not needed
	closed  atomic.Bool
	sealer  Sealer        // nil: nothing is sealed
	limit   time.Duration // how long a call may take
	hashKey atomic.Pointer[[]byte]

	publisher *Publisher // nil: no events are written

	path      string                  // of the SQLite file; "" on PostgreSQL
	given     string                  // path, or a link to it
	file      os.FileInfo             // of the SQLite file as it was opened; nil on PostgreSQL
	announced atomic.Pointer[os.File] // holds the lock that shows that this process is alive
}

// dialect holds all differences between the two databases.
type dialect struct {
	goose    goose.Dialect
	others   string // ends the names of the migrations of the other database
	classify func(error) class
	writing  *sql.TxOptions
	reading  *sql.TxOptions // one snapshot of the data for the whole transaction
	check    func(context.Context, *sql.DB) error
	forget   func(context.Context, *sql.DB) error // nil: the server does this itself
	rebuild  string                               // the statement that rewrites the file; "" if there is none
	rewrites int                                  // how many rows are sealed again in one transaction
	joins    bool                                 // one statement may write two tables
	clock    string                               // the query for the database's time in milliseconds
	server   string                               // the expression for the Server of a Mark
	number   string                               // and for its number
	soon     string                               // has a transaction's commit not wait for the disk; "": none does
	// versioned is the query that returns 1 if the table of applied migrations exists, else 0.
	versioned string
	// lockParent ends a query whose rows must stay while the transaction adds rows that refer to them.
	lockParent string
	// lockRows ends a query whose rows no other transaction may change until this one ends.
	lockRows string
	// lockFree ends a query that selects and locks only rows that no other transaction has locked.
	lockFree string
}

const (
	callLimit = 4 * time.Second  // the limit of a call, unless BoundCalls sets another one
	longLimit = 10 * time.Second // the limit of Open and Pending, while other processes may migrate
)

// Open opens the database at "sqlite:PATH" or "postgres://...". It does not migrate. It creates a SQLite file
// that does not exist; a PostgreSQL server need not be running yet.
func Open(ctx context.Context, url string) (*Store, error) { return open(ctx, url, pool) }

// OpenThrough is Open with connectors that the caller wraps, for tests and benchmarks.
func OpenThrough(
	ctx context.Context, url string, wrap func(driver.Connector) driver.Connector,
) (*Store, error) {
	return open(ctx, url, func(c driver.Connector, size int) *sql.DB { return pool(wrap(c), size) })
}

// BoundCalls sets how long a call may take. The default is four seconds. It must be called before the store
// is used.
func (s *Store) BoundCalls(limit time.Duration) {
	s.limit = limit
	if s.batches != nil {
		s.batches.limit = limit
	}
}

// open is Open with connection pools made by pool.
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

// Ping returns an error if the database does not respond.
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
	ms, _, err := findIn(ctx, s, scanInt, s.dialect.clock)
	return instant(ms), err
}

// Check examines the SQLite file for damage. On PostgreSQL, whose server looks after its own files, it is
// Ping. It has no time limit: the file may be large.
func (s *Store) Check(ctx context.Context) error {
	if err := s.dialect.check(ctx, s.read); err != nil {
		return s.fault(ctx, err)
	}
	return nil
}

// Forget removes what is left of deleted and overwritten data outside the current rows. On SQLite it empties
// the write-ahead log, unless a reader is using an earlier state. Deleting a tenant or connection calls
// Forget. On PostgreSQL it does nothing: there VACUUM and the settings of the server's log decide.
func (s *Store) Forget(ctx context.Context) error {
	if s.dialect.forget == nil {
		return nil
	}
	return s.try(ctx, func(ctx context.Context) error { return s.dialect.forget(ctx, s.write) })
}

// Rebuild rewrites the SQLite file, which removes deleted data whose pages were not overwritten. It has no
// time limit. On PostgreSQL it does nothing.
func (s *Store) Rebuild(ctx context.Context) error {
	if s.dialect.rebuild == "" {
		return nil
	}
	if _, err := exec(ctx, s.write, s.dialect.rebuild); err != nil {
		return s.fault(ctx, err)
	}
	return s.Forget(ctx)
}

// afterErase completes the removal of a tenant or connection, which ended with err.
func (s *Store) afterErase(ctx context.Context, err error) error {
	if err == nil {
		_ = s.Forget(ctx) // the rows are gone in any case, and the gateway calls Forget again every minute
	}
	return err
}

// Waited returns how many calls have had to wait for a connection, or for their turn to write, because all were
// in use, and for how long in total, since the store was opened.
func (s *Store) Waited() (calls int64, together time.Duration) {
	stats := s.write.Stats()
	calls, together = stats.WaitCount, stats.WaitDuration
	if s.read != s.write {
		stats = s.read.Stats()
		calls, together = calls+stats.WaitCount, together+stats.WaitDuration
	}
	if s.batches != nil {
		waited, total := s.batches.turn.Waited()
		calls, together = calls+waited, together+total
	}
	return calls, together
}

// Close closes the database. Later calls fail as Unavailable.
func (s *Store) Close() error {
	s.closed.Store(true)
	if file := s.announced.Swap(nil); file != nil {
		_ = file.Close() // other processes can take over its work at once
	}
	if err := errors.Join(s.read.Close(), s.write.Close()); err != nil {
		return unavailable(err)
	}
	return nil
}
