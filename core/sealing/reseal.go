package sealing

import (
	"context"
	"errors"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// Resealed is the result of [Rows.Reseal].
type Resealed struct {
	Sealed int            // credentials, tokens and rows sealed again with the primary key
	InUse  map[uint32]int // how many each key still seals, by its id
}

// Reseal seals all credentials and tokens, and the rows of keys and links, with the key set's primary key. It
// can be interrupted and started again at any point: it skips what the primary key has sealed already.
func (r *Rows) Reseal(ctx context.Context) (Resealed, error) {
	primary, err := r.opts.Vault.Primary()
	if err != nil {
		return Resealed{}, err
	}
	var done Resealed
	for _, reseal := range []func(context.Context, uint32) (sealed int, err error){
		r.resealConnections, r.resealKeys, r.resealLinks, r.resealWebhooks, r.resealAllTokens,
	} {
		sealed, err := reseal(ctx, primary)
		done.Sealed += sealed
		if err != nil {
			return done, err
		}
	}
	done.InUse, err = r.KeysInUse(ctx)
	return done, err
}

func (r *Rows) resealConnections(ctx context.Context, primary uint32) (sealed int, err error) {
	rows, err := r.opts.Store.AllConnections(ctx)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if vault.KeyOf(row.Credentials) == primary {
			continue
		}
		if err := r.reseal(ctx, row); err != nil {
			return sealed, err
		}
		sealed++
	}
	return sealed, nil
}

// reseal seals one connection's credentials again. It ignores a connection that was removed in the meantime.
func (r *Rows) reseal(ctx context.Context, row store.Connection) error {
	err := r.changeConnection(ctx, row, func(row *store.Connection) error {
		plain, err := r.sealer.OpenConnection(*row)
		if err != nil {
			return err
		}
		return r.sealer.SealConnection(row, plain)
	})
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// resealKeys seals the rows of API keys again. It skips rows that are not as the gateway wrote them.
func (r *Rows) resealKeys(ctx context.Context, primary uint32) (sealed int, err error) {
	keys, err := r.opts.Store.AllKeys(ctx)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if vault.KeyOf(k.Seal) == primary {
			continue
		}
		what, err := r.sealer.WrongKey(k)
		switch {
		case err != nil:
			return sealed, err
		case what != "":
			r.opts.Log.ErrorContext(ctx, "the row of an API key is not as the gateway wrote it, and is not "+
				"sealed again; run frontdesk doctor", "key", k.ID)
		default:
			if _, err := r.sealKey(ctx, k); err != nil { // a key revoked meanwhile is sealed already
				return sealed, err
			}
			sealed++
		}
	}
	return sealed, nil
}

// resealLinks seals the rows of links again. It skips rows that are not as the gateway wrote them.
func (r *Rows) resealLinks(ctx context.Context, primary uint32) (sealed int, err error) {
	links, err := r.opts.Store.ConnectLinks(ctx, r.opts.Now())
	if err != nil {
		return 0, err
	}
	for _, l := range links {
		if vault.KeyOf(l.Seal) == primary {
			continue
		}
		genuine, err := r.sealer.Genuine(l)
		if err != nil {
			return sealed, err
		}
		if !genuine {
			continue
		}
		if _, err := r.sealLink(ctx, l); err != nil {
			return sealed, err
		}
		sealed++
	}
	return sealed, nil
}

// resealWebhooks seals the secrets of webhooks again. It skips rows that are not as the gateway wrote them.
// One that changes meanwhile was sealed by that change, and the next rotation finds it if that used an older
// key.
func (r *Rows) resealWebhooks(ctx context.Context, primary uint32) (sealed int, err error) {
	webhooks, err := r.opts.Store.Webhooks(ctx)
	if err != nil {
		return 0, err
	}
	for _, was := range webhooks {
		if vault.KeyOf(was.Sealed) == primary {
			continue
		}
		secrets, err := r.sealer.OpenWebhook(was)
		if vault.IsAway(err) {
			return sealed, err
		}
		if err != nil {
			r.opts.Log.ErrorContext(ctx, "the row of a webhook is not as the gateway wrote it, and is not sealed "+
				"again; run frontdesk doctor", "webhook", was.ID)
			continue
		}
		is := was
		err = r.sealer.SealWebhook(&is, secrets)
		clear(secrets)
		if err != nil {
			return sealed, err
		}
		if _, err := r.opts.Store.SealWebhook(ctx, was, is.Sealed); err != nil {
			return sealed, err
		}
		sealed++
	}
	return sealed, nil
}

func (r *Rows) resealAllTokens(ctx context.Context, primary uint32) (sealed int, err error) {
	rows, err := r.opts.Store.AllTokens(ctx)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		again, err := r.resealTokens(ctx, row, primary)
		if err != nil {
			return sealed, err
		}
		if again {
			sealed++
		}
	}
	return sealed, nil
}

// resealTokens seals one connection's tokens again. A process that has not noticed the new key yet may renew
// them meanwhile, so resealTokens repeats until the primary key seals them.
func (r *Rows) resealTokens(ctx context.Context, row store.Tokens, primary uint32) (sealed bool, err error) {
	for there := true; there && vault.KeyOf(row.Sealed) != primary; {
		plain, err := r.opts.Vault.UnsealTokens(row.TenantID, row.ConnectionID, row.Sealed)
		if err != nil {
			return false, err
		}
		again, err := r.opts.Vault.SealTokens(row.TenantID, row.ConnectionID, plain)
		clear(plain)
		if err != nil {
			return false, err
		}
		if same, err := r.opts.Store.ResealTokens(ctx, row, again); same || err != nil {
			return same, err
		}
		if row, there, err = r.opts.Store.Tokens(ctx, row.TenantID, row.ConnectionID); err != nil {
			return false, err
		}
	}
	return false, nil
}

// keysOf counts rows by the ids of the keys that sealed them.
func keysOf(seals ...map[string]int) map[uint32]int {
	keys := map[uint32]int{}
	for _, counts := range seals {
		for head, rows := range counts {
			if head != "" { // a row without credentials
				keys[vault.KeyOf([]byte(head))] += rows
			}
		}
	}
	return keys
}

// KeysInUse counts, by the id of the key, the credentials, tokens, API keys and webhooks that are sealed with
// it.
func (r *Rows) KeysInUse(ctx context.Context) (map[uint32]int, error) {
	seals, err := r.opts.Store.Seals(ctx, r.opts.Now())
	if err != nil {
		return nil, err
	}
	inUse := keysOf(seals.Connections, seals.Tokens)
	keys, err := r.opts.Store.AllKeys(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		what, err := r.sealer.WrongKey(k)
		if err != nil {
			return nil, err
		}
		if what == "" { // a wrong row keeps no key in use
			inUse[vault.KeyOf(k.Seal)]++
		}
	}
	webhooks, err := r.opts.Store.Webhooks(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range webhooks {
		switch _, err := r.sealer.OpenWebhook(w); {
		case vault.IsAway(err):
			return nil, err
		case err == nil: // a wrong row keeps no key in use
			inUse[vault.KeyOf(w.Sealed)]++
		}
	}
	return inUse, nil
}
