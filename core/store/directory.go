package store

import (
	"cmp"
	"context"
	"math"
	"time"
)

// Mark is a place in the history of what is changed in keys, connections and tenants. The zero Mark is none.
type Mark struct {
	Server int64                    // which run of which PostgreSQL server: another one may lack the last changes
	number int64                    // of the first change that may be unknown
	later  map[directoryChange]bool // those from number on that are known
}

type directoryChange struct {
	number   int64
	tenantID string
	at       int64 // tells it from one of another server's in a restored database
}

// DirectoryChanges returns the ids of the tenants of which a key, a connection, the name or the settings were changed
// since a mark, also by other processes, and the mark of now. The id is "" for keys without a tenant. With whole
// false, some changes since the mark may be missing.
func (s *Store) DirectoryChanges(ctx context.Context, since Mark) (changed []string, now Mark, whole bool, err error) {
	rows, err := listByKey(ctx, s, func(row scanner) (c directoryChange, err error) {
		return c, row.Scan(&now.Server, &now.number, &c.number, &c.tenantID, &c.at)
	}, "SELECT now.server, now.number, COALESCE(c.number, 0), COALESCE(c.tenant_id, ''), COALESCE(c.changed_at, 0) "+
		"FROM (SELECT "+s.dialect.server+" AS server, "+s.dialect.number+" AS number) AS now "+
		"LEFT JOIN directory_changes AS c ON c.number >= $1", cmp.Or(since.number, math.MaxInt64))
	now.later = map[directoryChange]bool{}
	for _, c := range rows {
		if c.number == 0 { // the row that tells only the mark
			continue
		}
		if c.number >= now.number {
			now.later[c] = true
		}
		if !since.later[c] {
			changed = append(changed, c.tenantID)
		}
	}
	whole = since.number > 0 && since.Server == now.Server && since.number <= now.number
	return changed, now, whole, err
}

// PurgeDirectoryChanges removes a batch of changes from before a time, and returns its size.
func (s *Store) PurgeDirectoryChanges(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, "DELETE FROM directory_changes WHERE (number, tenant_id) IN ("+purgeableDirectoryChanges+
		s.dialect.lockFree+")", millis(before), most)
}

const purgeableDirectoryChanges = "SELECT number, tenant_id FROM directory_changes WHERE changed_at < $1 LIMIT $2"
