package storetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store"
)

// M runs the tests of a package, and then removes what ReusedSQLite and ReusedPostgres keep for the next test. TestMain
// gives it to goleak.VerifyTestMain.
type M struct{ *testing.M }

// Run runs the tests.
func (m M) Run() int {
	code := m.M.Run()
	reused().Range(func(url, r any) bool {
		if err := r.(reuse).end(); err != nil {
			fmt.Fprintf(os.Stderr, "the database %s is not removed: %v\n", url, err)
			code = max(code, 1)
		}
		return true
	})
	return code
}

// reused has a reuse for the URL of each database that tests use one after the other.
var reused = sync.OnceValue(func() *sync.Map { return &sync.Map{} })

type reuse struct {
	connectors func() wrap // for a store
	end        func() error
}

// wrap returns a connector that hands out connections of stores that were closed before it makes new ones.
type wrap = func(driver.Connector) driver.Connector

// open opens the store at url, with connections of earlier stores if there are some.
func open(url string) (*store.Store, error) {
	if r, is := reused().Load(url); is {
		return store.OpenThrough(context.Background(), url, r.(reuse).connectors())
	}
	if strings.HasPrefix(url, "postgres") && !strings.Contains(url, "connect_timeout") {
		url += fmt.Sprintf("&connect_timeout=%d", patience/time.Second)
	}
	return store.Open(context.Background(), url)
}

// ReusedSQLite returns the URL of a database file like that of SQLite, which another test of this process uses next,
// with the connections of its stores. A new connection parses all tables and prepares each statement anew, which takes
// longer than all else that most tests do with a database. See [M].
func ReusedSQLite(tb testing.TB) (url string) {
	tb.Helper()
	f, err := unusedFile(tb)
	if err != nil {
		tb.Fatalf("the database file is not made: %v", err)
	}
	tb.Cleanup(func() {
		asNew, err := f.empty()
		if err == nil && asNew {
			all := files()
			all.Lock()
			defer all.Unlock()
			all.unused = append(all.unused, f)
			return
		}
		if err = errors.Join(err, f.end()); err != nil {
			tb.Errorf("the database file is not taken back: %v", err)
		}
	})
	return f.url()
}

var files = sync.OnceValue(func() *unusedFiles { return &unusedFiles{} })

type unusedFiles struct {
	sync.Mutex
	unused []*file
}

// file is a database file that is reused.
type file struct {
	path    string
	db      *sql.DB // a connection that empties it
	version int64   // of its tables
	filled  string  // the query for tables that have rows which a new file does not have
	refill  string  // gives all others the rows that they have in a new file
	pools   [2]idle // of those who write, and of those who read
}

func (f *file) url() string { return "sqlite:" + f.path }

// unusedFile returns a file that no test uses.
func unusedFile(tb testing.TB) (*file, error) {
	all := files()
	all.Lock()
	defer all.Unlock()
	if last := len(all.unused) - 1; last >= 0 {
		f := all.unused[last]
		all.unused = all.unused[:last]
		return f, nil
	}
	folder, err := os.MkdirTemp("", "frontdesk-reused-")
	if err != nil {
		return nil, err
	}
	f := &file{path: filepath.Join(folder, "frontdesk.db")}
	CopyTables(tb, f.path)
	// Without foreign keys, which are off unless a connection asks for them, rows can be deleted in any order.
	f.db, err = sql.Open("sqlite", fmt.Sprintf(
		"file:%s?_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)", f.path, patience.Milliseconds()))
	if err != nil {
		return nil, err
	}
	f.db.SetMaxOpenConns(1)
	reused().Store(f.url(), reuse{connectors: f.connectors, end: f.end})
	return f, f.remember()
}

