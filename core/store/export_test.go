package store

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// OpenInterrupted opens a store on PostgreSQL that calls before ahead of each of its statements, including
// COMMIT.
func OpenInterrupted(ctx context.Context, url string, before func()) (*Store, error) {
	s, err := Open(ctx, url)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if err := s.write.Close(); err != nil {
		return nil, err
	}
	connections, err := poolSize(config.RuntimeParams)
	if err != nil {
		return nil, err
	}
	db := pool(interrupter{stdlib.GetConnector(*config), before}, connections)
	s.write, s.read = db, db
	return s, nil
}

type interrupter struct {
	driver.Connector
	before func()
}

func (i interrupter) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := i.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &interrupted{c.(*stdlib.Conn), i.before}, nil
}

// interrupted is a connection that calls before ahead of each statement.
type interrupted struct {
	*stdlib.Conn
	before func()
}

func (c *interrupted) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	c.before()
	return c.Conn.ExecContext(ctx, query, args)
}

func (c *interrupted) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	c.before()
	return c.Conn.QueryContext(ctx, query, args)
}

func (c *interrupted) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, o)
	return interruptedTx{tx, c.before}, err
}

type interruptedTx struct {
	driver.Tx
	before func()
}

func (t interruptedTx) Commit() error {
	t.before()
	return t.Tx.Commit()
}

// MigrateTo takes the migration steps up to a version.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	migrator, err := s.migrator()
	if err != nil {
		return err
	}
	_, err = migrator.UpTo(ctx, version)
	return err
}

// Setting returns a setting of a connection to PostgreSQL.
func Setting(ctx context.Context, s *Store, name string) (string, error) {
	value, _, err := findIn(ctx, s, func(row scanner) (text string, err error) { return text, row.Scan(&text) },
		"SELECT current_setting($1)", name)
	return value, err
}

// Execute runs a statement unchanged.
func (s *Store) Execute(ctx context.Context, query string, args ...any) error {
	_, err := exec(ctx, s.write, query, args...)
	return err
}

// Count runs a query that returns one number.
func (s *Store) Count(ctx context.Context, query string, args ...any) (n int64, err error) {
	n, _, err = find(ctx, s.read, func(row scanner) (n int64, err error) { return n, row.Scan(&n) },
		query, args...)
	return n, err
}

// RepeatedQuery is a query that runs again and again, and the indexes that it must use.
type RepeatedQuery struct {
	Name    string
	SQL     string
	Args    []any
	Indexes []string
}

// RepeatedQueries lists the queries whose plans are checked.
func RepeatedQueries() []RepeatedQuery {
	return []RepeatedQuery{
		{"StrayPurchases", strayPurchases, []any{int64(1) << 40},
			[]string{"purchases_open", "intents_open_purchase"}},
		{"PurgeIntents", purgeable, []any{int64(1), int64(1), 5}, []string{"intents_by_age"}},
		{"PurgePurchases", purgeablePurchases, []any{int64(1), 5}, []string{"purchases_ended"}},
		{"PurgeSlots", purgeableSlots, []any{int64(1), 5}, []string{"slots_offered_by_age"}},
		{"PurgeEvents", purgeableEvents, []any{int64(1), 5}, []string{"events_seen_by_age"}},
		{"CutAudit", auditToCut, []any{int64(5), int64(50), 5}, nil},
		{"CutAudit: the removal", cutAudit, []any{int64(5), int64(50)}, nil},
		{"AuditChain", auditChain, []any{int64(5), 5}, nil},
		{"ArchivedAudit", archivedAudit, []any{int64(5)}, nil},
		{"PurgeDirectoryChanges", purgeableDirectoryChanges, []any{int64(1), 5}, []string{"directory_changes_by_age"}},
		{"PurgeCreations", purgeableCreations, []any{int64(1), 5}, []string{"creations_by_age"}},
		{"PurgeMeetings", purgeableMeetings, []any{int64(1), 5}, []string{"meetings_by_end"}},
		{"UnsealedAudit", unsealedAudit, []any{0, "", 100}, []string{"audit_unsealed"}},
	}
}

// KeyOwnerQuery is the query for which a call may wait.
func KeyOwnerQuery(s *Store) string { return s.keyOwnerBy("hash") }

