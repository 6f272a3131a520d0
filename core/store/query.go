package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"strconv"
	"time"

	"frontdesk/core/pause"
)

type newPool func(connector driver.Connector, size int) *sql.DB

// pool returns a pool that keeps its connections open, because opening one costs more than keeping it.
func pool(connector driver.Connector, size int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// try runs op, and repeats it while another writer blocks it, until the caller's context or the store's limit
// ends.
func (s *Store) try(ctx context.Context, op func(context.Context) error) error {
	return s.tryFor(ctx, s.limit, op)
}

func (s *Store) tryFor(ctx context.Context, limit time.Duration, op func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 64*time.Millisecond) {
		err := op(bounded)
		if err == nil {
			return nil
		}
		if endOf(bounded) == nil && s.classify(err) == again && pause.For(bounded, rand.N(wait)) == nil {
			continue
		}
		if endOf(bounded) != nil && endOf(ctx) == nil {
			return unavailable(err)
		}
		return s.fault(ctx, err)
	}
}

// exec runs one writing statement and returns how many rows it affected.
func (s *Store) exec(ctx context.Context, query string, args ...any) (affected int64, err error) {
	return s.execAs(ctx, oneStatement, query, args...)
}

// execAs is exec for a statement of one of the kinds of [part].
func (s *Store) execAs(ctx context.Context, p part, query string, args ...any) (affected int64, err error) {
	err = s.changeOnce(ctx, p, func(ctx context.Context, q querier) error {
		affected, err = exec(ctx, q, query, args...)
		return err
	})
	return affected, err
}

// changeOnce runs op, which is one writing statement and takes effect as a whole. It may call op more than
// once.
func (s *Store) changeOnce(ctx context.Context, p part, op func(ctx context.Context, q querier) error) error {
	return s.try(ctx, func(ctx context.Context) error {
		if s.batches == nil {
			return op(ctx, s.write) // without BEGIN and COMMIT, which are round trips
		}
		return s.batches.do(ctx, p, func(ctx context.Context, tx *sql.Tx) error { return op(ctx, tx) })
	})
}

// change runs op in a transaction. It may call op more than once.
func (s *Store) change(ctx context.Context, op func(ctx context.Context, tx *sql.Tx) error) error {
	return s.changeIn(ctx, severalStatements, op)
}

// changeOften is change for what each call writes. If op fails, the writes of other callers may have to be
// repeated. So it must not fail for anything that a caller could choose.
func (s *Store) changeOften(ctx context.Context, op func(ctx context.Context, tx *sql.Tx) error) error {
	return s.changeIn(ctx, hardlyFails, op)
}

func (s *Store) changeIn(
	ctx context.Context, p part, op func(ctx context.Context, tx *sql.Tx) error,
) error {
	return s.try(ctx, func(ctx context.Context) error {
		if s.batches == nil {
			return inTx(ctx, s.write, s.dialect.writing, op)
		}
		return s.batches.do(ctx, p, op)
	})
}

func inTx(
	ctx context.Context, db *sql.DB, options *sql.TxOptions, op func(ctx context.Context, tx *sql.Tx) error,
) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := op(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func exec(ctx context.Context, q querier, query string, args ...any) (affected int64, err error) {
	result, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// places returns count placeholders, beginning with the number from.
func places(from, count int) string {
	text := make([]byte, 0, 6*count)
	for i := range count {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = strconv.AppendInt(append(text, '$'), int64(from+i), 10)
	}
	return string(text)
}

// among returns a list of values for IN, and the arguments with them.
func among[T any](values []T, args []any) (list string, more []any) {
	list = "(" + places(len(args)+1, len(values)) + ")"
	for _, value := range values {
		args = append(args, value)
	}
	return list, args
}

// orNone returns err, or the error of none if a statement that had to change a row has changed none.
func orNone(affected int64, err error, none func() error) error {
	if err == nil && affected == 0 {
		return none()
	}
	return err
}

// scanner is one row of a result.
type scanner interface{ Scan(into ...any) error }

func scanInt(row scanner) (n int64, err error) { return n, row.Scan(&n) }

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// list returns every row of a query. Without an error, the slice is not nil.
func list[T any](
	ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any,
) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// find returns the first row of a query.
func find[T any](
	ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any,
) (row T, found bool, err error) {
	all, err := list(ctx, q, scan, query, args...)
	if err != nil || len(all) == 0 {
		return row, false, err
	}
	return all[0], true, nil
}

// listOf is list on the reading pool.
func listOf[T any](
	ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any,
) (all []T, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		all, err = list(ctx, s.read, scan, query, args...)
		return err
	})
	return all, err
}

// findIn is find on the reading pool.
func findIn[T any](
	ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any,
) (row T, found bool, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		row, found, err = find(ctx, s.read, scan, query, args...)
		return err
	})
	return row, found, err
}

// findByKey is findIn for a row that an index leads to; see listByKey.
func findByKey[T any](
	ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any,
) (row T, found bool, err error) {
	all, err := listByKey(ctx, s, scan, query, args...)
	if err != nil || len(all) == 0 {
		return row, false, err
	}
	return all[0], true, nil
}

// listByKey is listOf for a few rows that an index leads to. On SQLite it waits for a connection, but then without the
// goroutines that could interrupt it; see [batches.do].
func listByKey[T any](
	ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any,
) (all []T, err error) {
	if s.batches == nil {
		return listOf(ctx, s, scan, query, args...)
	}
	err = s.try(ctx, func(ctx context.Context) error {
		conn, err := s.read.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		all, err = list(context.WithoutCancel(ctx), conn, scan, query, args...)
		return err
	})
	return all, err
}

// getIn is findIn for a row that must be there: else it returns the error of missing.
func getIn[T any](
	ctx context.Context, s *Store, missing func() error, scan func(scanner) (T, error), query string, args ...any,
) (T, error) {
	row, found, err := findIn(ctx, s, scan, query, args...)
	if err == nil && !found {
		err = missing()
	}
	return row, err
}

// millis returns the form in which the store keeps a time.
func millis(t time.Time) int64 { return t.UnixMilli() }

// millisOfEnd is millis for the end of a time range, of which nothing is left out.
func millisOfEnd(t time.Time) int64 { return millis(t.Add(time.Millisecond - 1)) }

// instant returns the time that millis converted. It keeps the zero time zero.
func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// optional is millis for a time that may be absent: it returns nil for the zero time.
func optional(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := millis(t)
	return &ms
}

func optionalInstant(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return instant(*ms)
}

// text returns the form in which the store keeps a text that may be absent: nil for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// object returns the form in which the store keeps a JSON object: "{}" if raw is empty.
func object(raw []byte) string {
	if len(raw) == 0 {
		return "{}"
	}
	return string(raw)
}
