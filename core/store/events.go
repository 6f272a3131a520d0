package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
)

const eventColumns = "tenant_id, connection_id, event_id, calendar_id, gone, updated_at"

func scanEventSeen(row scanner) (e EventSeen, err error) {
	var updated int64
	err = row.Scan(&e.TenantID, &e.ConnectionID, &e.EventID, &e.CalendarID, &e.Gone, &updated)
	e.UpdatedAt = instant(updated)
	return e, err
}

// SeeEvents records where events were seen and which are gone. The latest sighting wins, in whatever order
// the calls come.
func (s *Store) SeeEvents(ctx context.Context, seen []EventSeen) error {
	if len(seen) == 0 {
		return nil
	}
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return execAll(ctx, tx, slices.Concat(s.parentsFirst(seenIn(seen, nil)), seeEvents(seen)))
	})
}

// seenIn returns the ids of the connections in which events and meetings were seen.
func seenIn(events []EventSeen, meetings []Meeting) (connectionIDs []string) {
	for _, e := range events {
		connectionIDs = append(connectionIDs, e.ConnectionID)
	}
	for _, m := range meetings {
		connectionIDs = append(connectionIDs, m.ConnectionID)
	}
	return connectionIDs
}

// EventSeen returns where an event was seen last.
func (s *Store) EventSeen(
	ctx context.Context, tenantID, connectionID, eventID string,
) (EventSeen, bool, error) {
	return findByKey(ctx, s, scanEventSeen,
		"SELECT "+eventColumns+" FROM events_seen WHERE tenant_id = $1 AND connection_id = $2 AND event_id = $3",
		tenantID, connectionID, eventID)
}

const purgeableEvents = `SELECT tenant_id, connection_id, event_id FROM events_seen WHERE updated_at < $1
	LIMIT $2`

// PurgeEvents removes a batch of events that were seen before the time, and not elsewhere since. It returns
// its size.
func (s *Store) PurgeEvents(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, "DELETE FROM events_seen WHERE (tenant_id, connection_id, event_id) IN ("+
		purgeableEvents+s.dialect.lockFree+")", millis(before), most)
}

// seenBatch is the most rows of one statement. It is a power of two; see seeEvents.
const seenBatch = 128

// seeEvents writes in batches whose sizes are powers of two, so that the few statements stay prepared. The
// rows are sorted, so that no two transactions deadlock. Each event is written once, because PostgreSQL
// rejects a statement that writes a row twice.
func seeEvents(seen []EventSeen) (all []statement) {
	rows := slices.Clone(seen)
	slices.SortStableFunc(rows, func(a, b EventSeen) int {
		return cmp.Or(compareEvents(a, b), b.UpdatedAt.Compare(a.UpdatedAt))
	})
	rows = slices.CompactFunc(rows, func(a, b EventSeen) bool { return compareEvents(a, b) == 0 })
	for size := seenBatch; len(rows) > 0; {
		if size > len(rows) {
			size /= 2
			continue
		}
		args := make([]any, 0, 6*size)
		for _, e := range rows[:size] {
			args = append(args, e.TenantID, e.ConnectionID, e.EventID, e.CalendarID, e.Gone, millis(e.UpdatedAt))
		}
		// The same events are listed again and again. Rows without a change are not written.
		query := "INSERT INTO events_seen (" + eventColumns + ") VALUES " + placeholders(size, 6) + `
			ON CONFLICT (tenant_id, connection_id, event_id) DO UPDATE
			SET calendar_id = excluded.calendar_id, gone = excluded.gone, updated_at = excluded.updated_at
			WHERE excluded.updated_at >= events_seen.updated_at
			AND (excluded.calendar_id <> events_seen.calendar_id OR excluded.gone <> events_seen.gone)`
		all = append(all, statement{query: query, args: args})
		rows = rows[size:]
	}
	return all
}

func compareEvents(a, b EventSeen) int {
	return cmp.Or(cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.ConnectionID, b.ConnectionID),
		cmp.Compare(a.EventID, b.EventID))
}

// placeholders returns "($1, $2), ($3, $4)" for two rows of two columns.
func placeholders(rows, columns int) string {
	all := make([]string, rows)
	for i := range all {
		all[i] = "(" + places(1+i*columns, columns) + ")"
	}
	return strings.Join(all, ", ")
}
