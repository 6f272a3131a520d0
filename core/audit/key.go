package audit

import (
	"context"
	"crypto/rand"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// ring holds the keys of the audit that the key set opens.
type ring struct {
	held    map[string][]byte
	current string // id of the key for new MACs; "": none
}

// keyBytes is the length of a key: that of the hash, as RFC 2104 section 3 advises.
const keyBytes = 32

// Ready reads the key, or creates it if there is none, so that the first change need not.
func (l *Log) Ready(ctx context.Context) error {
	_, err := l.keys(ctx)
	return err
}

// keys returns the ring, with a key for new MACs. It creates the key if there is none.
func (l *Log) keys(ctx context.Context) (*ring, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ring != nil {
		return l.ring, nil
	}
	there, found, err := l.readKeys(ctx)
	if err != nil {
		return nil, err
	}
	if there.current == "" {
		if found > 0 {
			l.opts.Log.ErrorContext(ctx, "the key set opens no key of the audit; the gateway makes a new one, "+
				"and earlier rows cannot be verified without the former key set")
		}
		made, err := l.makeKey(ctx)
		if err != nil {
			return nil, err
		}
		there = made
	}
	l.ring = there
	return there, nil
}

// reread reads the keys again: another gateway may have created one.
func (l *Log) reread(ctx context.Context) (*ring, error) {
	there, _, err := l.readKeys(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if there.current != "" {
		l.ring = there
	}
	return there, nil
}

// readKeys returns the keys that the key set opens, and how many there are in all. The newest is the one in
// use.
func (l *Log) readKeys(ctx context.Context) (*ring, int, error) {
	rows, err := l.opts.Store.AuditKeys(ctx)
	if err != nil {
		return nil, 0, err
	}
	there := &ring{held: map[string][]byte{}}
	for _, row := range rows {
		key, err := l.opts.Vault.UnsealAuditKey(row.ID, row.Sealed)
		if err != nil {
			l.opts.Log.WarnContext(ctx, "a key of the audit cannot be opened", "key", row.ID, "error", err)
			continue
		}
		there.held[row.ID], there.current = key, row.ID
	}
	return there, len(rows), nil
}

func (l *Log) makeKey(ctx context.Context) (*ring, error) {
	id, key := rand.Text()[:12], make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fault.From(err)
	}
	sealed, err := l.opts.Vault.SealAuditKey(id, key)
	if err != nil {
		return nil, err
	}
	made := &ring{held: map[string][]byte{id: key}, current: id}
	// An empty chain has a head too, so that a chain that was emptied does not look new.
	first := store.AuditHead{KeyID: id}
	first.Seal = made.seal(first)
	if err := l.opts.Store.AddAuditKey(ctx, store.AuditKey{ID: id, Sealed: sealed, CreatedAt: l.opts.Now()},
		first); err != nil {
		return nil, err
	}
	return made, nil
}

// Reseal seals the keys with the key set's primary key. The keys themselves do not change, so existing MACs
// stay valid.
func (l *Log) Reseal(ctx context.Context) error {
	primary, err := l.opts.Vault.Primary()
	if err != nil {
		return err
	}
	rows, err := l.opts.Store.AuditKeys(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if vault.KeyOf(row.Sealed) == primary {
			continue
		}
		key, err := l.opts.Vault.UnsealAuditKey(row.ID, row.Sealed)
		if err != nil {
			l.opts.Log.WarnContext(ctx, "a key of the audit cannot be opened, and so cannot be sealed again",
				"key", row.ID, "error", err)
			continue
		}
		again, err := l.opts.Vault.SealAuditKey(row.ID, key)
		clear(key)
		if err != nil {
			return err
		}
		if err := l.opts.Store.ResealAuditKey(ctx, row.ID, again); err != nil {
			return err
		}
	}
	return nil
}

// SealedWith reports which keys of the key set the audit's keys are sealed with.
func (l *Log) SealedWith(ctx context.Context) (map[uint32]bool, error) {
	rows, err := l.opts.Store.AuditKeys(ctx)
	if err != nil {
		return nil, err
	}
	used := map[uint32]bool{}
	for _, row := range rows {
		used[vault.KeyOf(row.Sealed)] = true
	}
	return used, nil
}
