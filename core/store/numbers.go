package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"math/big"
	"time"
)

const numberColumns = "id, tenant_id, connection_id, ref, e164, name, inbound, outbound, created_at, released_at"

func scanNumber(row scanner) (n Number, err error) {
	var created int64
	var released *int64
	err = row.Scan(&n.ID, &n.TenantID, &n.ConnectionID, &n.Ref, &n.E164, &n.Name, &n.Inbound, &n.Outbound, &created, &released)
	n.CreatedAt, n.ReleasedAt = instant(created), optionalInstant(released)
	return n, err
}

// largestGap between two ids of numbers, so that an id tells nobody how many numbers other tenants hold.
const largestGap = 997

// AddNumber records a number that is held and gives it its id, greater than any before. Where the connection holds a
// number of that ref already, it answers that one.
func (s *Store) AddNumber(ctx context.Context, n Number) (kept Number, err error) {
	gap, err := rand.Int(rand.Reader, big.NewInt(largestGap))
	if err != nil {
		return Number{}, err
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := takeTurn(ctx, tx, n.ConnectionID); err != nil {
			return err
		}
		var found bool
		kept, found, err = find(ctx, tx, scanNumber, "SELECT "+numberColumns+` FROM numbers
			WHERE tenant_id = $1 AND connection_id = $2 AND ref = $3 AND released_at IS NULL`, n.TenantID, n.ConnectionID, n.Ref)
		if err != nil || found {
			return err
		}
		n.ID, _, err = find(ctx, tx, func(row scanner) (id int64, err error) { return id, row.Scan(&id) },
			"UPDATE sequences SET value = value + $1 WHERE name = 'numbers' RETURNING value", gap.Int64()+1)
		if err != nil {
			return err
		}
		kept, _, err = find(ctx, tx, scanNumber, "INSERT INTO numbers ("+numberColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL)
			RETURNING `+numberColumns, n.ID, n.TenantID, n.ConnectionID, n.Ref, n.E164, n.Name, n.Inbound, n.Outbound, millis(n.CreatedAt))
		return err
	})
	return kept, err
}

// Numbers lists the numbers that a connection holds, by id.
func (s *Store) Numbers(ctx context.Context, tenantID, connectionID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber, "SELECT "+numberColumns+` FROM numbers
		WHERE tenant_id = $1 AND connection_id = $2 AND released_at IS NULL ORDER BY id`, tenantID, connectionID)
}

// Number answers a number that the tenant holds.
func (s *Store) Number(ctx context.Context, tenantID string, id int64) (Number, error) {
	n, found, err := findIn(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND id = $2 AND released_at IS NULL", tenantID, id)
	if err == nil && !found {
		return Number{}, numberNotFound()
	}
	return n, err
}

// NumberHolder answers who holds a number, of all tenants; of several that share an account, the first.
func (s *Store) NumberHolder(ctx context.Context, e164 string) (Number, bool, error) {
	return findIn(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE e164 = $1 AND released_at IS NULL ORDER BY id LIMIT 1", e164)
}

// UpdateNumber replaces the ref, number, name and employees of a number that is held.
func (s *Store) UpdateNumber(ctx context.Context, n Number) error {
	touched, err := s.exec(ctx, `UPDATE numbers SET ref = $3, e164 = $4, name = $5, inbound = $6, outbound = $7
		WHERE tenant_id = $1 AND id = $2 AND released_at IS NULL`, n.TenantID, n.ID, n.Ref, n.E164, n.Name, n.Inbound, n.Outbound)
	if err == nil && touched == 0 {
		return numberNotFound()
	}
	return err
}

// ReleaseNumber ends the holding of a number. Its id is never given again.
func (s *Store) ReleaseNumber(ctx context.Context, tenantID string, id int64, at time.Time) error {
	touched, err := s.exec(ctx, "UPDATE numbers SET released_at = $3 WHERE tenant_id = $1 AND id = $2 AND released_at IS NULL", tenantID, id, millis(at))
	if err == nil && touched == 0 {
		return numberNotFound()
	}
	return err
}