// FillForPlans adds rows ended purchases, finished intents, offered slots, meetings, creations and sealed audit
// rows, and one open row of each that ends, to the tenant "acme" and its connection "front".
func FillForPlans(ctx context.Context, s *Store, rows int) error {
	const counted = "WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE " +
		"i < $1) "
	for _, insert := range []string{
		`INSERT INTO purchases (id, tenant_id, connection_id, realm, state, e164, refusal, revision, runner, created_at) ` + counted +
			`SELECT 'p' || i, 'acme', 'front', '', CASE WHEN i = 1 THEN 'chosen' ELSE 'done' END, '', '', 0, '', i FROM n`,
		`INSERT INTO intents (tenant_id, operation, key, kept, request_hash, connection_id, effect_key, plan, state, answer, owner,
			lease_until, created_at, updated_at) ` + counted +
			`SELECT 'acme', 'op', 'k' || i, TRUE, CAST('' AS BYTEA), 'front', 'p' || i, '', CASE WHEN i = 2 THEN 'unknown' ELSE 'done' END,
			CASE WHEN i = 2 THEN NULL ELSE CAST('{}' AS BYTEA) END, '', 0, i, i FROM n`,
		`INSERT INTO slots_offered (tenant_id, connection_id, id, starts_at, ends_at, calendar_ids, offered_at) ` + counted +
			`SELECT 'acme', 'front', 's' || i, i, i, '[]', i FROM n`,
		`INSERT INTO meetings (tenant_id, connection_id, reference, person, event_id, calendar_id, ends_at) ` +
			counted + `SELECT 'acme', 'front', 'm' || i, '', 'e' || i, '', i FROM n`,
		`INSERT INTO creations (actor, operation, key, request_hash, answer, created_at) ` + counted +
			`SELECT 'key:admin', 'create', 'k' || i, CAST('' AS BYTEA), CAST('' AS BYTEA), i FROM n`,
		`INSERT INTO directory_changes (tenant_id, changed_at) ` + counted + `SELECT 't' || i, i FROM n`,
		`INSERT INTO audit (uid, id, at, tenant_id, tenant, actor, action, connection_id, subject, changed, outcome, effect, request_id, key_id, mac) ` +
			counted + `SELECT 'u' || i, CASE WHEN i = 1 THEN NULL ELSE i END, i, '', '', '', '', '', '', '[]', '', '', '', '', '' FROM n`,
	} {
		if err := s.Execute(ctx, insert, rows); err != nil {
			return err
		}
	}
	return Analyze(ctx, s)
}

// FillForCalls is FillForPlans, and adds as many rows of every other table that grows with the calls.
func FillForCalls(ctx context.Context, s *Store, rows int) error {
	const counted = "WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE " +
		"i < $1) "
	hash := "CAST('hash' || i AS BLOB)"
	if s.path == "" {
		hash = "CONVERT_TO('hash' || i, 'UTF8')"
	}
	for _, insert := range []string{
		`INSERT INTO events_seen (tenant_id, connection_id, event_id, calendar_id, gone, updated_at) ` + counted +
			`SELECT 'acme', 'front', 'e' || i, '', FALSE, i FROM n`,
		`INSERT INTO tickets_seen (tenant_id, connection_id, number, ticket_id, created_at) ` + counted +
			`SELECT 'acme', 'front', i, 't' || i, i FROM n`,
		`INSERT INTO call_notes (tenant_id, call, kind, value, noted_at) ` + counted +
			`SELECT 'acme', 'c' || i, 'k', '[]', i FROM n`,
		`INSERT INTO requests (id, tenant_id, at, request_id, key_id, connection_id, operation, idempotency_key, replayed, status,
			reason, took, tries) ` + counted + `SELECT 'r' || i, 'acme', i, '', 'k', 'front', 'op', '', FALSE, 200, '', 1, '[]' FROM n`,
		`INSERT INTO api_keys (id, tenant_id, prefix, hash, label, scopes, connections, test, created_at, platform) ` + counted +
			`SELECT 'key no ' || i, 'acme', '', ` + hash + `, '', '[]', '[]', FALSE, i, '' FROM n WHERE i % 10 = 1`,
	} {
		if err := s.Execute(ctx, insert, rows); err != nil {
			return err
		}
	}
	return FillForPlans(ctx, s, rows) // which looks at the statistics last
}

