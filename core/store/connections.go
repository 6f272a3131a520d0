package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"frontdesk/core/fault"
)

const connectionColumns = "id, tenant_id, name, kind, provider, is_default, settings, credentials, status, " +
	"email, revision, created_at"

func scanConnection(row scanner) (c Connection, err error) {
	var settings string
	var created int64
	err = row.Scan(&c.ID, &c.TenantID, &c.Name, &c.Kind, &c.Provider, &c.IsDefault, &settings, &c.Credentials,
		&c.Status, &c.Email, &c.Revision, &created)
	c.Settings, c.CreatedAt = json.RawMessage(settings), instant(created)
	return c, err
}

// CreateConnection adds a connection with revision 1. The first of a kind becomes the tenant's default, and a
// new default replaces the previous one. A name that is taken is a Conflict.
func (s *Store) CreateConnection(ctx context.Context, c Connection, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lockTenant(ctx, tx, c.TenantID); err != nil {
			return err
		}
		_, hasDefault, err := defaultOf(ctx, tx, c.TenantID, c.Kind)
		if err != nil {
			return err
		}
		if c.IsDefault && hasDefault {
			if err := noDefault(ctx, tx, c.TenantID, c.Kind); err != nil {
				return err
			}
		}
		status, columns, unreported := cmp.Or(c.Status, "ok"), connectionColumns, ""
		stored := c
		stored.IsDefault, stored.Status, stored.Revision = c.IsDefault || !hasDefault, status, 1
		if status != "ok" {
			columns, unreported = columns+", reported_status", ", ''"
		}
		_, err = exec(ctx, tx, "INSERT INTO connections ("+columns+
			") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11"+unreported+")",
			c.ID, c.TenantID, c.Name, c.Kind, c.Provider, stored.IsDefault,
			object(c.Settings), c.Credentials,
			status, c.Email, millis(c.CreatedAt))
		if err != nil {
			return err
		}
		if _, err = exec(ctx, tx, "INSERT INTO connection_turns (connection_id, taken) VALUES ($1, 0)",
			c.ID); err != nil {
			return err
		}
		if err := s.recordCreation(ctx, tx, c.TenantID, stored); err != nil {
			return err
		}
		if err := addAudit(ctx, tx, audit); err != nil {
			return err
		}
		if status != "ok" {
			return nil
		}
		return s.publishStatus(ctx, tx, c.TenantID, c.ID, statusChange{after: "ok"})
	})
}

// UpdateConnection replaces all but the kind and the creation time of a connection, and sets its revision to
// fromRevision+1. If the revision is no longer fromRevision, it returns a Conflict with the reason
// CHANGED_MEANWHILE. It can make a connection the default, but cannot take that away.
func (s *Store) UpdateConnection(
	ctx context.Context, c Connection, fromRevision int64, audit ...AuditRow,
) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lockTenant(ctx, tx, c.TenantID); err != nil {
			return err
		}
		was, err := connectionIn(ctx, tx, c.TenantID, c.ID)
		if err != nil {
			return err
		}
		if was.Revision != fromRevision {
			return changedMeanwhile()
		}
		if c.IsDefault && !was.IsDefault {
			if err := noDefault(ctx, tx, was.TenantID, was.Kind); err != nil {
				return err
			}
		}
		// The revision is compared again, because writers of tokens do not wait for the tenant's lock.
		change, found, err := changeStatus(ctx, tx,
			`UPDATE connections SET name = $4, provider = $5, is_default = $6, settings = $7, credentials = $8,
			status = $9, email = $10, revision = revision + 1, `+reporting("$9")+
				" WHERE tenant_id = $1 AND id = $2 AND revision = $3",
			c.TenantID, c.ID, fromRevision, c.Name, c.Provider, c.IsDefault || was.IsDefault,
			object(c.Settings), c.Credentials,
			cmp.Or(c.Status, "ok"), c.Email)
		if err == nil && !found {
			return changedMeanwhile()
		}
		if err != nil {
			return err
		}
		if err := addAudit(ctx, tx, audit); err != nil {
			return err
		}
		return s.publishStatus(ctx, tx, c.TenantID, c.ID, change)
	})
}

// connectionAttempts is how often ChangeConnection tries to change a connection that others change at the
// same time. Each failed attempt means that another change succeeded.
const connectionAttempts = 20

// ChangeConnection applies change to a connection, stores the result with the audit rows that change returns,
// and returns the connection as stored. If the connection has changed since it was read, ChangeConnection
// reads it again and calls change again.
func (s *Store) ChangeConnection(
	ctx context.Context, c Connection, change func(*Connection) ([]AuditRow, error),
) (Connection, error) {
	for attempt := 1; ; attempt++ {
		fromRevision := c.Revision
		audit, err := change(&c)
		if err != nil {
			return Connection{}, err
		}
		err = s.UpdateConnection(ctx, c, fromRevision, audit...)
		if err == nil {
			return s.Connection(ctx, c.TenantID, c.ID)
		}
		if !errors.Is(err, fault.Conflict) || attempt == connectionAttempts {
			return Connection{}, err
		}
		if c, err = s.Connection(ctx, c.TenantID, c.ID); err != nil {
			return Connection{}, err
		}
	}
}

