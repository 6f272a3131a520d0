package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

const holdColumns = "id, connection_id, calendar_id, starts_at, ends_at, event_id, moves, valid_until"

func scanHold(row scanner) (h Hold, err error) {
	var from, to, until int64
	err = row.Scan(&h.ID, &h.ConnectionID, &h.CalendarID, &from, &to, &h.EventID, &h.Moves, &until)
	h.From, h.To, h.Until = instant(from), instant(to), instant(until)
	return h, err
}

// TakeHolds takes all the holds or none. It returns an existing hold that overlaps one of them, or what must
// be free around it, or nil if they are taken. Holds that only touch do not overlap. Expired holds do not
// count. Neither do those with the ids of except, which stay. Two of the holds must not overlap. A hold of the
// same id that has expired is replaced.
func (s *Store) TakeHolds(
	ctx context.Context, holds []Hold, except []string, now time.Time,
) (taken *Hold, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		taken, err = s.takeHolds(ctx, tx, holds, except, now)
		return err
	})
	return taken, err
}

func (s *Store) takeHolds(
	ctx context.Context, tx *sql.Tx, holds []Hold, except []string, now time.Time,
) (taken *Hold, err error) {
	// On SQLite all who write take turns, and a hold cannot be inserted without its connection.
	if s.batches == nil {
		for _, id := range connectionsOf(holds) {
			if err := s.takeTurn(ctx, tx, id); err != nil {
				return nil, err
			}
		}
	}
	for at, h := range holds {
		taken, err := s.takeHold(ctx, tx, h, except, now)
		if err != nil {
			return nil, err
		}
		if taken == nil {
			continue
		}
		var others []string
		for _, other := range holds[:at] {
			others = append(others, other.ID)
		}
		return taken, execHolds(ctx, tx, others, "DELETE FROM holds")
	}
	return nil, nil
}

