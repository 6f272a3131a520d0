package store

import (
	"context"
	"database/sql"
	"time"

	"frontdesk/core/fault"
)

// The life of tokens:
//
//	          Lease             Save (renewed), Refuse, Postpone (failed), Put, Reset
//	at rest -------> renewing --------------------------------------------------------> at rest
//
// A lease keeps replicas from renewing at the same time, but it also expires while its holder is stopped. On
// PostgreSQL HoldTurn closes that gap: a process that renews also holds the connection's turn. A stopped
// process keeps the turn, a dead one loses it. Saving new tokens depends only on the version that they were
// obtained with, so a new refresh token is kept even if the lease has expired.

const tokenColumns = "tenant_id, connection_id, sealed, version, refresh_at, refused, failures, " +
	"lease_owner, lease_until"

func scanTokens(row scanner) (t Tokens, err error) {
	var refresh *int64
	var lease int64
	err = row.Scan(&t.TenantID, &t.ConnectionID, &t.Sealed, &t.Version, &refresh, &t.Refused, &t.Failures,
		&t.LeaseOwner, &lease)
	t.RefreshAt, t.LeaseUntil = optionalInstant(refresh), instant(lease)
	return t, err
}

// Tokens returns the tokens of a connection, or false if there are none yet.
func (s *Store) Tokens(ctx context.Context, tenantID, connectionID string) (Tokens, bool, error) {
	return findIn(ctx, s, scanTokens,
		"SELECT "+tokenColumns+" FROM tokens WHERE tenant_id = $1 AND connection_id = $2", tenantID, connectionID)
}

// AllTokens lists the tokens of every connection.
func (s *Store) AllTokens(ctx context.Context) ([]Tokens, error) {
	return listOf(ctx, s, scanTokens, "SELECT "+tokenColumns+" FROM tokens ORDER BY tenant_id, connection_id")
}

// DueTokens lists the tokens that are due for renewal at now and not leased, those due the longest first.
// after is the last row of the page before; the zero value begins with the first page.
func (s *Store) DueTokens(ctx context.Context, now time.Time, after Tokens, limit int) ([]Tokens, error) {
	from := int64(-1)
	if !after.RefreshAt.IsZero() {
		from = millis(after.RefreshAt)
	}
	return listOf(ctx, s, scanTokens, "SELECT "+tokenColumns+` FROM tokens
		WHERE refresh_at <= $1 AND (lease_until <= $1 OR lease_until > $5)
		AND (refresh_at > $2 OR (refresh_at = $2 AND connection_id > $3))
		ORDER BY refresh_at, connection_id LIMIT $4`,
		millis(now), from, after.ConnectionID, limit, millis(now.Add(longestLease)))
}

// ScheduleTokens makes the tokens due at a time that would never be, unless their last renewal failed.
func (s *Store) ScheduleTokens(ctx context.Context, at time.Time) error {
	_, err := s.exec(ctx,
		"UPDATE tokens SET refresh_at = $1 WHERE refresh_at IS NULL AND NOT refused AND failures = 0", millis(at))
	return err
}

// putTokens adds or replaces a row, which ends a lease.
const putTokens = "INSERT INTO tokens (" + tokenColumns + `) VALUES ($1, $2, $3, 1, $4, FALSE, 0, '', 0)
	ON CONFLICT (tenant_id, connection_id) DO UPDATE SET sealed = excluded.sealed, version = tokens.version + 1,
	refresh_at = excluded.refresh_at, refused = FALSE, failures = 0, lease_owner = '', lease_until = 0`

// PutTokens stores the tokens that a consent gave, in place of any others. It marks the connection as working
// and increments its revision, so that every replica reopens it. Only the ids, Sealed and RefreshAt of t are
// used.
func (s *Store) PutTokens(ctx context.Context, t Tokens) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The connection comes first, as in its removal, so that no two transactions deadlock.
		change, found, err := changeStatus(ctx, tx,
			"UPDATE connections SET status = 'ok', revision = revision + 1, "+
				reporting("'ok'")+" WHERE tenant_id = $1 AND id = $2", t.TenantID, t.ConnectionID)
		if err != nil {
			return err
		}
		if !found {
			return connectionNotFound()
		}
		if _, err = exec(ctx, tx, putTokens, t.TenantID, t.ConnectionID, t.Sealed,
			optional(t.RefreshAt)); err != nil {
			return err
		}
		return s.publishStatus(ctx, tx, t.TenantID, t.ConnectionID, change)
	})
}

