// Package sealing seals the rows of connections, API keys, links and webhooks, and reports which rows are not
// as the gateway wrote them.
//
// Someone who can write to the database but does not have the key set can neither send credentials to another
// host nor create or change a key. The columns that matter for this are the associated data of the value
// sealed in the same row: all settings of a connection, since any of them may name a host, and every column
// of a key but its last use.
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

// New returns a sealer that uses the keys of a vault.
func New(v *vault.Vault) Sealer { return Sealer{v} }

// boundConnection returns the columns that a connection's credentials are bound to.
func boundConnection(row store.Connection) vault.Row {
	settings := string(row.Settings)
	if settings == "" {
		settings = "{}" // as the store keeps empty settings
	}
	return vault.Row{
		Purpose: vault.ConnectionRow, Columns: []string{row.TenantID, row.ID, row.Kind, row.Provider, settings},
	}
}

// SealConnection seals the credentials into a row whose other columns are already as they are to be stored. A
// row without credentials is sealed too, so that its tokens cannot be sent elsewhere.
func (s Sealer) SealConnection(row *store.Connection, credentials map[string]string) error {
	plain, err := json.Marshal(credentials)
	if err != nil {
		return fault.From(err)
	}
	defer clear(plain)
	row.Credentials, err = s.vault.SealRow(boundConnection(*row), plain)
	return err
}

// OpenConnection returns the credentials of a connection. It fails if the row is not as the gateway wrote it.
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

// unreadable returns the fault for a connection whose row cannot be opened.
func unreadable(err error) error {
	return fault.Unacted(fault.New(fault.Unavailable, vault.ReasonUnreadable,
		"The stored credentials and settings of this connection cannot be opened together: the row was "+
			"changed in the database, or the key set is another one. The gateway's operator must restore "+
			"what was there, or enter both again.").Because(err))
}

// boundKey returns every column of a key's row but its last use.
func boundKey(k store.APIKey) vault.Row {
	columns := []string{
		k.ID, k.TenantID, k.Prefix, string(k.Hash), k.Label, strconv.FormatBool(k.Test),
		strconv.FormatInt(k.CreatedAt.UnixMilli(), 10), "", strconv.Itoa(len(k.Scopes)),
	}
	if !k.RevokedAt.IsZero() {
		columns[7] = strconv.FormatInt(k.RevokedAt.UnixMilli(), 10)
	}
	if !k.EndsAt.IsZero() { // in a column that every row has, so that rows without it keep their seals
		columns[7] += " until " + strconv.FormatInt(k.EndsAt.UnixMilli(), 10)
	}
	if k.Platform != "" {
		columns[7] += " at " + k.Platform
	}
	columns = append(columns, k.Scopes...)
	return vault.Row{Purpose: vault.KeyRow, Columns: append(columns, k.Connections...)}
}

// SealKey seals a key's row as it is, and the signing secret of a voice agent into it. Other keys have none.
func (s Sealer) SealKey(k *store.APIKey, signing []byte) (err error) {
	k.Seal, err = s.vault.SealRow(boundKey(*k), signing)
	return err
}

// Signing returns the signing secret of a voice agent. It fails if the row is not as the gateway wrote it.
func (s Sealer) Signing(k store.APIKey) ([]byte, error) {
	switch what, err := s.WrongKey(k); {
	case err != nil:
		return nil, err
	case what != "":
		return nil, fault.Newf(fault.Unavailable, vault.ReasonUnreadable,
			"The row of the API key %s %s. Run frontdesk doctor, and create it anew.", k.ID, what)
	}
	return s.vault.OpenRow(boundKey(k), k.Seal)
}

// WrongKey returns what is wrong with a key's row, or "" if nothing is. It fails if the key set cannot be read: then
// nothing is known of the row.
func (s Sealer) WrongKey(k store.APIKey) (what string, err error) {
	_, opened := s.vault.OpenRow(boundKey(k), k.Seal)
	switch {
	case k.Seal == nil:
		return "was not written by this version of the gateway", nil
	case vault.IsAway(opened):
		return "", opened
	case opened != nil:
		return "was changed or inserted, or belongs to another key set", nil //nolint:nilerr // that is what is wrong
	case k.Ended && k.RevokedAt.IsZero(), k.Rolled && k.EndsAt.IsZero():
		return "is of a revoked or rolled key, and was put back to its former state", nil
	}
	return "", nil
}

// boundLink returns every column of a link's row but the time of its use.
func boundLink(l store.ConnectLink) vault.Row {
	columns := []string{
		hex.EncodeToString(l.Hash), l.TenantID, l.ConnectionID, l.Kind, l.Provider, l.Name, string(l.Settings),
		strconv.FormatBool(l.Reconnects), strconv.FormatBool(l.IsDefault), strconv.FormatBool(l.OtherAccount),
		strconv.FormatInt(l.CreatedAt.UnixMilli(), 10), strconv.FormatInt(l.ExpiresAt.UnixMilli(), 10),
	}
	if l.ReturnURL != "" { // rows without it keep their seals
		columns = append(columns, l.ReturnURL)
	}
	return vault.Row{Purpose: vault.LinkRow, Columns: columns}
}

// boundWebhook returns the columns that a webhook's secrets are bound to.
func boundWebhook(w store.Webhook) vault.Row {
	columns := []string{w.ID, w.TenantID, w.URL, strconv.FormatInt(w.CreatedAt.UnixMilli(), 10)}
	return vault.Row{Purpose: vault.WebhookRow, Columns: append(columns, w.Types...)}
}

// SealWebhook seals signing secrets into a row whose other columns are already as they are to be stored.
func (s Sealer) SealWebhook(w *store.Webhook, secrets []byte) (err error) {
	w.Sealed, err = s.vault.SealRow(boundWebhook(*w), secrets)
	return err
}

// OpenWebhook returns the signing secrets of a webhook. It fails if the row is not as the gateway wrote it, or
// if the key set, which tells that, cannot be read: see [vault.IsAway].
func (s Sealer) OpenWebhook(w store.Webhook) ([]byte, error) {
	secrets, err := s.vault.OpenRow(boundWebhook(w), w.Sealed)
	if vault.IsAway(err) {
		return nil, err
	}
	if err != nil {
		return nil, fault.Newf(fault.Unavailable, vault.ReasonUnreadable,
			"The row of the webhook %s was changed in the database, or the key set is another one. Run "+
				"frontdesk doctor, and add the webhook again.", w.ID).Because(err)
	}
	return secrets, nil
}

// SealLink seals a link's row as it is.
func (s Sealer) SealLink(l *store.ConnectLink) (err error) {
	l.Seal, err = s.vault.SealRow(boundLink(*l), nil)
	return err
}

// Genuine reports whether a link's row is as the gateway wrote it. It fails if the key set cannot be read:
// then nothing is known of the row.
func (s Sealer) Genuine(l store.ConnectLink) (bool, error) {
	_, opened := s.vault.OpenRow(boundLink(l), l.Seal)
	if vault.IsAway(opened) {
		return false, opened
	}
	return opened == nil, nil
}
