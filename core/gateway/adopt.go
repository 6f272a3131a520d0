package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"frontdesk/core/audit"
	"frontdesk/core/durable"
	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
)

// sealedFile marks, beside a key set that the gateway created itself, that the database's rows are sealed
// with that key set. Anyone who can remove the file can also read the key set.
const sealedFile = "rows-sealed"

// Migrate brings the store's tables up to date. Several replicas may call it at once. If the gateway created
// its key set itself, the first call also adopts the rows of a version that did not seal them; see Adopt.
func (g *Gateway) Migrate(ctx context.Context) error {
	if err := g.checkDatabase(ctx); err != nil {
		return err
	}
	if err := g.store.Migrate(ctx); err != nil {
		return err
	}
	if g.config.Secrets.Keyset == "" {
		_, err := os.Stat(g.sealedPath())
		if errors.Is(err, fs.ErrNotExist) {
			return g.adopt(ctx)
		}
		if err != nil {
			return fmt.Errorf("data_dir: %w", err)
		}
	}
	held := g.heldKeys()
	if well, err := g.anyRowOf(ctx, held); well || err != nil {
		return err
	}
	at, err := g.rows.Standing(ctx, held)
	if err == nil && at.Former > 0 && at.Sealed == 0 {
		return fault.Newf(fault.Unavailable, "ROWS_NOT_SEALED",
			"The database has %d rows of a version that did not seal them, so nothing shows whether "+
				"somebody changed them. If this is the first start after an upgrade, or with a backup from "+
				"before it, run: frontdesk migrate --adopt", at.Former)
	}
	return err
}

// Adopt brings the tables up to date and seals the unsealed rows of an earlier version as they are. No
// database shows that somebody put it back to a state from before its rows were sealed. So adopting takes an
// operator's command, or a missing sealedFile beside a key set that the gateway created itself.
func (g *Gateway) Adopt(ctx context.Context) error {
	if err := g.checkDatabase(ctx); err != nil {
		return err
	}
	if err := g.store.Migrate(ctx); err != nil {
		return err
	}
	return g.adopt(ctx)
}

func (g *Gateway) adopt(ctx context.Context) error {
	if err := g.checkOwnKeySet(ctx); err != nil {
		return err
	}
	adopted, err := g.rows.Adopt(ctx)
	if err != nil {
		return err
	}
	records, err := g.store.Reseal(ctx, store.Rows{Adopt: true})
	if err != nil {
		return err
	}
	adopted += records.Rewritten
	if adopted > 0 {
		g.log.WarnContext(ctx, "rows of an earlier version were sealed as they are", "rows", adopted)
		if err := g.store.Rebuild(ctx); err != nil { // otherwise their unsealed content stays in free pages
			g.log.WarnContext(ctx, "the database file could not be rebuilt; run VACUUM on it while no "+
				"gateway serves",
				"error", err)
		}
		if err := g.audit.Record(ctx, audit.Entry{Action: "adopt-rows", Outcome: audit.Done}); err != nil {
			return err
		}
	}
	if g.config.Secrets.Keyset != "" {
		return nil
	}
	// A new file, and not what a link of that name leads to: root gives it to the owner of the directory, who may have
	// put a link there.
	file, err := os.OpenFile(g.sealedPath(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(durable.KeepOwner(file, g.config.DataDir), file.Close())
	}
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	return nil
}

func (g *Gateway) sealedPath() string { return filepath.Join(g.config.DataDir, sealedFile) }

// WrongRows returns the connections, keys and links that are refused because their rows are not as the
// gateway wrote them.
func (g *Gateway) WrongRows(ctx context.Context) ([]sealing.WrongRow, error) {
	return g.rows.Wrong(ctx)
}

func (g *Gateway) examineRows(ctx context.Context) []Finding {
	const subject = "rows"
	wrong, err := g.WrongRows(ctx)
	var records store.SealedRows
	if err == nil {
		records, err = g.store.Reseal(ctx, store.Rows{})
	}
	if err != nil {
		return []Finding{fails(subject, detailOf(err), checkStore)}
	}
	var findings []Finding
	if bad := records.Plain + records.Unreadable; bad > 0 {
		findings = append(findings, fails(subject,
			fmt.Sprintf("%d of %d calls and documents cannot be opened", bad, bad+records.Sealed),
			"Somebody changed them in the database, or they belong to another key set, or they are from before an "+
				"upgrade. In the last case, run frontdesk migrate --adopt."))
	}
	if len(wrong)+len(findings) == 0 {
		return []Finding{fine(subject,
			"every connection, key and link is as the gateway wrote it, and what callers said is sealed")}
	}
	for _, row := range wrong {
		findings = append(findings, fails(subject, row.String(),
			"The gateway refuses this row. Find out who can write the database. Then enter the connection again, or "+
				"revoke the key and create another. After an upgrade, or with a backup from before it, run frontdesk "+
				"migrate --adopt."))
	}
	return findings
}
