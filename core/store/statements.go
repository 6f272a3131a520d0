package store

import (
	"context"
	"database/sql/driver"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// preparing is a connector whose connections keep the statements that they prepared last, as pgx does for
// PostgreSQL. Otherwise SQLite would parse and plan every query anew, which takes longer than most of them run.
type preparing struct{ driver.Connector }

// maxStatements is more than a gateway under load uses. A statement takes a few KiB.
const maxStatements = 128

// Connect opens a connection.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	statements, err := lru.NewWithEvict(maxStatements, func(_ string, s driver.Stmt) { _ = s.Close() })
	if err != nil {
		return nil, err
	}
	return &preparingConn{session: conn.(session), statements: statements}, nil
}

// session is what SQLite's connections can do.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// preparingConn is a connection. Its pool uses it for one query at a time, and closes the rows of one before
// the next.
type preparingConn struct {
	session
	statements *lru.Cache[string, driver.Stmt]
}

// statement returns the statement of a query, prepared now or earlier.
func (c *preparingConn) statement(ctx context.Context, query string) (driver.Stmt, error) {
	if s, has := c.statements.Get(query); has {
		return s, nil
	}
	// SQLite plans a query for the value of its limit, and therefore anew for each value that is bound, equal or not. A
	// limit with a sign it does not look at.
	s, err := c.session.PrepareContext(ctx, strings.ReplaceAll(query, "LIMIT $", "LIMIT +$"))
	if err == nil {
		c.statements.Add(query, s)
	}
	return s, err
}

// ExecContext runs a query that returns no rows. One without parameters may be a script, or rare, and is not
// kept, except for those of each batch of writes.
func (c *preparingConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	if len(args) == 0 && query != savepoint {
		return c.session.(driver.ExecerContext).ExecContext(ctx, query, args)
	}
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext runs a query that returns rows.
func (c *preparingConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	if len(args) == 0 {
		return c.session.(driver.QueryerContext).QueryContext(ctx, query, args)
	}
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// Close closes the statements and the connection.
func (c *preparingConn) Close() error {
	c.statements.Purge()
	return c.session.Close()
}
