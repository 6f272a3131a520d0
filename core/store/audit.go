package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AuditRow is a row of audit: one change. core/audit defines its texts and what its MAC covers.
type AuditRow struct {
	UID          string
	ID           int64 // its place in the chain; 0 until it is sealed
	At           time.Time
	TenantID     string
	Tenant       string // the tenant's name
	Actor        string
	Action       string
	ConnectionID string
	Subject      string
	Changed      []string
	Outcome      string
	Effect       string
	RequestID    string
	KeyID        string
	MAC          string
}

// AuditHead is the end of the chain.
type AuditHead struct {
	Count int64
	MAC   string // of the last row; "" if there is none
	KeyID string
	Seal  string // "" if there is no key yet
}

// AuditBoundary is where the chain begins in this database: the rows up to it are archived.
type AuditBoundary struct {
	Count int64
	MAC   string // of the last archived row; "" if there is none
	Kept  string // a digest of the archived rows that stay in the database, see AuditRow.Stays
	KeyID string
	Seal  string
}

// AuditPage is a part of the chain with both its ends, as they were at the same moment.
type AuditPage struct {
	Rows     []AuditRow
	Boundary AuditBoundary
	Head     AuditHead
}

// AuditKey is a row of audit_keys.
type AuditKey struct {
	ID        string
	Sealed    []byte // by core/vault
	CreatedAt time.Time
}

// AuditFilter selects the rows to list. Zero values do not restrict, except Limit.
type AuditFilter struct {
	TenantID string
	Tenant   string // name; tenants that were deleted may have had it before
	Action   string
	Since    time.Time
	Limit    int // how many rows at most, the newest
}

// AuditMark is a position among the rows that are not sealed, by time and UID.
type AuditMark struct {
	At  int64
	UID string
}

const (
	auditWritten = "uid, at, tenant_id, tenant, actor, action, connection_id, subject, changed, outcome, " +
		"effect, request_id, key_id, mac"
	auditColumns = auditWritten + ", id"
)

func scanAudit(row scanner) (r AuditRow, err error) {
	var at int64
	var id *int64
	var changed string
	err = row.Scan(&r.UID, &at, &r.TenantID, &r.Tenant, &r.Actor, &r.Action, &r.ConnectionID,
		&r.Subject, &changed,
		&r.Outcome, &r.Effect, &r.RequestID, &r.KeyID, &r.MAC, &id)
	if err != nil {
		return r, err
	}
	if r.At = instant(at); id != nil {
		r.ID = *id
	}
	if json.Unmarshal([]byte(changed), &r.Changed) != nil {
		r.Changed = []string{changed} // not as the gateway writes it: the MAC will not match either
	}
	return r, nil
}

func auditArgs(r AuditRow) ([]any, error) {
	changed, err := json.Marshal(append([]string{}, r.Changed...))
	if err != nil {
		return nil, err
	}
	return []any{
		r.UID, millis(r.At), r.TenantID, r.Tenant, r.Actor, r.Action, r.ConnectionID, r.Subject, string(changed),
		r.Outcome, r.Effect, r.RequestID, r.KeyID, r.MAC,
	}, nil
}

// AddAudit adds rows that belong to no other change of the store.
func (s *Store) AddAudit(ctx context.Context, rows ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error { return addAudit(ctx, tx, rows) })
}

func addAudit(ctx context.Context, q querier, rows []AuditRow) error {
	for _, r := range rows {
		args, err := auditArgs(r)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, q, insertAudit, args...); err != nil {
			return err
		}
	}
	return nil
}

const insertAudit = "INSERT INTO audit (" + auditWritten +
	") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"

// execAudited runs one statement that writes at most one row, and adds the audit rows if it wrote one.
func (s *Store) execAudited(
	ctx context.Context, rows []AuditRow, query string, args ...any,
) (affected int64, err error) {
	if len(rows) == 0 || s.dialect.joins && len(rows) == 1 {
		err = s.changeOnce(ctx, oneStatement, func(ctx context.Context, q querier) error {
			affected, err = s.execAuditedIn(ctx, q, rows, query, args...)
			return err
		})
		return affected, err
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		affected, err = s.execAuditedIn(ctx, tx, rows, query, args...)
		return err
	})
	return affected, err
}

// execAuditedIn is execAudited on q. If the database takes both writes in one statement, the audit costs no
// round trip.
func (s *Store) execAuditedIn(
	ctx context.Context, q querier, rows []AuditRow, query string, args ...any,
) (affected int64, err error) {
	if joined, joins, err := s.joinAudit(rows, query, args); err != nil {
		return 0, err
	} else if joins {
		return joined.exec(ctx, q)
	}
	affected, err = exec(ctx, q, query, args...)
	if err != nil || affected == 0 {
		return affected, err
	}
	return affected, addAudit(ctx, q, rows)
}

