package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"frontdesk/core/durable"
	"frontdesk/core/fault"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openSQLite opens the file with one connection that writes and several that read beside it (write-ahead
// log). SQLite has one writer anyway; see [batches].
func openSQLite(ctx context.Context, path string, pool newPool) (*Store, error) {
	if path == "" {
		return nil, fault.InvalidField("store.url", `must name a file: "sqlite:PATH".`)
	}
	paths, err := pathsOf(path)
	if err != nil {
		return nil, unavailable(err)
	}
	given, path := paths[0], paths[len(paths)-1]
	if err := found(path); err != nil {
		return nil, orUnavailable(notOpened(err))
	}
	// FULL: a commit is on the disk before it returns. The busy timeout is short because Store.try waits
	// itself, and unlike SQLite it stops when the caller's context ends. The size limit is for what the log
	// leaves on the disk. Deleted data is overwritten with zeros; see Forget for the log. In memory, the copies
	// that a savepoint makes of the pages cost a tenth of what they cost in a file. The log is copied into the
	// file at 16 MiB (SQLite's default is 4), and the writer keeps 16 MiB of pages (2): of each booking, about a
	// dozen pages in random places of the indexes are read, written to the log and copied.
	common := url.Values{
		"_busy_timeout": {"200"}, "_foreign_keys": {"1"}, "_synchronous": {"FULL"}, "_dqs": {"0"},
		"_error_rc": {"1"},
	}
	writing := url.Values{
		"_journal_mode": {"WAL"}, "_txlock": {"immediate"},
		"_pragma": {"journal_size_limit(67108864)", "wal_autocheckpoint(4000)", "cache_size(-16384)",
			"secure_delete(ON)", "temp_store(MEMORY)"}}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		writing.Set("_auto_vacuum", incremental)
	}
	writer, err := sqliteConnector(path, common, writing)
	if err != nil {
		return nil, unavailable(err)
	}
	reader, err := sqliteConnector(path, common, url.Values{"_query_only": {"1"}})
	if err != nil {
		return nil, unavailable(err)
	}
	s := &Store{
		path:  path,
		given: given,
		limit: callLimit,
		write: pool(preparing{Connector: writer, writes: true}, 1),
		read:  pool(preparing{Connector: reader}, max(4, 2*runtime.GOMAXPROCS(0))),
		dialect: dialect{
			goose: goose.DialectSQLite3, others: ".postgres.sql", classify: classifySQLite,
			writing: &sql.TxOptions{}, reading: &sql.TxOptions{ReadOnly: true}, check: checkSQLite,
			clock:  "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)",
			server: "0",
			number: "COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'directory_changes'), 0) + 1",
			forget: forgetSQLite, rebuild: "VACUUM",
			rewrites:  100, // each commit waits for the disk
			versioned: "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'",
		},
	}
	s.batches = &batches{db: s.write, options: s.dialect.writing, limit: callLimit, least: collectLeast}
	// The file must be in write-ahead mode before the first reader opens it.
	if err := s.tryFor(ctx, longLimit, s.write.PingContext); err != nil {
		_ = s.Close() // the first error says more
		if f, is := errors.AsType[*fault.Error](err); is && f.Err != nil && classifySQLite(f.Err) == down {
			err = f.Because(notOpened(f.Err))
		}
		return nil, err
	}
	if err = private(path); err == nil {
		s.file, err = os.Stat(path)
	}
	if err != nil {
		_ = s.Close()
		return nil, orUnavailable(notOpened(cause(err)))
	}
	return s, nil
}

// found creates the file if it does not exist, and refuses one that other users can write to. It never opens an
// existing file: closing any descriptor of the file would drop the locks of this process's other connections
// (fcntl(2)).
func found(path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrExist) { // another process was faster
			return nil
		}
		if err != nil {
			return cause(err)
		}
		return cause(errors.Join(durable.KeepOwner(file, filepath.Dir(path)), file.Close()))
	}
	if err != nil {
		return cause(err)
	}
	for _, name := range filesOf(path) {
		if err := notWritable(name); err != nil {
			return err
		}
	}
	return nil
}

