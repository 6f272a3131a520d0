package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// statement is a writing statement with its arguments.
type statement struct {
	query string
	args  []any
	must  bool // change a row

	orFails string // the same as a query that fails if no row is changed; "": there is none
}

// orFails fails with invalidText if nothing was noted. PostgreSQL would work out a constant beforehand.
const (
	orFails     = "CASE WHEN COUNT(*) = 0 THEN CAST('frontdesk takes this back: ' || COUNT(*) AS INTEGER) END"
	invalidText = "22P02"
)

func (t statement) exec(ctx context.Context, q querier) (affected int64, err error) {
	return exec(ctx, q, t.query, t.args...)
}

// parentsFirst returns the statement that locks connections before the rows that refer to them, as their removal does.
// What adds several rows would lock those that are there already first, and the connection for a new one only then, so
// that the two could deadlock.
func (s *Store) parentsFirst(connectionIDs []string) []statement {
	if s.dialect.lockParent == "" || len(connectionIDs) == 0 {
		return nil
	}
	slices.Sort(connectionIDs)
	list, args := among(slices.Compact(connectionIDs), nil)
	return []statement{{
		query: "SELECT id FROM connections WHERE id IN " + list + " ORDER BY id" + s.dialect.lockParent, args: args,
	}}
}

func execAll(ctx context.Context, q querier, all []statement) error {
	for _, t := range all {
		if _, err := t.exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// together runs statements in one transaction, on PostgreSQL only. They are sent together with its beginning, and so
// cost one round trip, and the commit another one. Each has its own view of the data, as if it were sent alone.
// If one that must change a row does not, nothing is changed, and together reports false: then the caller goes
// step by step, as it does on SQLite and for all else that it has to decide between two statements.
func (s *Store) together(ctx context.Context, all []statement) (done bool, err error) {
	return s.sendBy(ctx, sendTogether, all)
}

// atOnce is together without a round trip for the commit: PostgreSQL ends the transaction with the last statement,
// the only one that must change a row. So the statements may still take effect after their caller has given up.
func (s *Store) atOnce(ctx context.Context, all []statement) (done bool, err error) {
	return s.sendBy(ctx, sendAtOnce, all)
}

func (s *Store) sendBy(
	ctx context.Context, send func(context.Context, *pgx.Conn, []statement) (bool, error), all []statement,
) (done bool, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		conn, err := s.write.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(raw any) error {
			if c, is := raw.(*stdlib.Conn); is { // not one of a test, which looks at each statement
				done, err = send(ctx, c.Conn(), all)
			}
			return err
		})
	})
	return done && err == nil, err
}

// rollbackLimit bounds the time of a rollback whose caller may be gone. If it passes, the connection is
// closed.
const rollbackLimit = time.Second

func sendTogether(ctx context.Context, c *pgx.Conn, all []statement) (done bool, err error) {
	defer func() {
		if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
			return
		}
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
		defer cancel()
		if _, rolled := c.Exec(own, "ROLLBACK"); rolled != nil {
			_ = c.Close(own) // the server then ends the transaction; the pool notices
		}
	}()
	if done, err = sendAll(ctx, c, all); pgconn.SafeToRetry(err) {
		_ = c.Close(ctx) // it was lost before; step by step, the pool tries others
		return false, nil
	}
	if err != nil || !done {
		return false, err
	}
	tag, err := c.Exec(ctx, "COMMIT")
	if err == nil && tag.String() != "COMMIT" {
		err = pgx.ErrTxCommitRollback
	}
	return err == nil, err
}

// sendAtOnce sends the statements without a beginning, which makes them one transaction that ends with the last
// (PostgreSQL's manual, "Pipelining").
func sendAtOnce(ctx context.Context, c *pgx.Conn, all []statement) (done bool, err error) {
	batch := &pgx.Batch{}
	for _, t := range all {
		batch.Queue(cmp.Or(t.orFails, t.query), t.args...)
	}
	err = c.SendBatch(ctx, batch).Close()
	var failed *pgconn.PgError
	switch {
	case errors.As(err, &failed) && failed.Code == invalidText:
		return false, nil
	case pgconn.SafeToRetry(err):
		_ = c.Close(ctx) // it was lost before; step by step, the pool tries others
		return false, nil
	}
	return err == nil, err
}

// sendAll begins a transaction with the statements. It reports whether all that must have changed a row.
func sendAll(ctx context.Context, c *pgx.Conn, all []statement) (done bool, err error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	for _, t := range all {
		batch.Queue(t.query, t.args...)
	}
	results := c.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := results.Exec(); err != nil {
		return false, err
	}
	done = true
	for _, t := range all {
		tag, err := results.Exec()
		if err != nil {
			return false, err
		}
		done = done && (!t.must || tag.RowsAffected() > 0)
	}
	return done, nil
}
