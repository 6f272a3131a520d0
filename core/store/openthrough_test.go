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
