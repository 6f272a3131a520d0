package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// NewTenant is a tenant that does not exist, with its connections, and the rows of the audit about both.
type NewTenant struct {
	Tenant      Tenant
	Connections []Connection
	Audit       []AuditRow
}

// CreateTenants adds tenants with their connections, all in one transaction. The rows are as CreateTenant and
// CreateConnection would store them one after another. A name that is taken is a Conflict, and nothing is
// added.
func (s *Store) CreateTenants(ctx context.Context, all []NewTenant) error {
	// Two callers that add the same names in different orders would wait for each other.
	all = slices.SortedFunc(slices.Values(all), func(a, b NewTenant) int {
		return strings.Compare(a.Tenant.Name, b.Tenant.Name)
	})
	var tenants, connections, turns, audits [][]any
	var connected []Connection
	for _, t := range all {
		tenants = append(tenants, []any{
			t.Tenant.ID, t.Tenant.Name, object(t.Tenant.Settings), millis(t.Tenant.CreatedAt),
		})
		for _, c := range stored(t) {
			if c.Status == "ok" {
				connected = append(connected, c)
			}
			connections = append(connections, []any{
				c.ID, c.TenantID, c.Name, c.Kind, c.Provider, c.IsDefault, object(c.Settings), c.Credentials, c.Status,
				c.Email, c.Revision, millis(c.CreatedAt), reported(c.Status),
			})
			turns = append(turns, []any{c.ID, 0})
		}
		for _, row := range t.Audit {
			args, err := auditArgs(row)
			if err != nil {
				return err
			}
			audits = append(audits, args)
		}
	}
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, into := range []struct {
			table, columns string
			rows           [][]any
		}{
			{"tenants", tenantColumns, tenants},
			{"connections", connectionColumns + ", reported_status", connections},
			{"connection_turns", "connection_id, taken", turns},
			{"audit", auditWritten, audits},
		} {
			if err := insert(ctx, tx, into.table, into.columns, into.rows); err != nil {
				return err
			}
		}
		return s.publishConnected(ctx, tx, connected)
	})
}

// stored returns the connections of a new tenant as they are stored. Of each kind, the default is the one that
// says so, or else the first.
func stored(t NewTenant) []Connection {
	defaults := map[string]int{}
	for i, c := range t.Connections {
		if _, has := defaults[c.Kind]; c.IsDefault || !has {
			defaults[c.Kind] = i
		}
	}
	all := slices.Clone(t.Connections)
	for i := range all {
		c := &all[i]
		c.TenantID, c.Revision, c.IsDefault = t.Tenant.ID, 1, defaults[c.Kind] == i
		if c.Status == "" {
			c.Status = "ok"
		}
	}
	return all
}

// reported returns the status that webhooks have been told of a new connection.
func reported(status string) string {
	if status == "ok" {
		return status
	}
	return ""
}

// publishConnected tells webhooks of new connections. Most gateways have no webhook that could be told.
func (s *Store) publishConnected(ctx context.Context, tx *sql.Tx, connected []Connection) error {
	if !s.publishes() {
		return nil
	}
	_, found, err := find(ctx, tx, scanText, "SELECT id FROM webhooks WHERE disabled_at IS NULL LIMIT 1")
	if err != nil || !found {
		return err
	}
	for _, c := range connected {
		if err := s.publishStatus(ctx, tx, c.TenantID, c.ID, statusChange{after: c.Status}); err != nil {
			return err
		}
	}
	return nil
}

// rowsPerInsert keeps the parameters of a statement few. SQLite's driver asks for the name of each, and SQLite
// looks through all of them for it.
const rowsPerInsert = 20

// insert adds rows, many with each statement. On PostgreSQL, each statement is a round trip.
func insert(ctx context.Context, q querier, table, columns string, rows [][]any) error {
	for part := range slices.Chunk(rows, rowsPerInsert) {
		args := slices.Concat(part...)
		if _, err := exec(ctx, q, inserting(table, columns, len(part), len(part[0])), args...); err != nil {
			return err
		}
	}
	return nil
}

func inserting(table, columns string, rows, each int) string {
	text := make([]byte, 0, 100+rows*each*7)
	text = append(text, "INSERT INTO "+table+" ("+columns+") VALUES "...)
	for n := range rows * each {
		switch {
		case n == 0:
			text = append(text, '(')
		case n%each == 0:
			text = append(text, "), ("...)
		default:
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(text, '$'), int64(n+1), 10)
	}
	return string(append(text, ')'))
}