// ResetTokens replaces the tokens of a connection whose credentials were replaced. Only the ids, Sealed and
// RefreshAt of t are used.
func (s *Store) ResetTokens(ctx context.Context, t Tokens) error {
	_, err := s.exec(ctx, putTokens, t.TenantID, t.ConnectionID, t.Sealed, optional(t.RefreshAt))
	return err
}

// LeaseTokens takes the lease of the tokens read as there, if it is free at now and there are no newer
// tokens. If the connection has no row yet, there.Sealed becomes its first value. Only LeaseOwner and
// LeaseUntil of ours are used.
func (s *Store) LeaseTokens(ctx context.Context, there, ours Tokens, now time.Time) (bool, error) {
	affected, err := s.exec(ctx, "INSERT INTO tokens ("+tokenColumns+
		`) VALUES ($1, $2, $7, 0, $3, FALSE, 0, $4, $5)
		ON CONFLICT (tenant_id, connection_id) DO UPDATE SET lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
		WHERE tokens.version = $6 AND (tokens.lease_until <= $3 OR tokens.lease_until > $8)`,
		there.TenantID, there.ConnectionID, millis(now), ours.LeaseOwner, millis(ours.LeaseUntil),
		there.Version, there.Sealed, millis(now.Add(longestLease)))
	return affected == 1, err
}

// SaveTokens stores what was obtained with the tokens of fromVersion, and ends the lease. It returns false if
// there are newer tokens. Only the ids, Sealed and RefreshAt of t are used.
func (s *Store) SaveTokens(ctx context.Context, t Tokens, fromVersion int64) (bool, error) {
	affected, err := s.exec(ctx,
		`UPDATE tokens SET sealed = $3, version = version + 1, refresh_at = $4, refused = FALSE, failures = 0,
		lease_owner = '', lease_until = 0 WHERE tenant_id = $1 AND connection_id = $2 AND version = $5`,
		t.TenantID, t.ConnectionID, t.Sealed, optional(t.RefreshAt), fromVersion)
	return affected == 1, err
}

// PostponeTokens ends the lease that t holds after a failure, and schedules the next renewal at next, or none
// if next is zero. It does nothing if t no longer holds the lease.
func (s *Store) PostponeTokens(ctx context.Context, t Tokens, next time.Time) error {
	_, err := s.exec(ctx,
		`UPDATE tokens SET failures = failures + 1, refresh_at = $3, lease_owner = '', lease_until = 0
		WHERE tenant_id = $1 AND connection_id = $2 AND version = $4 AND lease_owner = $5 AND lease_until = $6`,
		t.TenantID, t.ConnectionID, optional(next), t.Version, t.LeaseOwner, millis(t.LeaseUntil))
	return err
}

// RefuseTokens records that the provider no longer renews the tokens, and marks the connection for
// reconnection. Both happen only if the tokens are still those of fromVersion and the connection has that
// revision. Only the ids and Sealed of t are used.
func (s *Store) RefuseTokens(
	ctx context.Context, t Tokens, fromVersion, revision int64,
) (refused bool, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		refused = false
		change, found, err := changeStatus(ctx, tx, `UPDATE connections SET status = 'reconnect_required',
			revision = revision + CASE WHEN status = 'reconnect_required' THEN 0 ELSE 1 END, `+
			reporting("'reconnect_required'")+` WHERE tenant_id = $1 AND id = $2 AND revision = $3`,
			t.TenantID, t.ConnectionID, revision)
		if err != nil {
			return err
		}
		if !found {
			return changedMeanwhile()
		}
		affected, err := exec(ctx, tx,
			`UPDATE tokens SET sealed = $3, version = version + 1, refresh_at = NULL, refused = TRUE,
			lease_owner = '', lease_until = 0 WHERE tenant_id = $1 AND connection_id = $2 AND version = $4`,
			t.TenantID, t.ConnectionID, t.Sealed, fromVersion)
		if err != nil {
			return err
		}
		if affected == 0 {
			return changedMeanwhile()
		}
		refused = true
		return s.publishStatus(ctx, tx, t.TenantID, t.ConnectionID, change)
	})
	if f := fault.From(err); f != nil && f.Reason == fault.ReasonChangedMeanwhile {
		return false, nil
	}
	return refused && err == nil, err
}

// ResealTokens stores the same tokens sealed with another key. It returns false if was.Sealed is outdated.
func (s *Store) ResealTokens(ctx context.Context, was Tokens, sealed []byte) (bool, error) {
	affected, err := s.exec(ctx, "UPDATE tokens SET sealed = $3 WHERE tenant_id = $1 AND connection_id = $2 "+
		"AND sealed = $4",
		was.TenantID, was.ConnectionID, sealed, was.Sealed)
	return affected == 1, err
}
