package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"math/big"
	"slices"
	"strings"
	"time"

	"frontdesk/core/fault"
)

const (
	numberColumns = "id, tenant_id, connection_id, realm, ref, e164, name, inbound, outbound, leads, version, " +
		"created_at, release_at, going"

	// inUse is the condition for the numbers that callers see: not returned, and not waiting to be returned.
	inUse = "released_at IS NULL AND release_at IS NULL"

	// unchanged is the condition for a number that is still held and has not changed since it was read.
	unchanged = "tenant_id = $1 AND id = $2 AND version = $3 AND ref = $4 AND released_at IS NULL"
)

func scanNumber(row scanner) (n Number, err error) {
	var created, due int64
	var release *int64
	err = row.Scan(&n.ID, &n.TenantID, &n.ConnectionID, &n.Realm, &n.Ref, &n.E164, &n.Name, &n.Inbound,
		&n.Outbound, &n.Leads, &n.Version,
		&created, &release, &due)
	n.CreatedAt, n.ReleaseAt, n.Going = instant(created), optionalInstant(release), due != 0
	return n, err
}

// largestGap is the largest gap between two ids. Gaps hide how many numbers other tenants hold.
const largestGap = 997

// AddNumber records a number that was found in a connection's account, claims it and gives it an id. If the
// connection already has the number, AddNumber returns that row. If someone else in the realm has the number
// or is buying it, it returns fault.Conflict. returns is how often the number had been returned when the
// caller read it. If it has been returned more often, a list that was read before still shows it. Then
// AddNumber adds nothing, so that nobody is told of it. It returns no number but how often it was returned,
// and the caller must ask the provider once more. The audit rows are added with a new row only.
func (s *Store) AddNumber(
	ctx context.Context, n Number, returns int64, audit ...AuditRow,
) (kept Number, returned int64, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		kept, returned = Number{}, returns
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
		added, err := insertNumber(ctx, tx, n)
		if err != nil {
			return err
		}
		claimed, err := exec(ctx, tx, `INSERT INTO number_claims (realm, e164, number_id) VALUES ($1, $2, $3)
			ON CONFLICT (realm, e164) DO NOTHING`, n.Realm, n.E164, added.ID)
		if err == nil && claimed == 0 {
			return heldElsewhere()
		}
		if err != nil {
			return err
		}
		// The transaction that removed an earlier claim also ended its number or purchase.
		returned, _, err = find(ctx, tx, scanInt,
			`SELECT (SELECT COUNT(*) FROM numbers WHERE realm = $1 AND e164 = $2 AND released_at IS NOT NULL)
			+ (SELECT COUNT(*) FROM purchases WHERE realm = $1 AND e164 = $2 AND state = 'returned')`,
			n.Realm, n.E164)
		if err == nil && returned != returns {
			err = errUndone
		}
		if err != nil {
			return err
		}
		kept = added
		if err := addAudit(ctx, tx, audit); err != nil {
			return err
		}
		return s.publish(ctx, tx, n.TenantID, n.ConnectionID, Event{Type: EventNumberAppeared, Number: kept})
	})
	if errors.Is(err, errUndone) {
		err = nil
	}
	return kept, returned, err
}

// ChangeRef records that the account has a number again under another reference. It returns fault.Conflict if
// the row has changed since it was read. It clears Leads, since the routing of calls is no longer known.
func (s *Store) ChangeRef(ctx context.Context, n Number, ref string) (Number, error) {
	affected, err := s.exec(ctx, "UPDATE numbers SET ref = $5, leads = '', version = version + 1 WHERE "+
		unchanged,
		n.TenantID, n.ID, n.Version, n.Ref, ref)
	n.Ref, n.Leads, n.Version = ref, "", n.Version+1
	return n, orNone(affected, err, numberChanged)
}

