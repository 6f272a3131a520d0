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

// Reasons of faults of the data directory and the database.
const (
	ReasonDirectoryExposed = "DIRECTORY_EXPOSED" // others can write where the database or the key set is
	ReasonDatabaseEmpty    = "DATABASE_EMPTY"    // the database or its audit is empty, but was not before
	ReasonDatabaseUnknown  = "DATABASE_UNKNOWN"  // the database is another gateway's
)

// checkDirectories refuses directories that others can write. Anyone who can replace the database or the key
// set can act for every tenant.
func checkDirectories(cfg config.Config) error {
	if err := checkDirectory("data_dir", cfg.DataDir); err != nil {
		return err
	}
	paths, _ := store.PathsOf(storeURL(cfg)) // which opening it reports
	for _, path := range paths {
		if err := checkDirectory("store.url", filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

func checkDirectory(key, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // opening a file in it reports this
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	mode := info.Mode().Perm()
	switch {
	case mode&0o022 == 0:
		return nil
	case info.Mode()&fs.ModeSticky != 0: // other programs need it as it is
		return fault.Newf(fault.Invalid, ReasonDirectoryExposed,
			"%s: %s is a directory for all users, any of whom could put a database or a key set there. Name a "+
				"directory of its own, such as %s.", key, path, filepath.Join(path, "frontdesk"))
	}
	return fault.Newf(fault.Invalid, ReasonDirectoryExposed,
		"%s: other users can write to the directory %s (mode %04o), and so can replace the database or "+
			"the key set. Make sure that nothing in it was changed, then run: chmod go-w "+
			"%s", key, path, mode, path)
}

// checkDatabase refuses a database other than the one that the gateway used last: an empty one, in which
// every tenant is gone, or another gateway's. It compares the database with the audit head in the data
// directory, which is written only once the database has a row and a key to seal it with. A gateway without a
// head is new, or a further replica.
func (g *Gateway) checkDatabase(ctx context.Context) error {
	path := filepath.Join(g.config.DataDir, headFile)
	head, err := audit.ReadHead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Newf(fault.Conflict, ReasonDatabaseUnknown,
			"Nobody can tell whether the database is the one that the gateway used last: %v. Find out what happened "+
				"to that file, which gateways write as a whole. To continue with this database, run: frontdesk "+
				"migrate --begin-anew", err).Because(err)
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

// checkOwnKeySet refuses a key set that the gateway made in a new data directory, beside a database that another one
// has sealed: keys and credentials that it seals are of no use to the gateways there, and break their audit.
func (g *Gateway) checkOwnKeySet(ctx context.Context) error {
	if g.config.Secrets.Keyset != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(g.config.DataDir, headFile)); err == nil {
		return nil // checkDatabase has compared it
	}
	state, err := g.audit.Lineage(ctx, audit.Head{})
	if err != nil || state != audit.LineageOther {
		return err
	}
	return fault.Newf(fault.Conflict, ReasonDatabaseUnknown,
		"The database is sealed with another key set than the one in %s, which no gateway has used yet. Name the right "+
			"one by secrets.keyset, or use its data_dir. If it is lost for good, begin with an empty database.",
		g.config.DataDir)
}

// asideStamp is the layout of the time that ends the name of a file put aside. A restore takes more than a millisecond,
// so that none puts a database in the place of one that was put aside before.
const asideStamp = ".until-20060102T150405.000Z"

// BeginAnew accepts a database that checkDatabase refuses, by putting the known head of the audit aside. It
// returns the new path of the head, or "" if there was none.
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
