// Package sealing seals the rows of connections, API keys and links, and says which rows are not as the
// gateway wrote them.
//
// Whoever can write the database, but has not the key set, can neither send credentials elsewhere nor make or
// change a key: what decides about that is the associated data of what is sealed in the same row. That is the
// whole of a connection's settings, since any of them may name a host, and all of a key but its last use.
package sealing

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// Sealer seals and opens rows. Make one with [New].
type Sealer struct{ vault *vault.Vault }

// New makes a sealer with the keys of a vault.
func New(v *vault.Vault) Sealer { return Sealer{v} }

// boundConnection is what the credentials of a connection belong to.
func boundConnection(row store.Connection) vault.Row {
	settings := string(row.Settings)
	if settings == "" {
		settings = "{}" // as the store keeps it
	}
	return vault.Row{
		Purpose: vault.ConnectionRow, Columns: []string{row.TenantID, row.ID, row.Kind, row.Provider, settings},
	}
}

// SealConnection puts the credentials into a row that is otherwise as it is to be kept. A row without any is
// sealed too, so that its tokens go nowhere else.
func (s Sealer) SealConnection(row *store.Connection, credentials map[string]string) error {
	plain, err := json.Marshal(credentials)
	if err != nil {
		return fault.From(err)
	}
	defer clear(plain)
	row.Credentials, err = s.vault.SealRow(boundConnection(*row), plain)
	return err
}

// OpenConnection returns the credentials of a connection. It fails where the row is not as the gateway wrote
// it.
func (s Sealer) OpenConnection(row store.Connection) (map[string]string, error) {
	plain, err := s.vault.OpenRow(boundConnection(row), row.Credentials)
	if err != nil {
		return nil, unreadable(err)
	}
	defer clear(plain)
	var credentials map[string]string
	if json.Unmarshal(plain, &credentials) != nil { // the decoder's text may quote what it read
		return nil, unreadable(fmt.Errorf("sealing: the credentials of %s are not as this program seals them",
			row.ID))
	}
	return credentials, nil
}

// unreadable is the failure of a connection whose row cannot be opened as a whole.
func unreadable(err error) error {
	f := fault.New(fault.Unavailable, vault.ReasonUnreadable,
		"The stored credentials and settings of this connection cannot be opened together: the row was "+
			"changed in the database, or the key set is another one. The gateway's operator must restore "+
			"what was there, or enter both again.").Because(err)
	f.Unsent = true
	return f
}

// boundKey is everything that a key's row says but when it was last used.
func boundKey(k store.APIKey) vault.Row {
	columns := []string{
		k.ID, k.TenantID, k.Prefix, string(k.Hash), k.Label, strconv.FormatBool(k.Test),
		strconv.FormatInt(k.CreatedAt.UnixMilli(), 10), "", strconv.Itoa(len(k.Scopes)),
	}
	if !k.RevokedAt.IsZero() {
		columns[7] = strconv.FormatInt(k.RevokedAt.UnixMilli(), 10)
	}
	columns = append(columns, k.Scopes...)
	return vault.Row{Purpose: vault.KeyRow, Columns: append(columns, k.Connections...)}
}

// SealKey seals a key's row as it is.
func (s Sealer) SealKey(k *store.APIKey) (err error) {
	k.Seal, err = s.vault.SealRow(boundKey(*k), nil)
	return err
}

// WrongKey tells what is wrong with a key's row; "" nothing.
func (s Sealer) WrongKey(k store.APIKey) string {
	_, err := s.vault.OpenRow(boundKey(k), k.Seal)
	switch {
	case k.Seal == nil:
		return "was not written by this version of the gateway"
	case err != nil:
		return "was changed or inserted, or belongs to another key set"
	case k.Ended && k.RevokedAt.IsZero():
		return "is of a revoked key, and was put back to its former state"
	}
	return ""
}

// boundLink is everything that a link's row says but whether it was used.
func boundLink(l store.ConnectLink) vault.Row {
	return vault.Row{Purpose: vault.LinkRow, Columns: []string{
		hex.EncodeToString(l.Hash), l.TenantID, l.ConnectionID, l.Kind, l.Provider, l.Name, string(l.Settings),
		strconv.FormatBool(l.Reconnects), strconv.FormatBool(l.IsDefault), strconv.FormatBool(l.OtherAccount),
		strconv.FormatInt(l.CreatedAt.UnixMilli(), 10), strconv.FormatInt(l.ExpiresAt.UnixMilli(), 10),
	}}
}

// SealLink seals a link's row as it is.
func (s Sealer) SealLink(l *store.ConnectLink) (err error) {
	l.Seal, err = s.vault.SealRow(boundLink(*l), nil)
	return err
}

// Genuine reports whether a link's row is as the gateway wrote it.
func (s Sealer) Genuine(l store.ConnectLink) bool {
	_, err := s.vault.OpenRow(boundLink(l), l.Seal)
	return err == nil
}
