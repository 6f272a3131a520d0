package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"math/big"
	"time"

	"frontdesk/core/fault"
)

const (
	numberColumns = "id, tenant_id, connection_id, realm, ref, e164, name, inbound, outbound, leads, version, created_at, release_at, going, released_at"

	// inUse are the numbers that callers see: not given back, and not on their way.
	inUse = "released_at IS NULL AND release_at IS NULL"
)

func scanNumber(row scanner) (n Number, err error) {
	var created, going int64
	var release, released *int64
	err = row.Scan(&n.ID, &n.TenantID, &n.ConnectionID, &n.Realm, &n.Ref, &n.E164, &n.Name, &n.Inbound, &n.Outbound, &n.Leads, &n.Version,
		&created, &release, &going, &released)
	n.CreatedAt, n.ReleaseAt, n.Going, n.ReleasedAt = instant(created), optionalInstant(release), going != 0, optionalInstant(released)
	return n, err
}

// largestGap between two ids of numbers, so that an id tells nobody how many numbers other tenants hold.
const largestGap = 997

// AddNumber records a number that is held and gives it its id, greater than any before. Where the connection holds the
// number already, it answers that row. With a purchase the row takes over what is given, and the purchase is done, in one
// step. A number that somebody else in the realm holds, or has ordered, is fault.Conflict. The audit is told of a new row.
func (s *Store) AddNumber(ctx context.Context, n Number, purchase string, audit ...AuditRow) (kept Number, err error) {
	gap, err := rand.Int(rand.Reader, big.NewInt(largestGap))
	if err != nil {
		return Number{}, err
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.takeTurn(ctx, tx, n.ConnectionID); err != nil {
			return err
		}
		_, ordered, err := find(ctx, tx, scanText, "SELECT id FROM purchases WHERE realm = $1 AND e164 = $2 AND bought = 0 AND id <> $3", n.Realm, n.E164, purchase)
		if err != nil {
			return err
		}
		if ordered {
			return heldElsewhere()
		}
		if kept, err = addNumber(ctx, tx, n, purchase != "", gap.Int64()+1, audit); err != nil || purchase == "" {
			return err
		}
		_, err = exec(ctx, tx, "UPDATE purchases SET e164 = $2, bought = 1 WHERE id = $1", purchase, n.E164)
		return err
	})
	return kept, err
}