// joinAudit returns the one statement that writes what query does and the row of the audit, if there is one.
func (s *Store) joinAudit(
	rows []AuditRow, query string, args []any,
) (joined statement, joins bool, err error) {
	if len(rows) != 1 || !s.dialect.joins {
		return statement{}, false, nil
	}
	row, err := auditArgs(rows[0])
	if err != nil {
		return statement{}, false, err
	}
	change := "WITH change AS (" + query + " RETURNING 1)"
	insert := "INSERT INTO audit (" + auditWritten + ") SELECT " + places(len(args)+1, len(row)) + " FROM change"
	return statement{
		query: change + " " + insert, args: slices.Concat(args, row), must: true,
		orFails: change + ", noted AS (" + insert + " RETURNING 1) SELECT " + orFails + " FROM noted",
	}, true, nil
}

// AuditLookedThrough bounds the time that it takes to list the rows of an action that callers take.
const AuditLookedThrough = 100_000

// AuditRows lists the newest rows that match the filter, the oldest first. Of an action that callers take, it
// looks through the newest AuditLookedThrough rows: the tenant's, or those of all.
func (s *Store) AuditRows(ctx context.Context, f AuditFilter) ([]AuditRow, error) {
	return s.auditRowsAmong(ctx, f, AuditLookedThrough)
}

func (s *Store) auditRowsAmong(ctx context.Context, f AuditFilter, most int) ([]AuditRow, error) {
	if f.isOfCallers() {
		query, args := f.oldestAmong(most)
		oldest, found, err := findIn(ctx, s, scanInt, query, args...)
		if err != nil {
			return nil, err
		}
		if at := instant(oldest); found && at.After(f.Since) {
			f.Since = at
		}
	}
	query, args := f.rows()
	rows, err := listOf(ctx, s, scanAudit, query, args...)
	slices.Reverse(rows)
	return rows, err
}

// notOfCallers leaves out the actions that callers take, which most rows are of. It is the condition of the index
// audit_of_administrators, and not a list: of one of more than two, SQLite makes a table for each row that is added.
const notOfCallers = "action <> 'book-meeting' AND action <> 'cancel-meeting' AND action <> 'create-ticket' AND " +
	"action <> 'hold-slot' AND action <> 'release-hold' AND action <> 'update-meeting'"

func (f AuditFilter) isOfCallers() bool {
	return f.Action != "" && strings.Contains(notOfCallers, "'"+f.Action+"'")
}

// oldestAmong returns the query of the time of the oldest of as many rows, the newest of the filter's tenant or
// of all. There is none if there are fewer rows. The time is not a part of the other query, since PostgreSQL
// would not know that few rows are newer, and read the whole table.
func (f AuditFilter) oldestAmong(most int) (query string, args []any) {
	where := ""
	if args = []any{most - 1}; f.Tenant != "" {
		where, args = " WHERE tenant = $2", append(args, f.Tenant)
	}
	return "SELECT at FROM audit" + where + " ORDER BY at DESC, uid DESC LIMIT 1 OFFSET $1", args
}

// rows returns the query of the newest rows that match.
func (f AuditFilter) rows() (query string, args []any) {
	where, args := []string{"at >= $1"}, []any{int64(0), f.Limit}
	if !f.Since.IsZero() {
		args[0] = millis(f.Since)
	}
	tenant := "tenant"
	if f.Action != "" && !f.isOfCallers() {
		where = append(where, notOfCallers)
		tenant = "tenant || ''" // the index of the tenant's rows has more of them
	}
	for _, is := range []struct{ column, value string }{
		{"tenant_id", f.TenantID}, {tenant, f.Tenant}, {"action", f.Action},
	} {
		if is.value != "" {
			args = append(args, is.value)
			where = append(where, fmt.Sprintf("%s = $%d", is.column, len(args)))
		}
	}
	return "SELECT " + auditColumns + " FROM audit WHERE " + strings.Join(where, " AND ") +
		" ORDER BY at DESC, uid DESC LIMIT $2", args
}

// AuditChain returns sealed rows after an id, in the order of the chain.
func (s *Store) AuditChain(ctx context.Context, after int64, most int) (AuditPage, error) {
	return s.auditPage(ctx, auditChain, func(AuditBoundary) []any { return []any{after, most} })
}

const auditChain = "SELECT " + auditColumns + " FROM audit WHERE id > $1 ORDER BY id LIMIT $2"

