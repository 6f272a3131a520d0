package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"frontdesk/config"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// Reasons of faults of what the gateway keeps.
const (
	ReasonDirectoryExposed = "DIRECTORY_EXPOSED" // others can write where the database or the key set is
	ReasonDatabaseEmpty    = "DATABASE_EMPTY"    // beside a key set that was used
	ReasonDatabaseUnknown  = "DATABASE_UNKNOWN"  // it is another gateway's
)

// checkDirectories refuses directories that others can write. Who can put a file in the place of the database
// or of the key set acts for every tenant.
func checkDirectories(cfg config.Config) error {
	if err := checkDirectory("data_dir", cfg.DataDir); err != nil {
		return err
	}
	if path, err := store.PathOf(storeURL(cfg)); err == nil {
		return checkDirectory("store.url", filepath.Dir(path))
	}
	return nil
}

func checkDirectory(key, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // for who opens what is in it to report
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fault.Newf(fault.Invalid, ReasonDirectoryExposed,
			"%s: other users can write to the directory %s (mode %04o), and so can replace the database or "+
				"the key set. Make sure that nothing in it was changed, then run: chmod go-w "+
				"%s", key, path, mode, path)
	}
	return nil
}

// checkDatabase refuses a database that is not the one that the gateway worked with last: an empty one, in
// which every tenant is gone, or another gateway's. The head of the audit that is kept in the data directory
// tells: nothing writes one before the database has a row, and a key to seal it with. A gateway without a
// head is new, or a further replica.
func (g *Gateway) checkDatabase(ctx context.Context) error {
	path := filepath.Join(g.config.DataDir, headFile)
	head, err := audit.ReadHead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := g.audit.Lineage(ctx, head)
	switch {
	case err != nil:
		return err
	case state == audit.LineageNone:
		return fault.Newf(fault.Conflict, ReasonDatabaseEmpty,
			"The database is empty, or its audit was emptied: %s knows %d rows of it. Check store.url, or "+
				"restore the database with frontdesk restore. To start with this database, run: frontdesk "+
				"migrate --begin-anew", path, head.Rows)
	case state == audit.LineageOther:
		return fault.Newf(fault.Conflict, ReasonDatabaseUnknown,
			"The database belongs to another gateway: the key set opens none of its audit keys, and it does "+
				"not have the rows that %s knows. Check store.url and secrets.keyset. To continue with this "+
				"database, run: frontdesk migrate --begin-anew", path)
	}
	return nil
}

// asideStamp is the end of the name of what is put aside.
const asideStamp = ".until-20060102T150405Z"

// BeginAnew accepts the database as it is, where checkDatabase refuses it: the head of the audit that was
// kept so far is put aside. It returns where it is now, or "" where there was none.
func (g *Gateway) BeginAnew() (aside string, err error) {
	path := filepath.Join(g.config.DataDir, headFile)
	aside = path + g.now().UTC().Format(asideStamp)
	switch err := os.Rename(path, aside); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	return aside, nil
}