func addNumber(ctx context.Context, tx *sql.Tx, n Number, bought bool, gap int64, audit []AuditRow) (Number, error) {
	there, found, err := find(ctx, tx, scanNumber, "SELECT "+numberColumns+` FROM numbers
		WHERE released_at IS NULL AND (connection_id = $1 AND ref = $2 OR realm = $3 AND e164 = $4)`, n.ConnectionID, n.Ref, n.Realm, n.E164)
	switch {
	case err != nil:
		return Number{}, err
	case found && (there.TenantID != n.TenantID || there.ConnectionID != n.ConnectionID):
		return Number{}, heldElsewhere()
	case found && !bought && there.Ref == n.Ref:
		return there, nil
	case found && !bought: // the account gave it back and has got it again since
		n.Name, n.Inbound, n.Outbound, n.Leads = there.Name, there.Inbound, there.Outbound, ""
	}
	if found {
		kept, _, err := find(ctx, tx, scanNumber, `UPDATE numbers SET ref = $2, e164 = $3, name = $4, inbound = $5, outbound = $6, leads = $7, version = version + 1
			WHERE id = $1 RETURNING `+numberColumns, there.ID, n.Ref, n.E164, n.Name, n.Inbound, n.Outbound, n.Leads)
		return kept, err
	}
	id, _, err := find(ctx, tx, func(row scanner) (id int64, err error) { return id, row.Scan(&id) },
		"UPDATE sequences SET value = value + $1 WHERE name = 'numbers' RETURNING value", gap)
	if err != nil {
		return Number{}, err
	}
	kept, _, err := find(ctx, tx, scanNumber, "INSERT INTO numbers ("+numberColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, NULL, 0, NULL) RETURNING `+numberColumns,
		id, n.TenantID, n.ConnectionID, n.Realm, n.Ref, n.E164, n.Name, n.Inbound, n.Outbound, n.Leads, millis(n.CreatedAt))
	if err == nil {
		err = addAudit(ctx, tx, audit)
	}
	return kept, err
}

// Numbers lists the numbers that a connection holds and uses, by id.
func (s *Store) Numbers(ctx context.Context, tenantID, connectionID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND connection_id = $2 AND "+inUse+" ORDER BY id", tenantID, connectionID)
}

// Number answers a number that the tenant holds and uses.
func (s *Store) Number(ctx context.Context, tenantID string, id int64) (Number, error) {
	n, found, err := findIn(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND id = $2 AND "+inUse, tenantID, id)
	if err == nil && !found {
		return Number{}, numberNotFound()
	}
	return n, err
}

// NumberHolder answers who in a realm holds a number, those waiting to go back among them.
func (s *Store) NumberHolder(ctx context.Context, realm, e164 string) (Number, bool, error) {
	return findIn(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE realm = $1 AND e164 = $2 AND released_at IS NULL", realm, e164)
}

// UpdateNumber replaces the name, the employees and where a number leads, if it is still as it was when it was read: else
// fault.Conflict.
func (s *Store) UpdateNumber(ctx context.Context, n Number) error {
	touched, err := s.exec(ctx, `UPDATE numbers SET name = $4, inbound = $5, outbound = $6, leads = $7, version = version + 1
		WHERE tenant_id = $1 AND id = $2 AND version = $3 AND `+inUse, n.TenantID, n.ID, n.Version, n.Name, n.Inbound, n.Outbound, n.Leads)
	if err != nil || touched == 1 {
		return err
	}
	if _, err := s.Number(ctx, n.TenantID, n.ID); err != nil {
		return err
	}
	return numberChanged()
}

// ReleaseNumber ends the holding of a number. Its id is never given again.
func (s *Store) ReleaseNumber(ctx context.Context, tenantID string, id int64, at time.Time, audit ...AuditRow) error {
	touched, err := s.recorded(ctx, audit, "UPDATE numbers SET released_at = $3 WHERE tenant_id = $1 AND id = $2 AND released_at IS NULL", tenantID, id, millis(at))
	if err == nil && touched == 0 {
		return numberNotFound()
	}
	return err
}

// ParkNumber takes a number out of use until it is to go back to its provider.
func (s *Store) ParkNumber(ctx context.Context, n Number, until time.Time) error {
	touched, err := s.exec(ctx, `UPDATE numbers SET release_at = $4, leads = $5, version = version + 1
		WHERE tenant_id = $1 AND id = $2 AND version = $3 AND `+inUse, n.TenantID, n.ID, n.Version, millis(until), n.Leads)
	if err != nil || touched == 1 {
		return err
	}
	if _, err := s.Number(ctx, n.TenantID, n.ID); err != nil {
		return err
	}
	return numberChanged()
}

// ParkedNumbers lists the numbers of a tenant that wait to go back.
func (s *Store) ParkedNumbers(ctx context.Context, tenantID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber, "SELECT "+numberColumns+` FROM numbers
		WHERE tenant_id = $1 AND released_at IS NULL AND release_at IS NOT NULL ORDER BY release_at, id`, tenantID)
}

// RestoreNumber takes a number that waits to go back into use again. It is fault.NotFound once it is on its way.
func (s *Store) RestoreNumber(ctx context.Context, tenantID string, id int64, audit ...AuditRow) (n Number, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var found bool
		n, found, err = find(ctx, tx, scanNumber, `UPDATE numbers SET release_at = NULL, version = version + 1
			WHERE tenant_id = $1 AND id = $2 AND released_at IS NULL AND release_at IS NOT NULL AND going = 0 RETURNING `+numberColumns, tenantID, id)
		if err == nil && !found {
			err = numberNotFound()
		}
		if err == nil {
			err = addAudit(ctx, tx, audit)
		}
		return err
	})
	return n, err
}

// TenantNumbers lists all numbers that a tenant holds, by id, those waiting to go back among them.
func (s *Store) TenantNumbers(ctx context.Context, tenantID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND released_at IS NULL ORDER BY id", tenantID)
}

// SendBack marks the numbers whose wait is over, and answers all that are on their way to their providers: from now on
// they cannot be restored.
func (s *Store) SendBack(ctx context.Context, now time.Time) (going []Number, err error) {
	if _, err := s.exec(ctx, "UPDATE numbers SET going = 1 WHERE released_at IS NULL AND going = 0 AND release_at IS NOT NULL AND release_at <= $1", millis(now)); err != nil {
		return nil, err
	}
	return listOf(ctx, s, scanNumber, "SELECT "+numberColumns+" FROM numbers WHERE released_at IS NULL AND going = 1 ORDER BY release_at, id")
}

func heldElsewhere() error {
	return fault.New(fault.Conflict, fault.ReasonNumberTaken, "Someone else holds the number.")
}

func numberChanged() error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, "The number was changed by someone else meanwhile.")
}

func purchaseNotFound() error {
	return fault.New(fault.Conflict, ReasonIntentLost, "Another run has taken this purchase over.")
}
