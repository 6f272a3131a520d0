package tenant

import (
	"context"
	"errors"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// Resealed is what a Reseal did.
type Resealed struct {
	Sealed  int            // connections sealed again with the primary key
	Already int            // connections that were already
	InUse   map[uint32]int // how many connections each key is needed for now
}

// Reseal seals all credentials with the key set's primary key. It can be ended and begun again at any point: what is
// sealed with the primary key already is passed over.
func (d *Directory) Reseal(ctx context.Context) (Resealed, error) {
	primary, err := d.vault.Primary()
	if err != nil {
		return Resealed{}, err
	}
	rows, err := d.store.AllConnections(ctx)
	if err != nil {
		return Resealed{}, err
	}
	var done Resealed
	for _, row := range rows {
		switch {
		case len(row.Credentials) == 0:
		case vault.KeyOf(row.Credentials) == primary:
			done.Already++
		default:
			if err := d.reseal(ctx, row); err != nil {
				return done, err
			}
			done.Sealed++
		}
	}
	done.InUse, err = d.KeysInUse(ctx)
	return done, err
}

// reseal seals one connection's credentials again. One that was removed in the meantime needs it no more.
func (d *Directory) reseal(ctx context.Context, row store.Connection) error {
	_, err := d.changeConnection(ctx, row, func(row *store.Connection) error {
		plain, err := d.vault.Unseal(row.TenantID, row.ID, row.Credentials)
		if err != nil {
			return err
		}
		row.Credentials, err = d.vault.Seal(row.TenantID, row.ID, plain)
		return err
	})
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// KeysInUse counts, by the id of the key, the connections whose credentials are sealed with it.
func (d *Directory) KeysInUse(ctx context.Context) (map[uint32]int, error) {
	rows, err := d.store.AllConnections(ctx)
	if err != nil {
		return nil, err
	}
	inUse := map[uint32]int{}
	for _, row := range rows {
		if len(row.Credentials) > 0 {
			inUse[vault.KeyOf(row.Credentials)]++
		}
	}
	return inUse, nil
}