// notOpened says of an error that is no fault what to check.
func notOpened(err error) error {
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}
	return fmt.Errorf("the database file cannot be opened: %w. %s", err, checkFile)
}

// errReadOnly is the error of a connection that could only read: SQLite opens one if the file cannot be written, and it
// stays so for good.
var errReadOnly = errors.New("the database file can only be read")

// checkFile says what to check about a file that cannot be opened or written.
const checkFile = "Check the database file's path in store.url, that its disk is not read-only, and that it, its " +
	"folder and the files beside it that end in -wal and -shm belong to the user that runs frontdesk, who can write them"

// filesOf returns the names of a database's files (sqlite.org/tempfiles.html).
func filesOf(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

// private removes other users' access to the files of a database. What is not known to be one is left as it is: a
// wrong setting may name any file or folder of the machine.
func private(path string) error {
	for _, name := range filesOf(path) {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cause(err)
		}
	}
	return nil
}

// notWritable returns an error if other users can write to the file, and so may have changed it.
func notWritable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cause(err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		f := fault.Newf(fault.Unavailable, ReasonFileExposed,
			"Other users can write to the database file %s (mode %04o). Make sure that it was not changed, "+
				"or restore a backup. Then run: chmod 600 %s", path, mode, path)
		f.NoRetry = true
		return f
	}
	return nil
}

// cause leaves the path out of an error.
func cause(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// incremental lets a new file give freed pages back to the disk. It changes nothing in a file that has tables, but is
// written there, which needs room on the disk and the turn of the only writer.
const incremental = "INCREMENTAL"

func sqliteConnector(path string, common, own url.Values) (driver.Connector, error) {
	query := maps.Clone(common)
	maps.Copy(query, own)
	address := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return sqlite.NewConnector(address.String())
}

// isSQLite reports whether an error is SQLite's own, of a statement that it ran.
func isSQLite(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed)
}

// classifySQLite reads the result codes (sqlite.org/rescode.html).
func classifySQLite(err error) class {
	// Of a transaction whose time has passed, database/sql takes back everything, also where the commit reports it.
	if errors.Is(err, errBatch) || errors.Is(err, sql.ErrTxDone) {
		return again
	}
	if errors.Is(err, errReadOnly) {
		return unfit
	}
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return defect
	}
	switch failed.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return unique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return orphan
	case sqlite3.SQLITE_IOERR_SHMSIZE: // the index of the log cannot grow
		return full
	}
	switch failed.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return again
	case sqlite3.SQLITE_FULL:
		return full
	case sqlite3.SQLITE_READONLY:
		return unfit
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM,
		sqlite3.SQLITE_INTERRUPT:
		return down
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return broken
	}
	return defect
}

// forgetSQLite moves the content of the write-ahead log into the file and empties the log, which holds pages
// as they were before a deletion. It cannot empty the log while a reader uses an earlier state.
func forgetSQLite(ctx context.Context, db *sql.DB) error {
	_, _, err := find(ctx, db, func(row scanner) (busy int, err error) {
		var frames, moved int
		return busy, row.Scan(&busy, &frames, &moved)
	}, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// checkSQLite looks for damage in the file and for rows whose parent row does not exist.
func checkSQLite(ctx context.Context, db *sql.DB) error {
	found, err := list(ctx, db, scanText, "PRAGMA integrity_check(1)")
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0] != "ok" {
		return damaged(errors.New("integrity_check: " + found[0]))
	}
	_, broken, err := find(ctx, db, func(row scanner) (table string, err error) {
		var rowid, index *int64
		var parent string
		return table, row.Scan(&table, &rowid, &parent, &index)
	}, "PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	if broken {
		return damaged(errors.New("foreign_key_check: a row has no parent"))
	}
	return nil
}
