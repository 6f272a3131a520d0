package tenant

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// Whoever can write the database, but has not the key set, can neither send credentials elsewhere nor make or
// change a key: what decides about that is the associated data of what is sealed in the same row. That is the
// whole of a connection's settings, since any of them may name a host, and all of a key but its last use.

// boundConnection is what the credentials of a connection belong to.
func boundConnection(row store.Connection) vault.Row {
	settings := string(row.Settings)
	if settings == "" {
		settings = "{}" // as the store keeps it
	}
	return vault.Row{Purpose: vault.ConnectionRow, Columns: []string{row.TenantID, row.ID, row.Kind, row.Provider, settings}}
}

// sealConnection puts the credentials into a row that is otherwise as it is to be kept. A row without any is
// sealed too, so that its tokens go nowhere else.
func (d *Directory) sealConnection(row *store.Connection, credentials map[string]string) error {
	plain, err := json.Marshal(credentials)
	if err != nil {
		return fault.From(err)
	}
	defer clear(plain)
	row.Credentials, err = d.vault.SealRow(boundConnection(*row), plain)
	return err
}

// openConnection returns the credentials of a connection. It fails where the row is not as the gateway wrote
// it.
func (d *Directory) openConnection(row store.Connection) (map[string]string, error) {
	plain, err := d.vault.OpenRow(boundConnection(row), row.Credentials)
	if err != nil {
		return nil, unfounded(err)
	}
	defer clear(plain)
	var credentials map[string]string
	if json.Unmarshal(plain, &credentials) != nil { // the decoder's text may quote what it read
		return nil, unfounded(fmt.Errorf("tenant: the credentials of %s are not as this program seals them", row.ID))
	}
	return credentials, nil
}

// unfounded is the failure of a connection whose row cannot be opened as a whole.
func unfounded(err error) error {
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

// wrongKey tells what is wrong with a key's row; "" nothing.
func (d *Directory) wrongKey(k store.APIKey) string {
	_, err := d.vault.OpenRow(boundKey(k), k.Seal)
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

func (d *Directory) genuineLink(l store.ConnectLink) bool {
	_, err := d.vault.OpenRow(boundLink(l), l.Seal)
	return err == nil
}

// WrongRow is a row that the gateway refuses because it is not as the gateway wrote it.
type WrongRow struct {
	Table  string `json:"table"`
	ID     string `json:"id"`
	Tenant string `json:"tenant"` // its id, as the row has it
	What   string `json:"what"`
}

// String says it for people.
func (w WrongRow) String() string {
	return fmt.Sprintf("the row %s of %s (tenant %s) %s", w.ID, w.Table, w.Tenant, w.What)
}

// WrongRows lists the connections, keys and links in force that are refused because of their rows.
func (d *Directory) WrongRows(ctx context.Context) ([]WrongRow, error) {
	connections, err := d.store.AllConnections(ctx)
	if err != nil {
		return nil, err
	}
	var wrong []WrongRow
	for _, row := range connections {
		if _, err := d.openConnection(row); err != nil {
			what := "was changed, or the key set is another one"
			if !vault.IsRow(row.Credentials) {
				what = "was not written by this version of the gateway"
			}
			wrong = append(wrong, WrongRow{"connections", row.ID, row.TenantID, what})
		}
	}
	keys, err := d.store.AllKeys(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if what := d.wrongKey(k); what != "" {
			wrong = append(wrong, WrongRow{"api_keys", k.ID, k.TenantID, what})
		}
	}
	links, err := d.store.ConnectLinks(ctx, d.now())
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if !d.genuineLink(l) {
			wrong = append(wrong, WrongRow{"connect_links", hex.EncodeToString(l.Hash), l.TenantID, "was changed or put in"})
		}
	}
	return wrong, nil
}

// Standing is how many rows are sealed as this version seals them, and how many as the one before.
type Standing struct{ Sealed, Former int }

// Standing counts the rows.
func (d *Directory) Standing(ctx context.Context) (Standing, error) {
	connections, keys, links, err := d.sealable(ctx)
	var s Standing
	count := func(sealed []byte) {
		if vault.IsRow(sealed) {
			s.Sealed++
		} else {
			s.Former++
		}
	}
	for _, row := range connections {
		count(row.Credentials)
	}
	for _, k := range keys {
		count(k.Seal)
	}
	for _, l := range links {
		count(l.Seal)
	}
	return s, err
}

func (d *Directory) sealable(ctx context.Context) (c []store.Connection, k []store.APIKey, l []store.ConnectLink, err error) {
	if c, err = d.store.AllConnections(ctx); err != nil {
		return c, k, l, err
	}
	if k, err = d.store.AllKeys(ctx); err != nil {
		return c, k, l, err
	}
	l, err = d.store.ConnectLinks(ctx, d.now())
	return c, k, l, err
}

// Adopt seals the rows of the version before, as they are, and returns how many. It believes the database,
// once: whoever calls it has reasons outside the database to do so. Rows of this version that are wrong stay
// wrong.
func (d *Directory) Adopt(ctx context.Context) (adopted int, err error) {
	connections, keys, links, err := d.sealable(ctx)
	if err != nil {
		return 0, err
	}
	for _, row := range connections {
		if vault.IsRow(row.Credentials) {
			continue
		}
		if err := d.adoptConnection(ctx, row); err != nil {
			d.log.ErrorContext(ctx, "a connection of an earlier version could not be sealed again",
				"connection", row.ID, "error", err)
			continue
		}
		adopted++
	}
	for _, k := range keys {
		if k.Seal != nil {
			continue
		}
		done, err := d.sealKey(ctx, k)
		if err != nil {
			return adopted, err
		}
		if done {
			adopted++
		}
	}
	for _, l := range links {
		if l.Seal != nil {
			continue
		}
		seal, err := d.vault.SealRow(boundLink(l), nil)
		if err != nil {
			return adopted, err
		}
		done, err := d.store.SealConnectLink(ctx, l, seal)
		if err != nil {
			return adopted, err
		}
		if done {
			adopted++
		}
	}
	d.callers.forget()
	return adopted, nil
}

func (d *Directory) adoptConnection(ctx context.Context, row store.Connection) error {
	_, err := d.changeConnection(ctx, row, unaudited, func(row *store.Connection) error {
		if vault.IsRow(row.Credentials) { // another gateway was faster
			return nil
		}
		plain, err := d.vault.Unseal(row.TenantID, row.ID, row.Credentials)
		if err != nil {
			return err
		}
		return d.sealConnection(row, plain)
	})
	return err
}

// sealKey seals a key's row as it was read.
func (d *Directory) sealKey(ctx context.Context, k store.APIKey) (bool, error) {
	seal, err := d.vault.SealRow(boundKey(k), nil)
	if err != nil {
		return false, err
	}
	return d.store.SealKey(ctx, k, seal)
}
