package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"frontdesk/config"
	"frontdesk/core/audit"
	"frontdesk/core/durable"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// ReasonNoKeySet is the reason of the fault if the key set is gone that a database or its copy was sealed with.
const ReasonNoKeySet = "KEY_SET_MISSING"

// Backup writes a consistent copy of the database to a file while gateways serve. The copy holds no key.
func (g *Gateway) Backup(ctx context.Context, file string) error { return g.store.Backup(ctx, file) }

// proof begins the name of a folder in which a copy is proved good.
const proof = ".frontdesk-restore-"

// Restored is the result of Restore.
type Restored struct {
	Tenants int
	Head    audit.Head // of the audit; changes up to it are restored
	Before  string     // the path of the former database; "" if there was none
	// The path of the former head of the audit, if the restored database is older; "" if the head stays.
	HeadFile string
}

// Restore replaces the database with a copy that Backup wrote. It first proves the copy good: the file is
// sound, its schema is known and was brought up to date, the key set opens its credentials, and nobody
// changed its audit. No process may have the database open. The copy itself stays unchanged.
func Restore(ctx context.Context, cfg config.Config, file string, o Options) (done Restored, err error) {
	path, err := store.PathOf(storeURL(cfg))
	if err != nil {
		return done, err
	}
	if err := checkDirectories(cfg); err != nil {
		return done, err
	}
	if err := wantKeySet(cfg); err != nil {
		return done, err
	}
	// The directory has mode 0700. It is on the database's disk, because the candidate is renamed from there.
	durable.RemoveLeftovers(filepath.Dir(path), proof)
	proving, err := os.MkdirTemp(filepath.Dir(path), proof+"*")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(proving)
	candidate := cfg
	candidate.Store.URL = "sqlite:" + filepath.Join(proving, "candidate.db")
	if err := copyFile(ctx, file, filepath.Join(proving, "candidate.db")); err != nil {
		return done, err
	}
	older, err := prove(ctx, candidate, o, file, &done)
	if store.IsDamaged(err) { // the store means the candidate, and would say that the gateway's own is damaged
		err = noBackup(file, "it is damaged, or is no database").Because(err)
	}
	if err != nil {
		return done, err
	}
	now := Gateway{config: cfg, now: o.clock()}
	stamp := now.now().UTC().Format(asideStamp)
	done.Before, err = store.Replace(ctx, storeURL(cfg), filepath.Join(proving, "candidate.db"), path+stamp)
	if err == nil && older {
		done.HeadFile, err = now.BeginAnew()
	}
	return done, err
}

// wantKeySet returns a fault if there is no key set: a new one could not open the copy's credentials.
func wantKeySet(cfg config.Config) error {
	path := vault.Missing(cfg.Secrets.Keyset, cfg.DataDir, cfg.Secrets.KMS.Key != "")
	if path == "" {
		return nil
	}
	return fault.Newf(fault.NotFound, ReasonNoKeySet,
		"There is no key set, and the copy holds none. Without one, the credentials in the copy cannot be "+
			"opened. Put the key set at %s (mode 0600), or name it by secrets.keyset, and try again.", path)
}

// prove opens and checks the candidate as a gateway does. It reports whether the candidate is older than the
// head in the data directory. file is what the candidate is a copy of.
func prove(
	ctx context.Context, cfg config.Config, o Options, file string, found *Restored,
) (older bool, err error) {
	g, err := Open(ctx, cfg, o)
	if err != nil {
		return false, err
	}
	defer g.Close()
	switch version, err := g.store.Version(ctx); {
	case err != nil:
		return false, err
	case version == 0:
		return false, noBackup(file, "it has none of Frontdesk's tables")
	}
	// Check the candidate before any statement changes it.
	if err := errors.Join(g.store.Check(ctx), g.store.Migrate(ctx), g.checkKeys(ctx)); err != nil {
		return false, err
	}
	report, err := g.audit.Verify(ctx, audit.VerifyOptions{})
	if err != nil {
		return false, err
	}
	if !report.Sound {
		return false, fault.Newf(fault.Conflict, store.ReasonNoBackup,
			"The audit in the copy was tampered with: %s. Restore another copy.", report.Problem)
	}
	tenants, err := g.tenants.List(ctx)
	found.Tenants, found.Head = len(tenants), report.Head
	if err != nil {
		return false, err
	}
	known, err := g.knownHeads()
	if err != nil || len(known) == 0 {
		return false, err
	}
	held, err := g.audit.Verify(ctx, audit.VerifyOptions{Known: known})
	return !held.Sound, err
}

// noBackup returns the fault for a file that Backup did not write, or that was damaged since.
func noBackup(file, why string) *fault.Error {
	return fault.Newf(fault.Invalid, store.ReasonNoBackup, "The file %s is not a sound backup of Frontdesk: %s. "+
		"The gateway's database was not touched. Restore another copy.", file, why)
}

// copyFile copies a backup to a new file that only its owner can read.
func copyFile(ctx context.Context, from, to string) error {
	if _, err := os.Stat(from + "-wal"); err == nil {
		return fault.Newf(fault.Invalid, store.ReasonNoBackup,
			"The file %[1]s-wal holds the last changes of %[1]s, so this is not a copy that frontdesk "+
				"backup wrote. Stop the gateway and put both files in the place of the database, or restore "+
				"another copy.", from)
	}
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the copy cannot be read: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close(), ctx.Err())
}
