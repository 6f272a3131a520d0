package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/fault"
)

// Sealer seals what rows say about people. A value is bound to its column and row. core/vault implements it.
type Sealer interface {
	SealColumn(table, column string, row []string, plain []byte) ([]byte, error)
	OpenColumn(table, column string, row []string, sealed []byte) ([]byte, error)
	IsSealed(value []byte) bool
}

// SealWith makes the store seal plans, request hashes and answers of calls and creations, documents of connections
// and payloads of events, and reject values that are not sealed. It must be called before the store is used.
func (s *Store) SealWith(sealer Sealer) { s.sealer = sealer }

// sealedTable describes the sealed columns of a table.
type sealedTable struct {
	name    string
	keys    []string // the key columns; sealed values are bound to them
	columns []sealedColumn
	always  bool // every version has sealed the values, so one without a seal is never adopted
}

type sealedColumn struct {
	name   string
	isText bool // it is kept in base64
}

var (
	sealedIntents = sealedTable{
		name: "intents", keys: []string{"tenant_id", "operation", "key"},
		columns: []sealedColumn{{"plan", true}, {"request_hash", false}, {"answer", false}},
	}
	sealedHashKeys = sealedTable{
		name: "hash_keys", keys: []string{"name"}, columns: []sealedColumn{{"sealed", false}},
	}
	sealedCreations = sealedTable{
		name: "creations", keys: []string{"actor", "operation", "key"},
		columns: []sealedColumn{{"request_hash", false}, {"answer", false}}, always: true,
	}
	sealedDocuments = sealedTable{
		name: "documents", keys: []string{"connection_id", "key"}, columns: []sealedColumn{{"value", true}},
	}
	sealedDeliveries = sealedTable{
		name: "deliveries", keys: []string{"webhook_id", "id"}, columns: []sealedColumn{{"payload", true}},
	}
)

// The indexes of the columns of sealedIntents.
const (
	planColumn = iota
	requestColumn
	answerColumn
)

// seal returns the stored form of a value for the column with index at. NULL stays NULL.
func (s *Store) seal(t sealedTable, at int, row []string, plain []byte) ([]byte, error) {
	if s.sealer == nil || plain == nil {
		return plain, nil
	}
	c := t.columns[at]
	sealed, err := s.sealer.SealColumn(t.name, c.name, row, plain)
	if err == nil && c.isText {
		sealed = base64.StdEncoding.AppendEncode(nil, sealed)
	}
	return sealed, err
}

// open returns the value whose stored form seal returned.
func (s *Store) open(t sealedTable, at int, row []string, kept []byte) ([]byte, error) {
	if s.sealer == nil || kept == nil {
		return kept, nil
	}
	c := t.columns[at]
	sealed, isSealed := s.decodeSealed(c, kept)
	if !isSealed {
		return nil, unreadable(fmt.Errorf("store: %s.%s of a row is not sealed", t.name, c.name))
	}
	plain, err := s.sealer.OpenColumn(t.name, c.name, row, sealed)
	if err != nil {
		return nil, unreadable(err)
	}
	return append([]byte{}, plain...), nil // an empty value is not NULL
}

// decodeSealed returns a stored value as the sealer made it, and reports whether it is sealed.
func (s *Store) decodeSealed(c sealedColumn, kept []byte) ([]byte, bool) {
	if !c.isText {
		return kept, s.sealer.IsSealed(kept)
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, kept)
	return raw, err == nil && s.sealer.IsSealed(raw)
}

// unreadable returns the fault for a row that cannot be opened.
func unreadable(err error) error {
	return fault.New(fault.Unavailable, ReasonRowUnreadable,
		"What the gateway has stored of this cannot be read. Its operator must look at the key set and the "+
			"database, with frontdesk doctor.").Because(err)
}

// ReasonRowUnreadable is the reason of the fault returned if a row was changed or cannot be opened with the
// current key set.
const ReasonRowUnreadable = "ROW_UNREADABLE"

// SealedRows counts the rows that Reseal found.
type SealedRows struct {
	Sealed     int // sealed, or to be sealed by this call
	Plain      int // not sealed, and left so
	Rewritten  int // sealed by this call
	Unreadable int // sealed with another key set, or changed
}

// Rows configures Reseal.
type Rows struct {
	Adopt bool                     // seal rows that are not sealed
	Stale func(sealed []byte) bool // reports whether to seal a value again; nil: none
}

// pageOfRows is how many rows are read at once. The dialect sets how many a transaction writes.
const pageOfRows = 500

// Reseal checks all sealed values and seals the rows that o selects. Before it changes a row, it reads the
// row again under its lock, so that no concurrent write is lost.
func (s *Store) Reseal(ctx context.Context, o Rows) (found SealedRows, err error) {
	if s.sealer == nil {
		return found, nil
	}
	for _, t := range []sealedTable{
		sealedHashKeys, sealedIntents, sealedCreations, sealedDocuments, sealedSignInLinks, sealedSessions,
		sealedDeliveries,
	} {
		if err := s.resealTable(ctx, t, o, &found); err != nil {
			return found, err
		}
	}
	return found, nil
}

