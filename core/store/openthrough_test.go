package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// OpenThrough is Open with connectors that the caller wraps.
func OpenThrough(
	ctx context.Context, url string, wrap func(driver.Connector) driver.Connector,
) (*Store, error) {
	return open(ctx, url, func(c driver.Connector, size int) *sql.DB { return pool(wrap(c), size) })
}

// Setting returns a setting of a connection to PostgreSQL.
func Setting(ctx context.Context, s *Store, name string) (string, error) {
	value, _, err := findIn(ctx, s, func(row scanner) (text string, err error) { return text, row.Scan(&text) },
		"SELECT current_setting($1)", name)
	return value, err
}
