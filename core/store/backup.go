package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"frontdesk/core/durable"
	"frontdesk/core/fault"
)

// Reasons of faults of backups.
const (
	ReasonBackupExists = "BACKUP_EXISTS"
	ReasonNoFile       = "STORE_HAS_NO_FILE" // PostgreSQL has its own tools
	ReasonStoreInUse   = "STORE_IN_USE"
	ReasonNoBackup     = "NOT_A_BACKUP"
)

// unfinished begins the name of a copy that is being written.
const unfinished = ".frontdesk-backup-"

// Backup writes a copy of the database at one moment, including the write-ahead log, to a new file that only
// its owner can read. Other calls go on meanwhile. A copy that is interrupted leaves no file at to. What a killed
// process has left in its folder is removed by a later Backup to that folder.
func (s *Store) Backup(ctx context.Context, to string) error {
	if s.path == "" {
		return noFile("Its own tools make consistent copies while gateways serve: use pg_dump --format=custom with the " +
			"address in store.url. Keep the key set too, apart from the copy.")
	}
	if _, err := os.Lstat(to); err == nil {
		return fault.Newf(fault.Conflict, ReasonBackupExists,
			"The file %s already exists and is not overwritten. Choose another name.", to)
	}
	switch version, err := s.Version(ctx); {
	case err != nil:
		return err
	case version == 0:
		return fault.New(fault.NotFound, ReasonNoBackup,
			"The database has no tables yet, so there is nothing to copy.")
	}
	durable.RemoveLeftovers(filepath.Dir(to), unfinished)
	temporary, err := os.CreateTemp(filepath.Dir(to), unfinished+"*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if err := temporary.Close(); err != nil { // SQLite treats an empty file as a missing one
		return err
	}
	if err := s.copyInto(ctx, temporary.Name()); err != nil {
		if class := s.classify(err); ctx.Err() == nil && (class == full || class == down || class == unfit) {
			return fault.Newf(fault.Unavailable, fault.ReasonStoreUnavailable, "The database could not be copied to the "+
				"folder %s. See that its disk has room and takes writes.", filepath.Dir(to)).Because(err)
		}
		return s.fault(ctx, err)
	}
	return publish(temporary.Name(), to)
}

// copyInto copies within one reading transaction. The copy can give freed pages back to the disk, even if the
// original, from an earlier version, cannot.
func (s *Store) copyInto(ctx context.Context, path string) error {
	own := url.Values{}
	mode, _, err := find(ctx, s.read, scanInt, "PRAGMA auto_vacuum")
	if err != nil {
		return err
	}
	if mode != 2 { // else the copy gets it from the original, in which setting it would write
		own.Set("_auto_vacuum", incremental)
	}
	connector, err := sqliteConnector(s.path, url.Values{"_busy_timeout": {"200"}}, own)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO $1", path)
	return err
}

// publish makes a finished file durable and gives it its name, unless something has that name.
func publish(temporary, name string) error {
	file, err := os.Open(temporary)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary, name); err != nil {
		return err
	}
	if err := os.Remove(temporary); err != nil {
		return err
	}
	return durable.SyncFolder(filepath.Dir(name))
}

// besides are the suffixes of the files that belong to a database file. A log left behind by a removed
// database would be written into the next database of that name.
var besides = []string{"-wal", "-shm", "-journal"}

// Replace puts a database file, which no process has open, in the place of the one at url. The previous file
// is not removed but renamed to aside. Replace returns that name, or "" if there was no file. It fails while
// any process has the database at url open.
func Replace(ctx context.Context, url, file, aside string) (moved string, err error) {
	path, err := PathOf(url)
	if err != nil {
		return "", err
	}
	release, err := exclusively(ctx, path)
	if err != nil {
		return "", err
	}
	defer release()
	if err := keepOwner(file, path); err != nil {
		return "", err
	}
	if moved, err = rename(path, aside); err == nil {
		err = publish(file, path)
	}
	if err != nil && moved != "" {
		_, back := rename(aside, path)
		return "", errors.Join(err, back)
	}
	return moved, err
}

