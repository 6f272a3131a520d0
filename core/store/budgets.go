package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SettleBudgets passes the rows of budgets of the names, "" for those that are not there, and the database's
// time to settle, and stores what it returns: rows, and until when each says something. Nobody else reads or
// changes the rows in between. It may call settle more than once. The names must differ.
//
// A server that crashes may lose the last change: budgets last for seconds, and nobody waits for the disk.
func (s *Store) SettleBudgets(
	ctx context.Context, names []string,
	settle func(now time.Time, rows []string) (after []string, until []time.Time),
) error {
	if len(names) == 0 {
		return nil
	}
	for {
		missing, err := s.settleBudgets(ctx, names, settle)
		if err != nil || len(missing) == 0 {
			return err
		}
		// Not in the transaction above: two that lock some rows and add others could wait for each other.
		if err := s.addBudgets(ctx, missing); err != nil {
			return err
		}
	}
}

// settleBudgets changes nothing if rows are missing.
func (s *Store) settleBudgets(
	ctx context.Context, names []string,
	settle func(now time.Time, rows []string) (after []string, until []time.Time),
) (missing []string, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if s.dialect.soon != "" {
			if _, err := exec(ctx, tx, s.dialect.soon); err != nil {
				return err
			}
		}
		now, rows, err := s.lockBudgets(ctx, tx, names)
		if err != nil {
			return err
		}
		missing = nil
		before := make([]string, len(names))
		for i, name := range names {
			state, there := rows[name]
			if before[i] = state; !there {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return nil
		}
		after, until := settle(now, before)
		values := make([]string, len(names))
		var args []any
		for i, name := range names {
			values[i] = fmt.Sprintf("($%d, $%d, CAST($%d AS BIGINT))", len(args)+1, len(args)+2, len(args)+3)
			args = append(args, name, after[i], millis(until[i]))
		}
		_, err = exec(ctx, tx, "WITH settled (name, state, until) AS (VALUES "+strings.Join(values, ", ")+
			") UPDATE budgets SET state = settled.state, until = settled.until FROM settled WHERE budgets.name = "+
			"settled.name", args...)
		return err
	})
	return missing, err
}

// lockBudgets returns the rows of the names and the database's time. Every transaction locks rows in the order
// of their names.
func (s *Store) lockBudgets(
	ctx context.Context, tx *sql.Tx, names []string,
) (now time.Time, rows map[string]string, err error) {
	type row struct {
		name, state string
		now         int64
	}
	found, err := list(ctx, tx, func(from scanner) (r row, err error) {
		return r, from.Scan(&r.name, &r.state, &r.now)
	}, "SELECT name, state, ("+s.dialect.clock+") FROM budgets WHERE name IN ("+places(1, len(names))+
		") ORDER BY name"+s.dialect.lockRows, anys(names)...)
	rows = make(map[string]string, len(found))
	for _, r := range found {
		rows[r.name], now = r.state, instant(r.now)
	}
	return now, rows, err
}

// addBudgets adds rows, unless another process does.
func (s *Store) addBudgets(ctx context.Context, names []string) error {
	names = slices.Sorted(slices.Values(names))
	values := make([]string, len(names))
	until := fmt.Sprintf("$%d", len(names)+1)
	for i := range names {
		values[i] = fmt.Sprintf("($%d, '', CAST(%s AS BIGINT))", i+1, until)
	}
	_, err := s.exec(ctx, "INSERT INTO budgets (name, state, until) VALUES "+strings.Join(values, ", ")+
		" ON CONFLICT (name) DO NOTHING", append(anys(names), millis(time.Now().Add(newBudget)))...)
	return err
}

// newBudget is how long a row that nobody has settled yet is kept.
const newBudget = time.Hour

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// PurgeBudgets removes a batch of rows that have said nothing since a time.
func (s *Store) PurgeBudgets(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM budgets WHERE name IN (
		SELECT name FROM budgets WHERE until < $1 ORDER BY until LIMIT $2`+s.dialect.lockFree+`) AND until < $1`,
		millis(before), most)
}
