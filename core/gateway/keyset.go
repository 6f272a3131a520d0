package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"frontdesk/config"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

func (g *Gateway) openVault(ctx context.Context) (*vault.Vault, error) {
	if err := wantFormerKeySet(g.config); err != nil {
		return nil, err
	}
	kek, err := g.keyEncryptionKey(g.config.Secrets.KMS.Key)
	if err != nil {
		return nil, err
	}
	return vault.OpenEncrypted(ctx, vault.Options{
		Source: g.config.Secrets.Keyset, DataDir: g.config.DataDir, KEK: kek, Now: g.now,
	})
}

// wantFormerKeySet returns a fault if the key set that the gateway made is gone from its data directory. No command
// makes another one in its place: a gateway that serves would take it for a rotated one, and fail to open its rows.
func wantFormerKeySet(cfg config.Config) error {
	path := vault.Missing(cfg.Secrets.Keyset, cfg.DataDir, cfg.Secrets.KMS.Key != "")
	if path == "" {
		return nil
	}
	switch _, err := os.Stat(filepath.Join(cfg.DataDir, sealedFile)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("data_dir: %w", err)
	}
	return fault.Newf(fault.NotFound, ReasonNoKeySet,
		"The key set %s is gone, with which the gateway's database is sealed. Put it back from a backup (mode 0600), or "+
			"name it by secrets.keyset. Without it, nobody can open what the database holds: if it is lost for good, begin "+
			"with another data_dir and an empty database.", path)
}

// keyEncryptionKey returns the key of that name, or nil if the name is empty.
func (g *Gateway) keyEncryptionKey(name string) (vault.KEK, error) {
	if name == "" {
		return nil, nil
	}
	if g.openKey == nil {
		return nil, errors.New("secrets.kms.key: this program reaches no key management service")
	}
	settings := g.config.Secrets.KMS
	key, err := g.openKey(name, settings.URL, func() (string, error) {
		token, err := config.Resolve(config.SecretSource(settings.VaultToken), os.Environ(), nil)
		if err != nil {
			return "", fmt.Errorf("secrets.kms.vault_token %w", err)
		}
		return token, nil
	})
	if err != nil {
		return nil, fmt.Errorf("secrets.kms.key: %w", err)
	}
	return key, nil
}

// checkKeys refuses to serve with a key set that opens none of the credentials in the store. It is another
// gateway's key set, or a new one, created because the right one was not at its configured place.
func (g *Gateway) checkKeys(ctx context.Context) error {
	held := g.heldKeys()
	if well, err := g.anyRowOf(ctx, held); well || err != nil {
		return err
	}
	at, err := g.rows.Standing(ctx, held)
	if missing := keysWithout(at.Keys, held); err == nil && len(missing) > 0 && len(missing) == len(at.Keys) {
		return fmt.Errorf("the key set (secrets.keyset) opens none of the stored credentials, which are "+
			"sealed with the keys %v. Use the key set of the other replicas, or that of the time of a copy", missing)
	}
	return err
}

// anyRowOf reports whether a row is sealed with one of the keys. Where there is one, a start has nothing to refuse,
// and need not read all the others.
func (g *Gateway) anyRowOf(ctx context.Context, held map[uint32]bool) (bool, error) {
	return g.rows.AnySealedWith(ctx, slices.Collect(maps.Keys(held))...)
}

// tellOfRows logs what will be refused to callers: rows that are not sealed, and those whose key the key set
// lacks. It reads every row, so that no start waits for it.
func (g *Gateway) tellOfRows(ctx context.Context) {
	held := g.heldKeys()
	at, err := g.rows.Standing(ctx, held)
	switch missing := keysWithout(at.Keys, held); {
	case ctx.Err() != nil:
	case err != nil:
		g.log.WarnContext(ctx, "it could not be seen how the rows are sealed; run frontdesk doctor", "error", err)
	case at.Former > 0:
		g.log.ErrorContext(ctx, "some rows are refused because they are not sealed; run frontdesk doctor",
			"rows", at.Former)
	case len(missing) > 0:
		g.log.WarnContext(ctx, "the key set lacks keys that some credentials are sealed with; run frontdesk doctor",
			"keys", missing)
	}
}

// heldKeys returns the ids of the keys in the key set.
func (g *Gateway) heldKeys() map[uint32]bool {
	held := map[uint32]bool{}
	for _, k := range g.vault.Status() {
		held[k.ID] = true
	}
	return held
}

// keysWithout returns the keys in use that are not held.
func keysWithout(used map[uint32]int, held map[uint32]bool) (missing []uint32) {
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if !held[id] {
			missing = append(missing, id)
		}
	}
	return missing
}

// Rotation is the result of RotateKeys.
type Rotation struct {
	Primary uint32   `json:"primary"`
	Sealed  int      `json:"sealed"` // credentials and rows sealed again
	Dropped []uint32 `json:"dropped,omitempty"`
}

// PrepareKey adds the key that the next rotation makes the primary one, and returns its id. Gateways with copies of
// the key set get it before anything is sealed with it.
func (g *Gateway) PrepareKey(ctx context.Context) (uint32, error) {
	id, err := g.vault.Prepare()
	if err != nil {
		return 0, err
	}
	return id, g.recordKey(context.WithoutCancel(ctx), "prepare-key", id, nil)
}

// prepareFirst is advice to whoever rotates once more: that adds another key.
const prepareFirst = "and before it keyset rotate --prepare if gateways have copies of the key set"