// keepOwner gives a database file, which no process has open, the owner of the one that it will replace.
func keepOwner(path, replaced string) error {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(durable.KeepOwner(file, replaced), file.Close())
}

// rename renames a database file and the files that belong to it. It returns the new name, or "" if there is
// no database file.
func rename(from, to string) (moved string, err error) {
	for _, end := range append([]string{""}, besides...) {
		switch err := os.Rename(from+end, to+end); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return moved, err
		case end == "":
			moved = to
		}
	}
	return moved, nil
}

// PathOf returns the path of the file of a store. A store on PostgreSQL has none, which is an error.
func PathOf(url string) (string, error) {
	all, err := PathsOf(url)
	if err != nil {
		return "", err
	}
	return all[len(all)-1], nil
}

// PathsOf returns the path of the file of a store, and before it those of the symbolic links by which the store's
// address leads there.
func PathsOf(url string) ([]string, error) {
	path, isFile := strings.CutPrefix(url, "sqlite:")
	if !isFile {
		return nil, noFile("Stop every gateway, restore the copy with pg_restore --exit-on-error --no-owner into an " +
			"empty database at the address in store.url, and run frontdesk migrate --begin-anew.")
	}
	return pathsOf(strings.TrimPrefix(path, "//"))
}

// pathsOf returns the whole path of a database file, and before it those of the symbolic links that lead to it, also
// if no file is there yet: SQLite keeps its log beside the file, and who may write there, or beside a link, may replace
// the database.
func pathsOf(path string) (all []string, err error) {
	path, err = filepath.Abs(path)
	for range mostLinks {
		all = append(all, path)
		to, isNoLink := os.Readlink(path)
		if err != nil || isNoLink != nil {
			break
		}
		if !filepath.IsAbs(to) {
			var folder string // as its own links lead, so that ".." is what is above it
			folder, err = filepath.EvalSymlinks(filepath.Dir(path))
			to = filepath.Join(folder, to)
		}
		path = to
	}
	return all, err
}

const mostLinks = 40 // as Linux follows; SQLite reports what is still a link

func noFile(advice string) error {
	return fault.New(fault.Unsupported, ReasonNoFile, "The store is on PostgreSQL. "+advice)
}

// exclusively keeps other processes from opening the file until release is called. It writes the log into the
// file, so that the file is whole under another name. A damaged file is not an error: no process can use it.
func exclusively(ctx context.Context, path string) (release func(), err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if announced(path) {
		return nil, storeInUse(path)
	}
	connector, err := sqliteConnector(path, url.Values{"_busy_timeout": {"200"}, "_error_rc": {"1"}},
		url.Values{"_pragma": {"locking_mode(EXCLUSIVE)"}, "_journal_mode": {"DELETE"}})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	// The pragmas take the lock as soon as something is written.
	_, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE; COMMIT")
	if err != nil && classifySQLite(err) == again {
		return nil, errors.Join(storeInUse(path), db.Close())
	}
	if err == nil {
		// In this mode SQLite keeps the journal after the commit, with nothing left to roll back ("PRAGMA
		// locking_mode", sqlite.org). It would be put aside with the file.
		_ = os.Remove(path + "-journal")
	}
	return func() { _ = db.Close() }, nil
}

// announced reports whether a running process has announced that it uses the file.
func announced(path string) bool {
	files, err := os.ReadDir(filepath.Dir(path))
	s := &Store{path: path}
	return err == nil && slices.ContainsFunc(files, func(file fs.DirEntry) bool {
		name, is := strings.CutPrefix(file.Name(), filepath.Base(path)+processFile)
		return is && s.Process(name) == ProcessAlive
	})
}

func storeInUse(path string) error {
	return fault.Newf(fault.Conflict, ReasonStoreInUse,
		"The database %s is in use. Stop every gateway and command that works with it, then try again.", path)
}