// ArchivedAudit returns the sealed rows up to the boundary that are in the database: those that stay there.
func (s *Store) ArchivedAudit(ctx context.Context) (AuditPage, error) {
	return s.auditPage(ctx, archivedAudit, func(b AuditBoundary) []any { return []any{b.Count} })
}

const archivedAudit = "SELECT " + auditColumns + " FROM audit WHERE id <= $1 ORDER BY id"

func (s *Store) auditPage(
	ctx context.Context, query string, args func(AuditBoundary) []any,
) (page AuditPage, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		return inTx(ctx, s.read, s.dialect.reading, func(ctx context.Context, tx *sql.Tx) error {
			if page.Head, err = auditHead(ctx, tx); err != nil {
				return err
			}
			if page.Boundary, err = auditBoundary(ctx, tx); err != nil {
				return err
			}
			page.Rows, err = list(ctx, tx, scanAudit, query, args(page.Boundary)...)
			return err
		})
	})
	return page, err
}

// UnsealedAudit returns rows that are not in the chain yet, after a mark.
func (s *Store) UnsealedAudit(ctx context.Context, after AuditMark, most int) ([]AuditRow, error) {
	return listOf(ctx, s, scanAudit, unsealedAudit, after.At, after.UID, most)
}

const unsealedAudit = "SELECT " + auditColumns +
	" FROM audit WHERE COALESCE(id, 0) = 0 AND (at, uid) > ($1, $2) ORDER BY at, uid LIMIT $3"

// Mark returns the row's position among those that are not sealed.
func (r AuditRow) Mark() AuditMark { return AuditMark{At: millis(r.At), UID: r.UID} }

// SealAudit passes rows after a mark that are not in the chain to chain, with the head and the greatest id in
// use, archived ones among them. It stores the rows that chain returns, with their ID, KeyID and MAC, and the
// returned head. Of all replicas one caller at a time gets to the chain; writers of rows do not wait for it.
// SealAudit returns how many rows it passed and the mark of the last one. chain may be called more than once
// and must not call the store.
func (s *Store) SealAudit(
	ctx context.Context, after AuditMark, most int,
	chain func(head AuditHead, last int64, rows []AuditRow) ([]AuditRow, AuditHead),
) (seen int, mark AuditMark, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		seen, mark = 0, after
		if _, err := exec(ctx, tx, "UPDATE audit_head SET count = count"); err != nil {
			return err
		}
		head, err := auditHead(ctx, tx)
		if err != nil {
			return err
		}
		last, _, err := find(ctx, tx, scanInt,
			"SELECT COALESCE(MAX(id), 0) FROM (SELECT MAX(id) AS id FROM audit UNION ALL "+
				"SELECT MAX(count) FROM audit_boundary) ids")
		if err != nil {
			return err
		}
		rows, err := list(ctx, tx, scanAudit, unsealedAudit, after.At, after.UID, most)
		if err != nil || len(rows) == 0 {
			return err
		}
		seen, mark = len(rows), rows[len(rows)-1].Mark()
		sealed, next := chain(head, last, rows)
		if len(sealed) == 0 {
			return nil
		}
		if err := placeAudit(ctx, tx, sealed); err != nil {
			return err
		}
		// A missing head was removed by someone. The rows that follow it show that.
		_, err = exec(ctx, tx,
			`INSERT INTO audit_head (name, count, mac, key_id, seal) VALUES ('head', $1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET count = excluded.count, mac = excluded.mac, key_id = excluded.key_id, seal = excluded.seal`,
			next.Count, next.MAC, next.KeyID, next.Seal)
		return err
	})
	return seen, mark, err
}

// placeAudit puts rows into the chain in one statement.
func placeAudit(ctx context.Context, tx *sql.Tx, rows []AuditRow) error {
	var values strings.Builder
	var args []any
	for i, r := range rows {
		if i > 0 {
			values.WriteString(", ")
		}
		// Without the cast, PostgreSQL would take the parameter for text.
		fmt.Fprintf(&values, "($%d, CAST($%d AS BIGINT), $%d, $%d)", len(args)+1, len(args)+2,
			len(args)+3, len(args)+4)
		args = append(args, r.UID, r.ID, r.KeyID, r.MAC)
	}
	_, err := exec(ctx, tx, "WITH sealed (uid, id, key_id, mac) AS (VALUES "+values.String()+
		") UPDATE audit SET id = sealed.id, key_id = sealed.key_id, mac = sealed.mac FROM sealed WHERE audit.uid "+
		"= sealed.uid", args...)
	return err
}