// sealedRow is a row as it is stored.
type sealedRow struct {
	keys   []any
	values [][]byte
}

func (r sealedRow) names() []string {
	var names []string
	for _, key := range r.keys {
		if raw, isBytes := key.([]byte); isBytes {
			key = string(raw)
		}
		names = append(names, fmt.Sprint(key))
	}
	return names
}

func (s *Store) resealTable(ctx context.Context, t sealedTable, o Rows, found *SealedRows) error {
	var after []any
	for {
		query, args := t.query(">", after)
		rows, err := listOf(ctx, s, t.scan, fmt.Sprintf("%s LIMIT %d", query, pageOfRows), args...)
		if err != nil {
			return err
		}
		var stale [][]any
		for _, row := range rows {
			_, rewrite, err := s.resealRow(t, o, row, found)
			if err != nil {
				return err
			}
			if rewrite {
				stale = append(stale, row.keys)
			}
		}
		for keys := range slices.Chunk(stale, s.dialect.rewrites) {
			if err := s.resealRows(ctx, t, o, keys, found); err != nil {
				return err
			}
		}
		if len(rows) < pageOfRows {
			return nil
		}
		after = rows[len(rows)-1].keys
	}
}

// query returns the query for the rows whose keys compare with the given ones by the operator compare, or for
// all rows. The rows are ordered by their keys.
func (t sealedTable) query(compare string, with []any) (query string, args []any) {
	names := slices.Clone(t.keys)
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	keys := strings.Join(t.keys, ", ")
	query = "SELECT " + strings.Join(names, ", ") + " FROM " + t.name
	if len(with) > 0 {
		query += " WHERE (" + keys + ") " + compare + " (" + places(1, len(with)) + ")"
	}
	return query + " ORDER BY " + keys, with
}

func (t sealedTable) scan(row scanner) (sealedRow, error) {
	r := sealedRow{keys: make([]any, len(t.keys)), values: make([][]byte, len(t.columns))}
	var into []any
	for i := range r.keys {
		into = append(into, &r.keys[i])
	}
	for i := range r.values {
		into = append(into, &r.values[i])
	}
	return r, row.Scan(into...)
}

// resealRows seals the rows with these keys again in one transaction. It skips rows that no longer exist.
func (s *Store) resealRows(
	ctx context.Context, t sealedTable, o Rows, keys [][]any, found *SealedRows,
) error {
	rewritten := 0
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		rewritten = 0
		for _, key := range keys {
			query, args := t.query("=", key)
			row, there, err := find(ctx, tx, t.scan, query+s.dialect.lockRows, args...)
			if err != nil {
				return err
			}
			if !there {
				continue
			}
			now, rewrite, err := s.resealRow(t, o, row, new(SealedRows))
			if err != nil {
				return err
			}
			if rewrite {
				if err := writeSealed(ctx, tx, t, now); err != nil {
					return err
				}
				rewritten++
			}
		}
		return nil
	})
	found.Rewritten += rewritten
	return err
}

// resealRow returns a row with its values sealed again, and reports whether any had to be.
func (s *Store) resealRow(
	t sealedTable, o Rows, row sealedRow, found *SealedRows,
) (now sealedRow, rewrite bool, err error) {
	now = sealedRow{keys: row.keys, values: slices.Clone(row.values)}
	names := row.names()
	for at, kept := range row.values {
		if kept == nil {
			continue
		}
		sealed, isSealed := s.decodeSealed(t.columns[at], kept)
		plain, readable := kept, true
		if isSealed {
			opened, failed := s.open(t, at, names, kept)
			plain, readable = opened, failed == nil
		}
		switch {
		case !readable:
			found.Unreadable++
			return now, false, nil
		case !isSealed && (!o.Adopt || t.always):
			found.Plain++
			return now, false, nil
		case isSealed && (o.Stale == nil || !o.Stale(sealed)):
			continue
		}
		rewrite = true
		if now.values[at], err = s.seal(t, at, names, plain); err != nil {
			return now, false, err
		}
	}
	found.Sealed++
	return now, rewrite, nil
}

// writeSealed writes the values of a row.
func writeSealed(ctx context.Context, tx *sql.Tx, t sealedTable, row sealedRow) error {
	var set, where []string
	var args []any
	bind := func(column string, value any) string {
		args = append(args, value)
		return fmt.Sprintf("%s = $%d", column, len(args))
	}
	for i, c := range t.columns {
		switch value := row.values[i]; {
		case value == nil: // there is nothing to seal
		case c.isText:
			set = append(set, bind(c.name, string(value)))
		default:
			set = append(set, bind(c.name, value))
		}
	}
	for i, key := range t.keys {
		where = append(where, bind(key, row.keys[i]))
	}
	_, err := exec(ctx, tx, "UPDATE "+t.name+" SET "+strings.Join(set, ", ")+" WHERE "+strings.Join(where,
		" AND "), args...)
	return err
}

// isUnreadable reports whether a row could not be opened.
func isUnreadable(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Reason == ReasonRowUnreadable
}
