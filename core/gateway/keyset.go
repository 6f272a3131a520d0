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
