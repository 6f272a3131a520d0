package store

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// OpenInterrupted opens a store on PostgreSQL that calls before ahead of each of its statements, COMMIT among them.
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
	db := pool(interrupter{stdlib.GetConnector(*config), before}, postgresConnections)
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

// interrupted is a connection whose statements begin with a call of before.
type interrupted struct {
	*stdlib.Conn
	before func()
}

func (c *interrupted) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.before()
	return c.Conn.ExecContext(ctx, query, args)
}

func (c *interrupted) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
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

// MigrateTo takes the steps up to a version.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	migrator, err := s.migrator()
	if err != nil {
		return err
	}
	_, err = migrator.UpTo(ctx, version)
	return err
}

// Execute runs a statement as it is.
func (s *Store) Execute(ctx context.Context, query string, args ...any) error {
	_, err := exec(ctx, s.write, query, args...)
	return err
}

// Count runs a query that answers one number.
func (s *Store) Count(ctx context.Context, query string, args ...any) (n int64, err error) {
	n, _, err = find(ctx, s.read, func(row scanner) (n int64, err error) { return n, row.Scan(&n) }, query, args...)
	return n, err
}
