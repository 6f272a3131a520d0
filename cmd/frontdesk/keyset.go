package main

import (
	"context"
	"fmt"

	"frontdesk/core/gateway"
	"frontdesk/core/kms"
	"frontdesk/core/vault"
)

// openKey is for [gateway.Options].
func openKey(uri, address string, vaultToken func() (string, error)) (vault.KEK, error) {
	key, err := kms.Open(uri, kms.Options{URL: address, VaultToken: vaultToken})
	if err != nil {
		return nil, err
	}
	return key, nil
}

type keysetRotate struct {
	Prepare bool `help:"Only add the key that the next rotation seals with."`
}

func (keysetRotate) Help() string {
	return "The former key stays until the next rotation, for gateways that have not read the new key set yet. " +
		"Gateways that have copies of the key set, as in a Secret or a variable, cannot open what is sealed with a key " +
		"that their copy lacks. So run it with --prepare at first, give all of them the key set, and rotate then."
}

// Run rotates the keys.
func (c keysetRotate) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		if c.Prepare {
			id, err := g.PrepareKey(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintln(s.err, "Nothing is sealed with the new key yet. Once every gateway has this key set, run frontdesk "+
				"keyset rotate. The new key:")
			_, err = fmt.Fprintln(s.out, id)
			return err
		}
		done, err := g.RotateKeys(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Sealed %d credentials again and dropped %d old keys; the former key stays until the next "+
			"rotation. The new primary key:\n", done.Sealed, len(done.Dropped))
		_, err = fmt.Fprintln(s.out, done.Primary)
		return err
	})
}

type keysetStatus struct {
	JSON bool `help:"Print JSON."`
}

// Run lists the keys.
func (c keysetStatus) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		keys, err := g.Keys(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, k := range keys {
			rows = append(rows, []string{fmt.Sprint(k.ID), yes(k.Primary), fmt.Sprint(k.Credentials)})
		}
		return s.list(c.JSON, keys, []string{"ID", "PRIMARY", "CREDENTIALS"}, rows)
	})
}

type keysetCopy struct {
	File      string `arg:"" help:"The file to write. It must not exist yet." type:"path"`
	KMS       string `name:"kms" required:"" xor:"form" placeholder:"KEY" help:"Encrypt the copy with this key, named as in secrets.kms.key."`
	Cleartext bool   `required:"" xor:"form" help:"Write the copy in cleartext."`
}

// Run copies the key set.
func (c keysetCopy) Run(ctx context.Context, s *session) error {
	if err := checkFile(c.File); err != nil {
		return err
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		if err := g.CopyKeySet(ctx, c.File, c.KMS); err != nil {
			return err
		}
		if c.Cleartext {
			fmt.Fprintln(s.err, "The copy holds the keys in cleartext. To use it, set secrets.keyset to "+
				"file:PATH without secrets.kms.key, and restart the gateways in turn.")
			return nil
		}
		fmt.Fprintf(s.err, "To use the copy, set secrets.keyset to file:PATH and secrets.kms.key to %s, and "+
			"restart the gateways in turn.\n", c.KMS)
		return nil
	})
}