func auditHead(ctx context.Context, q querier) (AuditHead, error) {
	head, _, err := find(ctx, q, func(row scanner) (h AuditHead, err error) {
		return h, row.Scan(&h.Count, &h.MAC, &h.KeyID, &h.Seal)
	}, "SELECT count, mac, key_id, seal FROM audit_head WHERE name = 'head'")
	return head, err
}

func auditBoundary(ctx context.Context, q querier) (AuditBoundary, error) {
	boundary, _, err := find(ctx, q, func(row scanner) (b AuditBoundary, err error) {
		return b, row.Scan(&b.Count, &b.MAC, &b.Kept, &b.KeyID, &b.Seal)
	}, "SELECT count, mac, kept, key_id, seal FROM audit_boundary WHERE name = 'boundary'")
	return boundary, err
}

// stays names the actions whose rows stay in the database when they are archived: by them, a key whose row
// was put back to its earlier state is known to have ended (keyColumns).
const stays = "'revoke-key', 'roll-key'"

// Stays reports whether the row stays in the database when it is archived.
func (r AuditRow) Stays() bool { return strings.Contains(stays, "'"+r.Action+"'") }

// CutAudit moves the boundary. It passes the boundary and the rows behind it to cut: up to the id last, and
// at most most. It stores the boundary that cut returns, and removes the rows that it passed but for those
// that stay, in one transaction. It returns how many rows it passed. Callers take turns. cut may be called
// more than once and must not call the store.
func (s *Store) CutAudit(
	ctx context.Context, last int64, most int, cut func(AuditBoundary, []AuditRow) (AuditBoundary, error),
) (passed int, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		passed = 0
		if _, err := exec(ctx, tx, "UPDATE audit_boundary SET count = count"); err != nil {
			return err
		}
		from, err := auditBoundary(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := list(ctx, tx, scanAudit, auditToCut, from.Count, last, most)
		if err != nil || len(rows) == 0 {
			return err
		}
		to, err := cut(from, rows)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, tx, cutAudit, from.Count, rows[len(rows)-1].ID); err != nil {
			return err
		}
		passed = len(rows)
		// A missing boundary was removed by someone. Where nothing had been archived, that changes nothing.
		_, err = exec(ctx, tx, `INSERT INTO audit_boundary (name, count, mac, kept, key_id, seal, tried_at)
			VALUES ('boundary', $1, $2, $3, $4, $5, 0) ON CONFLICT (name) DO UPDATE SET count = excluded.count,
			mac = excluded.mac, kept = excluded.kept, key_id = excluded.key_id, seal = excluded.seal`,
			to.Count, to.MAC, to.Kept, to.KeyID, to.Seal)
		return err
	})
	return passed, err
}

const (
	auditToCut = "SELECT " + auditColumns + " FROM audit WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3"
	cutAudit   = "DELETE FROM audit WHERE id > $1 AND id <= $2 AND action NOT IN (" + stays + ")"
)

// TryArchiving reports whether nobody has begun to archive by itself since a time, and records that the
// caller does now. Whoever began later than now did so by a clock that was set back since.
func (s *Store) TryArchiving(ctx context.Context, since, now time.Time) (bool, error) {
	affected, err := s.exec(ctx, "UPDATE audit_boundary SET tried_at = $2 WHERE tried_at < $1 OR tried_at > $3",
		millis(since), millis(now), millis(now.Add(clocksDiffer)))
	return affected > 0, err
}

// AuditKeys lists the keys, the oldest first.
func (s *Store) AuditKeys(ctx context.Context) ([]AuditKey, error) {
	return listOf(ctx, s, func(row scanner) (k AuditKey, err error) {
		var created int64
		err = row.Scan(&k.ID, &k.Sealed, &created)
		k.CreatedAt = instant(created)
		return k, err
	}, "SELECT id, sealed, created_at FROM audit_keys ORDER BY created_at, id")
}

// AddAuditKey adds a key, and stores first as the head if no head has been sealed yet.
func (s *Store) AddAuditKey(ctx context.Context, k AuditKey, first AuditHead) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := exec(ctx, tx, "INSERT INTO audit_keys (id, sealed, created_at) VALUES ($1, $2, $3)", k.ID,
			k.Sealed, millis(k.CreatedAt))
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, "UPDATE audit_head SET count = $1, mac = $2, key_id = $3, seal = $4 WHERE seal = ''",
			first.Count, first.MAC, first.KeyID, first.Seal)
		return err
	})
}

// ResealAuditKey replaces the sealed form of a key.
func (s *Store) ResealAuditKey(ctx context.Context, id string, sealed []byte) error {
	_, err := s.exec(ctx, "UPDATE audit_keys SET sealed = $2 WHERE id = $1", id, sealed)
	return err
}