// remember notes what a new file has.
func (f *file) remember() error {
	names, err := f.texts("SELECT name FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		return err
	}
	var filled []string
	for _, name := range names {
		var rows bool
		if err := f.db.QueryRow("SELECT EXISTS (SELECT 1 FROM " + name + ")").Scan(&rows); err != nil {
			return err
		}
		if !rows {
			filled = append(filled, fmt.Sprintf("SELECT '%s' WHERE EXISTS (SELECT 1 FROM %[1]s)", name))
			continue
		}
		_, err := f.db.Exec(fmt.Sprintf("CREATE TEMPORARY TABLE new_%s AS SELECT * FROM main.%[1]s", name))
		if err != nil {
			return err
		}
		f.refill += fmt.Sprintf("DELETE FROM %s; INSERT INTO %[1]s SELECT * FROM new_%[1]s;", name)
	}
	f.filled = strings.Join(filled, " UNION ALL ")
	return f.db.QueryRow("PRAGMA schema_version").Scan(&f.version)
}

func (f *file) texts(query string) (all []string, err error) {
	rows, err := f.db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// empty deletes the rows that a new file does not have, and the files beside it. It reports whether it is as new: its
// tables, indexes and triggers are those that it had, and no store has it open.
func (f *file) empty() (asNew bool, err error) {
	var version int64
	if err := f.db.QueryRow("PRAGMA schema_version").Scan(&version); err != nil || version != f.version {
		return false, err
	}
	filled, err := f.texts(f.filled)
	if err != nil {
		return false, err
	}
	deletions := f.refill
	for _, name := range filled {
		deletions += "DELETE FROM " + name + ";"
	}
	if _, err := f.db.Exec("BEGIN IMMEDIATE;" + deletions + "COMMIT"); err != nil {
		return false, err
	}
	beside, err := os.ReadDir(filepath.Dir(f.path))
	for _, entry := range beside {
		switch name := entry.Name(); strings.TrimPrefix(name, filepath.Base(f.path)) {
		case "", "-wal", "-shm":
		default:
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(f.path), name)))
		}
	}
	return f.pools[0].allIn() && f.pools[1].allIn(), err
}

func (f *file) end() error {
	reused().Delete(f.url())
	return errors.Join(f.pools[0].end(), f.pools[1].end(), f.db.Close(), os.RemoveAll(filepath.Dir(f.path)))
}

// connectors returns the wrap of a store, which makes first the connector to write and then the one to read.
func (f *file) connectors() wrap {
	made := 0
	return func(c driver.Connector) driver.Connector {
		made++
		return keeping{c, &f.pools[made-1]}
	}
}

// idle is a pool of connections that no store uses.
type idle struct {
	sync.Mutex
	conns []driver.Conn
	out   int // that stores use
	ended bool
}

func (i *idle) allIn() bool {
	i.Lock()
	defer i.Unlock()
	return i.out == 0
}

func (i *idle) end() (err error) {
	i.Lock()
	defer i.Unlock()
	i.ended = true
	for _, conn := range i.conns {
		err = errors.Join(err, conn.Close())
	}
	i.conns = nil
	return err
}

// keeping is a connector whose connections go back into a pool where they are closed.
type keeping struct {
	driver.Connector
	idle *idle
}

// Connect takes a connection out of the pool, or opens one.
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	k.idle.Lock()
	k.idle.out++
	if last := len(k.idle.conns) - 1; last >= 0 {
		defer k.idle.Unlock()
		conn := k.idle.conns[last]
		k.idle.conns = k.idle.conns[:last]
		return &keptConn{conn.(session), k.idle}, nil
	}
	k.idle.Unlock()
	conn, err := k.Connector.Connect(ctx)
	if err != nil {
		k.idle.Lock()
		defer k.idle.Unlock()
		k.idle.out--
		return nil, err
	}
	return &keptConn{conn.(session), k.idle}, nil
}

// session is what the store's connections to SQLite can do.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type keptConn struct {
	session
	idle *idle
}

// Close puts the connection into the pool, unless it is broken or in a transaction.
func (c *keptConn) Close() error {
	_, err := c.ExecContext(context.Background(), "BEGIN; ROLLBACK", nil)
	c.idle.Lock()
	defer c.idle.Unlock()
	c.idle.out--
	if err != nil || c.idle.ended {
		return c.session.Close()
	}
	c.idle.conns = append(c.idle.conns, c.session)
	return nil
}
