package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Breaker is the state of a circuit breaker that is not closed, at one replica.
type Breaker struct {
	Replica  string
	Level    string // "host" or "connection"
	Subject  string // the host, or the connection's id
	Provider string
	State    string
	Since    time.Time
}

// maxBreakers is how many rows of one replica are kept. When more providers fail, the network does.
const maxBreakers = 200

// SetBreakers replaces what the store knows of a replica's breakers, as seen at a time.
func (s *Store) SetBreakers(ctx context.Context, replica string, all []Breaker, seen time.Time) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := exec(ctx, tx, "DELETE FROM breakers WHERE replica = $1", replica); err != nil || len(all) == 0 {
			return err
		}
		var values []string
		args := []any{replica, millis(seen)}
		for _, b := range all[:min(len(all), maxBreakers)] {
			n := len(args)
			values = append(values, fmt.Sprintf("($1, $%d, $%d, $%d, $%d, CAST($%d AS BIGINT), CAST($2 AS BIGINT))",
				n+1, n+2, n+3, n+4, n+5))
			args = append(args, b.Level, b.Subject, b.Provider, b.State, millis(b.Since))
		}
		_, err := exec(ctx, tx, "INSERT INTO breakers (replica, level, subject, provider, state, since, seen_at) "+
			"VALUES "+strings.Join(values, ", "), args...)
		return err
	})
}

// Breakers lists the breakers that were seen after a time.
func (s *Store) Breakers(ctx context.Context, after time.Time) ([]Breaker, error) {
	return listOf(ctx, s, func(row scanner) (b Breaker, err error) {
		var since int64
		err = row.Scan(&b.Replica, &b.Level, &b.Subject, &b.Provider, &b.State, &since)
		b.Since = instant(since)
		return b, err
	}, `SELECT replica, level, subject, provider, state, since FROM breakers WHERE seen_at > $1
		ORDER BY level, subject, replica`, millis(after))
}

// PurgeBreakers removes a batch of rows that were not seen after a time, and returns its size.
func (s *Store) PurgeBreakers(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM breakers WHERE (replica, level, subject) IN (
		SELECT replica, level, subject FROM breakers WHERE seen_at <= $1 LIMIT $2`+s.dialect.lockFree+")",
		millis(before), most)
}
