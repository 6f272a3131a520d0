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
	numberColumns = "id, tenant_id, connection_id, realm, ref, e164, name, inbound, outbound, leads, version, " +
		"created_at, release_at, going, released_at"

	// inUse are the numbers that callers see: not given back, and not on their way.
	inUse = "released_at IS NULL AND release_at IS NULL"

	// unchanged is a number that is still held as it was when it was read.
	unchanged = "tenant_id = $1 AND id = $2 AND version = $3 AND ref = $4 AND released_at IS NULL"
)

func scanNumber(row scanner) (n Number, err error) {
	var created, due int64
	var release, released *int64
	err = row.Scan(&n.ID, &n.TenantID, &n.ConnectionID, &n.Realm, &n.Ref, &n.E164, &n.Name, &n.Inbound,
		&n.Outbound, &n.Leads, &n.Version,
		&created, &release, &due, &released)
	n.CreatedAt, n.ReleaseAt, n.Going, n.ReleasedAt = instant(created), optionalInstant(release), due != 0,
		optionalInstant(released)
	return n, err
}

// largestGap between two ids of numbers, so that an id tells nobody how many numbers other tenants hold.
const largestGap = 997

// AddNumber records a number that was found in a connection's account, claims it and gives it its id. Where
// the connection has the number already, it returns that row. A number that somebody else in the realm has,
// or that is being bought, is fault.Conflict. again says that the number was given back here before: a list
// that was read before that still shows it, so that the provider is to be asked once more. The audit is told
// of a new row.
func (s *Store) AddNumber(
	ctx context.Context, n Number, audit ...AuditRow,
) (kept Number, again bool, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		again = false
		if err := s.takeTurn(ctx, tx, n.ConnectionID); err != nil {
			return err
		}
		there, held, err := find(ctx, tx, scanNumber, holderQuery, n.Realm, n.E164)
		switch {
		case err != nil:
			return err
		case held && (there.TenantID != n.TenantID || there.ConnectionID != n.ConnectionID):
			return heldElsewhere()
		case held:
			kept = there
			return nil
		}
		if kept, err = insertNumber(ctx, tx, n); err != nil {
			return err
		}
		claimed, err := exec(ctx, tx, `INSERT INTO number_claims (realm, e164, number_id) VALUES ($1, $2, $3)
			ON CONFLICT (realm, e164) DO NOTHING`, n.Realm, n.E164, kept.ID)
		if err == nil && claimed == 0 {
			return heldElsewhere()
		}
		if err != nil {
			return err
		}
		// Whoever had the claim before has ended in the transaction that gave it up.
		_, again, err = find(ctx, tx, scanText,
			`SELECT tenant_id FROM numbers WHERE realm = $1 AND e164 = $2 AND released_at IS NOT NULL
			UNION ALL SELECT tenant_id FROM purchases WHERE realm = $1 AND e164 = $2 AND state = 'returned' LIMIT 1`,
			n.Realm, n.E164)
		if err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
	return kept, again, err
}

// ChangeRef records that the account has a number again under another reference, if its row is still as it
// was when it was read: else fault.Conflict. Where its calls lead is not known any more.
func (s *Store) ChangeRef(ctx context.Context, n Number, ref string) (Number, error) {
	affected, err := s.exec(ctx, "UPDATE numbers SET ref = $5, leads = '', version = version + 1 WHERE "+
		unchanged,
		n.TenantID, n.ID, n.Version, n.Ref, ref)
	if err == nil && affected == 0 {
		err = numberChanged()
	}
	n.Ref, n.Leads, n.Version = ref, "", n.Version+1
	return n, err
}