// insertNumber adds a number with a new id. The caller writes the claim, which decides who holds it.
func insertNumber(ctx context.Context, tx *sql.Tx, n Number) (Number, error) {
	gap, err := rand.Int(rand.Reader, big.NewInt(largestGap))
	if err != nil {
		return Number{}, err
	}
	id, _, err := find(ctx, tx, scanInt,
		"UPDATE sequences SET value = value + $1 WHERE name = 'numbers' RETURNING value", gap.Int64()+1)
	if err != nil {
		return Number{}, err
	}
	kept, _, err := find(ctx, tx, scanNumber, "INSERT INTO numbers ("+numberColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, NULL, 0) RETURNING `+numberColumns,
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
	return getIn(ctx, s, numberNotFound, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND id = $2 AND "+inUse, tenantID, id)
}

// NumberOnce returns a number that the tenant holds or has held. Of a tenant that was deleted, it returns none: its
// numbers went with it, and were not given back.
func (s *Store) NumberOnce(ctx context.Context, tenantID string, id int64) (Number, error) {
	return getIn(ctx, s, numberNotFound, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND id = $2 AND "+ofLivingTenant, tenantID, id)
}

// NumberHolder returns the row of a number that is held in a realm, even if it waits to be returned.
func (s *Store) NumberHolder(ctx context.Context, realm, e164 string) (Number, bool, error) {
	return findIn(ctx, s, scanNumber, holderQuery, realm, e164)
}

const holderQuery = "SELECT " + numberColumns + ` FROM numbers
	WHERE id = (SELECT number_id FROM number_claims WHERE realm = $1 AND e164 = $2)`

// UpdateNumber replaces the name, the employees and Leads of a number. It returns fault.Conflict if the
// number has changed since it was read.
func (s *Store) UpdateNumber(ctx context.Context, n Number) error {
	return s.changeInUse(ctx, n, "name = $4, inbound = $5, outbound = $6, leads = $7",
		n.Name, n.Inbound, n.Outbound, n.Leads)
}

// changeInUse changes a number that is in use, unless it has changed since it was read.
func (s *Store) changeInUse(ctx context.Context, n Number, set string, args ...any) error {
	affected, err := s.exec(ctx, "UPDATE numbers SET "+set+`, version = version + 1
		WHERE tenant_id = $1 AND id = $2 AND version = $3 AND `+inUse,
		append([]any{n.TenantID, n.ID, n.Version}, args...)...)
	if err != nil || affected == 1 {
		return err
	}
	if _, err := s.Number(ctx, n.TenantID, n.ID); err != nil {
		return err
	}
	return numberChanged()
}

// ReleaseNumber records that a number is no longer held, and removes its claim. It returns fault.Conflict if
// the number has changed since it was read. The id is never reused.
func (s *Store) ReleaseNumber(ctx context.Context, n Number, at time.Time, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return s.releaseNumber(ctx, tx, n, at, audit)
	})
}

// LoseNumber is ReleaseNumber for a number that the provider no longer has, which webhooks are told.
func (s *Store) LoseNumber(ctx context.Context, n Number, at time.Time, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.lockConnection(ctx, tx, n.TenantID, n.ConnectionID); err != nil {
			return err
		}
		if err := s.releaseNumber(ctx, tx, n, at, audit); err != nil {
			return err
		}
		return s.publish(ctx, tx, n.TenantID, n.ConnectionID, Event{Type: EventNumberGone, Number: n})
	})
}

func (s *Store) releaseNumber(
	ctx context.Context, tx *sql.Tx, n Number, at time.Time, audit []AuditRow,
) error {
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
}

// ParkNumber takes a number out of use, to be returned to its provider at until.
func (s *Store) ParkNumber(ctx context.Context, n Number, until time.Time) error {
	return s.changeInUse(ctx, n, "release_at = $4, leads = $5", millis(until), n.Leads)
}

// ParkedNumbers lists the numbers of a tenant that wait to be returned.
func (s *Store) ParkedNumbers(ctx context.Context, tenantID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber, "SELECT "+numberColumns+` FROM numbers
		WHERE tenant_id = $1 AND released_at IS NULL AND release_at IS NOT NULL ORDER BY release_at, id`, tenantID)
}

// CheckNoneToReturn returns fault.Conflict if numbers of a connection, or with "" of any of the tenant's, wait to be
// returned: nobody would do that without the connection, and they would be paid for ever. Those of a connection whose
// provider refuses its credentials cannot be returned, and do not count.
func (s *Store) CheckNoneToReturn(ctx context.Context, tenantID, connectionID string) error {
	return noneToReturn(listOf(ctx, s, scanText, "SELECT "+toReturn+" FROM numbers WHERE "+heldThere, tenantID,
		connectionID))
}

// letGo is CheckNoneToReturn for the transaction that removes the connection or the tenant. It ends the numbers
// that it looks at, so that none of them can begin to wait until it is gone with its row. The transaction must
// have locked the tenant and the connection already: others lock numbers after these.
func letGo(ctx context.Context, tx *sql.Tx, tenantID, connectionID string) error {
	return noneToReturn(list(ctx, tx, scanText,
		"UPDATE numbers SET released_at = 0 WHERE "+heldThere+" RETURNING "+toReturn, tenantID, connectionID))
}

const (
	heldThere = "tenant_id = $1 AND (connection_id = $2 OR $2 = '') AND released_at IS NULL"

	// toReturn is the expression for what CheckNoneToReturn calls a number, or '' if it does not count.
	toReturn = `CASE WHEN release_at IS NOT NULL AND connection_id IN
		(SELECT id FROM connections WHERE tenant_id = $1 AND status = 'ok') THEN e164 || ' (id ' || id || ')' ELSE '' END`
)

func noneToReturn(numbers []string, err error) error {
	waiting := slices.DeleteFunc(numbers, func(name string) bool { return name == "" })
	if err != nil || len(waiting) == 0 {
		return err
	}
	slices.Sort(waiting)
	return fault.Newf(fault.Conflict, fault.ReasonConnectionInUse, "Released numbers still wait to go back to their "+
		"provider, which needs the connection: %s. Wait for that, or restore those that are to stay in the account.",
		strings.Join(waiting, ", "))
}

// RestoreNumber puts a number that waits to be returned back into use. Once the return has begun, it returns
// fault.NotFound.
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

// TenantNumbers lists all numbers that a tenant holds, by id, including those waiting to be returned.
func (s *Store) TenantNumbers(ctx context.Context, tenantID string) ([]Number, error) {
	return listOf(ctx, s, scanNumber,
		"SELECT "+numberColumns+" FROM numbers WHERE tenant_id = $1 AND released_at IS NULL ORDER BY id", tenantID)
}

// SendBack marks the numbers whose wait is over, and returns all numbers whose return to the provider has
// begun. From then on they cannot be restored.
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