// CountRows counts a tenant's rows of a table.
func CountRows(ctx context.Context, s *Store, table, tenantID string) (int64, error) {
	column := "tenant_id"
	if table == "tenants" {
		column = "id"
	}
	n, _, err := findIn(ctx, s, scanInt, "SELECT COUNT(*) FROM "+table+" WHERE "+column+" = $1", tenantID)
	return n, err
}

// DueQueuesSQL returns a query of each round of the sender.
func DueQueuesSQL(ofWebhook int) string { return dueQueues(ofWebhook) }

// OldestWaitingSQL is the other one.
const OldestWaitingSQL = oldestWaiting

// FillQueues adds webhooks w0, w1 and so on of the tenant "acme", as many connections c0, c1 and so on as there
// are queues, and deliveries that wait, each row of its queue in turn.
func FillQueues(ctx context.Context, s *Store, webhooks, queues, waiting int) error {
	const counted = "WITH RECURSIVE n (i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE " +
		"i + 1 < $1) "
	number := strconv.Itoa
	for _, insert := range []struct {
		sql  string
		rows int
	}{
		{`INSERT INTO webhooks (id, tenant_id, url, types, sealed, created_at) ` + counted +
			`SELECT 'w' || i, 'acme', 'https://h.example', '', CAST('x' AS BYTEA), i FROM n`, webhooks},
		{`INSERT INTO connections (id, tenant_id, name, kind, provider, is_default, settings, status, email, revision,
			created_at) ` + counted + `SELECT 'c' || i, 'acme', 'c' || i, 'calendar', 'p', FALSE, '{}', 'ok', '', 1, i FROM n`, queues},
		{`INSERT INTO webhook_queues (webhook_id, tenant_id, connection_id, last, next_at, owner) ` + counted +
			`SELECT 'w' || (i % ` + number(webhooks) + `), 'acme', 'c' || i, 1, i, '' FROM n`, queues},
		{`INSERT INTO deliveries (webhook_id, id, connection_id, place, type, payload, state, attempts, status, reason,
			created_at, queued_at) ` + counted + `SELECT 'w' || (i % ` + number(queues) + ` % ` + number(webhooks) + `), 'd' || i,
			'c' || (i % ` + number(queues) + `), i, 't', 'x', 'waiting', 0, 0, '', i, i FROM n`, waiting},
	} {
		if err := s.Execute(ctx, insert.sql, insert.rows); err != nil {
			return err
		}
	}
	return Analyze(ctx, s)
}

// Analyze has PostgreSQL look at its tables. SQLite has no statistics in production either.
func Analyze(ctx context.Context, s *Store) error {
	if s.path != "" {
		return nil
	}
	return s.Execute(ctx, "ANALYZE")
}

// Explain returns the database's plan for a query.
func Explain(ctx context.Context, s *Store, query string, args ...any) (string, error) {
	explain, scan := "EXPLAIN ", scanText
	if s.path != "" {
		explain = "EXPLAIN QUERY PLAN "
		scan = func(row scanner) (line string, err error) {
			var id, parent, unused int
			return line, row.Scan(&id, &parent, &unused, &line)
		}
	}
	lines, err := list(ctx, s.read, scan, explain+query, args...)
	return strings.Join(lines, "\n"), err
}

// MostConnections returns how many connections the store opens at most.
func MostConnections(s *Store) int { return s.write.Stats().MaxOpenConnections }

// AuditTimes lists as AuditRows does, looking through most rows, and returns the rows' times in milliseconds.
func AuditTimes(ctx context.Context, s *Store, f AuditFilter, most int) (times []int64, err error) {
	rows, err := s.auditRowsAmong(ctx, f, most)
	for _, r := range rows {
		times = append(times, millis(r.At))
	}
	return times, err
}

// AuditQuery is the query of AuditRows.
func AuditQuery(f AuditFilter) (query string, args []any) { return f.rows() }

// AuditBoundQuery is the query of the time at which it begins to look, for the actions of callers.
func AuditBoundQuery(f AuditFilter, most int) (query string, args []any) { return f.oldestAmong(most) }