// connectionsOf lists the connections in a fixed order, so that no two callers deadlock.
func connectionsOf(holds []Hold) []string {
	var ids []string
	for _, h := range holds {
		ids = append(ids, h.ConnectionID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// insertHold returns the statement that takes a hold if nothing is in its way, and the query of what is.
func (s *Store) insertHold(h Hold, except []string, now time.Time) (insert, others statement) {
	inTheWay := ` FROM holds
		WHERE connection_id = $1 AND calendar_id = $2 AND starts_at < $3 AND ends_at > $4 AND valid_until > $5`
	args := []any{
		h.ConnectionID, h.CalendarID, millisOfEnd(h.To.Add(h.After)), millis(h.From.Add(-h.Before)), millis(now),
	}
	if len(except) > 0 {
		var list string
		list, args = among(except, args)
		inTheWay += " AND id NOT IN " + list
	}
	own := slices.Concat(args, []any{h.ID, millis(h.From), millisOfEnd(h.To), h.EventID, h.Moves, millis(h.Until)})
	id, rest := places(len(args)+1, 1), ", "+places(len(args)+2, len(own)-len(args)-1)
	isFree := " WHERE NOT EXISTS (SELECT 1" + inTheWay + ")"
	row, replaced := " SELECT $1, $2, "+id+rest+isFree, ""
	if s.batches != nil { // see insertIntentAtRecent
		row, replaced = " VALUES ($1, $2, COALESCE((SELECT id"+inTheWay+" LIMIT 1), "+id+")"+rest+")", isFree
	}
	insert.query = "INSERT INTO holds (connection_id, calendar_id, id, starts_at, ends_at, event_id, moves, valid_until)" +
		row + ` ON CONFLICT (id) DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at,
		event_id = excluded.event_id, moves = excluded.moves, valid_until = excluded.valid_until` + replaced
	insert.args, insert.must = own, true
	others.query = "SELECT " + holdColumns + inTheWay + " ORDER BY starts_at LIMIT 1"
	others.args = args
	return insert, others
}

// takeHold takes a hold if nothing is in its way, by one statement.
func (s *Store) takeHold(ctx context.Context, tx *sql.Tx, h Hold, except []string, now time.Time) (*Hold, error) {
	insert, others := s.insertHold(h, except, now)
	for range 10 {
		affected, err := insert.exec(ctx, tx)
		if err != nil || affected == 1 {
			return nil, err
		}
		other, found, err := find(ctx, tx, scanHold, others.query, others.args...)
		if err != nil || found {
			return &other, err
		}
		// It was dropped between the two statements.
	}
	return nil, errors.New("holds come and go too fast to take one")
}

// HoldsKept are holds that are kept until another time. With an event, they are its holds from then on; without one,
// they stay what they are, such as those of a move.
type HoldsKept struct {
	IDs     []string
	EventID string
	Until   time.Time
	Left    []string // ids of holds that end now, such as those of the slot that the event has left
}

func (k HoldsKept) any() bool { return len(k.IDs)+len(k.Left) > 0 }

// KeepHolds keeps holds. It skips those that do not exist.
func (s *Store) KeepHolds(ctx context.Context, kept HoldsKept) error {
	if !kept.any() {
		return nil
	}
	return s.changeOnce(ctx, oneStatement, func(ctx context.Context, q querier) error {
		return execAll(ctx, q, keepHolds(kept))
	})
}

// keepHolds lets holds that are left expire, so that one statement writes all of them.
func keepHolds(kept HoldsKept) []statement {
	switch {
	case kept.EventID == "" && len(kept.Left) == 0:
		return ofHolds(kept.IDs, "UPDATE holds SET valid_until = $1", millis(kept.Until))
	case len(kept.Left) == 0:
		return ofHolds(kept.IDs, "UPDATE holds SET event_id = $1, moves = '', valid_until = $2",
			kept.EventID, millis(kept.Until))
	}
	left, args := among(kept.Left, []any{kept.EventID, millis(kept.Until)})
	return ofHolds(slices.Concat(kept.IDs, kept.Left), `UPDATE holds SET moves = '',
		event_id = CASE WHEN id IN `+left+` THEN '' ELSE $1 END,
		valid_until = CASE WHEN id IN `+left+` THEN 0 ELSE CAST($2 AS BIGINT) END`,
		args...)
}

// DropHolds removes holds for the run that holds an intent. It removes none for a run that has lost it: the run that
// took it over has holds with the same ids.
func (s *Store) DropHolds(ctx context.Context, by Intent, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	list, args := among(ids, heldBy(by))
	_, err := s.exec(ctx, "DELETE FROM holds WHERE id IN "+list+" AND EXISTS (SELECT 1 FROM intents WHERE "+held+")",
		args...)
	return err
}

// execHolds writes all the holds in one statement. Between two statements, another transaction could lock the
// second hold and wait for the first.
func execHolds(ctx context.Context, q querier, ids []string, query string, args ...any) error {
	return execAll(ctx, q, ofHolds(ids, query, args...))
}

// ofHolds returns the statement, or none if there are no ids.
func ofHolds(ids []string, query string, args ...any) []statement {
	if len(ids) == 0 {
		return nil
	}
	list, args := among(ids, args)
	return []statement{{query: query + " WHERE id IN " + list, args: args}}
}

// DropHoldsOfEvent removes the holds of an event that is gone, and those of slots to which it was moving.
func (s *Store) DropHoldsOfEvent(ctx context.Context, connectionID, eventID string) error {
	if eventID == "" {
		return nil
	}
	_, err := s.exec(ctx, "DELETE FROM holds WHERE connection_id = $1 AND (event_id = $2 OR moves = $2)",
		connectionID, eventID)
	return err
}

// HoldsOfEvent returns the holds of a booked event, and those of slots to which it is moving.
func (s *Store) HoldsOfEvent(ctx context.Context, connectionID, eventID string) ([]Hold, error) {
	return listOf(ctx, s, scanHold, "SELECT "+holdColumns+` FROM holds WHERE connection_id = $1
		AND (event_id = $2 OR moves = $2) AND CAST($2 AS TEXT) <> '' ORDER BY id`, connectionID, eventID)
}

// HoldsWithin returns the holds of a connection that overlap the time and have not expired.
func (s *Store) HoldsWithin(
	ctx context.Context, connectionID string, from, to, now time.Time,
) ([]Hold, error) {
	return listByKey(ctx, s, scanHold, "SELECT "+holdColumns+` FROM holds
		WHERE connection_id = $1 AND starts_at < $2 AND ends_at > $3 AND valid_until > $4 ORDER BY id`,
		connectionID, millis(to), millis(from), millis(now))
}

// longestHold is longer than any hold lasts, by more than the clocks of replicas differ.
const longestHold = time.Hour

// PurgeHolds removes a batch of holds that have expired, and returns its size. One that lasts longer than any does is
// by a clock that was far ahead: it would keep its slot until that time comes. There is no index for it, which each
// booking would have to keep up: the table has the bookings of minutes, the oldest first.
func (s *Store) PurgeHolds(ctx context.Context, now time.Time, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM holds WHERE id IN
		(SELECT id FROM holds WHERE valid_until <= $1 OR valid_until > $3 LIMIT $2`+s.dialect.lockFree+")",
		millis(now), most, millis(now.Add(longestHold)))
}
