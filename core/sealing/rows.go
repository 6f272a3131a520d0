package sealing

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// Options configure [Rows]. All fields are required.
type Options struct {
	Store   *store.Store
	Vault   *vault.Vault
	Now     func() time.Time
	Log     *slog.Logger
	Changed func() // called after rows were sealed again: cached rows are out of date
}

// Rows maintains the sealed rows of a store for an operator. Create it with [NewRows].
type Rows struct {
	opts   Options
	sealer Sealer
}

// NewRows returns the rows of a store.
func NewRows(o Options) *Rows { return &Rows{opts: o, sealer: New(o.Vault)} }

// WrongRow is a row that the gateway refuses because it is not as the gateway wrote it.
type WrongRow struct {
	Table  string `json:"table"`
	ID     string `json:"id"`
	Tenant string `json:"tenant"` // the tenant's id, as the row has it
	What   string `json:"what"`
}

// String describes the row for people.
func (w WrongRow) String() string {
	return fmt.Sprintf("the row %s of %s (tenant %s) %s", w.ID, w.Table, w.Tenant, w.What)
}

// Wrong lists the connections, the keys, the usable links and the webhooks whose rows are not as the gateway
// wrote them.
func (r *Rows) Wrong(ctx context.Context) ([]WrongRow, error) {
	connections, err := r.opts.Store.AllConnections(ctx)
	if err != nil {
		return nil, err
	}
	var wrong []WrongRow
	for _, row := range connections {
		_, err := r.sealer.OpenConnection(row)
		if vault.IsAway(err) {
			return nil, err
		}
		if err != nil {
			what := "was changed, or the key set is another one"
			if !vault.IsRow(row.Credentials) {
				what = "was not written by this version of the gateway"
			}
			wrong = append(wrong, WrongRow{"connections", row.ID, row.TenantID, what})
		}
	}
	keys, err := r.opts.Store.AllKeys(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		what, err := r.sealer.WrongKey(k)
		if err != nil {
			return nil, err
		}
		if what != "" {
			wrong = append(wrong, WrongRow{"api_keys", k.ID, k.TenantID, what})
		}
	}
	links, err := r.opts.Store.ConnectLinks(ctx, r.opts.Now())
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		genuine, err := r.sealer.Genuine(l)
		if err != nil {
			return nil, err
		}
		if !genuine {
			wrong = append(wrong, WrongRow{
				"connect_links", hex.EncodeToString(l.Hash), l.TenantID, "was changed or put in",
			})
		}
	}
	webhooks, err := r.opts.Store.Webhooks(ctx)
	for _, w := range webhooks {
		_, err := r.sealer.OpenWebhook(w)
		if vault.IsAway(err) {
			return nil, err
		}
		if err != nil {
			wrong = append(wrong, WrongRow{"webhooks", w.ID, w.TenantID, "was changed, or the key set is another one"})
		}
	}
	return wrong, err
}

// AnySealedWith reports whether there is a row sealed as this version seals rows with one of the keys. It does
// not read them all.
func (r *Rows) AnySealedWith(ctx context.Context, keys ...uint32) (bool, error) {
	var heads [][]byte
	for _, key := range keys {
		heads = append(heads, vault.RowHead(key))
	}
	return r.opts.Store.SealedByOneOf(ctx, heads...)
}

// Standing tells how the rows are sealed.
type Standing struct {
	Sealed int // as this version seals them
	Former int // left by a version before
	// Keys counts, by the id of the key, the credentials, tokens, API keys and webhooks that name it. API keys
	// and webhooks count only if the key set holds the key: a row that names another one may be a wrong one.
	Keys map[uint32]int
}

// Standing reads the beginning of every seal, and opens none.
func (r *Rows) Standing(ctx context.Context, held map[uint32]bool) (Standing, error) {
	seals, err := r.opts.Store.Seals(ctx, r.opts.Now())
	s := Standing{Keys: keysOf(seals.Connections, seals.Tokens)}
	for key, rows := range keysOf(seals.Keys, seals.Webhooks) {
		if held[key] {
			s.Keys[key] += rows
		}
	}
	for _, counts := range []map[string]int{seals.Connections, seals.Keys, seals.Links} {
		for head, rows := range counts {
			if vault.IsRow([]byte(head)) {
				s.Sealed += rows
			} else {
				s.Former += rows
			}
		}
	}
	return s, err
}

// Adopt seals the rows of the version before, unchanged, and returns how many it sealed. It trusts the
// database this once: its caller must have reasons outside the database to do so. Rows of this version that
// are wrong stay wrong.
func (r *Rows) Adopt(ctx context.Context) (adopted int, err error) {
	connections, err := r.opts.Store.AllConnections(ctx)
	if err != nil {
		return 0, err
	}
	keys, err := r.opts.Store.AllKeys(ctx)
	if err != nil {
		return 0, err
	}
	links, err := r.opts.Store.ConnectLinks(ctx, r.opts.Now())
	if err != nil {
		return 0, err
	}
	for _, row := range connections {
		if vault.IsRow(row.Credentials) {
			continue
		}
		if err := r.adoptConnection(ctx, row); err != nil {
			r.opts.Log.ErrorContext(ctx, "a connection of an earlier version could not be sealed again",
				"connection", row.ID, "error", err)
			continue
		}
		adopted++
	}
	for _, k := range keys {
		if k.Seal != nil {
			continue
		}
		done, err := r.sealKey(ctx, k)
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
		done, err := r.sealLink(ctx, l)
		if err != nil {
			return adopted, err
		}
		if done {
			adopted++
		}
	}
	r.opts.Changed()
	return adopted, nil
}

func (r *Rows) adoptConnection(ctx context.Context, row store.Connection) error {
	return r.changeConnection(ctx, row, func(row *store.Connection) error {
		if vault.IsRow(row.Credentials) { // another gateway was faster
			return nil
		}
		plain, err := r.opts.Vault.Unseal(row.TenantID, row.ID, row.Credentials)
		if err != nil {
			return err
		}
		return r.sealer.SealConnection(row, plain)
	})
}

// changeConnection changes the sealed value of a row, and nothing that a user set, so it adds no audit row.
func (r *Rows) changeConnection(
	ctx context.Context, row store.Connection, change func(*store.Connection) error,
) error {
	_, err := r.opts.Store.ChangeConnection(ctx, row, func(row *store.Connection) ([]store.AuditRow, error) {
		return nil, change(row)
	})
	r.opts.Changed() // even after a failure: the commit may have succeeded although its reply was lost
	return err
}

// sealKey seals a key's row, unless the row has changed since it was read. It reports whether it sealed it.
func (r *Rows) sealKey(ctx context.Context, was store.APIKey) (bool, error) {
	var signing []byte
	if was.Seal != nil {
		var err error
		if signing, err = r.sealer.Signing(was); err != nil {
			return false, err
		}
		defer clear(signing)
	}
	is := was
	if err := r.sealer.SealKey(&is, signing); err != nil {
		return false, err
	}
	return r.opts.Store.SealKey(ctx, was, is.Seal)
}

// sealLink is sealKey for a link.
func (r *Rows) sealLink(ctx context.Context, was store.ConnectLink) (bool, error) {
	is := was
	if err := r.sealer.SealLink(&is); err != nil {
		return false, err
	}
	return r.opts.Store.SealConnectLink(ctx, was, is.Seal)
}
