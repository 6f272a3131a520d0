package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"frontdesk/core/fault"
)

const (
	keyWritten = "id, tenant_id, prefix, hash, label, scopes, connections, test, created_at, revoked_at, " +
		"last_used_at, seal, ends_at, platform"
	// The names of the actions are core/apikey's. They are written out because the indexes cover only these
	// rows.
	keyColumns = keyWritten + ", " +
		"EXISTS (SELECT 1 FROM audit WHERE audit.action = 'revoke-key' AND audit.subject = api_keys.id), " +
		"EXISTS (SELECT 1 FROM audit WHERE audit.action = 'roll-key' AND audit.subject = api_keys.id)"
)

func scanKey(row scanner) (k APIKey, err error) {
	var scopes, connections []byte
	var created int64
	var tenantID *string
	var revoked, used, ends *int64
	err = row.Scan(&k.ID, &tenantID, &k.Prefix, &k.Hash, &k.Label, &scopes, &connections, &k.Test, &created,
		&revoked, &used,
		&k.Seal, &ends, &k.Platform, &k.Ended, &k.Rolled)
	if err != nil {
		return k, err
	}
	k.CreatedAt, k.RevokedAt, k.LastUsedAt = instant(created), optionalInstant(revoked), optionalInstant(used)
	k.EndsAt = optionalInstant(ends)
	if tenantID != nil {
		k.TenantID = *tenantID
	}
	if err := json.Unmarshal(scopes, &k.Scopes); err != nil {
		return k, err
	}
	return k, json.Unmarshal(connections, &k.Connections)
}

// CreateKey adds a key. It returns fault.Conflict for a voice agent if another one has its name.
func (s *Store) CreateKey(ctx context.Context, k APIKey, audit ...AuditRow) error {
	args, err := keyArgs(k)
	if err != nil {
		return err
	}
	_, err = s.execCreating(ctx, k.TenantID, k, audit, insertKey, args...)
	if errors.Is(err, fault.NotFound) {
		return tenantNotFound()
	}
	return err
}

const insertKey = "INSERT INTO api_keys (" + keyWritten + ") " +
	"VALUES ($1, NULLIF($2, ''), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"

func keyArgs(k APIKey) ([]any, error) {
	scopes, err := json.Marshal(k.Scopes)
	if err != nil {
		return nil, err
	}
	connections, err := json.Marshal(k.Connections)
	return []any{
		k.ID, k.TenantID, k.Prefix, k.Hash, k.Label, string(scopes), string(connections), k.Test,
		millis(k.CreatedAt), optional(k.RevokedAt), optional(k.LastUsedAt), k.Seal,
		optional(k.EndsAt), k.Platform,
	}, err
}

// KeyByHash returns the key of that hash, revoked or not.
func (s *Store) KeyByHash(ctx context.Context, hash []byte) (APIKey, error) {
	k, found, err := findIn(ctx, s, scanKey, "SELECT "+keyColumns+" FROM api_keys WHERE hash = $1", hash)
	if err == nil && !found {
		return APIKey{}, keyNotFound()
	}
	return k, err
}

// Keys lists the keys of a tenant, or of none with "", revoked ones too, oldest first.
func (s *Store) Keys(ctx context.Context, tenantID string) ([]APIKey, error) {
	query, args := "SELECT "+keyColumns+" FROM api_keys WHERE tenant_id = $1", []any{tenantID}
	if tenantID == "" {
		query, args = "SELECT "+keyColumns+" FROM api_keys WHERE tenant_id IS NULL", nil
	}
	all, err := listOf(ctx, s, scanKey, query, args...)
	slices.SortFunc(all, func(a, b APIKey) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// Key returns the key of that id, revoked or not.
func (s *Store) Key(ctx context.Context, id string) (APIKey, error) {
	k, found, err := findIn(ctx, s, scanKey, "SELECT "+keyColumns+" FROM api_keys WHERE id = $1", id)
	if err == nil && !found {
		return APIKey{}, keyNotFound()
	}
	return k, err
}

// AllKeys lists the keys of every tenant, revoked ones too, by tenant and id.
func (s *Store) AllKeys(ctx context.Context) ([]APIKey, error) {
	all, err := listOf(ctx, s, scanKey, "SELECT "+keyColumns+" FROM api_keys")
	slices.SortFunc(all, func(a, b APIKey) int {
		return cmp.Or(cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// RevokeKey revokes a key and stores the seal of the revoked row. A key that was revoked before is left
// unchanged, and no audit row is added.
func (s *Store) RevokeKey(
	ctx context.Context, id string, at time.Time, seal []byte, audit ...AuditRow,
) error {
	affected, err := s.execAudited(ctx, audit,
		"UPDATE api_keys SET revoked_at = $2, seal = $3 WHERE id = $1 AND revoked_at IS NULL",
		id, millis(at), seal)
	if err == nil && affected == 0 {
		_, err = s.Key(ctx, id)
	}
	return err
}

// ReplaceKey adds a key and lets the one in whose place it comes end, as EndsAt and Seal of old say. It
// returns fault.Conflict, and adds nothing, if old was revoked or replaced before.
func (s *Store) ReplaceKey(ctx context.Context, old, next APIKey, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.keepTenant(ctx, tx, next.TenantID); err != nil {
			return err
		}
		affected, err := exec(ctx, tx,
			"UPDATE api_keys SET ends_at = $2, seal = $3 WHERE id = $1 AND revoked_at IS NULL AND ends_at IS NULL",
			old.ID, millis(old.EndsAt), old.Seal)
		if err != nil {
			return err
		}
		if affected == 0 {
			return keyRevoked()
		}
		args, err := keyArgs(next)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, tx, insertKey, args...); err != nil {
			return err
		}
		if err := s.recordCreation(ctx, tx, next.TenantID, next); err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
}

// ChangeAgent replaces the scopes, connections and seal of a voice agent. It returns fault.Conflict if the agent
// was removed, or has changed since it was read.
func (s *Store) ChangeAgent(ctx context.Context, was, is APIKey, audit ...AuditRow) error {
	args, err := keyArgs(is)
	if err != nil {
		return err
	}
	affected, err := s.execAudited(ctx, audit, "UPDATE api_keys SET scopes = $2, connections = $3, seal = $4 "+
		"WHERE id = $1 AND seal = $5 AND revoked_at IS NULL", is.ID, args[5], args[6], is.Seal, was.Seal)
	if err == nil && affected == 0 {
		return changedMeanwhile()
	}
	return err
}

// SealKey replaces the seal of a key and returns true, unless the seal has changed since the key was read.
func (s *Store) SealKey(ctx context.Context, k APIKey, seal []byte) (bool, error) {
	query, args := "UPDATE api_keys SET seal = $2 WHERE id = $1 AND seal = $3", []any{k.ID, seal, k.Seal}
	if k.Seal == nil {
		query, args = "UPDATE api_keys SET seal = $2 WHERE id = $1 AND seal IS NULL", args[:2]
	}
	affected, err := s.exec(ctx, query, args...)
	return affected == 1, err
}

// TouchKeys records when keys were last used. It never sets a time back, and skips keys that do not exist.
func (s *Store) TouchKeys(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// All replicas write in the same order, so that no two deadlock.
		for _, id := range slices.Sorted(maps.Keys(used)) {
			_, err := exec(ctx, tx, "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL "+
				"OR last_used_at < $2)",
				id, millis(used[id]))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
