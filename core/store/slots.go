package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// SlotOffered is a row of slots_offered: a time that a caller was offered, and in which calendars.
type SlotOffered struct {
	TenantID     string
	ConnectionID string
	ID           string // unique in the connection
	From, To     time.Time
	CalendarIDs  []string
	OfferedAt    time.Time

	TimeZone      string        // in which it was offered
	Availability  string        // which of its calendars must be free
	Before, After time.Duration // what must be free around it

	TentativeIsFree bool // what was accepted tentatively did not count as busy

	Rules string // other rules that were asked for, a JSON object
}

// OfferSlots records slots, which must have different ids. A later call replaces the record of an id.
func (s *Store) OfferSlots(ctx context.Context, offers []SlotOffered) error {
	if len(offers) == 0 {
		return nil
	}
	const columns = 13
	var args []any
	var connectionIDs []string
	for _, o := range offers {
		calendars, err := json.Marshal(o.CalendarIDs)
		if err != nil {
			return fmt.Errorf("store: calendars of a slot: %w", err)
		}
		args = append(args, o.TenantID, o.ConnectionID, o.ID, millis(o.From), millis(o.To), string(calendars),
			millis(o.OfferedAt), o.TimeZone, o.Availability, o.Before.Milliseconds(), o.After.Milliseconds(),
			o.TentativeIsFree, o.Rules)
		connectionIDs = append(connectionIDs, o.ConnectionID)
	}
	insert := statement{args: args, query: `INSERT INTO slots_offered
		(tenant_id, connection_id, id, starts_at, ends_at, calendar_ids, offered_at, time_zone, availability,
			buffer_before, buffer_after, tentative_is_free, rules) VALUES ` + placeholders(len(offers), columns) + `
		ON CONFLICT (tenant_id, connection_id, id) DO UPDATE SET starts_at = excluded.starts_at,
			ends_at = excluded.ends_at, calendar_ids = excluded.calendar_ids, offered_at = excluded.offered_at,
			time_zone = excluded.time_zone, availability = excluded.availability,
			buffer_before = excluded.buffer_before, buffer_after = excluded.buffer_after,
			tentative_is_free = excluded.tentative_is_free, rules = excluded.rules`}
	first := s.parentsFirst(connectionIDs)
	if first == nil {
		_, err := s.exec(ctx, insert.query, insert.args...)
		return err
	}
	all := append(first, insert)
	if done, err := s.atOnce(ctx, all); done || err != nil {
		return err
	}
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error { return execAll(ctx, tx, all) })
}

// SlotOffered returns the slot that was offered with an id to the tenant, in the connection.
func (s *Store) SlotOffered(
	ctx context.Context, tenantID, connectionID, id string,
) (offer SlotOffered, found bool, err error) {
	return findByKey(ctx, s, func(row scanner) (SlotOffered, error) {
		o := SlotOffered{TenantID: tenantID, ConnectionID: connectionID, ID: id}
		var from, to, at, before, after int64
		var calendars string
		if err := row.Scan(&from, &to, &calendars, &at, &o.TimeZone, &o.Availability, &before, &after,
			&o.TentativeIsFree, &o.Rules); err != nil {
			return o, err
		}
		o.From, o.To, o.OfferedAt = instant(from), instant(to), instant(at)
		o.Before, o.After = time.Duration(before)*time.Millisecond, time.Duration(after)*time.Millisecond
		return o, json.Unmarshal([]byte(calendars), &o.CalendarIDs)
	}, `SELECT starts_at, ends_at, calendar_ids, offered_at, time_zone, availability, buffer_before,
		buffer_after, tentative_is_free, rules FROM slots_offered
		WHERE tenant_id = $1 AND connection_id = $2 AND id = $3`, tenantID, connectionID, id)
}

const purgeableSlots = `SELECT tenant_id, connection_id, id FROM slots_offered WHERE offered_at < $1 LIMIT $2`

// PurgeSlots removes a batch of slots offered before the time, and returns its size.
func (s *Store) PurgeSlots(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM slots_offered WHERE (tenant_id, connection_id, id) IN (`+
		purgeableSlots+s.dialect.lockFree+")", millis(before), most)
}