// DeleteConnection removes a connection with its documents, numbers, holds and the events seen through it. If
// it was the tenant's default, the oldest other connection of its kind becomes the default. It is a Conflict while
// numbers of the connection wait to be returned (CheckNoneToReturn).
func (s *Store) DeleteConnection(ctx context.Context, tenantID, id string, audit ...AuditRow) error {
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := lockTenant(ctx, tx, tenantID); err != nil {
			return err
		}
		was, found, err := find(ctx, tx, scanConnection, connectionByID+s.dialect.lockRows, tenantID, id)
		if err == nil && !found {
			err = connectionNotFound()
		}
		if err != nil {
			return err
		}
		if err := letGo(ctx, tx, tenantID, id); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "DELETE FROM connections WHERE tenant_id = $1 AND id = $2", tenantID,
			id); err != nil {
			return err
		}
		if err := addAudit(ctx, tx, audit); err != nil || !was.IsDefault {
			return err
		}
		_, err = exec(ctx, tx, `UPDATE connections SET is_default = TRUE WHERE id =
			(SELECT id FROM connections WHERE tenant_id = $1 AND kind = $2 ORDER BY created_at, id LIMIT 1)`,
			tenantID, was.Kind)
		return err
	})
	return s.afterErase(ctx, err)
}

// Connections lists a tenant's connections by name.
func (s *Store) Connections(ctx context.Context, tenantID string) ([]Connection, error) {
	all, err := listOf(ctx, s, scanConnection,
		"SELECT "+connectionColumns+" FROM connections WHERE tenant_id = $1", tenantID)
	sortConnections(all)
	return all, err
}

// tenantsPerQuery keeps the parameters of a query few.
const tenantsPerQuery = 500