// RotateKeys makes a new or the prepared key the primary one, seals every credential with it, and drops keys that
// nothing needs. The former primary key stays until the next rotation, for gateways that have not read the new set
// yet.
func (g *Gateway) RotateKeys(ctx context.Context) (Rotation, error) {
	key, err := g.vault.Rotate()
	if err != nil {
		return Rotation{}, err
	}
	done, err := g.sealAgain(ctx, key.ID)
	recorded := g.recordKey(context.WithoutCancel(ctx), "rotate-keyset", key.ID, err) // the key stays, whoever interrupts
	if err != nil {
		return done, errors.Join(recorded, fmt.Errorf("the key %d was added, but not everything is sealed with it; "+
			"run frontdesk keyset rotate again, %s: %w", key.ID, prepareFirst, err))
	}
	return done, recorded
}

// sealAgain seals everything with the new primary key, and drops keys that nothing needs.
func (g *Gateway) sealAgain(ctx context.Context, primary uint32) (Rotation, error) {
	done, err := g.rows.Reseal(ctx)
	rotation := Rotation{Primary: primary, Sealed: done.Sealed}
	if err != nil {
		return rotation, err
	}
	records, err := g.store.Reseal(ctx,
		store.Rows{Stale: func(sealed []byte) bool { return vault.KeyOf(sealed) != primary }})
	rotation.Sealed += records.Rewritten
	if err != nil {
		return rotation, err
	}
	if err := g.audit.Reseal(ctx); err != nil {
		return rotation, err
	}
	audits, err := g.audit.SealedWith(ctx)
	if err != nil {
		return rotation, err
	}
	rotation.Dropped, err = g.vault.Prune(func(id uint32) bool { return done.InUse[id] > 0 || audits[id] })
	return rotation, err
}

// KeyStatus is one key of the key set.
type KeyStatus struct {
	ID          uint32 `json:"id"`
	Primary     bool   `json:"primary"`
	Credentials int    `json:"credentials"` // how many the key seals
}

// Keys returns the keys of the key set.
func (g *Gateway) Keys(ctx context.Context) ([]KeyStatus, error) {
	used, err := g.rows.KeysInUse(ctx)
	if err != nil {
		return nil, err
	}
	var list []KeyStatus
	for _, k := range g.vault.Status() {
		list = append(list, KeyStatus{ID: k.ID, Primary: k.Primary, Credentials: used[k.ID]})
	}
	return list, nil
}

// CopyKeySet writes the key set to a new file: encrypted with the key of that name, or in cleartext if the
// name is empty. Gateways that read the copy open what those with the original have sealed, so that replicas
// can change from one to the other in turn.
func (g *Gateway) CopyKeySet(ctx context.Context, path, key string) error {
	kek, err := g.keyEncryptionKey(key)
	if err != nil {
		return err
	}
	err = g.vault.Copy(ctx, path, kek)
	outcome := audit.Done
	if err != nil {
		outcome = audit.Failed(fault.From(err).Reason)
	}
	return errors.Join(err, g.audit.Record(ctx, audit.Entry{
		Action: "copy-keyset", Subject: path, Outcome: outcome,
	}))
}

func (g *Gateway) examineKeys(ctx context.Context) []Finding {
	const subject = "key set"
	used, err := g.rows.KeysInUse(ctx)
	missing := keysWithout(used, g.heldKeys())
	var findings []Finding
	switch {
	case err != nil:
		findings = append(findings, fails(subject, detailOf(err),
			"Restore the key set that the credentials were sealed with."))
	case len(missing) > 0:
		findings = append(findings, fails(subject,
			fmt.Sprintf("%d credentials are sealed with the key %d, which is not in the key set", used[missing[0]],
				missing[0]),
			"Restore the key set that holds this key, or enter those credentials again."))
	default:
		keys := g.vault.Status()
		findings = append(findings, fine(subject, fmt.Sprintf("every credential can be opened; keys: %d", len(keys))))
		if former := former(used, keys); former > 0 {
			findings = append(findings, warns(subject,
				fmt.Sprintf("%d credentials are sealed with a former key: a rotation is running, or was interrupted",
					former),
				"If no rotation is running, run frontdesk keyset rotate, "+prepareFirst+". Until then, the former key is "+
					"needed."))
		}
	}
	findings = append(findings, g.examineKEK(ctx)...)
	if left := g.vault.Interrupted(); left != "" {
		findings = append(findings, warns(subject, left+" is there: a rotation is running, or was interrupted",
			"If no rotation is running, remove the file. Until then, the key set cannot be rotated."))
	}
	return findings
}

// former counts what is sealed with other keys than the primary one.
func former(used map[uint32]int, keys []vault.Key) (rows int) {
	for _, k := range keys {
		if !k.Primary {
			rows += used[k.ID]
		}
	}
	return rows
}

// examineKEK asks whether the key management service still encrypts. That it decrypts is known: the key set
// was read.
func (g *Gateway) examineKEK(ctx context.Context) []Finding {
	const subject = "key set"
	var findings []Finding
	switch kek, err := g.vault.Encryption(ctx); {
	case err != nil:
		findings = append(findings, warns(subject, "it cannot be encrypted anew: "+err.Error(),
			"The gateway works. Until this is corrected, the key set cannot be rotated here."))
	case kek != "":
		findings = append(findings, fine(subject, "it is encrypted with "+kek))
	}
	if left := g.vault.Cleartext(); left != "" {
		findings = append(findings, warns(subject, left+" holds the keys in cleartext, beside the encrypted key set",
			"Once every replica uses the encrypted one, remove the file."))
	}
	return findings
}