// insertNumber gives a number its id. Whose it is, the claim that goes with it says.
func insertNumber(ctx context.Context, tx *sql.Tx, n Number) (Number, error) {
	gap, err := rand.Int(rand.Reader, big.NewInt(largestGap))
	if err != nil {
		return Number{}, err
	}
	id, _, err := find(ctx, tx, func(row scanner) (id int64, err error) { return id, row.Scan(&id) },
		"UPDATE sequences SET value = value + $1 WHERE name = 'numbers' RETURNING value", gap.Int64()+1)
	if err != nil {
		return Number{}, err
	}
	kept, _, err := find(ctx, tx, scanNumber, "INSERT INTO numbers ("+numberColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, NULL, 0, NULL) RETURNING `+numberColumns,
		id, n.TenantID, n.ConnectionID, n.Realm, n.Ref, n.E164, n.Name, n.Inbound, n.Outbound, n.Leads,
		millis(n.CreatedAt))
	return kept, err
}

// Numbers lists the numbers that a connection holds and uses, by id.
func (s *Store) Numbers(ctx context.Context, tenantID, connectionID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND connection_id = $2 AND "+inUse+
			" ORDER BY id", tenantID, connectionID)
}

// Number returns a number that the tenant holds and uses.
func (s *Store) Number(ctx context.Context, tenantID string, id int64) (Number, error) {
	n, found, err := findIn(ctx, s, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND id = $2 AND "+inUse, tenantID, id)
	if err == nil && !found {
		return Number{}, numberNotFound()
	}
	return n, err
}

// NumberHolder returns who in a realm holds a number, those waiting to go back among them.
func (s *Store) NumberHolder(ctx context.Context, realm, e164 string) (Number, bool, error) {
	return findIn(ctx, s, scanNumber, holderQuery, realm, e164)
}

const holderQuery = "SELECT " + numberColumns + ` FROM numbers
	WHERE id = (SELECT number_id FROM number_claims WHERE realm = $1 AND e164 = $2)`

// UpdateNumber replaces the name, the employees and where a number leads, if it is still as it was when it
// was read: else fault.Conflict.
func (s *Store) UpdateNumber(ctx context.Context, n Number) error {
	affected, err := s.exec(ctx,
		`UPDATE numbers SET name = $4, inbound = $5, outbound = $6, leads = $7, version = version + 1
		WHERE tenant_id = $1 AND id = $2 AND version = $3 AND `+inUse, n.TenantID, n.ID, n.Version, n.Name,
		n.Inbound, n.Outbound, n.Leads)
	if err != nil || affected == 1 {
		return err
	}
	if _, err := s.Number(ctx, n.TenantID, n.ID); err != nil {
		return err
	}
	return numberChanged()
}

// ReleaseNumber ends the holding of a number, if it is still as it was when it was read: else fault.Conflict.
// Nobody has it any more. Its id is never given again.
func (s *Store) ReleaseNumber(ctx context.Context, n Number, at time.Time, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		affected, err := s.execAuditedIn(ctx, tx, audit,
			"UPDATE numbers SET released_at = $5 WHERE "+unchanged,
			n.TenantID, n.ID, n.Version, n.Ref, millis(at))
		if err != nil {
			return err
		}
		if affected == 0 {
			_, held, err := find(ctx, tx, scanNumber, "SELECT "+numberColumns+` FROM numbers
				WHERE tenant_id = $1 AND id = $2 AND released_at IS NULL`, n.TenantID, n.ID)
			switch {
			case err != nil:
				return err
			case held:
				return numberChanged()
			}
			return numberNotFound()
		}
		_, err = exec(ctx, tx, "DELETE FROM number_claims WHERE number_id = $1", n.ID)
		return err
	})
}

// ParkNumber takes a number out of use until it is to go back to its provider.
func (s *Store) ParkNumber(ctx context.Context, n Number, until time.Time) error {
	affected, err := s.exec(ctx, `UPDATE numbers SET release_at = $4, leads = $5, version = version + 1
		WHERE tenant_id = $1 AND id = $2 AND version = $3 AND `+inUse, n.TenantID, n.ID, n.Version, millis(until),
		n.Leads)
	if err != nil || affected == 1 {
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

// RestoreNumber takes a number that waits to go back into use again. It is fault.NotFound once it is on its
// way.
func (s *Store) RestoreNumber(
	ctx context.Context, tenantID string, id int64, audit ...AuditRow,
) (n Number, err error) {
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
	return listOf(ctx, s, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND released_at IS NULL ORDER BY id", tenantID)
}

// SendBack marks the numbers whose wait is over, and answers all that are on their way to their providers:
// from now on they cannot be restored.
func (s *Store) SendBack(ctx context.Context, now time.Time) (due []Number, err error) {
	if _, err := s.exec(ctx, "UPDATE numbers SET going = 1 WHERE released_at IS NULL AND going = 0 AND "+
		"release_at IS NOT NULL AND release_at <= $1", millis(now)); err != nil {
		return nil, err
	}
	return listOf(ctx, s, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE released_at IS NULL AND going = 1 ORDER BY release_at, id")
}

func heldElsewhere() error {
	return fault.New(fault.Conflict, fault.ReasonNumberTaken, "Someone else holds the number.")
}

func numberChanged() error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"Someone else changed the number in the meantime.")
}