// ConnectionsOf lists the connections of tenants, by tenant and name. It asks for many tenants at once.
func (s *Store) ConnectionsOf(ctx context.Context, tenantIDs []string) ([]Connection, error) {
	all := []Connection{}
	for ids := range slices.Chunk(tenantIDs, tenantsPerQuery) {
		list, args := among(ids, nil)
		some, err := listOf(ctx, s, scanConnection, "SELECT "+connectionColumns+
			" FROM connections WHERE tenant_id IN "+list, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	sortConnections(all)
	return all, nil
}

// AllConnections lists the connections of every tenant, by tenant and name.
func (s *Store) AllConnections(ctx context.Context) ([]Connection, error) {
	all, err := listOf(ctx, s, scanConnection, "SELECT "+connectionColumns+" FROM connections WHERE "+ofLivingTenant)
	sortConnections(all)
	return all, err
}

// WorkingConnections lists the connections of a kind in working order, of every tenant, by their ids, with nothing
// but id, tenant and provider.
func (s *Store) WorkingConnections(ctx context.Context, kind string) ([]Connection, error) {
	all, err := listOf(ctx, s, func(row scanner) (c Connection, err error) {
		c.Kind, c.Status = kind, "ok"
		return c, row.Scan(&c.ID, &c.TenantID, &c.Provider)
	}, "SELECT id, tenant_id, provider FROM connections WHERE kind = $1 AND status = 'ok' AND "+ofLivingTenant, kind)
	slices.SortFunc(all, func(a, b Connection) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// Seals counts rows by the first bytes of what is sealed in them, which tell the form of the seal and its
// key.
type Seals struct {
	Connections, Tokens, Keys, Links, Webhooks map[string]int
}

// sealHead is how many bytes of a sealed value tell the form of its seal and its key.
const sealHead = 6

// Seals counts the connections of every tenant, their tokens, the API keys, the links that can be used at
// now, and the webhooks. It reads every row.
func (s *Store) Seals(ctx context.Context, now time.Time) (Seals, error) {
	var all Seals
	for table, counts := range map[string]*map[string]int{
		"credentials, 1, $1), COUNT(*) FROM connections WHERE " + ofLivingTenant:              &all.Connections,
		"sealed, 1, $1), COUNT(*) FROM tokens":                                                &all.Tokens,
		"seal, 1, $1), COUNT(*) FROM api_keys":                                                &all.Keys,
		"sealed, 1, $1), COUNT(*) FROM webhooks WHERE tenant_id IS NULL OR " + ofLivingTenant: &all.Webhooks,
		"seal, 1, $1), COUNT(*) FROM connect_links WHERE used_at IS NULL AND expires_at > $2": &all.Links,
	} {
		args := []any{sealHead}
		if counts == &all.Links {
			args = append(args, millis(now))
		}
		*counts = map[string]int{}
		_, err := listOf(ctx, s, func(row scanner) (none struct{}, err error) {
			var head []byte
			var count int
			err = row.Scan(&head, &count)
			(*counts)[string(head)] += count
			return none, err
		}, "SELECT substr("+table+" GROUP BY 1", args...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// SealedByOneOf reports whether a connection or an API key, of any tenant, has a seal that begins with one of
// heads, which are equally long. Where all is well, it reads one row.
func (s *Store) SealedByOneOf(ctx context.Context, heads ...[]byte) (bool, error) {
	if len(heads) == 0 {
		return false, nil
	}
	list, args := among(heads, []any{len(heads[0])})
	is := ", 1, $1) IN " + list
	found, err := listOf(ctx, s, scanInt,
		"SELECT 1 FROM connections WHERE substr(credentials"+is+" UNION ALL SELECT 1 FROM api_keys WHERE substr(seal"+is+
			" LIMIT 1", args...)
	return len(found) > 0, err
}

// ConnectionsToReconnect lists up to limit connections that a person must reconnect, by tenant and name:
// those of the tenant, or of every tenant if tenantID is "".
func (s *Store) ConnectionsToReconnect(
	ctx context.Context, tenantID string, limit int,
) ([]Connection, error) {
	return listOf(ctx, s, scanConnection, "SELECT "+connectionColumns+` FROM connections
		WHERE status = 'reconnect_required' AND (tenant_id = $1 OR $1 = '') AND `+ofLivingTenant+`
		ORDER BY tenant_id, name LIMIT $2`, tenantID, limit)
}

func sortConnections(all []Connection) {
	slices.SortFunc(all, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.Name, b.Name))
	})
}

// Connection returns one connection of a tenant.
func (s *Store) Connection(ctx context.Context, tenantID, id string) (c Connection, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		c, err = connectionIn(ctx, s.read, tenantID, id)
		return err
	})
	return c, err
}

// SetConnectionEmail stores the account's last verified address. The revision does not grow, so that a
// working driver stays open. If the revision is another one by now, it returns a Conflict with the reason
// CHANGED_MEANWHILE: the credentials may be those of another account, or refused.
func (s *Store) SetConnectionEmail(ctx context.Context, tenantID, id, email string, revision int64) error {
	affected, err := s.exec(ctx, "UPDATE connections SET email = $4 WHERE tenant_id = $1 AND id = $2 AND "+
		"revision = $3",
		tenantID, id, revision, email)
	return orNone(affected, err, changedMeanwhile)
}

const connectionByID = "SELECT " + connectionColumns + " FROM connections WHERE tenant_id = $1 AND id = $2"

func connectionIn(ctx context.Context, q querier, tenantID, id string) (Connection, error) {
	c, found, err := find(ctx, q, scanConnection, connectionByID, tenantID, id)
	if err == nil && !found {
		return Connection{}, connectionNotFound()
	}
	return c, err
}

func defaultOf(ctx context.Context, tx *sql.Tx, tenantID, kind string) (id string, found bool, err error) {
	return find(ctx, tx, scanText,
		"SELECT id FROM connections WHERE tenant_id = $1 AND kind = $2 AND is_default", tenantID, kind)
}

// noDefault takes the default from the connection that has it. Its revision grows, so that whoever read it
// before cannot write that it is the default.
func noDefault(ctx context.Context, tx *sql.Tx, tenantID, kind string) error {
	_, err := exec(ctx, tx, "UPDATE connections SET is_default = FALSE, revision = revision + 1 "+
		"WHERE tenant_id = $1 AND kind = $2 AND is_default", tenantID, kind)
	return err
}

// takeTurn makes transactions that write for one connection take turns. It locks the connection before the
// turn, which is the order in which a removal locks them. An insert of a row that refers to the connection
// would lock it too, but only after the turn: then each of the two would wait for the other.
// On SQLite all who write take turns, so it only looks whether the connection exists.
func (s *Store) takeTurn(ctx context.Context, tx *sql.Tx, connectionID string) error {
	if s.batches != nil {
		_, found, err := find(ctx, tx, scanText, "SELECT id FROM connections WHERE id = $1", connectionID)
		if err == nil && !found {
			return connectionNotFound()
		}
		return err
	}
	affected, err := s.turnOf(connectionID).exec(ctx, tx)
	return orNone(affected, err, connectionNotFound)
}

func (s *Store) turnOf(connectionID string) statement {
	return statement{
		query: `WITH parent AS (SELECT id FROM connections WHERE id = $1` + s.dialect.lockParent + `)
			UPDATE connection_turns SET taken = taken + 1
			WHERE connection_id IN (SELECT id FROM parent)`,
		args: []any{connectionID}, must: true,
	}
}

func changedMeanwhile() error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"The connection was changed in the meantime. Look at it again.")
}
