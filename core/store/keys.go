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

func scanKey(row scanner) (APIKey, error) { return scanKeyAnd(row) }

// scanKeyAnd reads a key, and the columns that follow it into the rest.
func scanKeyAnd(row scanner, rest ...any) (k APIKey, err error) {
	var scopes, connections []byte
	var created int64
	var tenantID *string
	var revoked, used, ends *int64
	err = row.Scan(append([]any{&k.ID, &tenantID, &k.Prefix, &k.Hash, &k.Label, &scopes, &connections, &k.Test,
		&created, &revoked, &used, &k.Seal, &ends, &k.Platform, &k.Ended, &k.Rolled}, rest...)...)
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

// KeyOwner is an API key with what it may reach.
type KeyOwner struct {
	Key         APIKey
	Tenant      Tenant       // zero: the key's tenant was deleted, or it has none
	Connections []Connection // of the tenant, by name, without their credentials
	Server      int64        // which told it, as in a Mark
}

// KeyOwnerByHash returns the key of that hash, revoked or not, with its tenant and connections.
func (s *Store) KeyOwnerByHash(ctx context.Context, hash []byte) (KeyOwner, error) {
	return s.keyOwner(ctx, "hash", hash)
}

// KeyOwnerByID is KeyOwnerByHash for the key of that id.
func (s *Store) KeyOwnerByID(ctx context.Context, id string) (KeyOwner, error) {
	return s.keyOwner(ctx, "id", id)
}

func (s *Store) keyOwnerBy(column string) (query string) {
	return "SELECT k.*, t.id, t.name, t.settings, t.created_at, c.id, c.name, c.kind, c.provider, " +
		"c.is_default, c.settings, c.status, c.email, c.revision, c.created_at, " + s.dialect.server +
		" FROM (SELECT " + keyColumns + " FROM api_keys WHERE " + column + " = $1) k " +
		"LEFT JOIN tenants t ON t.id = k.tenant_id AND t.deleted_at IS NULL " +
		"LEFT JOIN connections c ON c.tenant_id = t.id"
}

// keyOwner reads everything in one query: a call may wait for it.
func (s *Store) keyOwner(ctx context.Context, column string, value any) (KeyOwner, error) {
	rows, err := listByKey(ctx, s, scanKeyOwner, s.keyOwnerBy(column), value)
	if err == nil && len(rows) == 0 {
		err = keyNotFound()
	}
	if err != nil {
		return KeyOwner{}, err
	}
	owner := rows[0]
	for _, row := range rows[1:] {
		owner.Connections = append(owner.Connections, row.Connections...)
	}
	sortConnections(owner.Connections)
	return owner, nil
}

// scanKeyOwner reads a key, its tenant and one of its connections.
func scanKeyOwner(row scanner) (o KeyOwner, err error) {
	var tenantID, tenantName, tenantSettings, id, name, kind, provider, settings, status, email *string
	var tenantCreated, created, revision *int64
	var isDefault *bool
	o.Key, err = scanKeyAnd(row, &tenantID, &tenantName, &tenantSettings, &tenantCreated, &id, &name, &kind,
		&provider, &isDefault, &settings, &status, &email, &revision, &created, &o.Server)
	if err != nil || tenantID == nil {
		return o, err
	}
	o.Tenant = Tenant{
		ID: *tenantID, Name: *tenantName, Settings: json.RawMessage(*tenantSettings),
		CreatedAt: instant(*tenantCreated),
	}
	if id != nil {
		o.Connections = []Connection{{
			ID: *id, TenantID: *tenantID, Name: *name, Kind: *kind, Provider: *provider, IsDefault: *isDefault,
			Settings: json.RawMessage(*settings), Status: *status, Email: *email, Revision: *revision,
			CreatedAt: instant(*created),
		}}
	}
	return o, nil
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
	return getIn(ctx, s, keyNotFound, scanKey, "SELECT "+keyColumns+" FROM api_keys WHERE id = $1", id)
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
// unchanged, and no audit row is added. RevokeKey returns fault.Conflict if the key has changed since it was read as
// was: the seal would not fit it.
func (s *Store) RevokeKey(
	ctx context.Context, was APIKey, at time.Time, seal []byte, audit ...AuditRow,
) error {
	affected, err := s.execAudited(ctx, audit,
		`UPDATE api_keys SET revoked_at = $2, seal = $3
			WHERE id = $1 AND revoked_at IS NULL AND seal IS NOT DISTINCT FROM $4`,
		was.ID, millis(at), seal, was.Seal)
	if err != nil || affected == 1 {
		return err
	}
	switch now, err := s.Key(ctx, was.ID); {
	case err != nil:
		return err
	case now.RevokedAt.IsZero():
		return changedMeanwhile()
	}
	return nil
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
	return orNone(affected, err, changedMeanwhile)
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
