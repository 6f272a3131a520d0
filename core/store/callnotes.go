package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// CallNote is a row of call_notes: what tools of a telephone call need to know of those before it.
type CallNote struct {
	TenantID string
	Call     string // which call it is of
	Kind     string // unique in the call
	Value    []string
	NotedAt  time.Time
}

const (
	noteCalls = "INSERT INTO call_notes (tenant_id, call, kind, value, noted_at) VALUES "
	ofTheKind = " ON CONFLICT (tenant_id, call, kind) DO "
)

// NoteCall stores notes of different kinds, each in the place of the one of its kind. It writes them sorted, so that
// no two callers deadlock.
func (s *Store) NoteCall(ctx context.Context, notes ...CallNote) error {
	var args []any
	for _, n := range slices.SortedFunc(slices.Values(notes), func(a, b CallNote) int {
		return cmp.Or(cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Kind, b.Kind))
	}) {
		value, err := json.Marshal(n.Value)
		if err != nil {
			return err
		}
		args = append(args, n.TenantID, n.Call, n.Kind, string(value), millis(n.NotedAt))
	}
	_, err := s.exec(ctx, noteCalls+placeholders(len(notes), 5)+ofTheKind+
		"UPDATE SET value = excluded.value, noted_at = excluded.noted_at", args...)
	return err
}

// NoteCallOnce stores a note unless there is one of its kind, and returns the value of the one that is there
// afterwards.
func (s *Store) NoteCallOnce(ctx context.Context, n CallNote) ([]string, error) {
	value, err := json.Marshal(n.Value)
	if err != nil {
		return nil, err
	}
	affected, err := s.exec(ctx, noteCalls+placeholders(1, 5)+ofTheKind+"NOTHING",
		n.TenantID, n.Call, n.Kind, string(value), millis(n.NotedAt))
	if err != nil || affected == 1 {
		return n.Value, err
	}
	return s.CallNote(ctx, n.TenantID, n.Call, n.Kind)
}

// CallNote returns the value of the note of a kind, or nil if there is none.
func (s *Store) CallNote(ctx context.Context, tenantID, call, kind string) ([]string, error) {
	value, _, err := findIn(ctx, s, func(row scanner) (value []string, err error) {
		var text string
		if err := row.Scan(&text); err != nil {
			return nil, err
		}
		return value, json.Unmarshal([]byte(text), &value)
	}, "SELECT value FROM call_notes WHERE tenant_id = $1 AND call = $2 AND kind = $3", tenantID, call, kind)
	return value, err
}

// PurgeCallNotes removes a batch of notes from before a time, and returns its size.
func (s *Store) PurgeCallNotes(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, "DELETE FROM call_notes WHERE (tenant_id, call, kind) IN ("+purgeableCallNotes+
		s.dialect.lockFree+")", millis(before), most)
}

const purgeableCallNotes = "SELECT tenant_id, call, kind FROM call_notes WHERE noted_at < $1 LIMIT $2"
