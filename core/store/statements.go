package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// preparing is a connector whose connections keep the statements that they prepared last, as pgx does for
// PostgreSQL. Otherwise SQLite would parse and plan every query anew, which takes longer than most of them run.
type preparing struct {
	driver.Connector

	writes bool // whether its connections are refused that can only read
}

// maxStatements is more than a gateway under load uses. A statement takes a few KiB.
const maxStatements = 128

// Connect opens a connection.
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if p.writes {
		if readOnly, err := conn.(session).IsReadOnly("main"); err != nil || readOnly {
			return nil, errors.Join(cmp.Or(err, errReadOnly), conn.Close())
		}
	}
	statements, err := lru.NewWithEvict(maxStatements, func(_ string, s prepared) { _ = s.Close() })
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
	IsReadOnly(schema string) (bool, error)
}

// preparingConn is a connection. Its pool uses it for one query at a time, and closes the rows of one before
// the next.
type preparingConn struct {
	session
	statements *lru.Cache[string, prepared]
}

// prepared is a statement whose parameters have no names.
type prepared struct {
	driver.Stmt
	order []int // the number that each parameter had in the query; nil: they came in their order
}

// bound returns the arguments of the query as those of the statement.
func (p prepared) bound(args []driver.NamedValue) []driver.NamedValue {
	if p.order == nil {
		return args
	}
	all := make([]driver.NamedValue, len(p.order))
	for i, number := range p.order {
		if number > len(args) { // the driver says what is missing
			return args
		}
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: args[number-1].Value}
	}
	return all
}

// statement returns the statement of a query, prepared now or earlier.
func (c *preparingConn) statement(ctx context.Context, query string) (prepared, error) {
	if p, has := c.statements.Get(query); has {
		return p, nil
	}
	// SQLite plans a query for the value of its limit, and therefore anew for each value that is bound, equal or not. A
	// limit with a sign it does not look at.
	unnamed, order := withoutNames(strings.ReplaceAll(query, "LIMIT $", "LIMIT +$"))
	s, err := c.session.PrepareContext(ctx, unnamed)
	p := prepared{Stmt: s, order: order}
	if err == nil {
		c.statements.Add(query, p)
	}
	return p, err
}

// withoutNames puts ? in the place of each $n outside of texts, and returns all n unless they are 1, 2, 3 and so on.
// The driver asks SQLite for the name of each parameter that it binds, and SQLite looks through the names of all.
func withoutNames(query string) (unnamed string, order []int) {
	var text strings.Builder
	quoted, inOrder := false, true
	for i := 0; i < len(query); i++ {
		quoted = quoted != (query[i] == '\'')
		if query[i] != '$' || quoted {
			text.WriteByte(query[i])
			continue
		}
		number := 0
		for ; i+1 < len(query) && '0' <= query[i+1] && query[i+1] <= '9'; i++ {
			number = 10*number + int(query[i+1]-'0')
		}
		text.WriteByte('?')
		order = append(order, number)
		inOrder = inOrder && number == len(order)
	}
	if inOrder {
		order = nil
	}
	return text.String(), order
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
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, s.bound(args))
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
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, s.bound(args))
}

// Close closes the statements and the connection.
func (c *preparingConn) Close() error {
	c.statements.Purge()
	return c.session.Close()
}
